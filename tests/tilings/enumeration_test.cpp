// For the kernels of the bundled models, chains of two dots among them: the compiled search
// enumerates just those candidates at which every constraint, evaluated by itself, holds.
#include "analysis/program/pass/resources.h"
#include "analysis/solve/compiled.h"
#include "analysis/solve/testing/solve.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/chain_constraints.h"
#include "costmodel/device.h"
#include "tests/tilings/bundled_kernels.h"
#include "tools/explore/plan_search.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace tilewright;

namespace {

struct Totals {
  size_t groups = 0;
  uint64_t points = 0, feasible = 0, scanned = 0;
};

uint64_t pointsOf(const ConstraintSystem &system) {
  uint64_t points = 1;
  for (const SolveParameter &parameter : system.parameters)
    if (__builtin_mul_overflow(points, uint64_t(parameter.candidates.size()), &points))
      return UINT64_MAX;
  return points;
}

/// Takes candidates from the longest lists until there are few enough points; the first and the
/// last of a list go last.
void thinOut(ConstraintSystem &system, uint64_t most, std::mt19937_64 &random) {
  while (pointsOf(system) > most) {
    auto longest = std::max_element(
        system.parameters.begin(), system.parameters.end(),
        [](const auto &a, const auto &b) { return a.candidates.size() < b.candidates.size(); });
    std::vector<int64_t> &list = longest->candidates;
    size_t middle = list.size() > 2 ? 1 + random() % (list.size() - 2) : random() % list.size();
    list.erase(list.begin() + ptrdiff_t(middle));
  }
}

/// All points of a system, or those of an even part of it.
void compare(const ConstraintSystem &system, const std::string &name, Totals &totals) {
  std::vector<std::vector<int64_t>> expected = tilewright::testing::bruteForce(system);
  for (SearchOrder order : {SearchOrder::Parameter, SearchOrder::Tightest}) {
    auto compiled = CompiledSystem::compile(system, order);
    ASSERT_TRUE(static_cast<bool>(compiled)) << name;
    std::vector<std::vector<int64_t>> found;
    SearchResult result = compiled->enumerate([&](std::span<const int64_t> values) {
      found.emplace_back(values.begin(), values.end());
      return true;
    });
    EXPECT_EQ(result.undecided, 0u) << name;
    EXPECT_EQ(compiled->count().solutions, expected.size()) << name;
    std::sort(found.begin(), found.end());
    EXPECT_TRUE(found == expected)
        << name << ": " << found.size() << " enumerated, " << expected.size() << " are feasible";
  }
  ++totals.groups;
  totals.points += pointsOf(system);
  totals.feasible += expected.size();
}

/// The whole system where it is small enough: the search against a look at every candidate.
void scan(const ConstraintSystem &system, const std::string &name, uint64_t most, Totals &totals) {
  if (pointsOf(system) > most)
    return;
  auto compiled = CompiledSystem::compile(system, SearchOrder::Tightest);
  ASSERT_TRUE(static_cast<bool>(compiled)) << name;
  SearchResult all = compiled->countAll();
  EXPECT_EQ(all.nodes, pointsOf(system)) << name;
  EXPECT_EQ(compiled->count().solutions, all.solutions) << name;
  totals.scanned += all.nodes;
}

/// Every kernel of every model: its tiles alone, with a device, and as explore searches it.
Totals compareAll(uint64_t maxPoints) {
  Totals totals;
  std::mt19937_64 random(1);
  auto device = loadDevice("h100-sxm");
  if (!device) {
    ADD_FAILURE() << takeDiag(device.takeError()).str();
    return totals;
  }
  auto kernels = bundledKernels();
  if (!kernels) {
    ADD_FAILURE() << takeDiag(kernels.takeError()).str();
    return totals;
  }
  for (const BundledKernel &kernel : *kernels) {
    auto tiled = tileKernel(*kernel.module, kernel.source);
    if (!tiled) {
      llvm::consumeError(tiled.takeError());
      continue;
    }
    const Graph &graph = kernel.module->graph(kernel.source.graph);
    TiledGroup group = *tiled->tiled;
    auto check = [&](const char *what, const CandidatePlan &plan) {
      auto system = makeSystem(group.space, group.constraints, plan);
      ASSERT_TRUE(static_cast<bool>(system));
      scan(*system, kernel.name, maxPoints * 1000, totals);
      thinOut(*system, maxPoints, random);
      compare(*system, kernel.name + ", " + what, totals);
    };
    CandidatePlan tilesOnly = CandidatePlan::standard();
    tilesOnly.byName["split_k"].kind = CandidateRule::Kind::List;
    for (auto &[name, rule] : tilesOnly.byName)
      rule.list = {1};
    check("tiles", tilesOnly);
    addKernelConstraints(*kernel.module, graph, group, device->limits);
    check("with a device", CandidatePlan::standard());
    addInstructionConstraints(graph, group,
                              kernel.source.kind == KernelKind::Dot ? Instruction::MmaSync
                                                                    : Instruction::Fma);
    addSearchConstraints(graph, group);
    addChainSearchConstraints(*kernel.module, graph, group);
    check("as searched", CandidatePlan::standard());
    if (::testing::Test::HasFailure())
      return totals;
  }
  return totals;
}

} // namespace

/// TILEWRIGHT_ENUMERATION_POINTS candidates of each system, 200 by default; systems with more are
/// thinned out. A thousand times as many are looked at whole, by the compiled constraints.
TEST(Enumeration, BundledModels) {
  const char *most = std::getenv("TILEWRIGHT_ENUMERATION_POINTS");
  Totals totals = compareAll(most ? std::strtoull(most, nullptr, 10) : 200);
  std::printf("%zu systems, %llu points, %llu feasible; %llu candidates looked at whole\n",
              totals.groups, static_cast<unsigned long long>(totals.points),
              static_cast<unsigned long long>(totals.feasible),
              static_cast<unsigned long long>(totals.scanned));
  EXPECT_GT(totals.groups, 300u);
  EXPECT_GT(totals.feasible, 1000u);
}
