// Tiles of single ops and short chains: known answers, and windows against enumeration.
#include "analysis/tiling/testing/tiles.h"

#include <set>

using namespace tilewright;

TEST(OpTiles, SliceStridesAndTightMasks) {
  TiledText t = tileText("  x = f32[7] parameter(0)\n"
                         "  ROOT y = f32[4] slice(x), slice={[0:7:2]}\n");
  // Upper mask 7, not 8: the last index read is 6.
  EXPECT_EQ(t.tile("x"), "[(t0 * pid0) * 2 : t0 : 2]");
}

TEST(OpTiles, ConcatenateMasksBothSides) {
  TiledText t = tileText("  a = f32[10] parameter(0)\n  b = f32[20] parameter(1)\n"
                         "  c = f32[30] parameter(2)\n"
                         "  j = f32[60] concatenate(a, b, c), dimensions={0}\n"
                         "  ROOT y = f32[30] slice(j), slice={[13:43]}\n");
  EXPECT_TRUE(t.group.constraints.empty()); // no alignment is asked for
  EXPECT_EQ(t.numbers("a", 0, {17}, {0})[0].validCount(), 0);
  EXPECT_EQ(t.numbers("b", 0, {17}, {0})[0], (NumericDim{3, 17, 1, 3, 20}));
  EXPECT_EQ(t.numbers("c", 0, {17}, {1})[0], (NumericDim{0, 17, 1, 0, 13}));
  EXPECT_EQ(t.numbers("b", 0, {5}, {3})[0].validCount(), 2);
  EXPECT_EQ(t.numbers("c", 0, {5}, {3})[0].validCount(), 3);
}

TEST(OpTiles, ReverseRunsBackwards) {
  TiledText t = tileText("  x = f32[179] parameter(0)\n"
                         "  ROOT y = f32[179] reverse(x), dimensions={0}\n");
  EXPECT_EQ(t.tile("x"), "[-(t0 * pid0) + 178 : t0 : -1]");
}

TEST(OpTiles, PadShiftsAndMasks) {
  TiledText t = tileText("  x = f32[4,4] parameter(0)\n  z = f32[] constant(0)\n"
                         "  ROOT y = f32[12,13] pad(x, z), padding=1_7x0_9\n");
  EXPECT_EQ(t.tile("x"), "[t0 * pid0 - 1 : t0, t1 * pid1 : t1]");
  EXPECT_EQ(t.tile("z"), "[]");
}

TEST(OpTiles, DynamicSliceStarts) {
  TiledText t = tileText("  x = f32[20,2,258] parameter(0)\n  four = s32[] constant(4)\n"
                         "  s1 = s32[] parameter(1)\n  s2 = s32[] parameter(2)\n"
                         "  ROOT y = f32[1,2,32] dynamic-slice(x, four, s1, s2), "
                         "dynamic_slice_sizes={1,2,32}\n");
  // The middle dim is whole, so that its start can only be 0.
  EXPECT_EQ(t.tile("x"), "[4 : 1, t1 * pid1 : t1, rt0 + t2 * pid2 : t2 in [rt0, "
                         "rt0 + 32)]");
  ASSERT_EQ(t.group.runtime.size(), 1u);
  EXPECT_EQ(t.group.runtime[0].source, t.graph().find("s2"));
  EXPECT_EQ(t.group.runtime[0].range, (Interval{0, 226}));
}

TEST(OpTiles, DynamicUpdateSlice) {
  TiledText t = tileText("  x = f32[20,30] parameter(0)\n  u = f32[5,10] parameter(1)\n"
                         "  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
                         "  ROOT y = f32[20,30] dynamic-update-slice(x, u, i, j)\n");
  EXPECT_EQ(t.instance("x").exactness, Exactness::OverApproximate);
  EXPECT_EQ(t.instance("u").exactness, Exactness::Exact);
  Assignment point = t.group.space.assign(t.filled({8, 8}));
  point.set(t.group.space.parameters[0].index, 1); // rows 8 to 15
  point.set(t.group.space.parameters[1].index, 0); // columns 0 to 7
  point.set(t.group.runtime[0].var, 6);            // rows 6 to 10
  point.set(t.group.runtime[1].var, 5);            // columns 5 to 14
  std::vector<NumericDim> u = numericTile(t.instance("u").tile, point).value();
  EXPECT_EQ(elementsOf(u, std::vector<int64_t>{5, 10}),
            (std::vector<int64_t>{20, 21, 22, 30, 31, 32, 40, 41, 42}));
}

