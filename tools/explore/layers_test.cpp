#include "tools/explore/testing/explore.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

std::map<std::string, std::string> layersOf(const ExploredModel &model) {
  std::map<std::string, std::string> layers;
  for (const ExploredKernel &kernel : model.kernels)
    layers[kernel.name] = kernel.layer;
  return layers;
}

using Layers = std::map<std::string, std::string>;

} // namespace

TEST(Layers, TheDotNamesItsKernelAndSharedScopesAreDropped) {
  const ExploredModel model = Explored().run(parseVerified(R"(HloModule m
ENTRY e {
  x = f32[256,256] parameter(0)
  w = f32[256,256] parameter(1)
  v = f32[256,256] parameter(2)
  d = f32[256,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/jit(main)/net/attn/qkv_proj/dot_general" source_file="net.py" source_line=4}
  s = f32[256,256] add(d, x), metadata={op_name="jit(f)/jit(main)/net/add"}
  g = f32[256,256] dot(s, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/jit(main)/net/mlp/dot_general"}
  ROOT r = f32[256,256] tanh(g), metadata={op_name="jit(f)/jit(main)/net/mlp/act/tanh"}
})"));
  EXPECT_EQ(layersOf(model), (Layers{{"s", "attn/qkv_proj"}, {"r", "mlp"}}));
  ASSERT_EQ(model.kernels.size(), 2u);
  EXPECT_EQ(model.kernels[0].origin,
            (OpOrigin{"jit(f)/jit(main)/net/attn/qkv_proj/dot_general", "net.py", 4}));
}

TEST(Layers, OpsOfAFusionAreLookedInto) {
  const ExploredModel model = Explored().run(parseVerified(R"(HloModule m
f { p = f32[512,256] parameter(0), metadata={op_name="elsewhere/p"}
  a = f32[512,256] negate(p), metadata={op_name="jit(f)/block/ln/neg"}
  ROOT b = f32[512,256] exponential(a), metadata={op_name="jit(f)/block/ln/scale/exp"} }
g { p = f32[512,256] parameter(0)
  a = f32[512,256] negate(p), metadata={op_name="jit(f)/first/neg"}
  ROOT b = f32[512,256] tanh(a), metadata={op_name="jit(f)/second/tanh"} }
h { p = f32[512,256] parameter(0)
  ROOT b = f32[512,256] tanh(p), metadata={op_name="jit(f)/tanh"} }
n { p = f32[512,256] parameter(0)
  ROOT b = f32[512,256] sine(p) }
ENTRY e {
  x = f32[512,256] parameter(0)
  k0 = f32[512,256] fusion(x), kind=kLoop, calls=f
  k1 = f32[512,256] fusion(k0), kind=kLoop, calls=g
  k2 = f32[512,256] fusion(k1), kind=kLoop, calls=h
  ROOT k3 = f32[512,256] fusion(k2), kind=kLoop, calls=n
})"));
  EXPECT_EQ(layersOf(model),
            (Layers{{"k0", "block/ln"}, {"k1", "second"}, {"k2", "tanh"}, {"k3", ""}}));
}

TEST(Layers, OpsWithoutAKernelHaveThem) {
  const ExploredModel model = Explored().run(parseVerified(R"(HloModule m
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e {
  x = f32[512,256] parameter(0)
  k = f32[512,256] tanh(x), metadata={op_name="jit(f)/net/act/tanh"}
  l = f32[512,256] exponential(k), metadata={op_name="jit(f)/net/out/exp"}
  o = f32[512,256] custom-call(l), custom_call_target="vendor", metadata={op_name="jit(f)/net/out/vendor"}
  t = f32[512,256] sine(o), metadata={op_name="jit(f)/net/tail/sin"}
  ROOT s = f32[512,256] sort(t), dimensions={1}, to_apply=less, metadata={op_name="jit(f)/net/rank/sort"}
})"));
  ASSERT_EQ(model.assumed.size(), 1u);
  EXPECT_EQ(model.assumed[0].layer, "rank");
  ASSERT_EQ(model.unsupported.size(), 1u);
  EXPECT_EQ(model.unsupported[0].layer, "out");
}

TEST(Layers, OneLayerAloneKeepsItsWholeName) {
  const ExploredModel model = Explored().run(parseVerified(R"(HloModule m
ENTRY e {
  x = f32[512,256] parameter(0)
  ROOT k = f32[512,256] tanh(x), metadata={op_name="jit(f)/net/act/tanh"}
})"));
  EXPECT_EQ(layersOf(model), (Layers{{"k", "net/act"}}));
}
