#include "analysis/affine/testing/maps.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace tilewright;

namespace {

struct Maps : testing::Test {
  ExprContext c;
  Expr d0 = c.dim(0), d1 = c.dim(1), d2 = c.dim(2), s0 = c.range(0), s1 = c.range(1);

  MapVariable var(Expr v, int64_t lo, int64_t hi) { return {v, {lo, hi}, std::nullopt}; }
  MapVariable runtime(const char *name, int64_t hi, uint32_t tensor, const char *from,
                      std::vector<Expr> element = {}) {
    return {c.variable(VarKind::Runtime, name),
            {0, hi},
            RuntimeSource{tensor, from, std::move(element)}};
  }
};

} // namespace

TEST_F(Maps, Prints) {
  IndexMap map(c, {var(d0, 0, 6), var(d1, 0, 16), var(s0, 0, 2)}, {d0 * 2 + s0 - 1, d1},
               {{d0 * 2 + s0, {1, 13}}});
  EXPECT_EQ(map.str(), "(d0, d1)[s0] -> (d0 * 2 + s0 - 1, d1), domain: d0 in [0, 6], "
                       "d1 in [0, 16], s0 in [0, 2], d0 * 2 + s0 in [1, 13]");
}

TEST_F(Maps, SimplifiesConstraints) {
  IndexMap map(c, {var(d0, 0, 11), var(d1, 0, 11), var(s0, 0, 5)}, {(d0 - 1).floorDiv(2), d1 - 4},
               {{(d0 - 1).mod(2), {0, 0}}, {(d0 - 1).floorDiv(2), {0, 3}}, {d1 - 4, {0, 3}}});
  EXPECT_EQ(map.simplified().str(),
            "(d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7], "
            "d0 mod 2 = 1");
}

TEST_F(Maps, EmptinessIsFound) {
  auto isEmpty = [&](Interval domain, std::vector<MapConstraint> constraints) {
    return IndexMap(c, {{d0, domain, {}}}, {d0}, std::move(constraints))
        .simplified()
        .isKnownEmpty();
  };
  EXPECT_TRUE(isEmpty({0, 1000}, {{d0.mod(8), {45, 49}}}));
  EXPECT_TRUE(isEmpty({1, 76}, {{d0.mod(7), {0, 0}}, {d0.mod(11), {0, 0}}}));
  EXPECT_FALSE(isEmpty({1, 77}, {{d0.mod(7), {0, 0}}, {d0.mod(11), {0, 0}}}));
  EXPECT_TRUE(isEmpty({0, 99}, {{d0.mod(4), {1, 1}}, {d0.mod(6), {2, 2}}}));
  EXPECT_TRUE(isEmpty({0, 99}, {{d0.floorDiv(7).mod(5), {3, 3}}, {d0, {0, 20}}}));
  EXPECT_TRUE(isEmpty({0, -1}, {}));
  IndexMap empty = IndexMap::knownEmpty(c, std::vector<int64_t>{4, 0}, 3);
  EXPECT_TRUE(empty.isKnownEmpty());
  EXPECT_EQ(empty.simplified().results().size(), 3u);
  EXPECT_EQ(empty.str(), "(d0, d1) -> (0, 0, 0), empty");
}

TEST_F(Maps, RescalesRanges) {
  IndexMap map(c, {var(d0, 0, 3), var(s0, 0, 41)}, {d0, s0}, {{s0, {}, 6, 3}});
  EXPECT_EQ(map.rescaled().str(),
            "(d0)[s0] -> (d0, s0 * 6 + 3), domain: d0 in [0, 3], s0 in [0, 6]");
  IndexMap merged(c, {var(s0, -21, -2)}, {s0}, {{s0.mod(2), {0, 0}}, {s0.mod(3), {0, 0}}});
  EXPECT_EQ(merged.simplified().str(), "()[s0] -> (s0), domain: s0 in [-18, -6], s0 mod 6 = 0");
  EXPECT_EQ(merged.rescaled().str(), "()[s0] -> (s0 * 6 - 18), domain: s0 in [0, 2]");
}

TEST_F(Maps, DropsWhatIsNotUsed) {
  IndexMap map(c,
               {var(d0, 0, 3), var(s0, 0, 5), var(s1, 0, 0), runtime("rt0", 0, 4, "%a"),
                runtime("rt1", 7, 5, "%b")},
               {s1 + c.variable(VarKind::Runtime, "rt0")});
  EXPECT_EQ(map.simplified().str(), "(d0) -> (0), domain: d0 in [0, 3]");
  // A range variable over nothing reads nothing, used or not.
  EXPECT_TRUE(IndexMap(c, {var(d0, 0, 3), var(s0, 0, -1)}, {d0}).simplified().isKnownEmpty());
}

TEST_F(Maps, ComposeRenamesApart) {
  IndexMap first(c, {var(d0, 0, 9), var(s0, 0, 2)}, {d0 + s0});
  IndexMap second(c, {var(d0, 0, 11), var(s0, 0, 3)}, {d0 * 4 + s0});
  EXPECT_EQ(compose(first, second).str(),
            "(d0)[s0, s1] -> (d0 * 4 + s0 * 4 + s1), domain: d0 in [0, 9], s0 in [0, 2], "
            "s1 in [0, 3]");
}

