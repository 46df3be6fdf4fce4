#include "analysis/affine/linear_form.h"
#include "analysis/affine/simplify.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace tilewright;

namespace {

/// Builds expressions tersely: `T t; t.d(0, {0, 7})` is d0 in [0, 7].
struct T {
  ExprContext c;
  Bounds bounds;

  Expr d(unsigned i, Interval domain = {}) { return bound(c.dim(i), domain); }
  Expr s(unsigned i, Interval domain = {}) { return bound(c.range(i), domain); }
  Expr tile(const char *name, Interval domain) {
    return bound(c.variable(VarKind::TileParam, name), domain);
  }
  Expr k(int64_t v) { return c.constant(v); }
  std::string simplify(Expr e) { return Simplifier(c, bounds).simplify(e).str(); }

private:
  Expr bound(Expr var, Interval domain) {
    if (domain != Interval{})
      bounds.set(var, domain);
    return var;
  }
};

} // namespace

TEST(Simplify, SumsAreLinearCombinations) {
  T t;
  Expr d0 = t.d(0), d1 = t.d(1), s0 = t.s(0);
  EXPECT_EQ(t.simplify(s0 + d1 * 2 + d0 - 3 + d1), "d0 + d1 * 3 + s0 - 3");
  EXPECT_EQ(t.simplify((d0 + d1) * 4 - d1 * 4), "d0 * 4");
  EXPECT_EQ(t.simplify(d0 - d0), "0");
  EXPECT_EQ(t.simplify((d0 + 1) * (d1 + 2)), "d0 * d1 + d0 * 2 + d1 + 2");
}

TEST(Simplify, DivisionByConstants) {
  T t;
  Expr d0 = t.d(0), d1 = t.d(1), v = t.d(2, {0, 63});
  EXPECT_EQ(t.simplify((d0 * 4 + 4).floorDiv(8)), "(d0 + 1) floordiv 2");
  EXPECT_EQ(t.simplify((-d0).mod(2)), "d0 mod 2");
  EXPECT_EQ(t.simplify(d0.floorDiv(5) * 5 + d0.mod(5)), "d0");
  EXPECT_EQ(t.simplify(d0 - d0.floorDiv(5) * 5), "d0 mod 5");
  EXPECT_EQ(t.simplify((d0 * 6).floorDiv(9)), "(d0 * 2) floordiv 3");
  EXPECT_EQ(t.simplify(d0.floorDiv(3).floorDiv(4)), "d0 floordiv 12");
  EXPECT_EQ(t.simplify(d0.mod(12).floorDiv(4)), "(d0 floordiv 4) mod 3");
  EXPECT_EQ(t.simplify((d0 * 6).mod(8)), "((d0 * 3) mod 4) * 2");
  EXPECT_EQ(t.simplify((d0 * 64 + v).floorDiv(64)), "d0");
  EXPECT_EQ(t.simplify((d0 * 64 + v).mod(64)), "d2");
  EXPECT_EQ(t.simplify(d0.mod(8).mod(4)), "d0 mod 4");
  EXPECT_EQ(t.simplify(d0.ceilDiv(4)), "(d0 + 3) floordiv 4");
  EXPECT_EQ(t.simplify((d0 * 8 + d1 + 16).mod(8)), "d1 mod 8");
  EXPECT_EQ(t.simplify(d0.mod(4) + d0.floorDiv(4).mod(8) * 4), "d0 mod 32");
  EXPECT_EQ(t.simplify(d0.floorDiv(32) * 32 + d0.floorDiv(4).mod(8) * 4 + d0.mod(4)), "d0");
}

