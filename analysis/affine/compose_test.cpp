// Composition: every way of composing gives the map that the definition says.
#include "analysis/affine/testing/maps.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::test;

TEST(Compose, AsItsDefinitionSays) {
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    ExprContext c, other;
    MapGenerator g(c, seed);
    IndexMap first = g.map(g.domains(static_cast<size_t>(g.pick(0, 3))));
    IndexMap second = g.mapAfter(first);
    std::string what =
        "seed " + std::to_string(seed) + ": " + first.str() + " then " + second.str();
    Copier copier(other);
    IndexMap expected =
        composeByDefinition(copier.copy(first).simplified(), copier.copy(second).simplified());
    IndexMap both = compose(first, second);
    ASSERT_EQ(both.str(), expected.str()) << what;
    ASSERT_EQ(both.isKnownEmpty(), expected.isKnownEmpty()) << what;
    for (size_t i = 0; i < both.variables().size(); ++i)
      ASSERT_EQ(c.info(both.variables()[i].var.variable()).name,
                other.info(expected.variables()[i].var.variable()).name)
          << what;
  }
}

TEST(Compose, ReadsWhatTheTwoReadOneAfterTheOther) {
  size_t nonEmpty = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    ExprContext c;
    MapGenerator g(c, seed);
    IndexMap first = g.map(g.domains(static_cast<size_t>(g.pick(0, 2))));
    IndexMap second = g.mapAfter(first);
    // Runtime variables of one source are one value: not what enumerating them apart says.
    if (first.variables(VarKind::Runtime).size() + second.variables(VarKind::Runtime).size() > 1)
      continue;
    auto inner = reads(second), outer = reads(first), both = reads(compose(first, second));
    decltype(both) expected;
    for (const auto &[at, middles] : outer)
      for (const std::vector<int64_t> &middle : middles)
        if (auto it = inner.find(middle); it != inner.end())
          expected[at].insert(it->second.begin(), it->second.end());
    ASSERT_EQ(both, expected) << "seed " << seed << ": " << first.str() << " then " << second.str()
                              << " gives " << compose(first, second).str();
    nonEmpty += !both.empty();
  }
  EXPECT_GT(nonEmpty, 1000u);
}

TEST(Compose, IsInNormalForm) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    ExprContext c, other;
    MapGenerator g(c, seed);
    IndexMap map = g.map(g.domains(static_cast<size_t>(g.pick(0, 3))));
    for (int step = 0; step < 3; ++step)
      map = compose(map, g.mapAfter(map));
    IndexMap copy = Copier(other).copy(map);
    ASSERT_EQ(copy.simplified().str(), map.str()) << "seed " << seed;
  }
}

TEST(Compose, IsRemembered) {
  ExprContext c;
  std::vector<int64_t> extents{4, 6};
  IndexMap a = IndexMap::overExtents(c, extents, {c.dim(1), c.dim(0)});
  IndexMap b = IndexMap::overExtents(c, std::vector<int64_t>{6, 4}, {c.dim(0) * 4 + c.dim(1)});
  IndexMap once = compose(a, b);
  size_t nodes = c.nodeCount();
  EXPECT_EQ(compose(a, b).results().data(), once.results().data());
  EXPECT_EQ(c.nodeCount(), nodes);
  EXPECT_EQ(once.str(), "(d0, d1) -> (d0 + d1 * 4), domain: d0 in [0, 3], d1 in [0, 5]");
}
