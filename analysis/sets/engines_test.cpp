// Every engine against brute force on small maps, and the engines against each other.
#include "analysis/sets/testing/sets.h"

#include <string>

namespace tilewright::sets {
namespace {

constexpr Engine engines[] = {Engine::ClosedForms, Engine::Enumeration, Engine::Library,
                              Engine::Auto};

const char *name(Engine engine) {
  switch (engine) {
  case Engine::ClosedForms:
    return "closed forms";
  case Engine::Enumeration:
    return "enumeration";
  case Engine::Library:
    return "library";
  case Engine::Auto:
    break;
  }
  return "auto";
}

std::string text(const IndexSet &set) {
  std::string out;
  for (const Reads &reads : set.parts()) {
    out += reads.map.str();
    for (const auto &[var, p] : reads.restrictions)
      out += ", " + var.str() + " of " + p.str();
    out += "\n";
  }
  return out;
}

struct Tally {
  int asked = 0, known = 0;
};

TEST(Engines, CountAndEmptinessOfRandomMaps) {
  std::map<Engine, Tally> tally;
  for (int seed = 0; seed < 4000; ++seed) {
    ExprContext ctx;
    RandomMaps random(ctx, seed);
    IndexSet set = random.set(random.pick(0, 3));
    Points expected = pointsOf(set);
    for (Engine engine : engines) {
      if (engine == Engine::Library && seed % 4 != 0)
        continue; // the slowest
      Options options;
      options.engine = engine;
      Count points = count(set, options);
      ++tally[engine].asked;
      tally[engine].known += points.points.has_value();
      if (points.points) {
        ASSERT_EQ(*points.points, static_cast<int64_t>(expected.size()))
            << name(engine) << ", seed " << seed << ": " << text(set);
      } else {
        ASSERT_FALSE(points.reason.empty()) << name(engine) << ", seed " << seed;
      }
      Answer empty = isEmpty(set, options);
      if (empty.truth != Truth::Unknown) {
        ASSERT_EQ(empty.truth == Truth::Yes, expected.empty())
            << name(engine) << ", seed " << seed << ": " << text(set);
      }
    }
  }
  // Small maps are within every limit but those of closed forms, which reach most of them.
  EXPECT_EQ(tally[Engine::Auto].known, tally[Engine::Auto].asked);
  EXPECT_EQ(tally[Engine::Enumeration].known, tally[Engine::Enumeration].asked);
  EXPECT_EQ(tally[Engine::Library].known, tally[Engine::Library].asked);
  EXPECT_GT(tally[Engine::ClosedForms].known, tally[Engine::ClosedForms].asked * 95 / 100)
      << tally[Engine::ClosedForms].known;
}

TEST(Engines, BoxesAndHullOfRandomMaps) {
  for (int seed = 0; seed < 2000; ++seed) {
    ExprContext ctx;
    RandomMaps random(ctx, seed + 100000);
    IndexSet set = random.set(random.pick(1, 2));
    set.unite(random.set(set.rank()));
    Points expected = pointsOf(set);
    std::optional<std::vector<Box>> boxes = boxesOf(set);
    ASSERT_TRUE(boxes) << seed;
    ASSERT_EQ(pointsOf(*boxes), expected) << "seed " << seed << ": " << text(set);
    std::optional<Box> least = hullOf(set);
    ASSERT_EQ(least.has_value(), !expected.empty());
    for (size_t d = 0; least && d < set.rank(); ++d) {
      std::set<int64_t> values;
      for (const std::vector<int64_t> &point : expected)
        values.insert(point[d]);
      EXPECT_EQ((*least)[d].offset, *values.begin());
      EXPECT_EQ((*least)[d].last(), *values.rbegin());
      // No coarser step has all values: the least common step is the hull's.
      int64_t step = 0;
      for (int64_t v : values)
        step = std::gcd(step, v - *values.begin());
      if (values.size() > 1) {
        EXPECT_EQ((*least)[d].stride, step);
      }
    }
  }
}

TEST(Engines, InclusionAndEqualityOfRandomMaps) {
  int equal = 0, included = 0;
  for (int seed = 0; seed < 1500; ++seed) {
    ExprContext ctx;
    RandomMaps random(ctx, seed + 200000);
    size_t rank = random.pick(0, 2);
    IndexSet a = random.set(rank), b = random.set(rank);
    if (random.pick(0, 1)) // a ∪ b ⊇ a, and often equal to b
      b.unite(a);
    Points left = pointsOf(a), right = pointsOf(b);
    bool isIn = std::includes(right.begin(), right.end(), left.begin(), left.end());
    included += isIn;
    equal += left == right;
    for (Engine engine : engines) {
      Options options;
      options.engine = engine;
      Answer subset = isSubset(a, b, options), same = isEqual(a, b, options);
      if (engine != Engine::ClosedForms) {
        ASSERT_NE(subset.truth, Truth::Unknown) << name(engine) << ": " << subset.reason;
        ASSERT_NE(same.truth, Truth::Unknown) << name(engine) << ": " << same.reason;
      }
      if (subset.truth != Truth::Unknown) {
        ASSERT_EQ(subset.truth == Truth::Yes, isIn) << name(engine) << ", seed " << seed << "\n"
                                                    << text(a) << "in\n"
                                                    << text(b);
      }
      if (same.truth != Truth::Unknown) {
        ASSERT_EQ(same.truth == Truth::Yes, left == right)
            << name(engine) << ", seed " << seed << "\n"
            << text(a) << "and\n"
            << text(b);
      }
    }
  }
  EXPECT_GT(included, 300);
  EXPECT_GT(equal, 50);
}

TEST(Engines, PreimageOfRandomBoxes) {
  int nonEmpty = 0;
  for (int seed = 0; seed < 1500; ++seed) {
    ExprContext ctx;
    RandomMaps random(ctx, seed + 300000);
    size_t rank = random.pick(1, 2);
    IndexMap map = random.map(rank);
    Box target = random.box(rank);
    Points expected;
    Points inTarget = pointsOf(std::vector<Box>{target});
    std::vector<MapVariable> dims = map.variables(VarKind::Dim);
    // The graph of the map: dims beside results.
    std::vector<Expr> both;
    for (const MapVariable &v : dims)
      both.push_back(v.var);
    both.insert(both.end(), map.results().begin(), map.results().end());
    for (const std::vector<int64_t> &point :
         pointsOf(image(IndexMap(ctx, map.variables(), both, map.constraints()))))
      if (inTarget.count({point.begin() + dims.size(), point.end()}))
        expected.insert({point.begin(), point.begin() + dims.size()});
    nonEmpty += !expected.empty();
    IndexSet set = preimage(map, target);
    ASSERT_EQ(pointsOf(set), expected) << seed;
    for (Engine engine : engines) {
      Options options;
      options.engine = engine;
      if (std::optional<int64_t> points = count(set, options).points) {
        ASSERT_EQ(*points, static_cast<int64_t>(expected.size()))
            << name(engine) << ", seed " << seed << ": " << map.str();
      }
    }
  }
  EXPECT_GT(nonEmpty, 300);
}

/// A random shape of the product n.
std::vector<int64_t> shapeOf(RandomMaps &random, int64_t n) {
  std::vector<int64_t> shape;
  while (n > 1) {
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= n; ++d)
      if (n % d == 0)
        divisors.push_back(d);
    shape.push_back(divisors[random.pick(0, divisors.size() - 1)]);
    n /= shape.back();
  }
  return shape;
}

TEST(Engines, TilesOfRandomReshapes) {
  int known = 0, tiles = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    ExprContext ctx;
    RandomMaps random(ctx, seed + 400000);
    static const int64_t sizes[] = {12, 24, 36, 60, 64, 96, 128, 180, 210, 256, 360, 720};
    int64_t n = sizes[random.pick(0, 11)];
    std::vector<int64_t> from = shapeOf(random, n), to = shapeOf(random, n);
    Expr linear = ctx.constant(random.pick(0, 1) ? 0 : random.pick(0, 5));
    Box tile;
    for (size_t i = 0; i < from.size(); ++i) {
      linear = linear * from[i] + ctx.dim(i);
      int64_t size = random.pick(1, from[i]), offset = random.pick(0, from[i] - 1);
      tile.push_back(*normalised({offset, size, random.pick(1, 2)}));
    }
    std::vector<Expr> results(to.size());
    for (size_t i = to.size(); i-- > 0;) {
      results[i] = i == 0 ? linear : linear.mod(to[i]);
      linear = linear.floorDiv(to[i]);
    }
    IndexSet set = image(IndexMap::overExtents(ctx, from, results), tile);
    Options options;
    options.engine = Engine::ClosedForms;
    Count points = count(set, options);
    ++tiles;
    known += points.points.has_value();
    if (points.points) {
      ASSERT_EQ(*points.points, static_cast<int64_t>(pointsOf(set).size()))
          << "seed " << seed << ": " << text(set);
    }
    std::optional<std::vector<Box>> boxes = boxesOf(set);
    ASSERT_TRUE(boxes) << text(set);
    ASSERT_EQ(pointsOf(*boxes), pointsOf(set)) << "seed " << seed << ": " << text(set);
  }
  EXPECT_GT(known, tiles * 95 / 100);
}