// Only the residues of coefficients matter to a remainder: equal functions, one form.
TEST(Simplify, CongruentCoefficientsAreOneForm) {
  T t;
  Expr d0 = t.d(0, {0, 99}), d1 = t.d(1, {0, 99});
  EXPECT_EQ(t.simplify((d0 * 5).mod(8)), "(d0 * 5) mod 8");
  EXPECT_EQ(t.simplify((d0 * -3).mod(8)), "(d0 * 5) mod 8");
  EXPECT_EQ(t.simplify((d0 * 13 - d1 * 9).mod(8)), t.simplify((d0 * -3 + d1 * 7).mod(8)));
  // The quotient may be written with other coefficients than the remainder.
  EXPECT_EQ(t.simplify((d0 * 13).mod(8) + (d0 * 13).floorDiv(8) * 8), "d0 * 13");
  EXPECT_EQ(t.simplify((-d0).mod(4) + (-d0).floorDiv(4).mod(8) * 4), t.simplify((-d0).mod(32)));
  // A digit that is counted backwards stays within its period.
  T u;
  EXPECT_EQ(u.simplify((u.d(0, {0, 99}) * 8 + 7 - u.d(1, {0, 7})).mod(16)),
            "(d0 mod 2) * 8 - d1 + 7");
  // A coefficient that could overflow where the one given does not is not taken.
  T w;
  int64_t m = int64_t{1} << 50;
  EXPECT_EQ(w.simplify((w.d(0, {0, m}) * -1).mod(m - 1)),
            "(-d0 + 2251799813685246) mod 1125899906842623");
}

TEST(Simplify, SelectsAndComparisons) {
  T t;
  Expr x = t.d(0, {0, 7}), y = t.d(1, {4, 20}), n = t.tile("n", {17, 32});
  EXPECT_EQ(t.simplify(n.isAtLeast(x)), "1");
  EXPECT_EQ(t.simplify(n.isEqual(y + 16)), "isEqual(d1 + 16, n)");
  EXPECT_EQ(t.simplify(n.isEqual(x * 2)), "0");
  EXPECT_EQ(t.simplify(select(x.isAtLeast(y), x, y)), "max(d0, d1)");
  EXPECT_EQ(t.simplify(select(x.isAtLeast(y), y, x)), "min(d0, d1)");
  EXPECT_EQ(t.simplify(select(x.isAtLeast(t.k(8)), y, x)), "d0");
  EXPECT_EQ(t.simplify(select(x.isAtLeast(y), t.k(1), t.k(0))), "isAtLeast(d0, d1)");
  EXPECT_EQ(t.simplify(n.pow2Ceil()), "32");
  EXPECT_EQ(t.simplify((x + 8).log2()), "3");
  EXPECT_EQ(t.simplify((x + 1).log2()), "log2(d0 + 1)");
  EXPECT_EQ(t.simplify(select(x, y + 2, y + 2) - y), "2");
}

// A select or a comparison is one opaque term of a sum, so that nothing takes it for affine.
TEST(Simplify, SelectsAreNotAffine) {
  T t;
  Expr x = t.d(0, {0, 7}), c = x.isAtLeast(t.k(4));
  LinearForm form = LinearForm::of(select(c, x, x * 2) * 3 + x + 1);
  ASSERT_EQ(form.terms.size(), 2u);
  EXPECT_EQ(form.coefficientOf(x), 1);
  EXPECT_EQ(form.coefficientOf(select(c, x, x * 2)), 3);
  EXPECT_EQ(form.constant, 1);
}

// Facts of XLA's simplifier tests, each with the domain that makes it true.
TEST(Simplify, OnePeriod) {
  T t;
  EXPECT_EQ(t.simplify(t.d(0, {53, 71}).mod(42)), "d0 - 42");
  EXPECT_EQ(t.simplify(t.d(0, {-5, -1}).mod(5)), "d0 + 5");
  T u;
  Expr d0 = u.d(0, {0, 3}), d1 = u.d(1, {0, 2047});
  EXPECT_EQ(u.simplify(u.k(128).min(d0 * 32 + d1.floorDiv(64) + 1)),
            "d0 * 32 + d1 floordiv 64 + 1");
}

// XLA divides by negative numbers and must not merge such divisions. Here a divisor is positive
// wherever there is a value, so that there is none to begin with.
TEST(Simplify, NonPositiveDivisorsAreNeverMerged) {
  T t;
  EXPECT_TRUE(t.s(0).floorDiv(2).floorDiv(-7).isPoison());
  Expr n = t.tile("n", {-7, 3});
  EXPECT_EQ(t.simplify(t.s(0).floorDiv(2).floorDiv(n)), "(s0 floordiv 2) floordiv n");
}

