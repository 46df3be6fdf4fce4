#include "analysis/solve/explain.h"
#include "analysis/solve/testing/solve.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <bit>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::bruteForce;
using testing::constraint;

Explanation explained(const ConstraintSystem &system, const Choice &choice,
                      const ExplainOptions &options = {}) {
  auto result = explain(system, choice, options);
  if (result)
    return *result;
  ADD_FAILURE() << takeDiag(result.takeError()).message;
  return {};
}

/// A system with the choice as lists of one, for the members of a core.
ConstraintSystem restricted(ConstraintSystem system, const Choice &choice,
                            const std::vector<size_t> &constraints,
                            const std::vector<size_t> &choices) {
  system = system.withConstraints(constraints);
  for (size_t p = 0; p < choice.size(); ++p) {
    std::vector<int64_t> &list = system.parameters[p].candidates;
    if (std::find(choices.begin(), choices.end(), p) != choices.end()) {
      list = {*choice[p]};
    } else if (choice[p]) {
      list.push_back(*choice[p]);
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  return system;
}

/// Members of the smallest conflict, by trying all subsets; nothing when there is none.
std::optional<size_t> smallestConflict(const ConstraintSystem &system, const Choice &choice) {
  std::vector<size_t> chosen;
  for (size_t p = 0; p < choice.size(); ++p)
    if (choice[p])
      chosen.push_back(p);
  size_t count = system.constraints.size() + chosen.size();
  std::optional<size_t> best;
  for (uint32_t set = 0; set < uint32_t(1) << count; ++set) {
    size_t size = size_t(std::popcount(set));
    if (best && size >= *best)
      continue;
    std::vector<size_t> constraints, choices;
    for (size_t i = 0; i < count; ++i)
      if (set >> i & 1)
        (i < system.constraints.size() ? constraints : choices)
            .push_back(i < system.constraints.size() ? i : chosen[i - system.constraints.size()]);
    if (bruteForce(restricted(system, choice, constraints, choices)).empty())
      best = size;
  }
  return best;
}

Choice randomChoice(testing::SystemMaker &maker, const ConstraintSystem &system) {
  Choice choice;
  for (const SolveParameter &parameter : system.parameters) {
    const std::vector<int64_t> &list = parameter.candidates;
    switch (maker.below(3)) {
    case 0:
      choice.push_back(std::nullopt);
      break;
    case 1:
      choice.push_back(list[size_t(maker.below(int64_t(list.size())))]);
      break;
    default:
      choice.push_back(1 + maker.below(70));
    }
  }
  return choice;
}

TEST(Explain, CoresAreSmallestConflictsOnRandomSystems) {
  testing::SystemMaker maker(20240605);
  size_t cores = 0, feasible = 0, certified = 0;
  for (int round = 0; round < 160; ++round) {
    testing::RandomSystem random = maker.make();
    Choice choice = randomChoice(maker, random.system);
    std::vector<size_t> all, chosen;
    for (size_t c = 0; c < random.system.constraints.size(); ++c)
      all.push_back(c);
    for (size_t p = 0; p < choice.size(); ++p)
      if (choice[p])
        chosen.push_back(p);
    auto completions = bruteForce(restricted(random.system, choice, all, chosen));
    Explanation result = explained(random.system, choice);
    if (result.feasible == Verdict::Unknown) {
      EXPECT_TRUE(completions.empty());
      continue;
    }
    ASSERT_EQ(result.feasible == Verdict::Yes, !completions.empty()) << "round " << round;
    if (result.feasible == Verdict::Yes) {
      ++feasible;
      EXPECT_TRUE(std::binary_search(completions.begin(), completions.end(), result.witness));
      continue;
    }
    if (!result.core)
      continue; // a subset is undecided
    ++cores;
    const Core &core = *result.core;
    EXPECT_TRUE(
        bruteForce(restricted(random.system, choice, core.constraints, core.choices)).empty());
    if (core.isSmallest) {
      EXPECT_EQ(core.size(), smallestConflict(random.system, choice)) << "round " << round;
    }
    EXPECT_TRUE(core.isMinimal || !core.isSmallest);
    EXPECT_EQ(core.text.size(), core.size());
    certified += core.isCertified;
    Explanation again = explained(random.system, choice);
    ASSERT_TRUE(again.core.has_value());
    EXPECT_EQ(again.core->text, core.text) << "the second run differs";
    EXPECT_EQ(again.core->constraints, core.constraints) << "the second run differs";
  }
  EXPECT_GT(cores, 40u);
  EXPECT_GT(feasible, 15u);
  EXPECT_GT(certified, cores * 9 / 10);
}

uint64_t stepsBetween(int64_t from, int64_t to, const std::vector<int64_t> &list) {
  uint64_t steps = 0;
  for (int64_t candidate : list)
    steps += from < to ? from < candidate && candidate <= to : to <= candidate && candidate < from;
  return steps;
}

TEST(Nearest, EqualsBruteForceOnRandomSystems) {
  testing::SystemMaker maker(20240606);
  size_t found = 0, none = 0;
  for (int round = 0; round < 1500; ++round) {
    testing::RandomSystem random = maker.make();
    Choice choice = randomChoice(maker, random.system);
    std::optional<uint64_t> best;
    std::vector<int64_t> first;
    for (const std::vector<int64_t> &point : bruteForce(random.system)) {
      uint64_t steps = 0;
      for (size_t p = 0; p < point.size(); ++p)
        if (choice[p])
          steps += stepsBetween(*choice[p], point[p], random.system.parameters[p].candidates);
      if (!best || steps < *best) {
        best = steps;
        first = point;
      }
    }
    auto nearest = nearestFeasible(random.system, choice);
    ASSERT_TRUE(bool(nearest));
    if (!best) {
      EXPECT_NE(nearest->found, Verdict::Yes);
      ++none;
      continue;
    }
    ++found;
    ASSERT_EQ(nearest->found, Verdict::Yes);
    EXPECT_TRUE(nearest->isNearest);
    ASSERT_EQ(nearest->steps, *best) << "round " << round;
    EXPECT_EQ(nearest->values, first) << "round " << round;
  }
  EXPECT_GT(found, 300u);
  EXPECT_GT(none, 300u);
}

struct Reshape {
  ExprContext context;
  Expr t0 = context.variable(VarKind::TileParam, "t0");
  Expr t1 = context.variable(VarKind::TileParam, "t1");
  ConstraintSystem system;
  Reshape() {
    system.parameters = {{t0.variable(), "t0", {1, 2, 4, 8, 16, 32, 64, 128}},
                         {t1.variable(), "t1", {1, 2, 4, 8, 16, 32}}};
    Expr e64 = context.constant(64);
    Constraint split = constraint(Formula::divides(t0, e64) || Formula::divides(e64, t0),
                                  "tile {0} must divide 64 or be a multiple of 64");
    split.from.opName = "%reshape.7";
    split.from.dim = 1;
    split.from.textArgs = {t0};
    system.constraints.push_back(split);
    system.constraints.push_back(
        constraint(Formula::lessEqual(t0 * t1, context.constant(256)), "at most 256 elements"));
  }
};

TEST(Explain, NamesTheRuleInWords) {
  Reshape r;
  Explanation result = explained(r.system, {48, 1});
  EXPECT_EQ(result.feasible, Verdict::No);
  EXPECT_EQ(result.violated, std::vector<size_t>({0}));
  ASSERT_TRUE(result.core.has_value());
  EXPECT_TRUE(result.core->isSmallest);
  EXPECT_TRUE(result.core->isCertified);
  EXPECT_EQ(
      result.core->text,
      (std::vector<std::string>{"%reshape.7 dim 1: tile 48 must divide 64 or be a multiple of 64",
                                "chosen: t0 = 48"}));
  ASSERT_TRUE(result.nearest.has_value());
  EXPECT_EQ(result.nearest->values, std::vector<int64_t>({32, 1}));
  EXPECT_EQ(result.nearest->steps, 1u);
}

TEST(Explain, AFreeParameterIsCompleted) {
  Reshape r;
  Explanation result = explained(r.system, {128, std::nullopt});
  EXPECT_EQ(result.feasible, Verdict::Yes);
  EXPECT_EQ(result.witness, std::vector<int64_t>({128, 1}));
  result = explained(r.system, {128, 32});
  ASSERT_TRUE(result.core.has_value());
  EXPECT_EQ(result.core->constraints, std::vector<size_t>({1}));
  EXPECT_EQ(result.core->choices, std::vector<size_t>({0, 1}));
}

TEST(Explain, AnInfeasibleSystemNeedsNoChoice) {
  Reshape r;
  r.system.constraints.push_back(
      constraint(Formula::lessEqual(r.context.constant(300), r.t0 * r.t1), "at least 300"));
  Explanation result = explained(r.system, {std::nullopt, std::nullopt});
  EXPECT_EQ(result.feasible, Verdict::No);
  ASSERT_TRUE(result.core.has_value());
  EXPECT_EQ(result.core->constraints, std::vector<size_t>({1, 2}));
  EXPECT_TRUE(result.core->choices.empty());
  ASSERT_TRUE(result.nearest.has_value());
  EXPECT_EQ(result.nearest->found, Verdict::No);
}

TEST(Explain, SaysWhatItDoesNotKnow) {
  Reshape r;
  // A product over 64 bits.
  r.system.parameters[0].candidates = {int64_t(1) << 62};
  r.system.constraints = {constraint(Formula::lessEqual(r.context.constant(7), r.t0 * r.t1))};
  Explanation complete = explained(r.system, {int64_t(1) << 62, 8});
  EXPECT_EQ(complete.feasible, Verdict::Unknown);
  EXPECT_EQ(complete.undecided, std::vector<size_t>({0}));
  EXPECT_FALSE(complete.reason.empty());
  r.system.parameters[1].candidates = {8, 16};
  Explanation open = explained(r.system, {int64_t(1) << 62, std::nullopt});
  EXPECT_EQ(open.feasible, Verdict::Unknown);
  EXPECT_FALSE(open.reason.empty());
}

TEST(Explain, ASpentSearchAsksTheSolver) {
  Reshape r;
  r.system.constraints.push_back(
      constraint(Formula::lessEqual(r.context.constant(300), r.t0 * r.t1), "at least 300"));
  ExplainOptions options;
  options.limits.maxNodes = 1;
  options.findNearest = false;
  Explanation result = explained(r.system, {std::nullopt, std::nullopt}, options);
  EXPECT_EQ(result.feasible, Verdict::No);
  ASSERT_TRUE(result.core.has_value());
  EXPECT_TRUE(result.core->isCertified);
  EXPECT_EQ(result.core->constraints, std::vector<size_t>({1, 2}));
}

TEST(Explain, ASpentCoreSearchStillNamesAViolation) {
  Reshape r;
  ExplainOptions options;
  options.limits.maxNodes = 0;
  options.findNearest = false;
  Explanation result = explained(r.system, {128, 32}, options);
  EXPECT_EQ(result.feasible, Verdict::No);
  ASSERT_TRUE(result.core.has_value());
  EXPECT_EQ(result.core->constraints, std::vector<size_t>({1}));
  EXPECT_EQ(result.core->choices, std::vector<size_t>({0, 1}));
  EXPECT_FALSE(result.core->isSmallest);
  EXPECT_TRUE(result.core->isCertified);
}

TEST(Explain, SaysWhatTheSolverSpent) {
  Reshape r;
  ExplainOptions options;
  options.solver.rlimit = 123'456;
  Explanation certified = explained(r.system, {128, 32}, options);
  EXPECT_GT(certified.spent, 0u);
  EXPECT_EQ(certified.allowed, 123'456u);
  EXPECT_TRUE(certified.isReproducible);
  EXPECT_EQ(explained(r.system, {128, 32}, options).spent, certified.spent);
  options.certify = false;
  EXPECT_EQ(explained(r.system, {128, 32}, options).spent, 0u);
}

TEST(Explain, EmptyListsAndWrongLengths) {
  Reshape r;
  r.system.parameters[1].candidates.clear();
  Explanation result = explained(r.system, {2, std::nullopt});
  EXPECT_EQ(result.feasible, Verdict::No);
  ASSERT_TRUE(result.core.has_value());
  EXPECT_EQ(result.core->size(), 0u);
  EXPECT_EQ(result.core->text, std::vector<std::string>({"t1 has no candidate sizes"}));
  auto refused = explain(r.system, {2});
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(takeDiag(refused.takeError()).cls, DiagClass::BadInput);
}

} // namespace
} // namespace tilewright
