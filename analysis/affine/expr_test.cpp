#include "analysis/affine/expr.h"
#include "analysis/support/checked.h"

#include <gtest/gtest.h>

using namespace tilewright;

TEST(Interval, ContainsEveryResult) {
  auto each = [](auto body) {
    for (int64_t lo = -5; lo <= 5; ++lo)
      for (int64_t hi = lo; hi <= 5; ++hi)
        body(Interval{lo, hi});
  };
  each([&](Interval a) {
    each([&](Interval b) {
      Interval sum = a + b, product = a * b, quotient = floorDiv(a, b), up = ceilDiv(a, b),
               rest = mod(a, b), low = min(a, b), high = max(a, b);
      for (int64_t x = a.lo; x <= a.hi; ++x)
        for (int64_t y = b.lo; y <= b.hi; ++y) {
          ASSERT_TRUE(sum.contains(x + y));
          ASSERT_TRUE(product.contains(x * y));
          ASSERT_TRUE(low.contains(std::min(x, y)));
          ASSERT_TRUE(high.contains(std::max(x, y)));
          if (y > 0) {
            ASSERT_TRUE(quotient.contains(*checkedFloorDiv(x, y)));
            ASSERT_TRUE(up.contains(*checkedCeilDiv(x, y)));
            ASSERT_TRUE(rest.contains(*checkedMod(x, y)));
          }
        }
    });
  });
}

TEST(Interval, SaturatesInsteadOfWrapping) {
  Interval big{0, INT64_MAX - 1};
  EXPECT_EQ((big + big).hi, INT64_MAX);
  EXPECT_EQ((big * Interval::point(-4)).lo, INT64_MIN);
  Interval all;
  EXPECT_EQ(all + Interval::point(5), all);
}

TEST(Expr, EqualStructureIsTheSameNode) {
  ExprContext c;
  Expr d0 = c.dim(0), d1 = c.dim(1);
  EXPECT_EQ(d0 + d1, d1 + d0);
  EXPECT_EQ((d0 * 4).floorDiv(2), (d0 * 4).floorDiv(2));
  EXPECT_EQ(d0 + 0, d0);
  EXPECT_EQ(d0 * 1, d0);
  EXPECT_TRUE((d0 * 0).isConstant(0));
  EXPECT_TRUE(d0.mod(1).isConstant(0));
  EXPECT_EQ(c.constant(7).floorDiv(2), c.constant(3));
  EXPECT_EQ(c.dim(1), d1);
  EXPECT_FALSE(c.dim(0) == c.range(0));
}

TEST(Expr, Prints) {
  ExprContext c;
  Expr d0 = c.dim(0), d1 = c.dim(1);
  EXPECT_EQ((d0 * 8 + 3).floorDiv(4).str(), "(d0 * 8 + 3) floordiv 4");
  EXPECT_EQ((d0 - 5).str(), "d0 - 5");
  EXPECT_EQ((d0 + d1 * -2).str(), "d0 - d1 * 2");
  EXPECT_EQ((c.constant(16) - d1).str(), "-d1 + 16");
  EXPECT_EQ(d0.mod(8).min(d1).str(), "min(d0 mod 8, d1)");
  EXPECT_EQ((d0.floorDiv(2) * 4).str(), "(d0 floordiv 2) * 4");
}

TEST(Expr, OverflowIsPoisonAndNeverANumber) {
  ExprContext c;
  Expr big = c.constant(INT64_MAX);
  EXPECT_TRUE((big + 1).isPoison());
  EXPECT_TRUE(((big + 1) * 0).isPoison());
  EXPECT_TRUE(c.dim(0).floorDiv(0).isPoison());
  EXPECT_TRUE(c.dim(0).mod(-3).isPoison());
  Assignment point;
  point.set(c.dim(0), INT64_MAX);
  EXPECT_FALSE(evaluate(c.dim(0) + 1, point));
  EXPECT_FALSE(evaluate(c.dim(0) * 2, point));
  EXPECT_EQ(*evaluate(c.dim(0) - 1, point), INT64_MAX - 1);
}

TEST(Expr, EvaluateNeedsEveryVariable) {
  ExprContext c;
  Assignment point;
  point.set(c.dim(0), 3);
  EXPECT_EQ(*evaluate(c.dim(0) * 5 - 1, point), 14);
  EXPECT_FALSE(evaluate(c.dim(0) + c.dim(1), point));
}

TEST(Expr, SubstituteIsSimultaneous) {
  ExprContext c;
  Expr d0 = c.dim(0), d1 = c.dim(1);
  std::vector<Expr> swap(2);
  swap[d0.variable().index] = d1;
  swap[d1.variable().index] = d0;
  EXPECT_EQ(substitute(d0 - d1, swap), d1 - d0);
}

TEST(Expr, SharedSubExpressionsStayLinear) {
  ExprContext c;
  Expr e = c.dim(0);
  for (int i = 0; i < 60; ++i)
    e = (e + e.floorDiv(3)).max(e); // as a tree: 3^60 nodes
  Assignment point;
  point.set(c.dim(0), 0);
  EXPECT_EQ(*evaluate(e, point), 0);
  EXPECT_EQ(variablesOf(e).size(), 1u);
  Bounds bounds;
  bounds.set(c.dim(0), Interval{0, 0});
  EXPECT_EQ(rangeOf(e, bounds), Interval::point(0));
  EXPECT_LT(e.str().size(), 5000u);
}

TEST(Expr, LongChainsDoNotRecurse) {
  ExprContext c;
  Expr e = c.dim(0);
  for (int i = 0; i < 200000; ++i)
    e = (e + c.dim(1)).floorDiv(2);
  Assignment point;
  point.set(c.dim(0), 9);
  point.set(c.dim(1), 0);
  EXPECT_EQ(*evaluate(e, point), 0);
}

TEST(Expr, LongSumsArePrintedInPart) {
  ExprContext c;
  Expr e = c.dim(0);
  for (int i = 0; i < 300000; ++i)
    e = e + c.range(0).floorDiv(i + 2);
  EXPECT_LT(e.str().size(), 4200u);
  EXPECT_TRUE(e.str().ends_with("..."));
}

// Replacement functions may walk expressions themselves.
TEST(Expr, WalksMayNest) {
  ExprContext c;
  Expr e = c.dim(0), f = c.dim(1);
  for (int i = 0; i < 100; ++i) {
    e = (e + c.dim(0)).floorDiv(2);
    f = (f + i).mod(1000 + i);
  }
  Assignment point;
  point.set(c.dim(1), 5);
  Expr inner;
  Expr result = substitute(e, [&](VarId) {
    inner = c.constant(*evaluate(f, point));
    return inner;
  });
  EXPECT_TRUE(result.isConstant());
  EXPECT_EQ(result, substitute(e, [&](VarId) { return inner; }));
}
