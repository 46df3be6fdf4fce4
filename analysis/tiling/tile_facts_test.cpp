// Facts about tiles of reshapes, slices, pads and joins that other tools state, as known answers.
// Where ours differ the test says why: their tiles have no lower mask and one upper mask for all
// CTAs, they ask for alignment where masks do, and they pad a whole dim to a power of two.
//
// Where else such facts are tests, by subject:
//   transposes, broadcasts and reductions from operand to result   reverse_tiles_test.cpp
//   concatenations, pads, slices, their strides and masks          op_tiles_test.cpp
//   a concatenation behind a bitcast, extra outputs, batched dots  op_tiles_test.cpp
//   all-gathers, block scales, ragged dots, scans                  line_tiles_test.cpp
//   accepted and refused joins and splits, with offsets and strides, shapes without a common
//   boundary, tails, lanes                                         reshape_property_test.cpp
//   cores of conflicts, roots of other shapes, chains of adds      tiled_group_test.cpp
//   orders of CTAs, tiles per CTA                          program_map_test.cpp
//   candidate sizes                                                ../solve/candidates_test.cpp
//   maps, sums and remainders over a domain                        ../indexing/facts_test.cpp
#include "analysis/support/diag.h"
#include "analysis/tiling/testing/tiles.h"

#include <algorithm>

using namespace tilewright;

namespace {

std::vector<int64_t> sizesOf(const TiledText &t, std::string_view name,
                             const std::vector<int64_t> &values) {
  std::vector<int64_t> sizes;
  for (const NumericDim &dim : t.numbers(name, 0, values, std::vector<int64_t>(values.size())))
    sizes.push_back(dim.size);
  return sizes;
}
using SizeList = std::vector<int64_t>;

TiledText reshape(const std::string &from, const std::string &to) {
  return tileText("  x = f32[" + from + "] parameter(0)\n  ROOT y = f32[" + to + "] reshape(x)\n");
}

} // namespace

TEST(TileFacts, UnitDimInFront) {
  // Unit dims have one size. (Elsewhere they keep a variable one and need a constraint for it.)
  TiledText t = reshape("11,17,19", "1,11,17,19");
  EXPECT_TRUE(t.group.constraints.empty());
  EXPECT_EQ(sizesOf(t, "x", {1, 4, 5, 6}), (SizeList{4, 5, 6}));
}

TEST(TileFacts, JoinOfEightBySix) {
  TiledText t = reshape("1,8,6,4", "48,4");
  for (int64_t size = 1; size <= 48; ++size)
    EXPECT_EQ(t.feasible({size, 4}), 6 % size == 0 || size % 6 == 0) << size;
  EXPECT_EQ(sizesOf(t, "x", {12, 3}), (SizeList{1, 2, 6, 3}));
  EXPECT_EQ(sizesOf(t, "x", {2, 3}), (SizeList{1, 1, 2, 3}));
  // Of the powers of two and the dim itself.
  TiledText u = reshape("1,8,6,1", "48,1");
  SizeList kept;
  for (int64_t size : {1, 2, 4, 8, 16, 32, 48})
    if (u.feasible({size, 1}))
      kept.push_back(size);
  EXPECT_EQ(kept, (SizeList{1, 2, 48}));
}

TEST(TileFacts, SplitInThree) {
  TiledText t = reshape("192,4", "4,8,6,4");
  struct Case {
    SizeList sizes;
    int64_t stride;
  };
  for (const Case &c : {Case{{4, 8, 6}, 1}, Case{{1, 1, 6}, 1}, Case{{1, 8, 1}, 6},
                        Case{{2, 8, 1}, 6}, Case{{2, 1, 1}, 48}}) {
    SizeList values = c.sizes;
    values.push_back(4);
    EXPECT_TRUE(t.feasible(values));
    const NumericDim x = t.numbers("x", 0, values, {0, 0, 0, 0})[0];
    EXPECT_EQ(x.size, c.sizes[0] * c.sizes[1] * c.sizes[2]);
    EXPECT_EQ(x.stride, c.stride);
  }
  EXPECT_FALSE(t.feasible({2, 4, 6, 4}));
  EXPECT_FALSE(t.feasible({2, 2, 1, 4}));
}