TEST(Simplify, NestedDivisions) {
  T t;
  Expr s0 = t.s(0, {0, 1233}), s1 = t.s(1, {0, 127});
  EXPECT_EQ(t.simplify((s0 * 2 + s1.floorDiv(64)).floorDiv(3)), "(s0 * 128 + s1) floordiv 192");
  EXPECT_EQ(t.simplify((s0.floorDiv(3) + s1.floorDiv(3)).floorDiv(6)),
            "(s0 floordiv 3 + s1 floordiv 3) floordiv 6");
  T u;
  Expr u0 = u.s(0, {0, 10000});
  EXPECT_EQ(u.simplify(-u0.floorDiv(144) + (u0 * 32 + 4639).floorDiv(4608)), "1");
  T w;
  EXPECT_EQ(w.simplify((w.s(0, {0, 4}) * 16 - 497).floorDiv(512)), "-1");
}

// As in XLA, except that coefficients inside mod are reduced: 114688 ≡ 4688 (mod 5000).
TEST(Simplify, RemainderSplitsAtTheGcd) {
  T t;
  Expr s0 = t.s(0, {0, 871}), s1 = t.s(1, {0, 3}), s2 = t.s(2, {0, 127}), s3 = t.s(3, {0, 895});
  EXPECT_EQ(t.simplify((s0 * 458752 + s1 + s2 * 4 + s3 * 512).mod(20000)),
            "((s0 * 4688 + s2 + s3 * 128) mod 5000) * 4 + s1");
}

// Offsets of tiles of 16 x 2 over [100, 10].
TEST(Simplify, TileOffsets) {
  T t;
  Expr p0 = t.d(0, {0, 6}), p1 = t.d(1, {0, 4});
  EXPECT_EQ(t.simplify((p0 * 8).mod(96)), "d0 * 8");
  EXPECT_EQ(t.simplify((p1 * 2).floorDiv(10)), "0");
  EXPECT_EQ(t.simplify((p0 * 16 + p1 * 2).floorDiv(200)), "0");
  EXPECT_EQ(t.simplify((p0 * 16 + p1 * 2).mod(200)), "d0 * 16 + d1 * 2");
  EXPECT_EQ(t.simplify(p0 * 16 + 500), "d0 * 16 + 500");
  T wide;
  EXPECT_EQ(wide.simplify((wide.d(0) * 16 + wide.d(1) * 2).floorDiv(200)),
            "(d0 * 8 + d1) floordiv 100");
}

TEST(Simplify, SymbolicDivisors) {
  T t;
  Expr x = t.d(0, {0, 1000}), size = t.tile("t0", {1, 128});
  EXPECT_EQ(t.simplify((x * size).floorDiv(size)), "d0");
  EXPECT_EQ(t.simplify((x * size).mod(size)), "0");
  EXPECT_EQ(t.simplify(size.mod(size)), "0");
  EXPECT_EQ(t.simplify((x * size - 1).floorDiv(size)), "d0 - 1");
  EXPECT_EQ(t.simplify((x * size).mod(size * 4)), "(d0 mod 4) * t0");
  EXPECT_EQ(t.simplify((x * size).ceilDiv(size)), "d0");
  EXPECT_EQ(t.simplify(x.floorDiv(4).floorDiv(size)), "d0 floordiv (t0 * 4)");
  EXPECT_EQ(t.simplify(x.mod(size) + x.floorDiv(size) * size), "d0");
  EXPECT_EQ(t.simplify(x - x.floorDiv(size) * size), "d0 mod t0");
  // Not provable: stays.
  EXPECT_EQ(t.simplify((x * size).mod(128)), "(d0 * t0) mod 128");
  // Ten divisions by up to 400 give 0; their product leaves 64 bits.
  Expr nested = x;
  for (int i = 0; i < 10; ++i)
    nested = nested.floorDiv(size * 4);
  Expr simple = Simplifier(t.c, t.bounds).simplify(nested);
  Assignment at;
  at.set(x, 1000);
  at.set(size, 100);
  EXPECT_EQ(evaluate(simple, at), 0);
  T zero;
  Expr z = zero.tile("t0", {0, 128});
  EXPECT_EQ(zero.simplify((zero.d(0) * z).floorDiv(z)), "(d0 * t0) floordiv t0");
}