TEST(OpTiles, ConcatenateBehindABitcast) {
  TiledText t = tileText("  a = f32[10,512] parameter(0)\n  b = f32[10,2,512] parameter(1)\n"
                         "  c = f32[10,1024] bitcast(b)\n"
                         "  ROOT j = f32[10,1536] concatenate(a, c), dimensions={1}\n");
  EXPECT_TRUE(t.feasible({1, 2}));
  EXPECT_TRUE(t.feasible({1, 512}));
  EXPECT_FALSE(t.feasible({1, 3}));
  EXPECT_TRUE(t.feasible({1, 1024}));
  EXPECT_EQ(t.numbers("b", 0, {1, 1024}, {0, 0})[1].validCount(), 1);
  EXPECT_FALSE(t.feasible({1, 768})); // the second tile has a row and a half
  EXPECT_EQ(validCount(t.numbers("b", 0, {1, 2}, {0, 100})), 0);
  EXPECT_EQ(t.numbers("b", 0, {1, 2}, {3, 256 + 256 + 5}),
            (std::vector<NumericDim>{{3, 1, 1, 0, 10}, {1, 1, 1, 0, 2}, {10, 2, 1, 0, 12}}));
}

TEST(OpTiles, ReduceOfASplitAxis) {
  TiledText t = tileText("  x = f32[18] parameter(0)\n  z = f32[] constant(0)\n"
                         "  m = f32[9,2] reshape(x)\n"
                         "  r = f32[9] reduce(m, z), dimensions={1}, to_apply=add\n"
                         "  ROOT s = f32[] reduce(r, z), dimensions={0}, to_apply=add\n");
  ASSERT_EQ(t.group.space.parameters[0].name, "r0");
  ASSERT_EQ(t.group.space.parameters[1].name, "r1");
  EXPECT_TRUE(t.feasible({9, 2}));
  EXPECT_TRUE(t.feasible({1, 1}));
  EXPECT_EQ(t.numbers("x", 0, {3, 2}, {1, 0})[0], (NumericDim{6, 6, 1, 0, 12}));
  // The inner loop lies inside the outer one.
  EXPECT_EQ(t.instance("x").loops, (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(t.instance("r").loops, (std::vector<unsigned>{0}));
}

TEST(OpTiles, BatchedDot) {
  TiledText t = tileText("  a = bf16[2,3,16,128] parameter(0)\n"
                         "  b = bf16[2,3,128,4096] parameter(1)\n"
                         "  ROOT d = bf16[2,3,16,4096] dot(a, b), lhs_batch_dims={0,1}, "
                         "rhs_batch_dims={0,1}, lhs_contracting_dims={3}, "
                         "rhs_contracting_dims={2}\n");
  EXPECT_EQ(ctaCount(t.group.space, t.filled({1, 1, 8, 64, 32})), 768);
  EXPECT_EQ(t.tile("b"), "[t0 * pid0 : t0, t1 * pid1 : t1, k0 * step_k0 : k0, t3 * pid3 : t3]");
}

TEST(OpTiles, ExtraOutputInAnotherShape) {
  // Exact partitions once masks depend on the CTA.
  TiledText t = tileText("  x = f32[64,100] parameter(0)\n  y = f32[64,100] negate(x)\n"
                         "  flat = f32[6400] reshape(y)\n"
                         "  ROOT r = (f32[64,100], f32[6400]) tuple(y, flat)\n");
  EXPECT_EQ(t.group.roots.size(), 2u);
  EXPECT_EQ(t.group.space.parameters[0].extent, 6400);
  EXPECT_TRUE(t.feasible({100}));
  EXPECT_TRUE(t.feasible({20}));
  EXPECT_FALSE(t.feasible({16}));
}

TEST(OpTiles, AttentionLinksItsTwoDots) {
  TiledText t = tileText(
      "  q = bf16[512,64] parameter(0)\n  k = bf16[1024,64] parameter(1)\n"
      "  v = bf16[1024,64] parameter(2)\n  ninf = f32[] constant(-inf)\n  z = f32[] constant(0)\n"
      "  s = f32[512,1024] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
      "  m = f32[512] reduce(s, ninf), dimensions={1}, to_apply=add\n"
      "  mb = f32[512,1024] broadcast(m), dimensions={0}\n"
      "  c = f32[512,1024] subtract(s, mb)\n  e = f32[512,1024] exponential(c)\n"
      "  l = f32[512] reduce(e, z), dimensions={1}, to_apply=add\n"
      "  p = bf16[512,1024] convert(e)\n"
      "  o = f32[512,64] dot(p, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  lb = f32[512,64] broadcast(l), dimensions={0}\n"
      "  ROOT y = f32[512,64] divide(o, lb)\n");
  // k0 walks the keys in the second dot and in both reductions; k1 the head in the first dot.
  EXPECT_FALSE(t.group.space.find("r0"));
  ASSERT_TRUE(t.group.space.find("k1"));
  EXPECT_EQ(t.instanceCount("s"), 1u);
  EXPECT_EQ(t.tile("s"), "[t0 * pid0 : t0, k0 * step_k0 : k0]");
  const unsigned k0 = static_cast<unsigned>(*t.group.space.indexOf("k0"));
  const unsigned k1 = static_cast<unsigned>(*t.group.space.indexOf("k1"));
  EXPECT_EQ(t.instance("s").loops, std::vector<unsigned>{k0});
  EXPECT_EQ(t.instance("s").reduces, std::vector<unsigned>{k1});
  EXPECT_EQ(t.instance("q").loops, (std::vector<unsigned>{k0, k1}));
  EXPECT_EQ(t.instance("v").loops, std::vector<unsigned>{k0});
  EXPECT_TRUE(t.instance("m").loops.empty());
}

TEST(OpTiles, DepthwiseConvolutionReadsItsOwnChannels) {
  TiledText t = tileText("  i = bf16[1,256,56,56] parameter(0)\n  f = bf16[256,1,3,3] "
                         "parameter(1)\n"
                         "  ROOT o = bf16[1,256,56,56] convolution(i, f), window={size=3x3 "
                         "pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=256\n");
  std::vector<NumericDim> image = t.numbers("i", 0, {1, 32, 4, 56}, {0, 2, 1, 0, 0});
  EXPECT_EQ(image[1], (NumericDim{64, 32, 1, 0, 256}));
  EXPECT_EQ(image[2], (NumericDim{3, 6, 1, 0, 56}));
  EXPECT_EQ(image[3].validCount(), 56);
  EXPECT_EQ(t.instance("i").exactness, Exactness::Exact);
}

TEST(OpTiles, GatherSaysThatItDoesNotKnow) {
  TiledText t = tileText("  table = f32[50257,768] parameter(0)\n  ids = s32[128,1] "
                         "parameter(1)\n"
                         "  ROOT e = f32[128,768] gather(table, ids), offset_dims={1}, "
                         "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
                         "slice_sizes={1,768}\n");
  EXPECT_EQ(t.instance("table").exactness, Exactness::Unknown);
  EXPECT_EQ(validCount(t.numbers("table", 0, {8, 256}, {0, 1})), 8 * 256);
  EXPECT_EQ(t.tile("ids"), "[t0 * pid0 : t0, 0 : 1]");
  // A tile of one row is known but for its start.
  ASSERT_EQ(t.group.runtime.size(), 1u);
  EXPECT_EQ(t.group.runtime[0].range, (Interval{0, 50256}));
  EXPECT_EQ(t.group.runtime[0].element[0].str(), "t0 * pid0");
  EXPECT_EQ(evaluate(t.instance("table").exactWhen, t.group.space.assign(t.filled({1, 256}))), 1);
  EXPECT_EQ(evaluate(t.instance("table").exactWhen, t.group.space.assign(t.filled({8, 256}))), 0);
  EXPECT_EQ(validCount(t.numbers("table", 0, {1, 256}, {3, 1})), 256);
}

TEST(OpTiles, WindowThatOnlyCrops) {
  TiledText t = tileText("  x = f32[8,4] parameter(0)\n  z = f32[] constant(0)\n"
                         "  ROOT y = f32[7,4] reduce-window(x, z), window={size=1x1 "
                         "pad=-1_0x0_0}, to_apply=add\n");
  EXPECT_EQ(t.numbers("x", 0, {3, 4}, {1, 0})[0].offset, 4);
  EXPECT_EQ(t.numbers("x", 0, {3, 4}, {2, 0})[0].validCount(), 1);
  EXPECT_EQ(t.instance("x").exactness, Exactness::Exact);
}

TEST(OpTiles, CropBeforeAPaddedWindowIsNoNetPadding) {
  TiledText t = tileText("  x = f32[6,5] parameter(0)\n  z = f32[] constant(0)\n"
                         "  c = f32[6,3] pad(x, z), padding=0_0x-2_0\n"
                         "  ROOT y = f32[6,3] reduce-window(c, z), window={size=1x2 "
                         "pad=0_0x1_0}, to_apply=add\n");
  NumericDim columns = t.numbers("x", 0, {6, 3}, {0, 0})[1];
  EXPECT_EQ(columns.validCount(), 3);
  EXPECT_EQ(std::max(columns.offset, columns.lower), 2);
}

TEST(OpTiles, WindowsAgreeWithEnumeration) {
  int exact = 0, superset = 0;
  for (int64_t extent : {1, 5, 9})
    for (int64_t size : {1, 2, 3})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t base : {1, 2})
            for (int64_t low : {-1, 0, 2}) {
              const int64_t span = (extent - 1) * base + 1 + low;
              const int64_t reach = (size - 1) * dilation + 1;
              if (span < reach)
                continue;
              const int64_t results = (span - reach) / stride + 1;
              TiledText t = tileText(fmt::format(
                  "  x = f32[{}] parameter(0)\n  z = f32[] constant(0)\n"
                  "  ROOT y = f32[{}] reduce-window(x, z), window={{size={} stride={} pad={}_0 "
                  "lhs_dilate={} rhs_dilate={}}}, to_apply=add\n",
                  extent, results, size, stride, low, base, dilation));
              const TileInstance &x = t.instance("x");
              (x.exactness == Exactness::Exact ? exact : superset)++;
              for (int64_t tile = 1; tile <= results; ++tile)
                for (int64_t pid = 0; pid * tile < results; ++pid) {
                  ASSERT_TRUE(t.feasible({tile}));
                  std::set<int64_t> needed;
                  for (int64_t i = pid * tile; i < std::min(results, (pid + 1) * tile); ++i)
                    for (int64_t w = 0; w < size; ++w) {
                      int64_t at = i * stride + w * dilation - low;
                      if (at >= 0 && at % base == 0 && at / base < extent)
                        needed.insert(at / base);
                    }
                  std::vector<int64_t> list =
                      elementsOf(t.numbers("x", 0, {tile}, {pid}), std::vector<int64_t>{extent});
                  std::set<int64_t> covered(list.begin(), list.end());
                  if (x.exactness == Exactness::Exact) {
                    ASSERT_EQ(covered, needed) << t.tile("x") << " tile " << tile << " " << pid;
                  } else {
                    ASSERT_TRUE(
                        std::includes(covered.begin(), covered.end(), needed.begin(), needed.end()))
                        << t.tile("x") << " tile " << tile << " " << pid;
                  }
                }
            }
  EXPECT_GT(exact, 50);
  EXPECT_GT(superset, 20);
}
