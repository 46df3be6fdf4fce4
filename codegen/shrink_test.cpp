#include "analysis/import/testing/models.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/inline.h"
#include "codegen/point_reference.h"
#include "codegen/shrink.h"
#include "codegen/testing/lowering.h"

#include <fmt/ranges.h>

namespace tilewright {
namespace {

/// The shapes of all ops of the shrunk entry, as "name=[dims]", after a few checks that hold
/// always: the module is valid (shrinkModule() verifies), ops are the same, nothing grew.
std::string
shrunkShapes(const std::string &hlo, const std::vector<std::string> &names, ShrinkOptions options,
             const std::vector<std::tuple<std::string, unsigned, int64_t>> &wishes = {}) {
  auto module = importBuffer(std::make_shared<SourceBuffer>("test", hlo));
  EXPECT_TRUE(bool(module)) << (module ? "" : takeDiag(module.takeError()).str());
  for (const auto &[name, dim, extent] : wishes)
    options.wishes.push_back({module->entry().find(name), dim, extent});
  auto shrunk = shrinkModule(*module, options);
  EXPECT_TRUE(bool(shrunk)) << (shrunk ? "" : takeDiag(shrunk.takeError()).str());
  if (!shrunk)
    return "";
  const Graph &before = module->entry(), &after = (*shrunk)->entry();
  EXPECT_EQ(before.size(), after.size());
  for (uint32_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[OpId{i}].opcode, after[OpId{i}].opcode);
    EXPECT_EQ(before[OpId{i}].operands, after[OpId{i}].operands);
    for (size_t d = 0; d < before[OpId{i}].shape.dims.size(); ++d)
      EXPECT_LE(after[OpId{i}].shape.dims[d], before[OpId{i}].shape.dims[d]);
  }
  std::string text;
  for (const std::string &name : names)
    text += fmt::format("{}{}=[{}]", text.empty() ? "" : " ", name,
                        fmt::join(after[after.find(name)].shape.dims, ","));
  auto values = fillArguments(**shrunk, (*shrunk)->entryId, 1);
  auto evaluated = evaluate(**shrunk, (*shrunk)->entryId, values);
  EXPECT_TRUE(bool(evaluated)) << (evaluated ? "" : takeDiag(evaluated.takeError()).str());
  return text;
}

TEST(Shrink, EqualDimsShrinkTogether) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[1000,768] parameter(0)
  w = f32[3072,768] parameter(1)
  bias = f32[3072] parameter(2)
  d = f32[1000,3072] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  bb = f32[1000,3072] broadcast(bias), dimensions={1}
  s = f32[1000,3072] add(d, bb)
  ROOT t = f32[3072,1000] transpose(s), dimensions={1,0}
})";
  EXPECT_EQ(shrunkShapes(hlo, {"a", "w", "bias", "t"}, {{}, 16, false}),
            "a=[8,16] w=[16,16] bias=[16] t=[16,8]");
  EXPECT_EQ(shrunkShapes(hlo, {"a", "w", "bias", "t"}, {{}, 16, true}, {{"t", 0, 33}}),
            "a=[15,15] w=[33,15] bias=[33] t=[33,15]");
}

TEST(Shrink, ReshapesKeepTheirFactors) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[2,128,768] parameter(0)
  h = f32[2,128,12,64] reshape(a)
  t = f32[2,12,128,64] transpose(h), dimensions={0,2,1,3}
  ROOT f = f32[24,128,64] reshape(t)
})";
  EXPECT_EQ(shrunkShapes(hlo, {"a", "h", "t", "f"}, {{}, 5, true}),
            "a=[2,5,25] h=[2,5,5,5] t=[2,5,5,5] f=[10,5,5]");
}

TEST(Shrink, FactorsWithoutACommonRefinementStay) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[4,6,100] parameter(0)
  r = f32[6,4,100] reshape(a)
  ROOT n = f32[6,4,100] negate(r)
})";
  EXPECT_EQ(shrunkShapes(hlo, {"a", "n"}, {{}, 3, true}), "a=[4,6,3] n=[6,4,3]");
}

TEST(Shrink, BitcastsFollowThePhysicalOrder) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[100,768]{0,1} parameter(0)
  ROOT b = f32[768,100]{1,0} bitcast(a)
})";
  EXPECT_EQ(shrunkShapes(hlo, {"a", "b"}, {{}, 9, true}, {{"b", 0, 31}}), "a=[9,31] b=[31,9]");
}

TEST(Shrink, ConcatenationsAddUpAndSlicesStayInside) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[8,2304] parameter(0)
  q = f32[8,768] slice(a), slice={[0:8], [0:768]}
  k = f32[8,768] slice(a), slice={[0:8], [768:1536]}
  v = f32[8,768] slice(a), slice={[0:8], [1536:2304]}
  e = f32[8,384] slice(a), slice={[0:8], [1:768:2]}
  qk = f32[8,768] add(q, k)
  ROOT c = f32[8,1920] concatenate(qk, v, e), dimensions={1}
})";
  shrunkShapes(hlo, {"a", "q", "c"}, {{}, 16, true});
  shrunkShapes(hlo, {"a", "q", "c"}, {{}, 16, false}, {{"c", 1, 100}});
  shrunkShapes(hlo, {"a", "q", "c"}, {{}, 700, false}, {{"c", 1, 1000}});
}

