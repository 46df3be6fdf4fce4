// Tiles of ops on whole lines, of collectives and of block scales: known answers. That the rules
// hold for all tiles is proved (analysis/prove).
#include "analysis/tiling/testing/tiles.h"

using namespace tilewright;

TEST(LineTiles, SortNeedsWholeLinesAndLeavesOtherDimsFree) {
  TiledText t = tileText("  x = f32[6,10] parameter(0)\n"
                         "  ROOT s = f32[6,10] sort(x), dimensions={1}, to_apply=add\n");
  EXPECT_TRUE(t.feasible({1, 10}));
  EXPECT_TRUE(t.feasible({4, 10}));
  EXPECT_FALSE(t.feasible({4, 5}));
  ASSERT_EQ(t.reasons({4, 5}).size(), 1u);
  EXPECT_EQ(t.reasons({4, 5})[0], "%s dim 1: tile 5 must cover all 10, because which element of a "
                                  "line comes where depends on all of them");
  EXPECT_EQ(t.numbers("x", 0, {4, 10}, {1, 0}),
            (std::vector<NumericDim>{{4, 4, 1, 0, 6}, {0, 10, 1, 0, 10}}));
}

TEST(LineTiles, TopKReadsTheLineForItsFewResults) {
  TiledText t = tileText("  x = f32[6,10] parameter(0)\n"
                         "  k = (f32[6,3], s32[6,3]) topk(x), k=3, largest=true\n"
                         "  ROOT v = f32[6,3] get-tuple-element(k), index=0\n");
  EXPECT_TRUE(t.feasible({2, 3}));
  EXPECT_FALSE(t.feasible({2, 1}));
  EXPECT_EQ(t.numbers("x", 0, {2, 3}, {1, 0}),
            (std::vector<NumericDim>{{2, 2, 1, 0, 6}, {0, 10, 1, 0, 10}}));
}

TEST(LineTiles, ScanReadsWhatComesBefore) {
  for (const char *reverse : {"false", "true"}) {
    TiledText t = tileText(
        fmt::format("  x = f32[3,8] parameter(0)\n  z = f32[3] parameter(1)\n"
                    "  s = (f32[3,8], f32[3]) scan(x, z), dimensions={{1}}, num_carries=1, "
                    "is_reverse={}, to_apply=add\n"
                    "  ROOT v = f32[3,8] get-tuple-element(s), index=0\n",
                    reverse));
    const NumericDim line = t.numbers("x", 0, {1, 3}, {2, 1})[1]; // elements 3, 4, 5
    EXPECT_EQ(line.lower, *reverse == 't' ? 3 : 0);
    EXPECT_EQ(line.upper, *reverse == 't' ? 8 : 6);
    EXPECT_EQ(t.tile("z"), "[t0 * pid0 : t0]");
  }
}

TEST(LineTiles, AllGatherTilesLieInOneShareOrHoldWholeOnes) {
  TiledText t = tileText("  x = f32[6] parameter(0)\n"
                         "  ROOT g = f32[12] all-gather(x), replica_groups={{0,1}}, "
                         "dimensions={0}\n");
  for (int64_t size = 1; size <= 12; ++size)
    EXPECT_EQ(t.feasible({size}), 6 % size == 0 || size % 6 == 0) << size;
  EXPECT_EQ(t.numbers("x", 0, {3}, {3})[0], (NumericDim{3, 3, 1, 0, 6})); // from replica 1
  EXPECT_EQ(t.numbers("x", 0, {12}, {0})[0].validCount(), 6);
}

