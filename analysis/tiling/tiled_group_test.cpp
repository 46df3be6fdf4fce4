#include "analysis/tiling/testing/tiles.h"

#include <gtest/gtest.h>

using namespace tilewright;

TEST(TileGroup, Dot) {
  TiledText t = tileText("  a = bf16[128,64] parameter(0)\n  b = bf16[64,256] parameter(1)\n"
                         "  d = bf16[128,256] dot(a, b), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n"
                         "  ROOT e = bf16[128,256] exponential(d)\n");
  EXPECT_EQ(t.tile("d"), "[t0 * pid0 : t0, t1 * pid1 : t1]");
  EXPECT_EQ(t.tile("a"), "[t0 * pid0 : t0, k0 * step_k0 : k0]");
  EXPECT_EQ(t.tile("b"), "[k0 * step_k0 : k0, t1 * pid1 : t1]");
  EXPECT_TRUE(t.group.constraints.empty());
  std::vector<std::string> names;
  for (const TileParameter &p : t.group.space.parameters)
    names.push_back(p.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"t0", "t1", "k0", "warps", "stages", "split_k", "group_m"}));
  const std::vector<unsigned> dots = t.group.instancesOf(t.graph().find("d"));
  EXPECT_EQ(t.group.instances[dots[0]].reduces, std::vector<unsigned>{2});
  EXPECT_TRUE(t.group.instances[dots[0]].loops.empty());
  EXPECT_EQ(t.group.instances[t.group.instances[dots[0]].operands[0]].loops,
            std::vector<unsigned>{2});
}

TEST(TileGroup, SoftmaxHasOneReduceParameter) {
  TiledText t = tileText("  x = f32[64,1000] parameter(0)\n  ninf = f32[] constant(-inf)\n"
                         "  zero = f32[] constant(0)\n"
                         "  m = f32[64] reduce(x, ninf), dimensions={1}, to_apply=add\n"
                         "  mb = f32[64,1000] broadcast(m), dimensions={0}\n"
                         "  s = f32[64,1000] subtract(x, mb)\n  e = f32[64,1000] exponential(s)\n"
                         "  l = f32[64] reduce(e, zero), dimensions={1}, to_apply=add\n"
                         "  lb = f32[64,1000] broadcast(l), dimensions={0}\n"
                         "  ROOT d = f32[64,1000] divide(e, lb)\n");
  EXPECT_TRUE(t.group.space.find("r0"));
  EXPECT_FALSE(t.group.space.find("r1"));
  std::vector<unsigned> x = t.group.instancesOf(t.graph().find("x"));
  ASSERT_EQ(x.size(), 2u);
  const int64_t whole[] = {4, 1000, 1000, 4, 1, 1, 1}, part[] = {4, 1000, 128, 4, 1, 1, 1};
  EXPECT_TRUE(sameTileAt(t.group, x[0], x[1], whole));
  EXPECT_FALSE(sameTileAt(t.group, x[0], x[1], part));
}

TEST(TileGroup, SixteenAxesOfTwo) {
  TiledText t = tileText(
      "  t = f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2] parameter(0)\n  m = f32[256,256] parameter(1)\n"
      "  sorted = f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2] transpose(t), "
      "dimensions={0,2,4,6,8,10,12,14,1,3,5,7,9,11,13,15}\n"
      "  flat = f32[256,256] reshape(sorted)\n  ROOT out = f32[256,256] add(flat, m)\n");
  int count = 0;
  for (int64_t a = 1; a <= 256; ++a)
    for (int64_t b = 1; b <= 256; ++b)
      count += t.feasible({a, b});
  EXPECT_EQ(count, 81);
  EXPECT_LT(t.group.constraints.size(), 20u);
  std::vector<std::string> why = t.reasons({3, 8});
  ASSERT_FALSE(why.empty());
  EXPECT_EQ(why[0].substr(0, 12), "%flat dim 0:");
  std::vector<NumericDim> tile = t.numbers("t", 0, {4, 8}, {0, 0});
  for (size_t axis = 0; axis < 16; ++axis)
    EXPECT_EQ(tile[axis].size, axis >= 11 ? 2 : 1) << axis;
}