TEST(TileFacts, OddFactors) {
  TiledText t = reshape("3,5,7", "105");
  for (int64_t size = 1; size <= 105; ++size) {
    const int64_t blocks = (size + 6) / 7;
    const bool fits = 7 % size == 0 || (size % 7 == 0 && (5 % blocks == 0 || blocks % 5 == 0));
    EXPECT_EQ(t.feasible({size}), fits) << size;
  }
  EXPECT_EQ(sizesOf(t, "x", {35}), (SizeList{1, 5, 7}));
}

TEST(TileFacts, TwoJoinsAtOnceOrThroughTwoOperands) {
  TiledText once = reshape("1,8,6,4,8", "48,32");
  TiledText both = tileText("  a = f32[1,48,4,8] parameter(0)\n  b = f32[1,8,6,32] parameter(1)\n"
                            "  ra = f32[48,32] bitcast(a)\n  rb = f32[48,32] bitcast(b)\n"
                            "  ROOT y = f32[48,32] add(ra, rb)\n");
  for (const TiledText *t : {&once, &both}) {
    EXPECT_TRUE(t->feasible({6, 8}));
    EXPECT_FALSE(t->feasible({6, 7}));
    EXPECT_FALSE(t->feasible({5, 8}));
    EXPECT_EQ(t->group.constraints.size(), 2u); // no list of alternatives that multiplies
  }
}

TEST(TileFacts, ShapesWithoutACommonBoundary) {
  // Refused elsewhere whatever the tile is; exact where all of a core or one element is asked for.
  TiledText t = reshape("12,4,19", "4,12,19");
  EXPECT_TRUE(t.feasible({1, 12, 19}));
  EXPECT_TRUE(t.feasible({4, 12, 5}));
  EXPECT_TRUE(t.feasible({1, 1, 19}));
  EXPECT_FALSE(t.feasible({1, 3, 19}));
}

TEST(TileFacts, StridedSliceOfAJoin) {
  // Refused elsewhere for every tile. One element is always a tile.
  TiledText t = tileText("  x = f32[1,8,6,4] parameter(0)\n  r = f32[48,4] reshape(x)\n"
                         "  ROOT y = f32[5,4] slice(r), slice={[18:43:5], [0:4]}\n");
  EXPECT_TRUE(t.feasible({1, 4}));
  EXPECT_EQ(t.numbers("x", 0, {1, 4}, {1, 0})[1].offset, 3); // row 23 = 3 * 6 + 5
  EXPECT_EQ(t.numbers("x", 0, {1, 4}, {1, 0})[2].offset, 5);
  EXPECT_FALSE(t.feasible({2, 4}));
}

TEST(TileFacts, ReductionOfAJoinOfTwo) {
  // Refused elsewhere; here each step of the loop has its masked part of both.
  TiledText t = tileText("  a = f32[10,8] parameter(0)\n  b = f32[20,8] parameter(1)\n"
                         "  z = f32[] constant(0)\n"
                         "  j = f32[30,8] concatenate(a, b), dimensions={0}\n"
                         "  ROOT y = f32[8] reduce(j, z), dimensions={0}, to_apply=add\n");
  EXPECT_TRUE(t.feasible({4, 7}));
  EXPECT_EQ(t.numbers("a", 0, {4, 7}, {0, 1})[0].validCount(), 3); // rows 7 to 9
  EXPECT_EQ(t.numbers("b", 0, {4, 7}, {0, 1})[0].validCount(), 4);
}

