// Each rewrite rule is applied on an example of its own, and the example keeps its meaning.
#include "analysis/affine/index_map.h"
#include "analysis/affine/rules.h"

#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace tilewright;

namespace {

/// x and y in [-12, 35], p and q in [0, 7], sizes t and u in [1, 6].
struct Vars {
  ExprContext c;
  Expr x = c.dim(0), y = c.dim(1), p = c.range(0), q = c.range(1);
  Expr t = c.variable(VarKind::TileParam, "t"), u = c.variable(VarKind::TileParam, "u");
  std::vector<MapVariable> domains{
      {x, {-12, 35}, {}}, {y, {-12, 35}, {}}, {p, {0, 7}, {}},
      {q, {0, 7}, {}},    {t, {1, 6}, {}},    {u, {1, 6}, {}},
  };
  Expr k(int64_t value) { return c.constant(value); }
  Bounds bounds() const {
    Bounds result;
    for (const MapVariable &v : domains)
      result.set(v.var, v.domain);
    return result;
  }

  /// Points spread over the domains, ends included.
  std::vector<Assignment> points() const {
    std::vector<Assignment> result;
    for (int n = 0; n < 4000; ++n) {
      Assignment at;
      int64_t mixed = n;
      for (const MapVariable &v : domains) {
        int64_t size = v.domain.hi - v.domain.lo + 1;
        mixed = mixed * 7919 + 104729;
        at.set(v.var, n < 2 ? (n == 0 ? v.domain.lo : v.domain.hi) : v.domain.lo + mixed % size);
        mixed %= 1000003;
      }
      result.push_back(at);
    }
    return result;
  }
};

struct ExprExample {
  Rule rule;
  std::function<Expr(Vars &)> make;
};

const std::vector<ExprExample> exprExamples{
    {Rule::FoldPoison, [](Vars &v) { return (v.k(INT64_MAX) + 1) + v.x; }},
    {Rule::FoldConstants, [](Vars &v) { return v.k(7).floorDiv(v.k(2)) + v.x; }},
    {Rule::OrderOperands, [](Vars &v) { return v.y + v.x; }},
    {Rule::AddZero, [](Vars &v) { return v.x + 0; }},
    {Rule::MulOne, [](Vars &v) { return v.x * 1; }},
    {Rule::MulZero, [](Vars &v) { return v.x * 0; }},
    {Rule::DivideByOne, [](Vars &v) { return v.x.ceilDiv(1) + v.y.floorDiv(1); }},
    {Rule::ModOne, [](Vars &v) { return v.x.mod(1); }},
    {Rule::DivisorNotPositive, [](Vars &v) { return v.x.mod(0); }},
    {Rule::SameOperands, [](Vars &v) { return v.x.min(v.x); }},
    {Rule::CompareSame, [](Vars &v) { return v.x.isAtLeast(v.x) + v.y.isEqual(v.y); }},
    {Rule::SelectKnown,
     [](Vars &v) { return select(v.k(3), v.x, v.y) + select(v.k(0), v.x, v.p); }},
    {Rule::SelectSame, [](Vars &v) { return select(v.x, v.y, v.y); }},
    {Rule::CompareByRange,
     [](Vars &v) {
       return (v.p + 1).isAtLeast(v.k(0)) + v.x.isAtLeast(v.x + 1) * 2 + v.p.isEqual(v.k(9)) * 4 +
              (v.x + v.y).isEqual(v.y + v.x) * 8;
     }},
    {Rule::PowerByRange, [](Vars &v) { return (v.t + 16).pow2Ceil() + (v.p + 8).log2() * 100; }},
    {Rule::SelectByRange, [](Vars &v) { return select(v.t, v.x, v.y); }},
    {Rule::SelectTruth, [](Vars &v) { return select(v.x.isAtLeast(v.y), v.k(1), v.k(0)); }},
    {Rule::SelectMinMax,
     [](Vars &v) {
       Expr c = v.x.isAtLeast(v.y);
       return select(c, v.x, v.y) + select(c, v.y, v.x) * 100;
     }},
    {Rule::SelectEqual,
     [](Vars &v) {
       Expr c = v.x.isEqual(v.y);
       return select(c, v.x, v.y) + select(c, v.y, v.x) * 100;
     }},
    {Rule::KnownVariable,
     [](Vars &v) {
       v.domains[0].domain = {5, 5};
       return v.x + v.y;
     }},
    {Rule::FlattenSum, [](Vars &v) { return (v.x + v.p) + (v.y + v.q); }},
    {Rule::CollectTerms, [](Vars &v) { return v.x * 2 + v.y + v.x * 3; }},
    {Rule::Distribute, [](Vars &v) { return (v.x + v.y) * (v.p + 2); }},
    {Rule::RecombineMod, [](Vars &v) { return v.x.floorDiv(5) * 5 + v.x.mod(5); }},
    {Rule::RecombineMod,
     [](Vars &v) { return v.x.floorDiv(v.t) * v.t * v.p + v.x.mod(v.t) * v.p; }},
    {Rule::RecombineCongruent,
     [](Vars &v) { return (v.x * 13).mod(8) + (v.x * 13).floorDiv(8) * 8; }},
    {Rule::RecombineMods, [](Vars &v) { return v.x.mod(4) + v.x.floorDiv(4).mod(8) * 4; }},
    {Rule::RecombineMods, [](Vars &v) { return (-v.x).mod(4) + (-v.x).floorDiv(4).mod(8) * 4; }},
    {Rule::RecombineFloorDiv, [](Vars &v) { return v.x - v.x.floorDiv(5) * 5; }},
    {Rule::RecombineFloorDiv, [](Vars &v) { return v.x * v.p - v.x.floorDiv(v.t) * v.t * v.p; }},
    {Rule::CeilToFloor, [](Vars &v) { return v.x.ceilDiv(4); }},
    {Rule::FloorDivOnePeriod, [](Vars &v) { return (v.p + 16).floorDiv(8); }},
    {Rule::FloorDivMultiples, [](Vars &v) { return (v.x * 8 + v.y).floorDiv(8); }},
    {Rule::FloorDivSplit, [](Vars &v) { return (v.x * 8 + v.p + 8).floorDiv(24); }},
    {Rule::FloorDivNested, [](Vars &v) { return (v.x.floorDiv(3) + v.y).floorDiv(4); }},
    {Rule::FloorDivOfMod, [](Vars &v) { return v.x.mod(12).floorDiv(4); }},
    {Rule::ModOnePeriod, [](Vars &v) { return (v.p + 40).mod(8); }},
    {Rule::ModOpen, [](Vars &v) { return (v.x.mod(4) * 6 + v.y).mod(8); }},
    {Rule::ModReduce, [](Vars &v) { return (v.x * -3 + 11).mod(8); }},
    {Rule::ModSplit, [](Vars &v) { return (v.x * 8 + v.p - 8).mod(24); }},
    {Rule::ExtractFloorDiv, [](Vars &v) { return (v.x * v.t + v.y).floorDiv(v.t); }},
    {Rule::ExtractCeilDiv, [](Vars &v) { return (v.x * v.t + v.y).ceilDiv(v.t); }},
    {Rule::ExtractMod, [](Vars &v) { return (v.x * v.t + v.y).mod(v.t); }},
    {Rule::SymbolicFloorDivOnePeriod, [](Vars &v) { return v.p.floorDiv(v.t + 7); }},
    {Rule::SymbolicCeilDivOnePeriod, [](Vars &v) { return (-v.p).ceilDiv(v.t + 8); }},
    {Rule::SymbolicModOnePeriod, [](Vars &v) { return (v.p - 8).mod(v.t + 7); }},
    {Rule::DivideOfMod, [](Vars &v) { return v.x.mod(v.t * v.u).floorDiv(v.t * v.u); }},
    {Rule::DivideOfMod, [](Vars &v) { return v.x.mod(v.t).mod(v.t); }},
    {Rule::CommonFactorFloorDiv, [](Vars &v) { return (v.x * v.t).floorDiv(v.t * v.u); }},
    {Rule::CommonFactorCeilDiv, [](Vars &v) { return (v.x * v.t * 4).ceilDiv(v.t * v.u * 6); }},
    {Rule::CommonFactorMod, [](Vars &v) { return (v.x * v.t * 4).mod(v.t * v.u * 6); }},
    {Rule::SymbolicNested, [](Vars &v) { return v.p.floorDiv(3).floorDiv(v.t); }},
    {Rule::FlattenMinMax, [](Vars &v) { return v.x.min(v.y.min(v.p)) + v.x.max(v.y.max(v.x)); }},
    {Rule::MinMaxByRange, [](Vars &v) { return v.p.min(v.x * 0 + 9) + v.x.max(v.x + 3); }},
    {Rule::MinMaxCommonTerms, [](Vars &v) { return (v.x + v.y).max(v.x + v.p); }},
    {Rule::MinMaxCommonFactor, [](Vars &v) { return (v.x * 6).min(v.y * 9); }},
};

struct MapExample {
  Rule rule;
  std::function<std::vector<MapConstraint>(Vars &)> make;
};

const std::vector<MapExample> mapExamples{
    {Rule::ConstraintHolds,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x + v.y, {-24, 80}}};
     }},
    {Rule::ConstraintFails,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x + v.y, {71, 80}}};
     }},
    {Rule::ConstraintShift,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x + v.y + 3, {0, 9}}};
     }},
    {Rule::ConstraintScale,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x * -6 + v.y * 3, {2, 20}}};
     }},
    {Rule::ConstraintFloorDiv,
     [](Vars &v) {
       return std::vector<MapConstraint>{{(v.x + v.y).floorDiv(5), {-1, 3}}};
     }},
    {Rule::ConstraintModPoint,
     [](Vars &v) {
       return std::vector<MapConstraint>{{(v.x + v.y).mod(5), {2, 2}}};
     }},
    {Rule::ConstraintHighDigits,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x * 8 + v.p, {16, 47}}};
     }},
    {Rule::ConstraintNarrows,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x - v.p * 2, {3, 9}}};
     }},
    {Rule::CongruenceScale,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x * 3 + v.y * 3 + 1, {}, 7, 4}};
     }},
    {Rule::CongruenceNarrows,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x, {}, 7, 4}};
     }},
    {Rule::CongruenceMerge,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x + v.y, {}, 6, 4}, {v.x + v.y, {}, 4, 2}};
     }},
    {Rule::CongruenceMerge,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x + v.y, {}, 6, 4}, {v.x + v.y, {}, 4, 1}};
     }},
    {Rule::EveryValue,
     [](Vars &v) {
       return std::vector<MapConstraint>{{v.x.mod(12) * v.x, {20, 30}}};
     }},
};

} // namespace