TEST(TileGroup, EightByThreeRows) {
  TiledText t = tileText("  a = f32[8,3,64] parameter(0)\n  b = f32[64,24] parameter(1)\n"
                         "  rows = f32[24,64] reshape(a)\n"
                         "  cols = f32[64,24] transpose(rows), dimensions={1,0}\n"
                         "  ROOT out = f32[64,24] add(cols, b)\n");
  std::vector<int64_t> accepted;
  for (int64_t k = 1; k <= 24; ++k)
    if (t.feasible({16, k}))
      accepted.push_back(k);
  EXPECT_EQ(accepted, (std::vector<int64_t>{1, 3, 6, 9, 12, 15, 18, 21, 24}));
  EXPECT_EQ(t.numbers("a", 0, {16, 6}, {1, 2}),
            (std::vector<NumericDim>{{4, 2, 1, 0, 8}, {0, 3, 1, 0, 3}, {16, 16, 1, 0, 64}}));
  EXPECT_EQ(t.numbers("a", 0, {16, 1}, {0, 7}),
            (std::vector<NumericDim>{{2, 1, 1, 0, 8}, {1, 1, 1, 0, 3}, {0, 16, 1, 0, 64}}));
  EXPECT_EQ(t.reasons({16, 4}),
            (std::vector<std::string>{"%rows dim 0: tile 4 must be 1 or a multiple of 3, because "
                                      "24 is split into 8 x 3"}));
}

TEST(TileGroup, SlicedHeadTranspose) {
  TiledText t = tileText("  p = bf16[2080,1024] parameter(0)\n"
                         "  body = bf16[2048,1024] slice(p), slice={[32:2080], [0:1024]}\n"
                         "  turned = bf16[1024,2048] transpose(body), dimensions={1,0}\n"
                         "  ROOT split = bf16[1024,16,128] bitcast(turned)\n");
  EXPECT_TRUE(t.feasible({32, 16, 128}));
  EXPECT_TRUE(t.feasible({32, 4, 128}));
  EXPECT_TRUE(t.feasible({32, 1, 64}));
  EXPECT_FALSE(t.feasible({32, 2, 64}));
  EXPECT_EQ(t.numbers("p", 0, {32, 16, 128}, {3, 0, 0}),
            (std::vector<NumericDim>{{32, 2048, 1, 32, 2080}, {96, 32, 1, 0, 1024}}));
  EXPECT_EQ(t.group.instancesOf(t.graph().find("turned")).size(), 1u);
}

TEST(TileGroup, JoinedHalvesSpreadAndTurned) {
  TiledText t =
      tileText("  x = bf16[8,3072,128] parameter(0)\n  half = bf16[1,3072,1,64] parameter(1)\n"
               "  whole = bf16[1,3072,1,128] concatenate(half, half), dimensions={3}\n"
               "  flat = bf16[3072,128] bitcast(whole)\n"
               "  wide = bf16[8,3072,128] broadcast(flat), dimensions={1,2}\n"
               "  scaled = bf16[8,3072,128] multiply(x, wide)\n"
               "  ROOT turned = bf16[3072,8,128] transpose(scaled), dimensions={1,0,2}\n");
  EXPECT_TRUE(t.group.constraints.empty());
  ASSERT_EQ(t.group.instancesOf(t.graph().find("half")).size(), 2u);
  for (int64_t size : {8, 64, 128})
    for (int64_t pid = 0; pid * size < 128; ++pid) {
      int64_t elements = 0;
      for (unsigned side : {0u, 1u}) {
        NumericDim dim = t.numbers("half", side, {64, 8, size}, {5, 0, pid})[3];
        elements += dim.validCount();
        if (dim.validCount() == size) {
          EXPECT_EQ(dim.offset, (size * pid) % 64);
        }
      }
      EXPECT_EQ(elements, size);
    }
}

