#include "analysis/sets/progression.h"
#include "analysis/sets/testing/sets.h"

namespace tilewright::sets {
namespace {

std::set<int64_t> valuesOf(const Progression &p) {
  std::set<int64_t> out;
  for (int64_t k = 0; k < p.size; ++k)
    out.insert(p.offset + k * p.stride);
  return out;
}

std::vector<Progression> smallProgressions() {
  std::vector<Progression> out{{0, 0, 1}};
  for (int64_t offset = -2; offset <= 5; ++offset)
    for (int64_t size = 1; size <= 5; ++size)
      for (int64_t stride = 1; stride <= (size == 1 ? 1 : 5); ++stride)
        out.push_back({offset, size, stride});
  return out;
}

TEST(Progression, IntersectionOfAllSmallOnes) {
  std::vector<Progression> all = smallProgressions();
  for (const Progression &a : all)
    for (const Progression &b : all) {
      std::set<int64_t> expected, right = valuesOf(b);
      for (int64_t v : valuesOf(a))
        if (right.count(v))
          expected.insert(v);
      Progression common = intersect(a, b);
      ASSERT_EQ(valuesOf(common), expected) << a.str() << " and " << b.str();
      ASSERT_TRUE(common.stride >= 1 && (common.size > 1 || common.stride == 1)) << common.str();
    }
}

TEST(Progression, IntersectionOfLargeOnesDoesNotOverflow) {
  const int64_t big = int64_t(1) << 60;
  // Steps coprime, product beyond 64 bits: one common element.
  EXPECT_EQ(intersect({0, 4, big - 1}, {0, 4, big - 2}), Progression::point(0));
  EXPECT_EQ(intersect({-big, 3, big}, {0, 2, big / 2}), Progression::point(0));
  EXPECT_EQ(intersect({0, 1 << 20, 1 << 20}, {0, big, 1}), (Progression{0, 1 << 20, 1 << 20}));
}

TEST(Progression, NormalFormKeepsTheSet) {
  EXPECT_EQ(normalised({5, 3, -2}), (Progression{1, 3, 2}));
  EXPECT_EQ(normalised({5, 3, 0}), Progression::point(5));
  EXPECT_EQ(normalised({5, 1, 7}), Progression::point(5));
  EXPECT_EQ(normalised({5, -1, 7}), (Progression{0, 0, 1}));
  EXPECT_EQ(normalised({INT64_MAX - 1, 3, 1}), std::nullopt);
  EXPECT_EQ(normalised({0, INT64_MAX, INT64_MAX}), std::nullopt);
}

TEST(Progression, DifferenceOfAllSmallOnes) {
  std::vector<Progression> all = smallProgressions();
  for (const Progression &a : all)
    for (const Progression &b : all) {
      Work work{1000};
      std::optional<std::vector<Box>> rest = difference({a}, {{b}}, 100, work);
      ASSERT_TRUE(rest);
      Points expected;
      std::set<int64_t> right = valuesOf(b);
      for (int64_t v : valuesOf(a))
        if (!right.count(v))
          expected.insert({v});
      ASSERT_EQ(pointsOf(*rest), expected) << a.str() << " without " << b.str();
    }
}

TEST(BoxUnion, CountsRandomUnions) {
  ExprContext ctx;
  RandomMaps random(ctx, 1);
  for (int i = 0; i < 1000; ++i) {
    size_t rank = random.pick(0, 3);
    BoxUnion boxes;
    Points expected;
    Work work{100000};
    for (int64_t n = random.pick(0, 6); n > 0; --n) {
      Box box = random.box(rank);
      ASSERT_TRUE(boxes.add(box, 10000, work));
      expected.merge(pointsOf(std::vector<Box>{box}));
    }
    ASSERT_EQ(pointsOf(boxes.boxes()), expected);
    ASSERT_EQ(boxes.count(), static_cast<int64_t>(expected.size()));
  }
}

TEST(BoxUnion, StopsAtItsLimits) {
  Work little{1};
  BoxUnion boxes;
  Box line{{0, 1000, 1}};
  EXPECT_TRUE(boxes.add(line, 10, little));
  EXPECT_FALSE(boxes.add({{0, 1000, 7}}, 10, little));
  Work enough{1000};
  EXPECT_EQ(difference(line, {{{0, 100, 10}}}, 5, enough), std::nullopt);
}

TEST(Progression, LeastHull) {
  EXPECT_EQ(hull({{{0, 3, 4}}, {{2, 2, 8}}}), (Box{{0, 6, 2}}));
  EXPECT_EQ(hull({{{5, 1, 1}}, {{5, 1, 1}}}), Box{Progression::point(5)});
  EXPECT_EQ(hull({}), std::nullopt);
}

TEST(Progression, RunsOfValues) {
  EXPECT_EQ(progressionsOf({0, 1, 2, 8, 9, 10}), (std::vector<Progression>{{0, 3, 1}, {8, 3, 1}}));
  EXPECT_EQ(progressionsOf({3, 7, 11}), (std::vector<Progression>{{3, 3, 4}}));
  EXPECT_EQ(progressionsOf({0, 5, 6, 7}), (std::vector<Progression>{{0, 1, 1}, {5, 3, 1}}));
  EXPECT_TRUE(progressionsOf({}).empty());
}

} // namespace
} // namespace tilewright::sets
