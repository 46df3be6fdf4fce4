#include "analysis/tiling/constraint.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {
struct Fixture {
  ExprContext c;
  Expr t = c.variable(VarKind::TileParam, "t0"), u = c.variable(VarKind::TileParam, "t1");
  Assignment at(int64_t a, int64_t b) {
    Assignment point;
    point.set(t, a);
    point.set(u, b);
    return point;
  }
};
} // namespace

TEST(Formula, EvaluatesLikeArithmetic) {
  Fixture f;
  Formula split =
      Formula::divides(f.t, f.c.constant(64)) || Formula::divides(f.c.constant(64), f.t);
  Formula both = split && Formula::lessEqual(f.t * f.u, f.c.constant(256));
  for (int64_t t = 1; t <= 200; ++t)
    for (int64_t u = 1; u <= 8; ++u) {
      bool expected = (64 % t == 0 || t % 64 == 0) && t * u <= 256;
      EXPECT_EQ(both.evaluate(f.at(t, u)), expected);
      EXPECT_EQ((!both).evaluate(f.at(t, u)), !expected);
    }
}

TEST(Formula, UnknownOnlyWhereTheRestDoesNotDecide) {
  Fixture f;
  Formula needsBoth = Formula::lessEqual(f.t, f.u);
  Assignment onlyT;
  onlyT.set(f.t, 5);
  EXPECT_FALSE(needsBoth.evaluate(onlyT));
  Formula five = Formula::equal(f.t, f.c.constant(5));
  EXPECT_EQ((needsBoth || five).evaluate(onlyT), true);
  EXPECT_EQ((needsBoth && !five).evaluate(onlyT), false);
}

TEST(Formula, FoldsConstants) {
  Fixture f;
  EXPECT_TRUE(Formula::divides(f.c.constant(4), f.c.constant(12)).isTrue());
  EXPECT_TRUE(Formula::lessEqual(f.c.constant(5), f.c.constant(4)).isFalse());
  EXPECT_TRUE(Formula::all({}).isTrue());
  EXPECT_TRUE(Formula::any({}).isFalse());
  EXPECT_FALSE(Formula::equal(f.c.poison(), f.c.poison()).isTrue());
}

TEST(Constraint, DescribesWhatIsLeftOfAnExpression) {
  ExprContext c;
  Expr a = c.variable(VarKind::TileParam, "a"), b = c.variable(VarKind::TileParam, "b");
  Constraint constraint{Formula::lessEqual(a * b * 2, c.constant(255)),
                        {OpId(), "device", -1, -1, "registers", "{0} registers", {a * b * 2}}};
  Assignment point;
  EXPECT_EQ(constraint.describe(point), "device: (a * b) * 2 registers");
  point.set(a, 16);
  EXPECT_EQ(constraint.describe(point), "device: b * 32 registers");
  point.set(b, 8);
  EXPECT_EQ(constraint.describe(point), "device: 256 registers");
  point.set(a, INT64_MAX); // no value: as it stands
  EXPECT_EQ(constraint.describe(point), "device: (a * b) * 2 registers");
}

TEST(Constraint, DescribesWithValuesOrNames) {
  Fixture f;
  Constraint constraint{Formula::divides(f.t, f.c.constant(64)),
                        {OpId{7},
                         "%reshape.7",
                         0,
                         1,
                         "reshape-split",
                         "tile {0} must divide 64, because 2048 is split into 32 x 64",
                         {f.t}}};
  EXPECT_EQ(constraint.describe(f.at(48, 1)),
            "%reshape.7 dim 1: tile 48 must divide 64, because 2048 is split into 32 x 64");
  EXPECT_EQ(constraint.describe({}),
            "%reshape.7 dim 1: tile t0 must divide 64, because 2048 is split into 32 x 64");
}