TEST(LineTiles, ShareOfTheOwnReplica) {
  TiledText t = tileText("  x = f32[8] parameter(0)\n"
                         "  ROOT s = f32[4] reduce-scatter(x), replica_groups={{0,1}}, "
                         "dimensions={0}, to_apply=add\n");
  EXPECT_EQ(t.tile("x"), "[rt0 * 4 + t0 * pid0 : t0 in [rt0 * 4, rt0 * 4 + 4)]");
  ASSERT_EQ(t.group.runtime.size(), 1u);
  EXPECT_EQ(t.group.runtime[0].source, t.graph().find("s"));
  EXPECT_EQ(t.group.runtime[0].range, (Interval{0, 1}));
  TiledText a = tileText("  x = f32[8] parameter(0)\n"
                         "  ROOT s = f32[8] all-to-all(x), replica_groups={{0,1}}, "
                         "dimensions={0}\n");
  EXPECT_TRUE(a.feasible({4}));
  EXPECT_TRUE(a.feasible({2}));
  EXPECT_FALSE(a.feasible({3}));
}

TEST(LineTiles, ScalesOfBlocks) {
  // The last block is a partial one: 10 elements, blocks of 4.
  TiledText t = tileText("  a = f32[2,10] parameter(0)\n  b = f32[10,3] parameter(1)\n"
                         "  s = f32[2,3] parameter(2)\n  u = f32[] constant(1)\n"
                         "  ROOT d = f32[2,3] scaled-dot(a, b, s, u), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n");
  const NumericDim last = t.numbers("s", 0, {2, 3, 4}, {0, 0, 2})[1];
  EXPECT_EQ(last, (NumericDim{2, 1, 1, 2, 3}));                          // elements 8 and 9
  EXPECT_EQ(t.numbers("s", 0, {2, 3, 3}, {0, 0, 1})[1].validCount(), 2); // elements 3, 4, 5
  // Tiles and blocks that end together need no lane for a neighbour.
  TiledText w = tileText("  a = f32[128,64] parameter(0)\n  b = f32[64,8] parameter(1)\n"
                         "  s = f32[128,2] parameter(2)\n  u = f32[] constant(1)\n"
                         "  ROOT d = f32[128,8] scaled-dot(a, b, s, u), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n");
  const NumericDim block = w.numbers("s", 0, {2, 4, 8}, {0, 0, 5})[1];
  EXPECT_EQ(block.offset, 1);
  EXPECT_EQ(block.size, 1);
}

TEST(LineTiles, RaggedDotWalksItsGroups) {
  TiledText t = tileText("  a = f32[64,256] parameter(0)\n  b = f32[8,256,128] parameter(1)\n"
                         "  n = s32[8] parameter(2)\n"
                         "  ROOT d = f32[64,128] ragged-dot(a, b, n), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}\n");
  EXPECT_EQ(t.tile("b"), "[g0 * step_g0 : g0, k0 * step_k0 : k0, t1 * pid1 : t1]");
  EXPECT_EQ(t.instance("b").exactness, Exactness::OverApproximate);
  EXPECT_EQ(t.tile("n"), "[0 : 8]");
}

TEST(LineTiles, ScatterAndSelectAndScatterOnlyCover) {
  TiledText t = tileText("  x = f32[9,4] parameter(0)\n  i = s32[5,1] parameter(1)\n"
                         "  u = f32[5,4] parameter(2)\n"
                         "  ROOT y = f32[9,4] scatter(x, i, u), update_window_dims={1}, "
                         "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                         "index_vector_dim=1, to_apply=add\n");
  EXPECT_EQ(t.instance("x").exactness, Exactness::Exact);
  EXPECT_EQ(t.instance("u").exactness, Exactness::OverApproximate);
  // No index moves an update along dim 1, so that its tile there is the result's.
  EXPECT_EQ(t.tile("u"), "[0 : 5, t1 * pid1 : t1]");
  TiledText s = tileText("  x = f32[7] parameter(0)\n  s = f32[3] parameter(1)\n"
                         "  z = f32[] constant(0)\n"
                         "  ROOT y = f32[7] select-and-scatter(x, s, z), window={size=3 "
                         "stride=2}, select=add, scatter=add\n");
  // Element 2 lies in windows 0 and 1, which see elements 0 to 4.
  EXPECT_EQ(s.numbers("s", 0, {1}, {2})[0].validCount(), 2);
  EXPECT_EQ(s.numbers("x", 0, {1}, {2})[0].validCount(), 5);
}