// What is copied 16 bytes at a time stays so, however small all else gets: rows, and the parts of
// one, whose starts are multiples of 16 bytes too. Odd sizes are for what isn't aligned.
TEST(Shrink, RowsAndTheirPartsStayAligned) {
  const std::string types[] = {"f32", "bf16", "s8"};
  const int64_t elements[] = {4, 8, 16};
  for (size_t t = 0; t < 3; ++t)
    for (int64_t parts : {2, 3, 6}) {
      const std::string &type = types[t];
      std::string text = fmt::format("HloModule m\nENTRY main {{\n  a = {}[64,{}] parameter(0)\n",
                                     type, parts * 1024);
      for (int64_t p = 0; p < parts; ++p)
        text += fmt::format("  p{0} = {1}[64,1024] slice(a), slice={{[0:64], [{2}:{3}]}}\n"
                            "  r{0} = {1}[64,16,64] reshape(p{0})\n",
                            p, type, p * 1024, (p + 1) * 1024);
      text += fmt::format("  ROOT s = {}[64,16,64] add(r0, r{})\n}}\n", type, parts - 1);
      auto module = importBuffer(std::make_shared<SourceBuffer>("test", text));
      ASSERT_TRUE(bool(module)) << takeDiag(module.takeError()).str();
      for (int64_t most : {2, 4, 16}) {
        SCOPED_TRACE(fmt::format("{} {} {}", type, parts, most));
        auto shrunk = shrinkModule(*module, {{}, most, false, true});
        ASSERT_TRUE(bool(shrunk)) << takeDiag(shrunk.takeError()).str();
        const Graph &graph = (*shrunk)->entry();
        EXPECT_EQ(graph[graph.root()].shape.dims[2] % elements[t], 0);
        EXPECT_LE(graph[graph.root()].shape.dims[1], most);
        for (int64_t p = 0; p < parts; ++p) {
          const Op &part = graph[graph.find(fmt::format("p{}", p))];
          EXPECT_EQ(part.attrs.slice[1].start, p * part.shape.dims[1]);
          EXPECT_EQ(part.shape.dims[1] % elements[t], 0);
        }
      }
    }
}

TEST(Shrink, RotatedHalvesKeepAddingUpToTheWhole) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[64,128] parameter(0)
  low = f32[64,64] slice(a), slice={[0:64], [0:64]}
  high = f32[64,64] slice(a), slice={[0:64], [64:128]}
  n = f32[64,64] negate(high)
  c = f32[64,128] concatenate(n, low), dimensions={1}
  ROOT s = f32[64,128] add(c, a)
})";
  std::string shapes = shrunkShapes(hlo, {"a", "low", "high"}, {{}, 16, false});
  EXPECT_EQ(shapes, "a=[16,32] low=[16,16] high=[16,16]");
  EXPECT_EQ(shrunkShapes(hlo, {"low", "high", "s"}, {{}, 16, true}),
            "low=[15,15] high=[15,15] s=[15,30]");
}

TEST(Shrink, WindowsKeepTheirSizeUnlessTheyFollowTheDim) {
  const char *convolution = R"(HloModule m
ENTRY main {
  x = f32[32,56,56,128] parameter(0)
  w = f32[3,3,128,256] parameter(1)
  ROOT c = f32[32,28,28,256] convolution(x, w), window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f
})";
  EXPECT_EQ(shrunkShapes(convolution, {"x", "w", "c"}, {{}, 8, false}, {{"c", 1, 5}, {"c", 2, 3}}),
            "x=[8,10,6,8] w=[3,3,8,8] c=[8,5,3,8]");
  const char *depthwise = R"(HloModule m
ENTRY main {
  x = f32[2,14,14,240] parameter(0)
  w = f32[3,3,1,480] parameter(1)
  ROOT c = f32[2,14,14,480] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=240
})";
  EXPECT_EQ(shrunkShapes(depthwise, {"x", "w", "c"}, {{}, 7, true}),
            "x=[2,7,7,7] w=[3,3,1,14] c=[2,7,7,14]");
  const char *runningSum = R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[64,1000] parameter(0)
  z = f32[] constant(0)
  ROOT c = f32[64,1000] reduce-window(x, z), window={size=1x1000 pad=0_0x999_0}, to_apply=add
})";
  EXPECT_EQ(shrunkShapes(runningSum, {"x", "c"}, {{}, 21, true}), "x=[21,21] c=[21,21]");
}