TEST(Rules, EveryRuleHasAnExample) {
  std::set<Rule> covered;
  for (const ExprExample &example : exprExamples)
    covered.insert(example.rule);
  for (const MapExample &example : mapExamples)
    covered.insert(example.rule);
  for (const RuleInfo &rule : rules())
    EXPECT_TRUE(covered.count(rule.rule)) << rule.name;
}

TEST(Rules, AreApplied) {
  for (const ExprExample &example : exprExamples) {
    Vars v;
    Expr before = example.make(v);
    Expr after = Simplifier(v.c, v.bounds()).simplify(before);
    EXPECT_GT(v.c.ruleCounts()[example.rule], 0u)
        << info(example.rule).name << ": " << before.str() << " -> " << after.str();
    for (const Assignment &at : v.points())
      ASSERT_EQ(evaluate(before, at), evaluate(after, at))
          << info(example.rule).name << ": " << before.str() << " -> " << after.str();
  }
}

TEST(Rules, OfConstraintsAreApplied) {
  for (const MapExample &example : mapExamples) {
    Vars v;
    IndexMap before(v.c, v.domains, {v.x, v.y, v.p}, example.make(v));
    IndexMap after = before.simplified();
    EXPECT_GT(v.c.ruleCounts()[example.rule], 0u)
        << info(example.rule).name << ": " << before.str() << " -> " << after.str();
    for (const Assignment &at : v.points())
      ASSERT_EQ(before.evaluate(at), after.evaluate(at))
          << info(example.rule).name << ": " << before.str() << " -> " << after.str();
  }
}

TEST(Rules, AreNumberedAsListed) {
  for (size_t i = 0; i < rules().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(rules()[i].rule), i);
    EXPECT_FALSE(rules()[i].before.empty() || rules()[i].after.empty() || rules()[i].ends.empty());
  }
}