TEST_F(Maps, RuntimeVariablesKeepTheirSource) {
  Expr rt0 = c.variable(VarKind::Runtime, "rt0"), rt1 = c.variable(VarKind::Runtime, "rt1");
  // outer: two starts; inner: rows gathered by an index tensor.
  IndexMap outer(c, {var(d0, 0, 24), runtime("rt0", 25, 7, "%inner_start")}, {d0 + rt0});
  IndexMap inner(c,
                 {var(d0, 0, 49), runtime("rt0", 100, 8, "%outer_start"),
                  runtime("rt1", 9, 9, "%rows", {d0, c.constant(1)})},
                 {d0 + rt0, rt1});
  IndexMap both = compose(outer, inner);
  EXPECT_EQ(both.str(),
            "(d0){rt0 = %inner_start, rt1 = %outer_start, rt2 = %rows[d0 + rt0, 1]} -> "
            "(d0 + rt0 + rt1, rt2), domain: d0 in [0, 24], rt0 in [0, 25], rt1 in [0, 100], "
            "rt2 in [0, 9]");
  for (const MapVariable &v : both.variables())
    if (v.source && v.source->tensor == 8) {
      EXPECT_EQ(v.domain, (Interval{0, 100}));
    }
}

TEST_F(Maps, SameElementIsOneVariable) {
  Expr rt0 = c.variable(VarKind::Runtime, "rt0");
  IndexMap map(c, {var(d0, 0, 9), runtime("rt0", 5, 3, "%i")}, {d0 + rt0});
  IndexMap next(c, {var(d0, 0, 14), runtime("rt0", 5, 3, "%i")}, {d0 + rt0});
  EXPECT_EQ(compose(map, next).str(),
            "(d0){rt0 = %i} -> (d0 + rt0 * 2), domain: d0 in [0, 9], rt0 in [0, 5]");
  // Clamped differently it is another value.
  IndexMap wider(c, {var(d0, 0, 14), runtime("rt0", 6, 3, "%i")}, {d0 + rt0});
  EXPECT_EQ(compose(map, wider).variables(VarKind::Runtime).size(), 2u);
}

TEST_F(Maps, EquivalenceIgnoresNames) {
  IndexMap a(c, {var(d0, 0, 9), var(s0, 0, 2), var(s1, 0, 4)}, {d0, s0, s1});
  IndexMap b(c, {var(d0, 0, 9), var(s0, 0, 4), var(s1, 0, 2)}, {d0, s1, s0});
  IndexMap other(c, {var(d0, 0, 9), var(s0, 0, 4), var(s1, 0, 2)}, {d0, s0, s1});
  EXPECT_TRUE(a.equivalent(b));
  EXPECT_FALSE(a.equivalent(other));
}

TEST_F(Maps, SimplifyingKeepsTheReads) {
  std::mt19937_64 random(1);
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  int empties = 0;
  for (int n = 0; n < 3000; ++n) {
    std::vector<MapVariable> vars{var(d0, pick(-3, 1), pick(0, 9)), var(d1, 0, pick(0, 6)),
                                  var(s0, 0, pick(0, 5))};
    auto expr = [&] {
      Expr e = d0 * pick(-3, 4) + d1 * pick(-2, 8) + s0 * pick(0, 3) + pick(-5, 5);
      switch (pick(0, 4)) {
      case 0:
        return e.floorDiv(pick(1, 5));
      case 1:
        return e.mod(pick(1, 7));
      case 2:
        return d0 * pick(1, 6) + pick(-3, 3);
      case 3:
        return d0.mod(pick(1, 9)) - pick(0, 3);
      default:
        return e;
      }
    };
    std::vector<MapConstraint> constraints;
    for (int64_t k = pick(0, 3); k > 0; --k) {
      int64_t lo = pick(-5, 6), m = pick(1, 6);
      if (pick(0, 2))
        constraints.push_back({expr(), {lo, lo + pick(0, 12)}});
      else
        constraints.push_back({expr(), {}, m, pick(0, m - 1)});
    }
    IndexMap map(c, vars, {expr(), expr()}, constraints);
    IndexMap simple = map.simplified();
    // In another context: this one remembers that the map is in normal form.
    ExprContext other;
    IndexMap copy = test::Copier(other).copy(simple);
    ASSERT_EQ(simple.str(), copy.simplified().str()) << map.str();
    // The set of reads of each output element.
    auto reads = [&](const IndexMap &m) {
      std::map<std::pair<int64_t, int64_t>, std::set<std::vector<int64_t>>> result;
      for (int64_t a = -3; a <= 9; ++a)
        for (int64_t b = 0; b <= 6; ++b)
          for (int64_t s = 0; s <= 5; ++s) {
            Assignment at;
            at.set(d0, a);
            at.set(d1, b);
            at.set(s0, s);
            if (auto value = m.evaluate(at))
              result[{a, b}].insert(*value);
          }
      return result;
    };
    ASSERT_EQ(reads(map), reads(simple)) << map.str() << "\n" << simple.str();
    empties += simple.isKnownEmpty();
  }
  EXPECT_GT(empties, 100);
}