TEST(TileFacts, OffsetsAndStridesOfSlicesAndPads) {
  TiledText s = tileText("  x = f32[70,120] parameter(0)\n"
                         "  ROOT y = f32[10,21] slice(x), slice={[40:60:2], [20:104:4]}\n");
  const std::vector<NumericDim> first = s.numbers("x", 0, {5, 7}, {0, 0});
  EXPECT_EQ(std::pair(first[0].offset, first[0].stride), std::pair(int64_t(40), int64_t(2)));
  EXPECT_EQ(std::pair(first[1].offset, first[1].stride), std::pair(int64_t(20), int64_t(4)));
  const std::vector<NumericDim> last = s.numbers("x", 0, {4, 8}, {2, 2});
  EXPECT_EQ(last[0].validCount(), 2); // 56 and 58, the last that is read
  EXPECT_EQ(last[1].validCount(), 5); // 84 to 100
  TiledText p = tileText("  x = f32[4,4] parameter(0)\n  z = f32[] constant(0)\n"
                         "  ROOT y = f32[8,8] pad(x, z), padding=2_2x1_3\n");
  EXPECT_EQ(p.numbers("x", 0, {8, 8}, {0, 0})[0], (NumericDim{-2, 8, 1, 0, 4}));
  EXPECT_EQ(p.numbers("x", 0, {8, 8}, {0, 0})[1], (NumericDim{-1, 8, 1, 0, 4}));
}

TEST(TileFacts, ReshapeOfAReverse) {
  TiledText t = tileText("  x = f32[1,8,6,4] parameter(0)\n"
                         "  v = f32[1,8,6,4] reverse(x), dimensions={1,2}\n"
                         "  ROOT y = f32[48,4] reshape(v)\n");
  const std::vector<NumericDim> x = t.numbers("x", 0, {6, 4}, {0, 0});
  EXPECT_EQ(x[1].offset, 7); // the first six rows are the last six, from the end
  EXPECT_EQ(x[1].validCount(), 1);
  EXPECT_EQ(x[2].validCount(), 6);
  const std::vector<NumericDim> two = t.numbers("x", 0, {2, 4}, {1, 0});
  EXPECT_EQ(two[1].offset, 7);
  std::vector<int64_t> seen = elementsOf({&two[2], 1}, std::vector<int64_t>{6});
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<int64_t>{2, 3})); // 5 - 2 and 5 - 3
}

TEST(TileFacts, JoinOfThreeEqualParts) {
  TiledText t = tileText("  a = f32[128] parameter(0)\n  b = f32[128] parameter(1)\n"
                         "  c = f32[128] parameter(2)\n"
                         "  ROOT y = f32[384] concatenate(a, b, c), dimensions={0}\n");
  for (int64_t p = 0; p < 12; ++p) {
    EXPECT_EQ(t.numbers("a", 0, {32}, {p})[0].offset, 32 * p);
    EXPECT_EQ(t.numbers("b", 0, {32}, {p})[0].offset, 32 * p - 128);
    EXPECT_EQ(t.numbers("c", 0, {32}, {p})[0].validCount(), p >= 8 ? 32 : 0);
  }
  // Tiles of 33 are refused elsewhere. Here one tile has its masked parts of two operands.
  EXPECT_TRUE(t.feasible({33}));
  EXPECT_EQ(t.numbers("a", 0, {33}, {3})[0].validCount(), 29);
  EXPECT_EQ(t.numbers("b", 0, {33}, {3})[0].validCount(), 4);
}

TEST(TileFacts, SmallDimsNeedNoProgramId) {
  TiledText t = tileText("  x = f32[16,97] parameter(0)\n  z = f32[] constant(0)\n"
                         "  ROOT y = f32[16] reduce(x, z), dimensions={1}, to_apply=add\n");
  EXPECT_EQ(t.numbers("x", 0, {8, 32}, {1, 3})[0], (NumericDim{8, 8, 1, 0, 16}));
  EXPECT_EQ(t.numbers("x", 0, {8, 32}, {1, 3})[1].validCount(), 1); // 96 of [0, 97)
  EXPECT_EQ(t.instance("x").loops, std::vector<unsigned>{1});
}

TEST(TileFacts, ReplicatedSecondRootNeedsItsDimWhole) {
  // [64] spread to [64,64]: CTAs of one row block write the same elements of the source.
  TiledText t = tileText("  x = f32[64] parameter(0)\n  n = f32[64] negate(x)\n"
                         "  b = f32[64,64] broadcast(n), dimensions={0}\n"
                         "  ROOT r = (f32[64], f32[64,64]) tuple(n, b)\n");
  EXPECT_TRUE(t.feasible({8, 64}));
  EXPECT_FALSE(t.feasible({8, 32}));
}

