#include "codegen/shrink.h"
#include "codegen/testing/lowering.h"

namespace tilewright {
namespace {

const char *const scalars = R"(
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
max {
  c = f32[] parameter(0)
  d = f32[] parameter(1)
  ROOT m = f32[] maximum(c, d)
}
ge {
  e = f32[] parameter(0)
  f = f32[] parameter(1)
  ROOT g = pred[] compare(e, f), direction=GE
}
)";

std::string module(const std::string &entry) {
  return std::string("HloModule m\n") + scalars + "ENTRY main {\n" + entry + "}\n";
}

void expectPassAtTiles(const std::string &hlo, const std::vector<std::vector<int64_t>> &tiles) {
  for (const std::vector<int64_t> &tile : tiles)
    for (int64_t warps : {1, 4})
      expectPass(specFromHlo(hlo, tile, warps));
}

TEST(EmitLoops, ConvolutionsOfAllKinds) {
  // Plain, strided with uneven padding, dilated both ways, reversed; features last or first.
  const char *bodies[] = {
      R"(  x = bf16[2,7,9,5] parameter(0)
  w = bf16[3,3,5,8] parameter(1)
  ROOT c = bf16[2,7,9,8] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
)",
      R"(  x = f32[2,11,10,3] parameter(0)
  w = f32[7,7,3,8] parameter(1)
  ROOT c = f32[2,6,5,8] convolution(x, w), window={size=7x7 stride=2x2 pad=3_3x2_3}, dim_labels=b01f_01io->b01f
)",
      R"(  x = f32[1,8,4,6] parameter(0)
  w = f32[5,8,2,3] parameter(1)
  ROOT c = f32[1,3,13,5] convolution(x, w), window={size=2x3 pad=0_1x2_2 lhs_dilate=1x2 rhs_dilate=2x1 rhs_reversal=0x1}, dim_labels=bf01_oi01->b01f
)",
      R"(  x = f32[2,6,6,12] parameter(0)
  w = f32[3,3,4,12] parameter(1)
  ROOT c = f32[2,6,6,12] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=3
)",
      R"(  x = f32[4,6,6,8] parameter(0)
  w = f32[3,3,8,6] parameter(1)
  ROOT c = f32[2,4,4,6] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f, batch_group_count=2
)",
      R"(  x = s8[3,5,4] parameter(0)
  w = s8[1,4,8] parameter(1)
  ROOT c = s32[3,5,8] convolution(x, w), window={size=1}, dim_labels=b0f_0io->b0f
)"};
  for (const char *body : bodies) {
    SCOPED_TRACE(body);
    KernelSpec spec = specFromHlo(module(body), {1});
    const Shape &shape = spec.graph()[spec.graph().root()].shape;
    std::vector<int64_t> some, all = shape.dims;
    for (int64_t dim : all)
      some.push_back((dim + 1) / 2);
    expectPassAtTiles(module(body), {some, all});
  }
}

TEST(EmitLoops, WindowsInNothingButPadding) {
  const char *convolution = R"(  x = f32[2,24,1,2] parameter(0)
  w = f32[3,2,1,16] parameter(1)
  ROOT c = f32[2,11,1,16] convolution(x, w), window={size=3x2 stride=2x2 pad=0_0x1_1 rhs_dilate=1x2}, dim_labels=b01f_01io->b01f, feature_group_count=2
)";
  expectPassAtTiles(module(convolution), {{1, 4, 1, 8}});
  const char *pool = R"(  x = f32[5,1] parameter(0)
  z = f32[] constant(3)
  ROOT c = f32[5,1] reduce-window(x, z), window={size=1x2 stride=1x2 pad=0_0x1_1 rhs_dilate=1x2}, to_apply=add
)";
  expectPassAtTiles(module(pool), {{5, 1}});
}

TEST(EmitLoops, WindowedReductions) {
  const char *pool = R"(  x = bf16[2,9,11,8] parameter(0)
  z = bf16[] constant(-inf)
  ROOT c = bf16[2,5,6,8] reduce-window(x, z), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0}, to_apply=maxb
)";
  std::string hlo = module(pool);
  hlo.insert(hlo.find("ENTRY"), "maxb {\n  p = bf16[] parameter(0)\n  q = bf16[] parameter(1)\n"
                                "  ROOT r = bf16[] maximum(p, q)\n}\n");
  expectPassAtTiles(hlo, {{1, 2, 3, 8}, {2, 5, 6, 8}, {2, 1, 1, 1}});
  const char *runningSum = R"(  x = f32[5,40] parameter(0)
  z = f32[] constant(0)
  ROOT c = f32[5,40] reduce-window(x, z), window={size=1x40 pad=0_0x39_0}, to_apply=add
)";
  expectPassAtTiles(module(runningSum), {{5, 40}, {1, 16}});
  const char *dilated = R"(  x = f32[17] parameter(0)
  z = f32[] constant(1)
  ROOT c = f32[15] reduce-window(x, z), window={size=3 stride=2 pad=0_1 lhs_dilate=2 rhs_dilate=2}, to_apply=add
)";
  expectPassAtTiles(module(dilated), {{15}, {4}});
}