TEST(Simplify, MinMaxByRanges) {
  T t;
  Expr d0 = t.d(0, {0, 9}), d1 = t.d(1, {0, 20});
  EXPECT_EQ(t.simplify(d0.min(9)), "d0");
  EXPECT_EQ(t.simplify(d0.min(d0 + 3)), "d0");
  EXPECT_EQ(t.simplify(d0.max(d1).min(30)), "max(d0, d1)");
  EXPECT_EQ(t.simplify((d0 * 8).min(16)), "min(d0, 2) * 8");
  EXPECT_EQ(t.simplify((d0 * 4 + d1).min(d0 * 4 + 7) - d0 * 4), "min(d1, 7)");
  EXPECT_EQ(t.simplify(d0.min(d1).min(d0.min(5))), "min(min(d0, d1), 5)");
}

TEST(Simplify, OrderOfCreationDoesNotMatter) {
  ExprContext a, b;
  Expr ea = (a.dim(0) * 3 + a.range(0) + a.dim(1).mod(4)) * 2;
  Expr s0 = b.range(0), m = b.dim(1).mod(4);
  Expr eb = m * 2 + (s0 + b.dim(0) * 3) * 2;
  EXPECT_EQ(Simplifier(a, {}).simplify(ea).str(), Simplifier(b, {}).simplify(eb).str());
}

TEST(Simplify, KnownDivisor) {
  T t;
  Simplifier simplifier(t.c, {});
  EXPECT_EQ(simplifier.knownDivisor(t.d(0) * 12 + 8), 4);
  EXPECT_EQ(simplifier.knownDivisor((t.d(0) * 12).min(t.d(1) * 18)), 6);
  EXPECT_EQ(simplifier.knownDivisor(t.k(0)), 0);
  EXPECT_EQ(simplifier.knownDivisor(t.d(0)), 1);
}

TEST(Simplify, SharedSubExpressionsStayCheap) {
  T t;
  Expr e = t.d(0, {0, 1000}), f = t.d(1, {0, 1000});
  for (int i = 0; i < 60; ++i)
    e = (e + e.floorDiv(3) * f.max(e)).min(e * 2 + f); // as a tree: 5^60 nodes
  EXPECT_FALSE(t.simplify(e).empty());
  Expr product = t.d(0) + t.d(1);
  for (int i = 0; i < 60; ++i)
    product = (product + 1) * (product + t.d(1));
  EXPECT_FALSE(t.simplify(product).empty());
  Expr many = t.d(0);
  for (int i = 0; i < 3000; ++i)
    many = many + t.d(static_cast<unsigned>(i) + 2).floorDiv(i + 2) * (i + 1);
  EXPECT_FALSE(t.simplify(many).empty());
}

// Found by fuzzing: pairs of remainders and divisions are looked for inside products of such sums.
TEST(Simplify, ProductsOfRemaindersAreSearchedOnce) {
  T t;
  Expr e = t.d(0, {0, 50});
  for (int i = 0; i < 12; ++i) {
    Expr d = t.k(i % 5 + 2);
    e = (e.mod(d) + e.floorDiv(d).mod(7) * d) * (e.mod(d + 9) + t.d(1, {0, 9}));
  }
  EXPECT_FALSE(t.simplify(e).empty());
}