TEST(TileFacts, TwoRootsOfOneShapeShareTheirDims) {
  TiledText t = tileText("  x = f32[10,8] parameter(0)\n  a = f32[10,8] abs(x)\n"
                         "  n = f32[10,8] negate(x)\n"
                         "  ROOT r = (f32[10,8], f32[10,8]) tuple(a, n)\n");
  EXPECT_EQ(t.group.roots.size(), 2u);
  EXPECT_EQ(t.tile("a"), t.tile("n"));
  EXPECT_EQ(t.tile("a"), "[t0 * pid0 : t0, t1 * pid1 : t1]");
  // Roots of unrelated shapes are kernels of their own.
  llvm::Expected<TiledText> apart =
      tryTileText("  x = f32[10,8] parameter(0)\n  w = f32[11,9] parameter(1)\n"
                  "  a = f32[10,8] abs(x)\n  n = f32[11,9] negate(w)\n"
                  "  ROOT r = (f32[10,8], f32[11,9]) tuple(a, n)\n");
  ASSERT_FALSE(static_cast<bool>(apart));
  EXPECT_NE(takeDiag(apart.takeError()).message.find("can't be results of one kernel"),
            std::string::npos);
}

TEST(TileFacts, ElementwiseOverADot) {
  TiledText t = tileText("  a = f32[137,115] parameter(0)\n  b = f32[115,137] parameter(1)\n"
                         "  d = f32[137,137] dot(a, b), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n  ROOT y = f32[137,137] abs(d)\n");
  ASSERT_GE(t.group.space.parameters.size(), 3u);
  EXPECT_EQ(t.group.space.parameters[0].name, "t0"); // the root's first, then the dot's
  EXPECT_EQ(t.group.space.parameters[2].name, "k0");
  TiledText r = tileText("  a = f32[4,8] parameter(0)\n  b = f32[8,16] parameter(1)\n"
                         "  ROOT d = f32[4,16] dot(a, b), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n");
  EXPECT_EQ(ctaCount(r.group.space, r.filled({2, 2, 8})), 16);
  EXPECT_EQ(sizesOf(r, "a", {2, 2, 8}), (SizeList{2, 8}));
  EXPECT_EQ(sizesOf(r, "b", {2, 2, 8}), (SizeList{8, 2}));
}

TEST(TileFacts, CtasAreCountedRowMajor) {
  auto idsOf = [](const TiledText &t, const SizeList &values, int64_t cta) {
    Assignment point = t.group.space.assign(t.filled(values));
    setCta(t.group.space, t.filled(values), cta, false, point);
    SizeList ids;
    for (const TileParameter &p : t.group.space.parameters)
      if (p.role == TileParameter::Role::Parallel)
        ids.push_back(point.get(p.index.variable()).value());
    return ids;
  };
  TiledText t = tileText("  x = f32[2,97] parameter(0)\n  ROOT y = f32[2,97] negate(x)\n");
  EXPECT_EQ(ctaCount(t.group.space, t.filled({1, 32})), 8);
  for (int64_t cta = 0; cta < 8; ++cta)
    EXPECT_EQ(idsOf(t, {1, 32}, cta), (SizeList{cta / 4, cta % 4}));
  // Elsewhere the m of a dot whose lhs is the smaller runs fastest; here that is the plan's choice
  // of an order over these numbers.
  TiledText d =
      tileText("  a = f32[2,3,16,128] parameter(0)\n  b = f32[2,3,128,4096] parameter(1)\n"
               "  ROOT d = f32[2,3,16,4096] dot(a, b), lhs_batch_dims={0,1}, "
               "rhs_batch_dims={0,1}, lhs_contracting_dims={3}, "
               "rhs_contracting_dims={2}\n");
  const SizeList sizes{1, 1, 8, 64, 32};
  EXPECT_EQ(ctaCount(d.group.space, d.filled(sizes)), 768);
  for (int64_t cta : {0, 1, 63, 64, 127, 128, 383, 384, 767})
    EXPECT_EQ(idsOf(d, sizes, cta),
              (SizeList{cta / 384, cta % 384 / 128, cta % 128 / 64, cta % 64}));
}