TEST(EmitLoops, ReductionsOfSeveralOperands) {
  // The largest element and where it is, first one wins.
  const char *argmax = R"(HloModule m
pick {
  v = f32[] parameter(0)
  i = s32[] parameter(1)
  w = f32[] parameter(2)
  j = s32[] parameter(3)
  ge = pred[] compare(v, w), direction=GE
  m = f32[] select(ge, v, w)
  k = s32[] select(ge, i, j)
  ROOT t = (f32[], s32[]) tuple(m, k)
}
ENTRY main {
  x = f32[13,37] parameter(0)
  n = s32[13,37] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  zero = s32[] constant(0)
  r = (f32[13], s32[13]) reduce(x, n, low, zero), dimensions={1}, to_apply=pick
  m = f32[13] get-tuple-element(r), index=0
  at = s32[13] get-tuple-element(r), index=1
  ROOT t = (f32[13], s32[13]) tuple(m, at)
})";
  expectPassAtTiles(argmax, {{13}, {4}});
}

TEST(EmitLoops, ScattersAddUpInOrderAndDropWhatLiesOutside) {
  const char *rows = R"(  base = f32[10,16] parameter(0)
  ids = s32[7,1] parameter(1)
  rows = f32[7,16] parameter(2)
  ROOT s = f32[10,16] scatter(base, ids, rows), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
)";
  expectPassAtTiles(module(rows), {{10, 16}, {3, 8}});
  // Windows of 2 x 3 at places of which some are partly or wholly outside.
  const char *windows = R"(  base = f32[6,9] parameter(0)
  ids = s32[5,2] constant({{0, 0}, {4, 6}, {5, 2}, {-1, 3}, {2, 7}})
  upd = f32[5,2,3] parameter(1)
  ROOT s = f32[6,9] scatter(base, ids, upd), update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add
)";
  expectPassAtTiles(module(windows), {{6, 9}, {4, 2}});
}

TEST(EmitLoops, SelectAndScatter) {
  const char *pool = R"(  x = f32[9,8] parameter(0)
  g = f32[4,4] parameter(1)
  z = f32[] constant(0)
  ROOT s = f32[9,8] select-and-scatter(x, g, z), window={size=3x2 stride=2x2}, select=ge, scatter=add
)";
  expectPassAtTiles(module(pool), {{9, 8}, {2, 3}});
  const char *padded = R"(  x = f32[7,6] parameter(0)
  g = f32[4,3] parameter(1)
  z = f32[] constant(0)
  ROOT s = f32[7,6] select-and-scatter(x, g, z), window={size=3x3 stride=2x2 pad=1_1x0_1}, select=ge, scatter=add
)";
  expectPassAtTiles(module(padded), {{7, 6}, {4, 4}});
}

TEST(EmitLoops, UpdatesUnderMovement) {
  // An update read through a rotation: slices and a concatenation of its two parts.
  const char *hlo = R"(  base = f32[29,10,11] parameter(0)
  upd = f32[14,4,7] parameter(1)
  row = s32[] parameter(2)
  col = s32[] parameter(3)
  turn = s32[] parameter(4)
  zero = s32[] constant(0)
  d = f32[29,10,11] dynamic-update-slice(base, upd, row, col, zero)
  twice = f32[29,20,11] concatenate(d, d), dimensions={1}
  ROOT r = f32[29,10,11] dynamic-slice(twice, zero, turn, zero), dynamic_slice_sizes={29,10,11}
)";
  for (uint64_t seed = 1; seed < 6; ++seed) {
    CheckOptions options;
    options.seed = seed;
    expectPass(specFromHlo(module(hlo), {29, 10, 11}), options);
    expectPass(specFromHlo(module(hlo), {4, 10, 8}), options);
  }
}

TEST(EmitLoops, GathersAtDifferentPlacesForNeighbours) {
  const char *hlo = R"(  table = f32[50,6] parameter(0)
  ids = s32[12,16,2] parameter(1)
  g = f32[12,16,3] gather(table, ids), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=2, slice_sizes={1,3}
  ROOT t = f32[3,12,16] transpose(g), dimensions={2,0,1}
)";
  expectPassAtTiles(module(hlo), {{3, 12, 16}, {1, 5, 8}});
}

TEST(EmitLoops, MapsAreTheirComputation) {
  const char *hlo = R"(  a = f32[5,9] parameter(0)
  b = f32[5,9] parameter(1)
  ROOT m = f32[5,9] map(a, b), dimensions={0,1}, to_apply=max
)";
  expectPassAtTiles(module(hlo), {{5, 9}, {2, 4}});
}

TEST(EmitLoops, NoElementIsMadeAgainAndAgain) {
  // The row's sum would be computed once for each of its elements.
  const char *hlo = R"(  x = f32[8,64] parameter(0)
  z = f32[] constant(0)
  c = f32[8,64] reduce-window(x, z), window={size=1x64 pad=0_0x63_0}, to_apply=add
  last = f32[8,1] slice(c), slice={[0:8], [63:64]}
  flat = f32[8] reshape(last)
  b = f32[8,640] broadcast(flat), dimensions={0}
  ROOT n = f32[8,640] negate(b)
)";
  CheckOutcome outcome = checkKernel(specFromHlo(module(hlo), {8, 640}));
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Skipped);
  EXPECT_NE(outcome.reason.find("times, each time by a loop"), std::string::npos) << outcome.reason;
}

} // namespace
} // namespace tilewright
