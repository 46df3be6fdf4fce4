#include "analysis/solve/compiled.h"
#include "analysis/solve/testing/solve.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace tilewright {
namespace {

using Points = std::vector<std::vector<int64_t>>;
using testing::bruteForce;

CompiledSystem compile(const ConstraintSystem &system, SearchOrder order = SearchOrder::Parameter) {
  auto compiled = CompiledSystem::compile(system, order);
  EXPECT_TRUE(bool(compiled));
  return std::move(*compiled);
}

Points solutions(const CompiledSystem &compiled) {
  Points out;
  SearchResult result = compiled.enumerate([&](std::span<const int64_t> point) {
    out.emplace_back(point.begin(), point.end());
    return true;
  });
  EXPECT_EQ(result.end, SearchResult::End::Exhausted);
  EXPECT_EQ(result.solutions, out.size());
  return out;
}

using testing::constraint;

/// The running example of constraint_system.h.
struct Example {
  ExprContext context;
  Expr t0 = context.variable(VarKind::TileParam, "t0");
  Expr t1 = context.variable(VarKind::TileParam, "t1");
  ConstraintSystem system{{{t0.variable(), "t0", {1, 2, 4, 5}}, {t1.variable(), "t1", {1, 2, 4}}},
                          {}};
};

TEST(Compiled, RunningExample) {
  Example e;
  e.system.constraints.push_back(
      constraint(Formula::lessEqual(e.t0 * e.t1, e.context.constant(8))));
  e.system.constraints.push_back(constraint(Formula::divides(e.t1, e.context.constant(4))));
  Points expected{{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {5, 1}};
  EXPECT_EQ(solutions(compile(e.system)), expected);
  EXPECT_EQ(compile(e.system).count().solutions, expected.size());
}

TEST(Compiled, EqualsBruteForceOnRandomSystems) {
  testing::SystemMaker maker(20240601);
  size_t solved = 0, empty = 0;
  for (int round = 0; round < 3000; ++round) {
    testing::RandomSystem random = maker.make();
    Points expected = bruteForce(random.system);
    CompiledSystem compiled = compile(random.system);
    ASSERT_EQ(solutions(compiled), expected) << "round " << round;
    ASSERT_EQ(compiled.count().solutions, expected.size()) << "round " << round;
    ASSERT_EQ(compiled.countAll().solutions, expected.size()) << "round " << round;
    CompiledSystem tightest = compile(random.system, SearchOrder::Tightest);
    Points other = solutions(tightest);
    std::sort(other.begin(), other.end());
    ASSERT_EQ(other, expected) << "round " << round;
    ASSERT_EQ(tightest.count().solutions, expected.size()) << "round " << round;
    (expected.empty() ? empty : solved) += 1;
  }
  EXPECT_GT(solved, 500u);
  EXPECT_GT(empty, 500u);
}

/// Amounts against bounds, as devices have them: sums of products, quotients, one or two parameters
/// on both sides. Six parameters, some of them in no constraint.
testing::RandomSystem amounts(std::mt19937_64 &random) {
  auto below = [&](uint64_t n) { return int64_t(random() % n); };
  testing::RandomSystem out;
  std::vector<Expr> vars;
  for (int i = 0; i < 6; ++i) {
    std::string name = "t" + std::to_string(i);
    vars.push_back(out.context->variable(VarKind::TileParam, name));
    std::set<int64_t> list;
    for (int64_t n = 1 + below(5); n > 0; --n)
      list.insert(1 + below(below(2) ? 8 : 40));
    out.system.parameters.push_back({vars.back().variable(), name, {list.begin(), list.end()}});
  }
  auto var = [&] { return vars[size_t(below(6))]; };
  for (int64_t n = 1 + below(3); n > 0; --n) {
    Expr amount = out.context->constant(below(9));
    for (int64_t terms = 1 + below(3); terms > 0; --terms) {
      Expr term = var() * (1 + below(4));
      for (int64_t factors = below(3); factors > 0; --factors)
        term = below(3) == 0   ? term.ceilDiv(var() * (1 + below(3)))
               : below(4) == 0 ? term.max(var())
                               : term * var();
      amount = amount + term;
    }
    Expr bound = below(3) == 0 ? var() * (1 + below(300)) : out.context->constant(below(3000));
    out.system.constraints.push_back(constraint(below(3) == 0 ? Formula::lessEqual(bound, amount)
                                                              : Formula::lessEqual(amount, bound)));
  }
  return out;
}

TEST(Compiled, EqualsBruteForceOnAmounts) {
  std::mt19937_64 random(11);
  size_t some = 0;
  for (int round = 0; round < 1500; ++round) {
    testing::RandomSystem made = amounts(random);
    Points expected = bruteForce(made.system);
    CompiledSystem compiled = compile(made.system);
    ASSERT_EQ(solutions(compiled), expected) << "round " << round;
    ASSERT_EQ(compiled.count().solutions, expected.size()) << "round " << round;
    ASSERT_EQ(compiled.countAll().solutions, expected.size()) << "round " << round;
    Points other = solutions(compile(made.system, SearchOrder::Tightest));
    std::sort(other.begin(), other.end());
    ASSERT_EQ(other, expected) << "round " << round;
    some += !expected.empty();
  }
  EXPECT_GT(some, 500u);
}

/// What a kernel of several variants needs and demands: amounts that are chosen by conditions, and
/// formulas that matter where a condition holds. Conditions share parts with amounts, amounts with
/// each other.
testing::RandomSystem variants(std::mt19937_64 &random) {
  auto below = [&](uint64_t n) { return int64_t(random() % n); };
  testing::RandomSystem out;
  ExprContext &context = *out.context;
  std::vector<Expr> vars;
  for (int i = 0; i < 5; ++i) {
    std::string name = "t" + std::to_string(i);
    vars.push_back(context.variable(VarKind::TileParam, name));
    std::set<int64_t> list;
    for (int64_t n = 1 + below(4); n > 0; --n)
      list.insert(1 + below(30));
    out.system.parameters.push_back({vars.back().variable(), name, {list.begin(), list.end()}});
  }
  auto var = [&] { return vars[size_t(below(5))]; };
  std::vector<Expr> parts;
  for (int i = 0; i < 4; ++i)
    parts.push_back((var() * var() + below(9)).ceilDiv(var().floorDiv(2).max(1)));
  // Some divide by others: what is left out is no divisor, whatever it was before.
  for (int i = 0; i < 3; ++i) {
    const Expr over = parts[size_t(below(4))] * var(), by = parts[size_t(below(4))] + var();
    parts.push_back(below(2) ? over.floorDiv(by).max(1) : over.mod(by) + 1);
  }
  auto part = [&] { return parts[size_t(below(7))]; };
  Expr amount = context.constant(0);
  for (int i = 0; i < 4; ++i) {
    Expr when = var().isAtLeast(context.constant(2 + below(20)));
    if (below(2))
      when = select(part().isAtLeast(context.constant(30)), when, context.constant(0));
    if (below(3) == 0) { // first a divisor of its own, then what it divides alone
      const Expr own = (var() * var() + below(50)).ceilDiv(var() + 1);
      const Formula isOut = Formula::equal(when, context.constant(0));
      out.system.constraints.push_back(
          constraint(isOut || Formula::lessEqual(own * 2, context.constant(20 + below(200)))));
      out.system.constraints.push_back(constraint(
          isOut ||
          (below(2) ? Formula::divides(own, var())
                    : Formula::lessEqual(var().floorDiv(own), context.constant(below(5))))));
    }
    amount = select(when, part() * var() + part() * (1 + below(4)), amount);
    if (below(2))
      out.system.constraints.push_back(
          constraint(Formula::equal(when, context.constant(0)) ||
                     (below(2) ? Formula::divides(var(), part() * 6)
                               : Formula::lessEqual(part() + amount, part() * 40))));
  }
  out.system.constraints.push_back(
      constraint(Formula::lessEqual(amount, context.constant(below(4000)))));
  return out;
}

TEST(Compiled, EqualsBruteForceOnVariants) {
  std::mt19937_64 random(5);
  size_t some = 0, parted = 0;
  for (int round = 0; round < 1500; ++round) {
    testing::RandomSystem made = variants(random);
    Points expected = bruteForce(made.system);
    CompiledSystem compiled = compile(made.system);
    ASSERT_EQ(solutions(compiled), expected) << "round " << round;
    ASSERT_EQ(compiled.count().solutions, expected.size()) << "round " << round;
    CompiledSystem tightest = compile(made.system, SearchOrder::Tightest);
    ASSERT_EQ(tightest.count().solutions, expected.size()) << "round " << round;
    Points other = solutions(tightest);
    std::sort(other.begin(), other.end());
    ASSERT_EQ(other, expected) << "round " << round;
    some += !expected.empty();
    parted += expected.size() < compiled.countAll().nodes;
  }
  EXPECT_GT(some, 500u);
  EXPECT_GT(parted, 500u);
}

uint64_t costOf(std::span<const int64_t> point, const ConstraintSystem &system,
                const SearchCosts &costs) {
  uint64_t sum = 0;
  for (size_t p = 0; p < point.size(); ++p) {
    const std::vector<int64_t> &list = system.parameters[p].candidates;
    sum += costs.cost[p][size_t(std::ranges::lower_bound(list, point[p]) - list.begin())];
  }
  return sum;
}

/// What a visitor sees of a search with costs that lowers its bound to the cheapest point so far.
uint64_t leastCost(const CompiledSystem &compiled, const ConstraintSystem &system,
                   SearchCosts costs) {
  compiled.enumerate(
      [&](std::span<const int64_t> point) {
        const uint64_t cost = costOf(point, system, costs);
        EXPECT_LE(cost, costs.bound);
        costs.bound = cost;
        return true;
      },
      {}, &costs);
  return costs.bound;
}

/// No constraint is false there beyond doubt, but one has no 64-bit value.
bool hasUndecidedPoint(const CompiledSystem &compiled, const ConstraintSystem &system) {
  bool isFound = false;
  testing::forEachPoint(system, [&](const std::vector<int64_t> &point) {
    const std::vector<std::optional<bool>> truths = compiled.evaluate(point);
    std::vector<Interval> box;
    for (int64_t value : point)
      box.push_back(Interval::point(value));
    isFound |= std::ranges::any_of(truths, [](auto truth) { return !truth; }) &&
               std::ranges::none_of(truths, [](auto truth) { return truth == false; }) &&
               compiled.canHold(box);
  });
  return isFound;
}

/// Lists that are longer than what is evaluated at once.
TEST(Compiled, LongListsAreSearchedInBlocks) {
  testing::SystemMaker maker(23);
  size_t some = 0, undecided = 0, limited = 0;
  for (int round = 0; round < 1000; ++round) {
    testing::RandomSystem random = maker.make(2, 60);
    const Points expected = bruteForce(random.system);
    const CompiledSystem compiled = compile(random.system);
    ASSERT_EQ(solutions(compiled), expected) << "round " << round;
    const SearchResult count = compiled.count();
    ASSERT_EQ(count.solutions, expected.size()) << "round " << round;
    if (hasUndecidedPoint(compiled, random.system)) {
      ASSERT_GT(count.undecided, 0u) << "round " << round;
      ++undecided;
    }
    // A limit leaves the first ones.
    const SearchLimits few{1 + count.nodes / 3};
    Points first;
    const SearchResult part = compiled.enumerate(
        [&](std::span<const int64_t> point) {
          first.emplace_back(point.begin(), point.end());
          return true;
        },
        few);
    ASSERT_LE(first.size(), expected.size());
    ASSERT_TRUE(std::equal(first.begin(), first.end(), expected.begin())) << "round " << round;
    SearchCosts costs;
    for (const SolveParameter &parameter : random.system.parameters) {
      costs.cost.emplace_back();
      for (size_t i = 0; i < parameter.candidates.size(); ++i)
        costs.cost.back().push_back(uint32_t(maker.below(1000)));
    }
    uint64_t least = UINT64_MAX;
    for (const std::vector<int64_t> &point : expected)
      least = std::min(least, costOf(point, random.system, costs));
    ASSERT_EQ(leastCost(compiled, random.system, costs), least) << "round " << round;
    some += expected.size() > 16;
    limited += part.end == SearchResult::End::LimitReached;
  }
  EXPECT_GT(some, 100u);
  EXPECT_GT(undecided, 50u);
  EXPECT_GT(limited, 100u);
}

TEST(Compiled, WhatIsFreeBelowIsMultiplied) {
  auto count = [](int64_t most, int free) {
    ExprContext context;
    ConstraintSystem system;
    std::vector<Expr> vars;
    for (int i = 0; i < 2 + free; ++i) {
      std::string name = "t" + std::to_string(i);
      vars.push_back(context.variable(VarKind::TileParam, name));
      std::vector<int64_t> values;
      for (int64_t v = 1; v <= (i < 2 ? 8 : 64); ++v)
        values.push_back(v);
      system.parameters.push_back({vars.back().variable(), name, values});
    }
    system.constraints.push_back(
        constraint(Formula::lessEqual(vars[0] * vars[1], context.constant(most))));
    return compile(system).count();
  };
  for (int64_t most : {0, 1, 10, 64}) {
    uint64_t pairs = 0;
    for (int64_t a = 1; a <= 8; ++a)
      for (int64_t b = 1; b <= 8; ++b)
        pairs += a * b <= most;
    const SearchResult result = count(most, 3);
    EXPECT_EQ(result.end, SearchResult::End::Exhausted);
    EXPECT_EQ(result.solutions, pairs * 64 * 64 * 64);
    EXPECT_LE(result.nodes, 8u + 8 * 8); // none for each value of the others
  }
  // 64^12 are more than 64 bits hold; none of them is none.
  EXPECT_EQ(count(10, 12).end, SearchResult::End::LimitReached);
  EXPECT_EQ(count(0, 12).end, SearchResult::End::Exhausted);
  EXPECT_EQ(count(0, 12).solutions, 0u);
}

TEST(Compiled, ParametersWithoutConstraintsRepeatWhatLiesBelow) {
  // t1 speaks of nothing: for each t0, its 4 values repeat what t2 and t3 leave.
  ExprContext context;
  ConstraintSystem system;
  std::vector<Expr> vars;
  for (int i = 0; i < 4; ++i) {
    std::string name = "t" + std::to_string(i);
    vars.push_back(context.variable(VarKind::TileParam, name));
    system.parameters.push_back({vars.back().variable(), name, {1, 2, 3, 4}});
  }
  system.constraints.push_back(
      constraint(Formula::lessEqual(vars[0] * vars[2] * vars[3], context.constant(12))));
  Points expected = bruteForce(system);
  CompiledSystem compiled = compile(system);
  EXPECT_EQ(solutions(compiled), expected);
  for (size_t enough = 1; enough <= expected.size(); ++enough) {
    Points seen;
    SearchResult result = compiled.enumerate([&](std::span<const int64_t> point) {
      seen.emplace_back(point.begin(), point.end());
      return seen.size() < enough;
    });
    EXPECT_EQ(result.end, SearchResult::End::Stopped);
    EXPECT_EQ(seen, Points(expected.begin(), expected.begin() + ptrdiff_t(enough)));
  }
  EXPECT_EQ(compiled.enumerate([](auto) { return true; }, {.maxNodes = 40}).end,
            SearchResult::End::LimitReached);
  // More than is kept for repeating: found again each time.
  for (SolveParameter &parameter : system.parameters)
    parameter.candidates.clear();
  for (int64_t v = 1; v <= 700; ++v)
    for (int i : {2, 3})
      system.parameters[size_t(i)].candidates.push_back(v);
  system.parameters[0].candidates = {1};
  system.parameters[1].candidates = {1, 2, 3};
  system.constraints[0] = constraint(Formula::lessEqual(vars[2] + vars[3], context.constant(1000)));
  uint64_t sum = 0;
  SearchResult result = compile(system).enumerate([&](std::span<const int64_t> point) {
    EXPECT_LE(point[2] + point[3], 1000);
    sum += uint64_t(point[1]);
    return true;
  });
  EXPECT_EQ(result.solutions, 3u * (700 * 700 - 400 * 401 / 2));
  EXPECT_EQ(sum, 6u * (result.solutions / 3));
}

/// Where a box is ruled out, no point in it is accepted.
TEST(Compiled, BoxesWithPointsCanHold) {
  testing::SystemMaker maker(13);
  std::mt19937_64 random(17);
  size_t ruledOut = 0;
  for (int round = 0; round < 1000; ++round) {
    const testing::RandomSystem made = maker.make();
    const CompiledSystem compiled = compile(made.system);
    std::vector<Interval> box;
    for (const SolveParameter &parameter : made.system.parameters) {
      const std::vector<int64_t> &list = parameter.candidates;
      if (list.empty())
        break;
      const auto [low, high] =
          std::minmax(list[random() % list.size()], list[random() % list.size()]);
      box.push_back({low, high});
    }
    if (box.size() < made.system.parameters.size() || compiled.canHold(box))
      continue;
    ++ruledOut;
    for (const std::vector<int64_t> &point : bruteForce(made.system)) {
      bool isInside = true;
      for (size_t p = 0; p < box.size(); ++p)
        isInside &= box[p].lo <= point[p] && point[p] <= box[p].hi;
      ASSERT_FALSE(isInside) << "round " << round;
    }
  }
  EXPECT_GT(ruledOut, 100u);
}

TEST(Compiled, PointEvaluationEqualsFormulas) {
  testing::SystemMaker maker(7);
  for (int round = 0; round < 300; ++round) {
    testing::RandomSystem random = maker.make();
    CompiledSystem compiled = compile(random.system);
    testing::forEachPoint(random.system, [&](const std::vector<int64_t> &point) {
      Assignment assignment = random.system.assign(point);
      std::vector<std::optional<bool>> truths = compiled.evaluate(point);
      for (size_t i = 0; i < truths.size(); ++i)
        ASSERT_EQ(truths[i], random.system.constraints[i].formula.evaluate(assignment));
    });
  }
}

TEST(Compiled, NoConstraintsGivesTheWholeGrid) {
  Example e;
  EXPECT_EQ(solutions(compile(e.system)).size(), 12u);
  SearchResult counted = compile(e.system).count();
  EXPECT_EQ(counted.solutions, 12u);
  EXPECT_EQ(counted.nodes, 0u);
}

TEST(Compiled, NoParametersIsOnePointOrNone) {
  ConstraintSystem system;
  EXPECT_EQ(solutions(compile(system)), Points{{}});
  system.constraints.push_back(constraint(Formula::constant(false)));
  EXPECT_EQ(compile(system).count().verdict(), Verdict::No);
}

TEST(Compiled, AnEmptyListHasNoPoint) {
  Example e;
  e.system.parameters[1].candidates.clear();
  EXPECT_TRUE(solutions(compile(e.system)).empty());
  EXPECT_EQ(compile(e.system).count().verdict(), Verdict::No);
}

TEST(Compiled, OverflowIsUndecidedUnlessItIsFalseBeyondDoubt) {
  Example e;
  int64_t big = int64_t(1) << 62;
  e.system.parameters[0].candidates = {1, big};
  e.system.parameters[1].candidates = {1, 4};
  // big · 4 overflows, but is certainly over the bound.
  e.system.constraints.push_back(
      constraint(Formula::lessEqual(e.t0 * e.t1, e.context.constant(9))));
  SearchResult result = compile(e.system).count();
  EXPECT_EQ(result.solutions, 2u);
  EXPECT_EQ(result.undecided, 0u);
  EXPECT_EQ(compile(e.system).countAll().solutions, 2u);
  EXPECT_EQ(compile(e.system).countAll().undecided, 0u);
  // Here it would hold over the unbounded integers.
  e.system.constraints = {constraint(Formula::lessEqual(e.context.constant(5), e.t0 * e.t1))};
  result = compile(e.system).count();
  EXPECT_EQ(result.solutions, 1u);
  EXPECT_EQ(result.undecided, 1u);
  EXPECT_EQ(result.undecidedConstraint, 0u);
  e.system.parameters[0].candidates = {big};
  e.system.parameters[1].candidates = {4};
  EXPECT_EQ(compile(e.system).count().verdict(), Verdict::Unknown);
}

TEST(Compiled, AVariableThatIsNoParameterIsUndecided) {
  Example e;
  e.system.constraints.push_back(
      constraint(Formula::lessEqual(e.context.dim(0), e.context.constant(9))));
  SearchResult result = compile(e.system).count();
  EXPECT_EQ(result.solutions, 0u);
  EXPECT_EQ(result.verdict(), Verdict::Unknown);
  // The other side of an "or" decides.
  e.system.constraints[0].formula =
      e.system.constraints[0].formula || Formula::lessEqual(e.t0, e.context.constant(2));
  EXPECT_EQ(compile(e.system).count().solutions, 6u);
}

TEST(Compiled, StopsWhenAskedOrOutOfNodes) {
  Example e;
  size_t seen = 0;
  SearchResult result =
      compile(e.system).enumerate([&](std::span<const int64_t>) { return ++seen < 3; });
  EXPECT_EQ(seen, 3u);
  EXPECT_EQ(result.end, SearchResult::End::Stopped);
  EXPECT_EQ(result.verdict(), Verdict::Yes);
}

TEST(Compiled, RunningOutOfNodesIsUnknown) {
  Example e;
  e.system.constraints.push_back(
      constraint(Formula::equal((e.t0 * e.t1).mod(7), e.context.constant(0))));
  EXPECT_EQ(compile(e.system).count().verdict(), Verdict::No);
  EXPECT_EQ(compile(e.system).count({.maxNodes = 3}).verdict(), Verdict::Unknown);
  EXPECT_EQ(compile(e.system).countAll().verdict(), Verdict::No);
  EXPECT_EQ(compile(e.system).countAll({.maxNodes = 3}).verdict(), Verdict::Unknown);
}

TEST(Compiled, CountsOverSixtyFourBitsAreALimit) {
  ExprContext context;
  ConstraintSystem system;
  for (int i = 0; i < 20; ++i) {
    std::string name = "t" + std::to_string(i);
    system.parameters.push_back({context.variable(VarKind::TileParam, name).variable(), name, {}});
    for (int64_t v = 1; v <= 16; ++v)
      system.parameters.back().candidates.push_back(v);
  }
  EXPECT_EQ(compile(system).count().end, SearchResult::End::LimitReached);
  system.parameters.resize(15);
  EXPECT_EQ(compile(system).count().solutions, uint64_t(1) << 60);
}

TEST(Compiled, PruningKeepsLargeSpacesSmall) {
  // 1,000,000,000 points, of which t0 · t1 · t2 ≤ 10 leaves 53.
  ExprContext context;
  ConstraintSystem system;
  Expr product = context.constant(1);
  for (int i = 0; i < 3; ++i) {
    std::string name = "t" + std::to_string(i);
    Expr var = context.variable(VarKind::TileParam, name);
    system.parameters.push_back({var.variable(), name, {}});
    for (int64_t v = 1; v <= 1000; ++v)
      system.parameters.back().candidates.push_back(v);
    product = product * var;
  }
  system.constraints.push_back(constraint(Formula::lessEqual(product, context.constant(10))));
  SearchResult result = compile(system).count();
  EXPECT_EQ(result.solutions, 53u);
  EXPECT_LT(result.nodes, 20000u);
}

TEST(Compiled, RefusesMalformedSystems) {
  Example e;
  auto refused = [](const ConstraintSystem &system) {
    auto compiled = CompiledSystem::compile(system);
    return compiled ? std::nullopt : std::optional(takeDiag(compiled.takeError()).cls);
  };
  ConstraintSystem twice = e.system;
  twice.parameters.push_back(twice.parameters[0]);
  EXPECT_EQ(refused(twice), DiagClass::Internal);
  ConstraintSystem unsorted = e.system;
  unsorted.parameters[0].candidates = {2, 1};
  EXPECT_EQ(refused(unsorted), DiagClass::Internal);
  ConstraintSystem wide;
  for (int i = 0; i < 65; ++i)
    wide.parameters.push_back(
        {e.context.freshVariable(VarKind::TileParam, "w").variable(), "w", {1}});
  EXPECT_EQ(refused(wide), DiagClass::Unsupported);
}

} // namespace
} // namespace tilewright