TEST(Engines, SpentLimitsGiveUnknownWithAReason) {
  ExprContext ctx;
  Expr a = ctx.dim(0), b = ctx.dim(1), c = ctx.dim(2);
  IndexMap map = IndexMap::overExtents(
      ctx, std::vector<int64_t>{1000, 1000, 1000},
      {(a * 7 + b * 5).mod(1009) + (b * 3 + c * 11).floorDiv(13), (a * 5 + c).mod(97).max(b)});
  Options options;
  options.maxOperations = 2000;
  options.maxPoints = 1000;
  options.engine = Engine::Library;
  Answer library =
      isEqual(image(map), image(map, {{0, 900, 1}, {0, 900, 1}, {0, 900, 1}}), options);
  EXPECT_EQ(library.truth, Truth::Unknown);
  EXPECT_EQ(library.reason, "isl's allowance is spent");
  options.engine = Engine::Enumeration;
  EXPECT_EQ(count(image(map), options).reason, "more than 1000 points");
  options.engine = Engine::Auto;
  Count points = count(image(map), options);
  EXPECT_FALSE(points.points);
  EXPECT_FALSE(points.reason.empty());
}

TEST(Engines, HardProblemsEnd) {
  ExprContext ctx;
  // As many variables as the library takes, and far more.
  for (unsigned n : {4u, 20u}) {
    std::vector<int64_t> extents(n, 97);
    Expr least = ctx.dim(0), sum = ctx.dim(0), mixed = ctx.dim(0);
    for (unsigned i = 1; i < n; ++i) {
      Expr d = ctx.dim(i);
      least = least.min(d * (i % 5 + 1)).max(ctx.dim((i * 7) % n) - i);
      sum = sum + (d * i + ctx.dim(i - 1)).floorDiv(i + 1);
      mixed = (mixed * 3 + d).floorDiv(2) + (mixed + d).mod(i + 5);
    }
    for (Expr e : {least, sum, mixed}) {
      IndexSet set = image(IndexMap::overExtents(ctx, extents, {e, e.mod(13)}));
      IndexSet part = image(IndexMap::overExtents(ctx, std::vector<int64_t>(n, 90), {e, e.mod(7)}));
      for (Engine engine : engines) {
        Options options;
        options.engine = engine;
        EXPECT_FALSE(count(set, options).points && engine == Engine::Enumeration);
        isEmpty(set, options);
        isEqual(set, part, options);
      }
    }
  }
}