TEST(TileGroup, AttentionHeads) {
  // Heads moved before the sequence and back to one row a token.
  TiledText t = tileText("  x = f32[24,96] parameter(0)\n"
                         "  split = f32[2,12,6,16] reshape(x)\n"
                         "  turned = f32[2,6,12,16] transpose(split), dimensions={0,2,1,3}\n"
                         "  ROOT y = f32[2,6,12,16] exponential(turned)\n");
  EXPECT_TRUE(t.feasible({1, 1, 4, 16}));
  EXPECT_TRUE(t.feasible({1, 1, 12, 8}));
  EXPECT_TRUE(t.feasible({1, 2, 4, 16}));
  EXPECT_FALSE(t.feasible({1, 2, 4, 8}));
  EXPECT_TRUE(t.feasible({2, 1, 12, 16}));
  EXPECT_FALSE(t.feasible({2, 1, 4, 16}));
  EXPECT_EQ(t.numbers("x", 0, {1, 1, 4, 16}, {1, 3, 2, 0}),
            (std::vector<NumericDim>{{12 + 8, 4, 1, 0, 24}, {48, 16, 1, 0, 64}}));
}

TEST(TileGroup, ReshapeAndBackIsNoReshape) {
  TiledText t = tileText("  x = f32[4,6] parameter(0)\n  flat = f32[24] reshape(x)\n"
                         "  back = f32[4,6] reshape(flat)\n  ROOT y = f32[4,6] negate(back)\n");
  EXPECT_TRUE(t.group.constraints.empty());
  EXPECT_EQ(t.tile("x"), t.tile("y"));
}

TEST(TileGroup, FibonacciOfAddsStaysSmall) {
  std::string body = "  x0 = f32[5] parameter(0)\n  x1 = f32[5] negate(x0)\n";
  for (int i = 2; i < 38; ++i)
    body += "  x" + std::to_string(i) + " = f32[5] add(x" + std::to_string(i - 1) + ", x" +
            std::to_string(i - 2) + ")\n";
  TiledText t = tileText(body);
  EXPECT_EQ(t.group.instances.size(), 38u);
}

TEST(TileGroup, TooManyTilesAreRefused) {
  // Each level asks for two tiles of the one below, at offsets that never meet again.
  std::string body = "  x0 = f32[1000000] parameter(0)\n";
  for (int i = 0, shift = 1, size = 1000000; i < 14; ++i, shift *= 2) {
    std::string n = std::to_string(i), m = std::to_string(i + 1);
    int next = size - shift;
    auto slice = [&](const char *name, int from) {
      return std::string("  ") + name + n + " = f32[" + std::to_string(next) + "] slice(x" + n +
             "), slice={[" + std::to_string(from) + ":" + std::to_string(from + next) + "]}\n";
    };
    body += slice("a", 0) + slice("b", shift) + "  x" + m + " = f32[" + std::to_string(next) +
            "] add(a" + n + ", b" + n + ")\n";
    size = next;
  }
  llvm::Expected<TiledText> t = tryTileText(body);
  ASSERT_FALSE(static_cast<bool>(t));
  EXPECT_EQ(takeDiag(t.takeError()).cls, DiagClass::BudgetSpent);
}

TEST(TileGroup, UnknownOpsAreNamed) {
  llvm::Expected<TiledText> t = tryTileText("  x = f32[8] parameter(0)\n"
                                            "  s = f32[8] fft(x), fft_type=RFFT, fft_length={8}\n"
                                            "  ROOT y = f32[8] negate(s)\n");
  ASSERT_FALSE(static_cast<bool>(t));
  Diag diag = takeDiag(t.takeError());
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  EXPECT_EQ(diag.message, "%s (fft) can't be tiled: no tile rule for this operation");
}

