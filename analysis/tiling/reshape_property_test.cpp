// Reshapes of root tiles against enumeration: every pair of shapes of up to 24 elements (`ctest -L
// soak`: 64), every integer tile size, every CTA.
#include "analysis/tiling/factored_tile.h"
#include "analysis/tiling/testing/tile_oracle.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace tilewright;
using Shape64 = std::vector<int64_t>;

namespace {

struct ReshapeCase {
  ExprContext context;
  TileFactory factory{context};
  std::vector<Expr> sizes, pids;
  std::vector<Formula> conditions;
  Tile result;

  ReshapeCase(const Shape64 &from, const Shape64 &to) {
    FactoredTile root;
    for (size_t i = 0; i < from.size(); ++i) {
      pids.push_back(context.variable(VarKind::ProgramId, "pid" + std::to_string(i)));
      sizes.push_back(context.variable(VarKind::TileParam, "t" + std::to_string(i)));
      root.dims.push_back(factory.rootDim(pids[i], sizes[i], from[i]));
    }
    ConditionSink sink = [&](TileCondition c) { conditions.push_back(c.formula); };
    result = factory.plainTile(factory.reshape(root, from, to, sink), to, sink);
  }
};

struct Counts {
  long tilings = 0, exact = 0, falseAccepts = 0, falseRejects = 0, wrongTiles = 0;
};

void checkPair(const Shape64 &from, const Shape64 &to, Counts &counts) {
  ReshapeCase test(from, to);
  Shape64 limit = from, choice(from.size(), 0);
  do {
    Shape64 sizes(from.size()), grid(from.size());
    Assignment point;
    for (size_t i = 0; i < from.size(); ++i) {
      sizes[i] = choice[i] + 1;
      grid[i] = (from[i] + sizes[i] - 1) / sizes[i];
      point.set(test.sizes[i], sizes[i]);
    }
    bool accepted = true;
    for (const Formula &f : test.conditions) {
      std::optional<bool> holds = f.evaluate(point);
      ASSERT_TRUE(holds.has_value());
      accepted &= *holds;
    }
    bool truth = true;
    Shape64 pid(from.size(), 0), strides(to.size(), 0);
    do {
      std::vector<int64_t> list = oracle::rootElements(from, sizes, pid);
      std::set<int64_t> image(list.begin(), list.end());
      Shape64 mine;
      truth &= oracle::isBox(image, to, mine);
      for (size_t j = 0; truth && j < to.size(); ++j) {
        truth &= mine[j] == 0 || strides[j] == 0 || mine[j] == strides[j];
        if (mine[j])
          strides[j] = mine[j];
      }
      if (accepted) {
        for (size_t i = 0; i < from.size(); ++i)
          point.set(test.pids[i], pid[i]);
        auto tile = numericTile(test.result, point);
        ASSERT_TRUE(tile.has_value());
        // The same elements in the same order: lane k of the one is lane k of the other.
        if (elementsOf(*tile, to) != list)
          ++counts.wrongTiles;
      }
    } while (oracle::advance(pid, grid));
    ++counts.tilings;
    counts.exact += truth;
    counts.falseAccepts += accepted && !truth;
    counts.falseRejects += truth && !accepted;
    if (accepted != truth && counts.falseAccepts + counts.falseRejects <= 5) {
      std::string text;
      for (int64_t d : from)
        text += std::to_string(d) + " ";
      text += "-> ";
      for (int64_t d : to)
        text += std::to_string(d) + " ";
      text += "sizes";
      for (int64_t s : sizes)
        text += " " + std::to_string(s);
      ADD_FAILURE() << (accepted ? "accepted wrongly: " : "refused wrongly: ") << text;
    }
  } while (oracle::advance(choice, limit));
}

} // namespace

TEST(ReshapeTiles, AgreeWithEnumerationForAllSmallShapesAndSizes) {
  Counts counts;
  const char *wanted = std::getenv("TILEWRIGHT_PROPERTY_ELEMENTS");
  const int64_t most = wanted ? std::atol(wanted) : 24;
  for (int64_t n = 2; n <= most; ++n) {
    std::vector<Shape64> shapes = oracle::shapesOf(n);
    for (const Shape64 &from : shapes)
      for (const Shape64 &to : shapes)
        checkPair(from, to, counts);
  }
  EXPECT_EQ(counts.falseAccepts, 0);
  EXPECT_EQ(counts.falseRejects, 0);
  EXPECT_EQ(counts.wrongTiles, 0);
  EXPECT_GT(counts.tilings, 8000);
  EXPECT_GT(counts.exact, 4000);
  RecordProperty("tilings", static_cast<int>(counts.tilings));
}

TEST(ReshapeTiles, AgreeWithEnumerationWithUnitDims) {
  Counts counts;
  for (int64_t n : {1, 6, 8, 12}) {
    std::vector<Shape64> shapes = n == 1 ? std::vector<Shape64>{{1}} : oracle::shapesOf(n), all;
    for (const Shape64 &shape : shapes)
      for (size_t at = 0; at <= shape.size(); ++at) {
        all.push_back(shape);
        all.back().insert(all.back().begin() + at, 1);
      }
    for (const Shape64 &from : all)
      for (const Shape64 &to : all)
        checkPair(from, to, counts);
  }
  EXPECT_EQ(counts.falseAccepts + counts.falseRejects + counts.wrongTiles, 0);
  EXPECT_GT(counts.exact, 100);
}

TEST(ReshapeTiles, CounterexamplesOfTheLiterature) {
  auto accepts = [](const Shape64 &from, const Shape64 &to, const Shape64 &sizes) {
    ReshapeCase test(from, to);
    Assignment point;
    for (size_t i = 0; i < sizes.size(); ++i)
      point.set(test.sizes[i], sizes[i]);
    for (const Formula &f : test.conditions)
      if (!f.evaluate(point).value())
        return false;
    return true;
  };
  EXPECT_FALSE(accepts({3, 4}, {12}, {2, 2}));
  EXPECT_TRUE(accepts({3, 4}, {12}, {3, 1}));
  EXPECT_FALSE(accepts({17, 2, 4}, {136}, {4, 1, 4})); // a unit between two active dims
  EXPECT_FALSE(accepts({12}, {3, 4}, {5}));
  EXPECT_TRUE(accepts({12}, {3, 4}, {8})); // the last tile has 4
  EXPECT_TRUE(accepts({4, 6}, {6, 4}, {1, 2}));
  EXPECT_TRUE(accepts({4, 6}, {6, 4}, {2, 6}));
  EXPECT_FALSE(accepts({4, 6}, {6, 4}, {1, 3}));
  EXPECT_FALSE(accepts({4, 6}, {6, 4}, {1, 6}));
  EXPECT_TRUE(accepts({2, 3}, {6}, {1, 2}));
  EXPECT_TRUE(accepts({2, 32, 128}, {8192}, {1, 16, 1}));
  EXPECT_TRUE(accepts({10, 4}, {40}, {1, 4}));
  EXPECT_FALSE(accepts({3, 4, 5}, {60}, {2, 2, 1}));
}

TEST(ReshapeTiles, StayLinearInTheRank) {
  for (size_t rank : {16, 32, 62}) {
    Shape64 twos(rank, 2), flat{int64_t(1) << rank};
    ReshapeCase down(twos, flat), up(flat, twos);
    EXPECT_LT(down.conditions.size(), 3 * rank);
    EXPECT_LT(up.conditions.size(), 3 * rank);
    EXPECT_LT(down.context.nodeCount(), 80 * rank);
    EXPECT_LT(up.context.nodeCount(), 80 * rank);
  }
}
