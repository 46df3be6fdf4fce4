// Kernels of the bundled models and of random programs, over small tensors.
#include "analysis/import/import_file.h"
#include "analysis/ir/inline.h"
#include "analysis/program/build/testing/check.h"
#include "analysis/tiling/resources.h"
#include "codegen/shrink.h"
#include "tests/fuzz/random_program.h"
#include "tests/tilings/bundled_kernels.h"
#include "tests/tilings/drawn_points.h"

#include <iostream>
#include <set>

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

struct Totals {
  std::map<CodeKind, BuiltCounts> kinds;
  std::map<CodeKind, size_t> kernels, noValues;
  std::set<std::string> seen;
  size_t stagings = 0, vectors = 0, pipelines = 0;

  /// Nearly all kernels of loads, maps and reductions have programs.
  void expectMost(size_t least) {
    for (CodeKind kind : {CodeKind::Elementwise, CodeKind::Reduction}) {
      constexpr size_t most = 95;
      EXPECT_GE(kinds[kind].built * 100, kernels[kind] * most) << toString(kind);
      EXPECT_GE(kinds[kind].runs, least) << toString(kind);
    }
    // Dots of fma; convolutions have none yet.
    constexpr size_t mostDots = 70;
    EXPECT_GE(kinds[CodeKind::Dot].built * 100, kernels[CodeKind::Dot] * mostDots);
  }

  void print() const {
    std::cout << stagings << " programs with staged inputs, " << vectors << " vectors, "
              << pipelines << " pipelined programs\n";
    for (const auto &[kind, count] : kernels) {
      auto it = kinds.find(kind);
      std::cout << toString(kind) << ": " << (it == kinds.end() ? 0 : it->second.built) << " of "
                << count << " have programs, " << (it == kinds.end() ? 0 : it->second.runs)
                << " runs\n";
      if (it != kinds.end())
        for (const auto &[reason, times] : it->second.reasons)
          std::cout << "  " << times << " " << reason << "\n";
    }
  }
};

/// A whole kernel, then the same over small tensors, at a few tile sizes each. Kernels that
/// are dots of tiles have no programs and are left out.
void checkKernel(const std::string &name, const Module &whole, Totals &totals, int draws) {
  std::shared_ptr<const Module> module = std::make_shared<Module>(whole);
  auto plan = planOfEntry(module);
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return;
  }
  CodeKind kind = kindOfCode(module->entry(), *plan->tiled).kind;
  ++totals.kernels[kind];
  BuiltCounts &counts = totals.kinds[kind];
  BuiltKernel full(name, module, *plan);
  std::vector<int64_t> largest;
  for (const TileParameter &parameter : plan->tiled->space.parameters)
    largest.push_back(parameter.role == TileParameter::Role::Schedule ? 1 : parameter.largest());
  auto variant = variantOf(module->entry(), *plan->tiled, largest);
  if (!variant) {
    std::string why = takeDiag(variant.takeError()).message;
    ++counts.reasons[why.substr(why.find(": ") + 2)];
    return;
  }
  if (!full.programFor(*variant)) {
    size_t colon = full.reason.find(": ");
    ++counts.reasons[full.reason.substr(colon == std::string::npos ? 0 : colon + 2)];
    return;
  }
  ++counts.built;
  for (bool odd : {false, true}) {
    auto small = shrinkModule(*module, {.wishes = {}, .most = 9, .odd = odd});
    if (!small) {
      ADD_FAILURE() << takeDiag(small.takeError()).str();
      continue;
    }
    if (!totals.seen.insert(textWithoutNames(**small)).second)
      continue;
    auto tiled = planOfEntry(*small);
    if (!tiled) {
      llvm::consumeError(tiled.takeError());
      continue;
    }
    std::mt19937_64 random(totals.seen.size());
    BuiltKernel kernel(name + (odd ? ", odd" : ""), *small, *tiled);
    for (int draw = 0; draw < draws && !::testing::Test::HasFailure(); ++draw) {
      auto values = drawValues(*tiled->tiled, random);
      if (!values) {
        ++totals.noValues[kind];
        break;
      }
      std::string why = kernel.check(*values, random());
      if (why.empty())
        ++counts.runs;
      else
        ++counts.reasons["small: " + why];
    }
    totals.stagings += kernel.stagings;
    totals.vectors += kernel.vectors;
    totals.pipelines += kernel.pipelines;
  }
}

} // namespace

TEST(BuiltPrograms, OfBundledModels) {
  auto kernels = bundledKernels();
  ASSERT_TRUE(bool(kernels)) << takeDiag(kernels.takeError()).str();
  Totals totals;
  for (const BundledKernel &kernel : *kernels) {
    auto module = extractGroup(*kernel.module, kernel.source.graph, kernel.source.group);
    if (!module) {
      llvm::consumeError(module.takeError());
      continue;
    }
    checkKernel(kernel.name, **module, totals, 3);
    if (HasFailure())
      break;
  }
  totals.print();
  totals.expectMost(400);
}

TEST(BuiltPrograms, OfRandomPrograms) {
  Totals totals;
  for (ProgramKind kind : {ProgramKind::Elementwise, ProgramKind::Reduction, ProgramKind::Softmax,
                           ProgramKind::Indexed, ProgramKind::Window, ProgramKind::Dot})
    for (uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
      auto module =
          importBuffer(std::make_shared<SourceBuffer>("random.hlo.txt", randomProgram(kind, seed)));
      ASSERT_TRUE(bool(module)) << takeDiag(module.takeError()).str();
      checkKernel(fmt::format("kind {} seed {}", int(kind), seed), *module, totals, 2);
    }
  totals.print();
  totals.expectMost(200);
}