TEST(TileGroup, NothingToDo) {
  TiledText t =
      tileText("  x = f32[4,0] parameter(0)\n  y = f32[0,16] parameter(1)\n"
               "  z = f32[16] parameter(2)\n"
               "  d = f32[4,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
               "  zb = f32[4,16] broadcast(z), dimensions={1}\n"
               "  ROOT dz = f32[4,16] add(d, zb)\n");
  EXPECT_TRUE(t.feasible({4, 16, 1}));
  EXPECT_EQ(tileCounts(t.group.space, std::vector<int64_t>{4, 16, 1, 1, 1, 1, 1})[2], 0);
  EXPECT_EQ(validCount(t.numbers("x", 0, {4, 16, 1}, {0, 0, 0})), 0);
}

TEST(TileGroup, SecondRoots) {
  // The sum is written by every CTA of the columns unless one covers them all.
  TiledText t = tileText("  x = f32[64,32] parameter(0)\n  zero = f32[] constant(0)\n"
                         "  s = f32[64] reduce(x, zero), dimensions={1}, to_apply=add\n"
                         "  b = f32[64,32] broadcast(s), dimensions={0}\n"
                         "  y = f32[64,32] subtract(x, b)\n"
                         "  ROOT r = (f32[64], f32[64,32]) tuple(s, y)\n");
  EXPECT_EQ(t.group.roots.size(), 2u);
  EXPECT_FALSE(t.feasible({8, 16, 4}));
  EXPECT_TRUE(t.feasible({8, 32, 4}));
}

TEST(TileGroup, SecondRootMustBeReachedWhole) {
  // The tiles that the slice asks of y leave half of it unwritten.
  auto t = tryTileText("  x = f32[8] parameter(0)\n  y = f32[8] negate(x)\n"
                       "  h = f32[4] slice(y), slice={[0:4]}\n"
                       "  ROOT r = (f32[8], f32[4]) tuple(y, h)\n");
  ASSERT_FALSE(static_cast<bool>(t));
  EXPECT_EQ(takeDiag(t.takeError()).cls, DiagClass::Unsupported);
}

TEST(TileGroup, TransposedSecondRoot) {
  TiledText t = tileText("  x = f32[8,6] parameter(0)\n  y = f32[8,6] negate(x)\n"
                         "  z = f32[6,8] transpose(y), dimensions={1,0}\n"
                         "  ROOT r = (f32[8,6], f32[6,8]) tuple(y, z)\n");
  EXPECT_TRUE(t.group.constraints.empty());
  EXPECT_EQ(t.tile("y"), "[t1 * pid1 : t1, t0 * pid0 : t0]");
}

TEST(TileGroup, LongChainsOfReshapesAndTransposesStaySmall) {
  // Shapes without a common boundary, again and again.
  std::string body = "  x0 = f32[6,10,14] parameter(0)\n";
  std::string name = "x0";
  for (int i = 0; i < 60; ++i) {
    std::string n = std::to_string(i);
    body += "  r" + n + " = f32[14,6,10] reshape(" + name + ")\n";
    body += "  t" + n + " = f32[10,14,6] transpose(r" + n + "), dimensions={2,0,1}\n";
    body += "  n" + n + " = f32[10,14,6] negate(t" + n + ")\n";
    body += "  x" + std::to_string(i + 1) + " = f32[6,10,14] transpose(n" + n +
            "), dimensions={2,0,1}\n";
    name = "x" + std::to_string(i + 1);
  }
  TiledText t = tileText(body);
  EXPECT_TRUE(t.feasible({6, 10, 14}));
  EXPECT_TRUE(t.feasible({1, 1, 1}));
  EXPECT_FALSE(t.feasible({6, 10, 7}));
  EXPECT_LT(t.group.constraints.size(), 2000u);
  EXPECT_LT(t.context->nodeCount(), 100000u);
}
