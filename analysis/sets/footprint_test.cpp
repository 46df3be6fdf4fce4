// Set questions about the maps of ops: known CTAs, and everything in the bundled models.
#include "analysis/import/import_file.h"
#include "analysis/import/testing/models.h"
#include "analysis/indexing/testing/indexing.h"
#include "analysis/sets/testing/sets.h"

namespace tilewright::sets {
namespace {

Options only(Engine engine) {
  Options options;
  options.engine = engine;
  return options;
}

IndexSet readsThrough(HloGraph &g, std::string_view from, std::string_view to, const Box &box) {
  llvm::Expected<OperandMaps> maps = mapsToOp(g.graph(), g.find(from), g.find(to), g.context);
  if (!maps) {
    ADD_FAILURE() << takeDiag(maps.takeError()).str();
    return IndexSet(0);
  }
  IndexSet set(g.graph().op(g.find(to)).shape.dims.size());
  for (const IndexMap &map : maps->maps)
    set.unite(image(map, box));
  return set;
}

/// The count by closed forms, after the other engines agreed.
int64_t footprint(const IndexSet &set) {
  Count closed = count(set, only(Engine::ClosedForms));
  EXPECT_TRUE(closed.points) << closed.reason;
  EXPECT_EQ(count(set, only(Engine::Enumeration)).points, closed.points);
  EXPECT_EQ(count(set, only(Engine::Library)).points, closed.points);
  return closed.points.value_or(-1);
}

TEST(Emptiness, WhatIntervalsAloneDoNotSee) {
  ExprContext ctx;
  Expr d = ctx.dim(0);
  auto systems = [&](Interval domain, std::vector<MapConstraint> constraints) {
    return image(IndexMap(ctx, {{d, domain, std::nullopt}}, {d}, std::move(constraints)));
  };
  std::vector<std::pair<IndexSet, Truth>> cases = {
      {systems({0, 1000}, {{d.mod(8), {45, 49}}}), Truth::Yes},
      {systems({0, 1000}, {{d.mod(50), {45, 49}}}), Truth::No},
      {systems({1, 76}, {{d.mod(7), {0, 0}}, {d.mod(11), {0, 0}}}), Truth::Yes},
      {systems({1, 77}, {{d.mod(7), {0, 0}}, {d.mod(11), {0, 0}}}), Truth::No},
      {systems({1, 76}, {{d, Interval{}, 7, 0}, {d, Interval{}, 11, 0}}), Truth::Yes},
      {systems({0, 99}, {{d * 2, {31, 31}}}), Truth::Yes},
      {systems({0, 99}, {{d.floorDiv(4) * 4 - d, {1, 9}}}), Truth::Yes},
  };
  for (size_t i = 0; i < cases.size(); ++i)
    for (Engine engine : {Engine::ClosedForms, Engine::Enumeration, Engine::Library, Engine::Auto})
      EXPECT_EQ(isEmpty(cases[i].first, only(engine)).truth, cases[i].second)
          << "case " << i << ", engine " << static_cast<int>(engine);
}

TEST(Footprint, CropBeforeAPaddedWindow) {
  HloGraph g(R"(
  x = f32[6,5]{1,0} parameter(0)
  zero = f32[] constant(0)
  cropped = f32[6,3]{1,0} pad(x, zero), padding=0_0x-2_0
  ROOT summed = f32[6,3]{1,0} reduce-window(cropped, zero), window={size=1x2 pad=0_0x1_0}, to_apply=add)");
  IndexSet all = readsThrough(g, "summed", "x", {{0, 6, 1}, {0, 3, 1}});
  EXPECT_EQ(footprint(all), 18); // of 30
  EXPECT_EQ(hullOf(all), (Box{{0, 6, 1}, {2, 3, 1}}));
  EXPECT_EQ(isEqual(all, boxSet(g.context, {{0, 6, 1}, {2, 3, 1}})).truth, Truth::Yes);
  EXPECT_EQ(footprint(readsThrough(g, "summed", "x", {{1, 2, 1}, {0, 1, 1}})), 2);
}

TEST(Footprint, WindowsOfAConvolutionOverlap) {
  HloGraph g(R"(
  image = bf16[1,256,56,56]{3,2,1,0} parameter(0)
  filters = bf16[256,1,3,3]{3,2,1,0} parameter(1)
  ROOT out = bf16[1,256,56,56]{3,2,1,0} convolution(image, filters), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=256)");
  // A tile inside: one ring around it. At the corner the ring is padding on two sides.
  EXPECT_EQ(
      footprint(readsThrough(g, "out", "image", {{0, 1, 1}, {8, 8, 1}, {8, 8, 1}, {16, 8, 1}})),
      8 * 10 * 10);
  EXPECT_EQ(
      footprint(readsThrough(g, "out", "image", {{0, 1, 1}, {0, 4, 1}, {0, 8, 1}, {0, 8, 1}})),
      4 * 9 * 9);
  EXPECT_EQ(count(readsThrough(g, "out", "image", {{0, 1, 1}, {0, 256, 1}, {0, 56, 1}, {0, 56, 1}}))
                .points,
            256 * 56 * 56);
  EXPECT_EQ(count(readsThrough(g, "out", "filters", {{0, 1, 1}, {8, 8, 1}, {8, 8, 1}, {16, 8, 1}}))
                .points,
            8 * 9);
  // Two neighbouring tiles share two columns.
  IndexSet left = readsThrough(g, "out", "image", {{0, 1, 1}, {8, 2, 1}, {8, 8, 1}, {16, 8, 1}});
  left.unite(readsThrough(g, "out", "image", {{0, 1, 1}, {8, 2, 1}, {8, 8, 1}, {24, 8, 1}}));
  EXPECT_EQ(footprint(left), 2 * 10 * 18);
}

TEST(Footprint, StridedAndDilatedWindows) {
  HloGraph strided(R"(
  x = f32[64] parameter(0)
  zero = f32[] constant(0)
  ROOT r = f32[21] reduce-window(x, zero), window={size=2 stride=3}, to_apply=add)");
  // Windows of two in steps of three: gaps stay.
  EXPECT_EQ(footprint(readsThrough(strided, "r", "x", {{2, 5, 1}})), 10);
  EXPECT_EQ(hullOf(readsThrough(strided, "r", "x", {{2, 5, 1}})), (Box{{6, 14, 1}}));
  HloGraph dilated(R"(
  x = f32[1,1,9] parameter(0)
  k = f32[1,1,3] parameter(1)
  ROOT r = f32[1,1,15] convolution(x, k), window={size=3 lhs_dilate=2}, dim_labels=bf0_oi0->bf0)");
  // Every second position is a hole of the dilation.
  EXPECT_EQ(footprint(readsThrough(dilated, "r", "x", {{0, 1, 1}, {0, 1, 1}, {0, 1, 1}})), 2);
  EXPECT_EQ(footprint(readsThrough(dilated, "r", "x", {{0, 1, 1}, {0, 1, 1}, {1, 1, 1}})), 1);
  EXPECT_EQ(footprint(readsThrough(dilated, "r", "x", {{0, 1, 1}, {0, 1, 1}, {0, 15, 1}})), 9);
}

TEST(Footprint, TilesThatStraddleAConcatenation) {
  HloGraph g(R"(
  left = f32[256,8]{1,0} parameter(0)
  middle = f32[256,1512]{1,0} parameter(1)
  right = f32[256,8]{1,0} parameter(2)
  ROOT grid = f32[256,1528]{1,0} concatenate(left, middle, right), dimensions={1})");
  int straddling = 0;
  for (int64_t tile = 0; tile < 12; ++tile) {
    Box box{{0, 8, 1}, {tile * 128, 128, 1}};
    int64_t valid = std::min<int64_t>(128, 1528 - tile * 128), sum = 0, operands = 0;
    for (const char *operand : {"left", "middle", "right"}) {
      Count own = count(readsThrough(g, "grid", operand, box));
      ASSERT_TRUE(own.points) << own.reason;
      sum += *own.points;
      operands += *own.points > 0;
    }
    EXPECT_EQ(sum, 8 * valid);
    straddling += operands > 1;
  }
  EXPECT_EQ(straddling, 2);
}

TEST(Footprint, TwoReadsOfOneTensor) {
  HloGraph g(R"(
  x = f32[100] parameter(0)
  a = f32[60] slice(x), slice={[0:60]}
  b = f32[25] slice(x), slice={[50:100:2]}
  ROOT r = f32[85] concatenate(a, b), dimensions={0})");
  EXPECT_EQ(footprint(readsThrough(g, "r", "x", {{0, 85, 1}})), 60 + 20);
  EXPECT_EQ(footprint(readsThrough(g, "r", "x", {{50, 20, 1}})), 10 + 10 - 5);
}

TEST(Footprint, AWaveOfCtas) {
  HloGraph g(R"(
  a = f32[1024,512] parameter(0)
  b = f32[512,2048] parameter(1)
  ROOT r = f32[1024,2048] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0})");
  // 100 CTAs of 128 × 128, row by row of 16: six rows and a part of the seventh.
  IndexSet lhs(2), rhs(2);
  for (int64_t program = 0; program < 100; ++program) {
    Box box{{program / 16 * 128, 128, 1}, {program % 16 * 128, 128, 1}};
    lhs.unite(readsThrough(g, "r", "a", box));
    rhs.unite(readsThrough(g, "r", "b", box));
  }
  EXPECT_EQ(count(lhs).points, 7 * 128 * 512);
  EXPECT_EQ(count(rhs).points, 2048 * 512);
  EXPECT_EQ(count(lhs).by, Engine::ClosedForms);
}

TEST(Footprint, TilesThroughReshapes) {
  HloGraph g(R"(
  x = f32[12,4] parameter(0)
  flat = f32[48] reshape(x)
  ROOT r = f32[4,12] reshape(flat))");
  EXPECT_EQ(boxesOf(readsThrough(g, "r", "x", {{1, 1, 1}, {0, 12, 1}})),
            (std::vector<Box>{{{3, 3, 1}, {0, 4, 1}}}));
  for (int64_t size = 1; size <= 12; ++size)
    for (int64_t offset = 0; offset < 12; ++offset) {
      IndexSet tile = readsThrough(g, "r", "x", {{1, 2, 1}, {offset, size, 1}});
      EXPECT_EQ(footprint(tile), 2 * std::min(size, 12 - offset));
      std::optional<std::vector<Box>> boxes = boxesOf(tile);
      ASSERT_TRUE(boxes);
      EXPECT_EQ(pointsOf(*boxes), pointsOf(tile));
    }
}

TEST(Footprint, RuntimeOffsetsCoverAllRunsUntilFixed) {
  HloGraph g(R"(
  x = f32[100] parameter(0)
  i = s32[] parameter(1)
  ROOT r = f32[10] dynamic-slice(x, i), dynamic_slice_sizes={10})");
  llvm::Expected<OperandMaps> maps = mapsToOp(g.graph(), g.find("r"), g.find("x"), g.context);
  ASSERT_TRUE(bool(maps));
  const IndexMap &map = maps->maps[0];
  IndexSet any = image(map, {{2, 4, 1}});
  EXPECT_TRUE(any.coversAllRuns());
  EXPECT_EQ(hullOf(any), (Box{{2, 94, 1}}));
  Expr rt = map.variables(VarKind::Runtime).at(0).var;
  IndexSet one(1, {Reads{map, {{g.context.dim(0), {2, 4, 1}}, {rt, Progression::point(7)}}}});
  EXPECT_FALSE(one.coversAllRuns());
  EXPECT_EQ(boxesOf(one), (std::vector<Box>{{{9, 4, 1}}}));
}

TEST(Footprint, EveryMapOfTheBundledModels) {
  int maps = 0, tiles = 0;
  for (const std::string &path : bundledModels()) {
    llvm::Expected<Module> module = importFile(path);
    ASSERT_TRUE(bool(module)) << takeDiag(module.takeError()).str();
    for (const Graph &graph : module->all()) {
      ExprContext context;
      for (uint32_t i = 0; i < graph.size(); ++i) {
        llvm::Expected<OpIndexing> indexing = outputToOperands(graph, OpId{i}, context);
        if (!indexing) {
          llvm::consumeError(indexing.takeError());
          continue;
        }
        for (const OperandMaps &operand : indexing->operands)
          for (const IndexMap &map : operand.maps) {
            ++maps;
            Count whole = count(image(map), only(Engine::ClosedForms));
            EXPECT_TRUE(whole.points) << path << " " << graph.op(OpId{i}).name << ": " << map.str()
                                      << ": " << whole.reason;
            // A tile of at most 3 in each dim, in the middle, cut to 3 steps of a reduction.
            Reads tile{map, {}};
            for (const MapVariable &v : map.variables()) {
              Interval domain = v.domain.isBounded() ? v.domain : Interval{0, 9};
              int64_t n = domain.hi - domain.lo + 1;
              int64_t size = std::min<int64_t>(n, map.variables().size() > 6 ? 2 : 3);
              tile.restrictions.emplace_back(v.var,
                                             Progression{domain.lo + (n - size) / 2, size, 1});
            }
            IndexSet set(map.results().size(), {tile});
            Count closed = count(set, only(Engine::ClosedForms));
            Count points = count(set, only(Engine::Enumeration));
            ASSERT_TRUE(points.points) << points.reason;
            EXPECT_EQ(closed.points, points.points) << map.str() << ": " << closed.reason;
            tiles += *points.points > 1;
          }
      }
    }
  }
  EXPECT_GT(maps, 2000);
  EXPECT_GT(tiles, 1000);
}

} // namespace
} // namespace tilewright::sets