TEST(Engines, WhatNoEngineTakesIsUnknown) {
  ExprContext ctx;
  Expr d = ctx.dim(0), t = ctx.variable(VarKind::TileParam, "t0");
  IndexMap symbolic = IndexMap::overExtents(ctx, std::vector<int64_t>{8}, {d.floorDiv(t)});
  for (Engine engine : engines) {
    Options options;
    options.engine = engine;
    Count points = count(image(symbolic), options);
    EXPECT_FALSE(points.points) << name(engine);
    EXPECT_FALSE(points.reason.empty()) << name(engine);
    EXPECT_EQ(isEmpty(image(symbolic), options).truth, Truth::Unknown) << name(engine);
  }
}

// No engine takes a select or a power of two for affine: a right answer, or none with its reason.
TEST(Engines, SelectsAreNotAffine) {
  ExprContext ctx;
  Expr d = ctx.dim(0), zero = ctx.constant(0);
  const std::pair<Expr, int64_t> cases[] = {
      {select(d.isAtLeast(ctx.constant(4)), d, zero), 5}, // 0 and 4 … 7
      {select(d.isEqual(ctx.constant(3)), zero, d * 2 + 1), 8},
      {d.isAtLeast(ctx.constant(4)) * 3 + 1, 2},
      {(d + 1).log2(), 4},
      {d.pow2Ceil() + (d + 1).pow2Divisor() * 64, 8},
  };
  for (const auto &[e, expected] : cases) {
    IndexSet set = image(IndexMap::overExtents(ctx, std::vector<int64_t>{8}, {e}));
    for (Engine engine : engines) {
      Options options;
      options.engine = engine;
      Count points = count(set, options);
      if (points.points) {
        EXPECT_EQ(*points.points, expected) << name(engine) << " " << e.str();
      } else {
        EXPECT_FALSE(points.reason.empty()) << name(engine);
      }
      if (engine == Engine::Library) {
        EXPECT_EQ(points.reason, "a comparison, a select or a power of two");
      }
    }
  }
}

TEST(Engines, NumbersNear64BitsAreNoCrash) {
  ExprContext ctx;
  Expr d = ctx.dim(0);
  const int64_t big = INT64_MAX;
  std::vector<IndexMap> maps = {
      IndexMap::overExtents(ctx, std::vector<int64_t>{big}, {d * 3 + big}),
      IndexMap::overExtents(ctx, std::vector<int64_t>{big}, {d.floorDiv(big) - big}),
      IndexMap(ctx, {{d, Interval{}, std::nullopt}}, {d.mod(7)}),
      IndexMap(ctx, {{d, {INT64_MIN + 1, big - 1}, std::nullopt}}, {d - d.mod(big)},
               {{d, {INT64_MIN, big}, big, big - 1}})};
  for (const IndexMap &map : maps)
    for (Engine engine : engines) {
      Options options;
      options.engine = engine;
      options.maxPoints = 1000;
      count(image(map), options);
      isEmpty(image(map, {{big, 2, 1}}), options);
      isEqual(preimage(map, {{INT64_MIN, 5, 1}}), preimage(map, {{0, 5, INT64_MIN}}), options);
    }
  // isl has no bounds on numbers, and none on variables.
  Options library;
  library.engine = Engine::Library;
  EXPECT_EQ(count(image(maps[2]), library).points, 7);
}

} // namespace
} // namespace tilewright::sets