// A product of sums is multiplied out wholly or not at all, however it was put together.
TEST(Simplify, LongProductsAreInNormalForm) {
  std::mt19937_64 random(3);
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  size_t kept = 0;
  for (int n = 0; n < 2000; ++n) {
    T t;
    std::vector<Expr> factors;
    for (int64_t count = pick(2, 9); count > 0; --count) {
      Expr sum = t.d(static_cast<unsigned>(pick(0, 9)), {0, 9});
      for (int64_t terms = pick(0, 3) ? pick(0, 4) : pick(0, 30); terms > 0; --terms)
        sum = sum + t.d(static_cast<unsigned>(pick(0, 30)), {0, 9}) * pick(-2, 3);
      factors.push_back(pick(0, 9) ? sum : sum + pick(1, 3));
    }
    // Put together in any order.
    while (factors.size() > 1) {
      std::shuffle(factors.begin(), factors.end(), random);
      Expr product = factors.back() * factors[factors.size() - 2];
      factors.pop_back();
      factors.back() = pick(0, 4) ? product : product + t.d(static_cast<unsigned>(pick(0, 3)));
    }
    Expr simple = Simplifier(t.c, t.bounds).simplify(factors[0]);
    ASSERT_EQ(Simplifier(t.c, t.bounds).simplify(simple), simple) << factors[0].str();
    kept += simple.kind() == ExprKind::Mul && simple.lhs().kind() == ExprKind::Mul;
  }
  EXPECT_GT(kept, 100u);
}

TEST(Simplify, LongChainsDoNotRecurse) {
  T t;
  Expr e = t.d(0, {0, 7});
  for (int i = 0; i < 50000; ++i)
    e = (e + t.d(1, {0, 7})).floorDiv(2);
  EXPECT_FALSE(t.simplify(e).empty());
  Expr chain = t.d(0);
  for (int i = 0; i < 50000; ++i)
    chain = chain.max(t.d(1) + i).mod(1000003);
  EXPECT_FALSE(t.simplify(chain).empty());
}

namespace {

/// Random expressions over bounded variables. Divisors are positive constants or variables whose
/// domain is positive.
struct Generator {
  std::mt19937_64 random;
  ExprContext &c;
  std::vector<Expr> vars;
  std::vector<Interval> domains;

  int64_t pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  }
  Bounds chooseBounds() {
    static const int64_t extents[] = {1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 100, 128};
    Bounds bounds;
    domains.clear();
    for (Expr var : vars) {
      bool divisor = c.info(var.variable()).kind == VarKind::TileParam;
      int64_t lo = divisor ? pick(1, 3) : pick(0, 3) ? 0 : pick(-20, 20);
      domains.push_back({lo, lo + extents[pick(0, 11)] - 1});
      bounds.set(var, domains.back());
    }
    return bounds;
  }
  int64_t factor() {
    static const int64_t factors[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, -1, -2, -4, 7};
    return factors[pick(0, 15)];
  }
  Expr divisor() {
    if (pick(0, 4) == 0)
      return vars.back();
    if (pick(0, 9) == 0)
      return vars.back() * pick(1, 4) + pick(0, 2);
    return c.constant(std::abs(factor()));
  }
  Expr expr(int depth) {
    if (depth == 0)
      return pick(0, 5) == 0 ? c.constant(pick(-40, 40))
                             : vars[static_cast<size_t>(pick(0, int64_t(vars.size()) - 1))];
    Expr a = expr(depth - 1 - int(pick(0, 1)) * (depth > 1));
    switch (pick(0, 13)) {
    case 11: {
      Expr b = expr(depth - 1);
      return pick(0, 1) ? a.isAtLeast(b) : a.isEqual(pick(0, 1) ? b : a + pick(-1, 1));
    }
    case 12: {
      Expr b = expr(depth - 1), c = pick(0, 2) ? a.isAtLeast(b) : b.isEqual(a);
      return pick(0, 1) ? select(pick(0, 3) ? c : a, a, b) : select(c, b, a);
    }
    case 13:
      return pick(0, 2) == 0 ? a.pow2Ceil() : pick(0, 1) ? a.log2() : a.pow2Divisor();
    case 0:
    case 1:
      return a + expr(depth - 1);
    case 2:
      return a - expr(depth - 1);
    case 3:
    case 4:
      return a * factor() + expr(depth - 1);
    case 5:
      return a.floorDiv(divisor());
    case 6:
      return a.mod(divisor());
    case 7:
      return a.ceilDiv(divisor());
    case 8:
      return a * expr(depth > 2 ? 0 : depth - 1);
    case 9:
      return pick(0, 1) ? a.min(expr(depth - 1)) : a.max(expr(depth - 1));
    default: { // what linearising and delinearising makes
      Expr d = c.constant(std::abs(factor()));
      return a.floorDiv(d) * d + (pick(0, 1) ? a.mod(d) : a.floorDiv(2).mod(d));
    }
    }
  }
};

} // namespace