TEST(Shrink, PadsCropsAndUpdates) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = s32[40,100] parameter(0)
  z = s32[] constant(-3)
  p = s32[83,98] pad(a, z), padding=1_3_1x-1_-1
  u = s32[20,98] parameter(1)
  i = s32[] parameter(2)
  d = s32[83,98] dynamic-update-slice(p, u, i, i)
  ROOT s = s32[7,98] dynamic-slice(d, i, i), dynamic_slice_sizes={7,98}
})";
  shrunkShapes(hlo, {"a"}, {{}, 9, true});
  shrunkShapes(hlo, {"a"}, {{}, 16, false}, {{"s", 1, 33}});
}

TEST(Shrink, GathersAndScatters) {
  const char *gather = R"(HloModule m
ENTRY main {
  table = f32[50257,768] parameter(0)
  ids = s32[8,1024,1] parameter(1)
  ROOT g = f32[8,1024,768] gather(table, ids), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,768}
})";
  EXPECT_EQ(shrunkShapes(gather, {"table", "ids", "g"}, {{}, 9, true}, {{"g", 2, 33}}),
            "table=[9,33] ids=[7,9,1] g=[7,9,33]");
  const char *scatter = R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  base = f32[50257,768] parameter(0)
  ids = s32[8192,1] parameter(1)
  rows = f32[8192,768] parameter(2)
  ROOT s = f32[50257,768] scatter(base, ids, rows), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
})";
  EXPECT_EQ(shrunkShapes(scatter, {"base", "ids", "rows"}, {{}, 9, true}),
            "base=[9,9] ids=[9,1] rows=[9,9]");
}

TEST(Shrink, ConstantsAreCut) {
  const char *hlo = R"(HloModule m
ENTRY main {
  t = f32[2,6] constant({{0.5, 1, 2, 3, 4, 5}, {-1, inf, 7, 8, 9, 10}})
  a = f32[2,6] parameter(0)
  ROOT s = f32[2,6] add(a, t)
})";
  EXPECT_EQ(shrunkShapes(hlo, {"t", "s"}, {{}, 3, true}), "t=[2,3] s=[2,3]");
}

TEST(Shrink, WholeModelsShrinkToValidOnes) {
  for (const std::string &path : bundledModels()) {
    if (path.find("xla_optimized") != std::string::npos)
      continue;
    SCOPED_TRACE(path);
    auto imported = importFile(path);
    ASSERT_TRUE(bool(imported)) << takeDiag(imported.takeError()).str();
    auto module = inlineCalls(*imported);
    ASSERT_TRUE(bool(module)) << takeDiag(module.takeError()).str();
    for (bool odd : {false, true}) {
      ShrinkOptions options;
      options.most = 5;
      options.odd = odd;
      auto shrunk = shrinkModule(*module, options);
      ASSERT_TRUE(bool(shrunk)) << takeDiag(shrunk.takeError()).str();
      EXPECT_LT(evaluationWork((*shrunk)->entry()), uint64_t(1) << 26);
      EXPECT_GT(evaluationWork(module->entry()) / evaluationWork((*shrunk)->entry()), 100u);
    }
  }
}

TEST(Shrink, SpecsKeepTheirTilesAndGetPartialOnes) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = bf16[4096,4096] parameter(0)
  b = bf16[4096,4096] parameter(1)
  ROOT d = f32[4096,4096] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  KernelSpec spec = specFromHlo(hlo, {64, 32});
  spec.sequential = {{"d", 0, 32}};
  auto aligned = shrinkSpec(spec, ShrunkSizes::Aligned);
  auto odd = shrinkSpec(spec, ShrunkSizes::Odd);
  ASSERT_TRUE(aligned && odd);
  EXPECT_EQ(aligned->graph()[aligned->graph().find("a")].shape.dims,
            (std::vector<int64_t>{128, 96}));
  EXPECT_EQ(odd->graph()[odd->graph().find("a")].shape.dims, (std::vector<int64_t>{95, 79}));
  EXPECT_EQ(odd->graph()[odd->graph().find("b")].shape.dims, (std::vector<int64_t>{79, 47}));
  EXPECT_EQ(aligned->rootTile, spec.rootTile);
  EXPECT_EQ(odd->rootTile, spec.rootTile);
}

// Rows of elements that share bytes stay whole bytes where everything else is odd.
TEST(Shrink, PackedRowsAreWholeBytes) {
  KernelSpec spec = specFromHlo(R"(HloModule m
ENTRY main {
  a = s8[512,1024] parameter(0)
  ROOT r = s4[512,1024] convert(a)
})",
                                {16, 64});
  auto shrunk = shrinkSpec(spec, ShrunkSizes::Odd);
  ASSERT_TRUE(bool(shrunk)) << takeDiag(shrunk.takeError()).str();
  const Graph &graph = shrunk->graph();
  EXPECT_EQ(graph[graph.root()].shape.dims, (std::vector<int64_t>{23, 96}));
  expectPass(*shrunk);
}

} // namespace
} // namespace tilewright
