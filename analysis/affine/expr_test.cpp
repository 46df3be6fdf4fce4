#include "analysis/affine/expr.h"
#include "analysis/affine/transfer.h"
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

TEST(Expr, SelectsComparisonsAndPowersOfTwo) {
  ExprContext c;
  Expr x = c.dim(0), y = c.dim(1), z = c.dim(2);
  Expr all[] = {x.isAtLeast(y), x.isEqual(y),    select(z, x, y),
                x.pow2Ceil(),   x.pow2Divisor(), x.log2()};
  auto least = [](int64_t v) {
    int64_t p = 1;
    while (p < v)
      p *= 2;
    return p;
  };
  using Value = std::optional<int64_t>;
  for (int64_t a = -5; a <= 40; ++a)
    for (int64_t b = -3; b <= 20; ++b)
      for (int64_t d = -1; d <= 1; ++d) {
        Assignment at;
        at.set(x, a);
        at.set(y, b);
        at.set(z, d);
        int64_t divisor = 1, log = 0;
        while (a >= 1 && a % (divisor * 2) == 0)
          divisor *= 2;
        while (a >> (log + 1) > 0)
          ++log;
        Value expected[] = {a >= b,
                            a == b,
                            d ? a : b,
                            least(a),
                            a >= 1 ? Value(divisor) : Value(),
                            a >= 1 ? Value(log) : Value()};
        for (int i = 0; i < 6; ++i)
          ASSERT_EQ(evaluate(all[i], at), expected[i]) << all[i].str() << " at " << a << ", " << b;
      }
  EXPECT_EQ((select(x.isEqual(y), x.pow2Ceil(), y.log2()) + 1).str(),
            "select(isEqual(d0, d1), pow2Ceil(d0), log2(d1)) + 1");
  EXPECT_EQ(x.isEqual(y), y.isEqual(x));
  EXPECT_NE(x.isAtLeast(y), y.isAtLeast(x));
  EXPECT_NE(select(z, x, y), select(y, x, z));
  EXPECT_EQ(select(c.constant(2), x, y), x);
  EXPECT_EQ(select(z, x, x), x);
  EXPECT_TRUE(c.constant(INT64_MAX).pow2Ceil().isPoison());
  EXPECT_TRUE(c.constant(0).log2().isPoison());
  EXPECT_EQ(c.constant((int64_t{1} << 61) + 1).pow2Ceil(), c.constant(int64_t{1} << 62));
  // Substitution and variables reach the condition.
  std::vector<Expr> table{c.constant(8), c.constant(9), c.constant(0)};
  EXPECT_EQ(substitute(select(z, x, y), table), c.constant(9));
  EXPECT_EQ(variablesOf(select(z, c.constant(1), c.constant(2))), std::vector{z.variable()});
  EXPECT_EQ(evaluate(select(z, x, y), Assignment()), std::nullopt);
}

TEST(Expr, TransferKeepsEveryKind) {
  ExprContext c, other;
  Expr x = c.dim(0), y = c.dim(1);
  Expr all = select(x.isAtLeast(y), x.pow2Ceil() * y.pow2Divisor(), x.log2() - y.mod(3)) +
             x.floorDiv(y).min(7).max(x.ceilDiv(4)) + x.isEqual(y);
  Expr a = other.variable(VarKind::TileParam, "a"), b = other.variable(VarKind::TileParam, "b");
  Expr moved = transferred(all, other, [&](VarId var) { return var == x.variable() ? b : a; });
  EXPECT_EQ(&moved.context(), &other);
  for (int64_t i = 1; i < 20; ++i)
    for (int64_t j = 1; j < 20; ++j) {
      Assignment here, there;
      here.set(x, i);
      here.set(y, j);
      there.set(b, i);
      there.set(a, j);
      ASSERT_EQ(evaluate(moved, there), evaluate(all, here)) << i << " " << j;
    }
  EXPECT_TRUE(transferred(c.poison(), other, [&](VarId) { return a; }).isPoison());
}

// Every value lies in the interval, and the interval's ends are values for small domains.
TEST(Expr, RangesOfSelectsAndPowersOfTwo) {
  ExprContext c;
  Expr x = c.dim(0), y = c.dim(1), z = c.dim(2);
  Expr all[] = {x.isAtLeast(y), x.isEqual(y),    select(z, x, y),
                x.pow2Ceil(),   x.pow2Divisor(), x.log2()};
  const Interval domains[] = {{-3, 2}, {0, 0}, {1, 1}, {1, 6}, {5, 9}, {7, 33}};
  for (Interval dx : domains)
    for (Interval dy : domains)
      for (Interval dz : {Interval{-1, 1}, Interval{0, 0}, Interval{1, 2}}) {
        Bounds bounds;
        bounds.set(x, dx);
        bounds.set(y, dy);
        bounds.set(z, dz);
        for (Expr e : all) {
          Interval range = rangeOf(e, bounds), seen = Interval::empty();
          for (int64_t a = dx.lo; a <= dx.hi; ++a)
            for (int64_t b = dy.lo; b <= dy.hi; ++b)
              for (int64_t d = dz.lo; d <= dz.hi; ++d) {
                Assignment at;
                at.set(x, a);
                at.set(y, b);
                at.set(z, d);
                if (std::optional<int64_t> v = evaluate(e, at))
                  seen = seen.isEmpty() ? Interval::point(*v)
                                        : Interval{std::min(seen.lo, *v), std::max(seen.hi, *v)};
              }
          EXPECT_TRUE(range.contains(seen)) << e.str() << " " << range.str() << seen.str();
          if (e.kind() != ExprKind::Pow2Divisor && e.kind() != ExprKind::Select) {
            EXPECT_EQ(range.isEmpty(), seen.isEmpty()) << e.str();
            if (!seen.isEmpty()) {
              EXPECT_EQ(range, seen) << e.str() << dx.str() << dy.str();
            }
          }
        }
      }
}