TEST(SimplifyProperty, KeepsTheValueAndIsIdempotent) {
  // TILEWRIGHT_PROPERTY_POINTS asks for a longer run.
  const char *wanted = std::getenv("TILEWRIGHT_PROPERTY_POINTS");
  int64_t points = 0, shorter = 0, limit = wanted ? std::atoll(wanted) : 100000;
  for (uint64_t seed = 0; points < limit; ++seed) {
    ExprContext c;
    Generator g{std::mt19937_64(seed),
                c,
                {c.dim(0), c.dim(1), c.dim(2), c.range(0), c.variable(VarKind::TileParam, "t")},
                {}};
    Bounds bounds = g.chooseBounds();
    Expr e = g.expr(static_cast<int>(g.pick(1, 5)));
    Simplifier simplifier(c, bounds);
    Expr simple = simplifier.simplify(e);
    Expr again = Simplifier(c, bounds).simplify(simple);
    ASSERT_EQ(again, simple) << "seed " << seed << ": " << e.str() << " -> " << simple.str()
                             << " -> " << again.str();
    Interval range = simplifier.range(e);
    int64_t divisor = simplifier.knownDivisor(e);
    shorter += simple.str().size() < e.str().size();
    for (int i = 0; i < 25; ++i, ++points) {
      Assignment at;
      for (size_t v = 0; v < g.vars.size(); ++v)
        at.set(g.vars[v], i == 0   ? g.domains[v].lo
                          : i == 1 ? g.domains[v].hi
                                   : g.pick(g.domains[v].lo, g.domains[v].hi));
      std::optional<int64_t> before = evaluate(e, at), after = evaluate(simple, at);
      if (!before)
        continue;
      ASSERT_EQ(after, before) << "seed " << seed << ": " << e.str() << " -> " << simple.str();
      ASSERT_TRUE(range.contains(*before)) << "seed " << seed << ": " << e.str();
      ASSERT_TRUE(divisor == 0 ? *before == 0 : *before % divisor == 0) << e.str();
    }
  }
  EXPECT_GT(shorter, limit / 100);
}

TEST(SimplifyProperty, HugeNumbersNeverGiveAWrongValue) {
  std::mt19937_64 random(7);
  auto huge = [&] {
    return static_cast<int64_t>(random() >> (random() % 64)) * (random() % 2 ? 1 : -1);
  };
  for (int n = 0; n < 3000; ++n) {
    ExprContext c;
    Expr x = c.dim(0), y = c.dim(1), e = x;
    for (int i = 0; i < 6; ++i) {
      int64_t v = huge();
      switch (random() % 7) {
      case 0:
        e = e + v;
        break;
      case 1:
        e = e * v;
        break;
      case 2:
        e = e.floorDiv(std::max<int64_t>(v, 1));
        break;
      case 3:
        e = e.mod(std::max<int64_t>(v, 1));
        break;
      case 4:
        e = e + y * v;
        break;
      case 5:
        e = e.ceilDiv(std::max<int64_t>(v, 1));
        break;
      default:
        e = e.min(c.constant(v));
        break;
      }
    }
    Bounds bounds;
    if (random() % 2) {
      bounds.set(x, {-1000, 1000});
      bounds.set(y, {0, INT64_MAX});
    }
    Expr simple = Simplifier(c, bounds).simplify(e);
    for (int i = 0; i < 10; ++i) {
      Assignment at;
      at.set(x, static_cast<int64_t>(random() % 2001) - 1000);
      at.set(y, static_cast<int64_t>(random() >> 2));
      std::optional<int64_t> before = evaluate(e, at), after = evaluate(simple, at);
      if (before && after) {
        ASSERT_EQ(*before, *after) << e.str() << " -> " << simple.str();
      }
    }
  }
}
