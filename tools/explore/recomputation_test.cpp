// How often ops are evaluated, against a count over all CTAs and steps.
#include "analysis/import/import_file.h"
#include "analysis/import/testing/reducers.h"
#include "costmodel/recomputation.h"
#include "tools/explore/testing/explore.h"

#include <algorithm>
#include <set>

using namespace tilewright;

namespace {

const char *const reused = R"(HloModule m
body {
  x = bf16[200,96] parameter(0)
  w = bf16[96,300] parameter(1)
  p = bf16[200,96] exponential(x)
  d = bf16[200,300] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = bf16[200,300] negate(d)
}
ENTRY e {
  x = bf16[200,96] parameter(0)
  w = bf16[96,300] parameter(1)
  ROOT f = bf16[200,300] fusion(x, w), kind=kLoop, calls=body
})";

const std::string softmax = std::string("HloModule m\n") + simpleReducers + R"(ENTRY e {
  x = f32[70,1000] parameter(0)
  p = f32[70,1000] exponential(x)
  z = f32[] constant(0)
  s = f32[70] reduce(p, z), dimensions={1}, to_apply=add
  b = f32[70,1000] broadcast(s), dimensions={0}
  ROOT d = f32[70,1000] divide(p, b)
})";

const std::string window = std::string("HloModule m\n") + simpleReducers + R"(ENTRY e {
  x = f32[130,64] parameter(0)
  p = f32[130,64] exponential(x)
  z = f32[] constant(0)
  ROOT w = f32[128,64] reduce-window(p, z), window={size=3x1}, to_apply=add
})";

bool isIn(const std::vector<unsigned> &list, unsigned parameter) {
  return std::find(list.begin(), list.end(), parameter) != list.end();
}

/// Elements of an instance's tiles that lie in the tensor, of all CTAs; a tile that several steps
/// of a CTA have counts once.
double elementsMade(const KernelPlan &plan, const TileInstance &instance) {
  const TileSpace &space = plan.tiled->space;
  std::vector<unsigned> moving;
  for (unsigned i = 0; i < space.parameters.size(); ++i)
    if (space.parameters[i].role == TileParameter::Role::Parallel ||
        (isIn(instance.loops, i) && !isIn(instance.reduces, i)))
      moving.push_back(i);
  Assignment point = plan.assignment();
  for (const TileParameter &parameter : space.parameters)
    if (parameter.index)
      point.set(parameter.index.variable(), 0);
  std::vector<int64_t> place(moving.size());
  std::set<std::vector<int64_t>> seen; // CTA and offsets
  double made = 0;
  for (;;) {
    std::vector<int64_t> key;
    for (size_t m = 0; m < moving.size(); ++m) {
      point.set(space.parameters[moving[m]].index.variable(), place[m]);
      if (space.parameters[moving[m]].role == TileParameter::Role::Parallel)
        key.push_back(place[m]);
    }
    double elements = 1;
    for (size_t d = 0; d < instance.tile.dims.size(); ++d) {
      const TileDim &dim = instance.tile.dims[d];
      const int64_t offset = *evaluate(dim.offset, point), size = *evaluate(dim.size, point);
      const int64_t stride = *evaluate(dim.stride, point);
      int64_t inside = 0;
      for (int64_t i = 0; i < size; ++i)
        inside += offset + i * stride >= 0 &&
                  offset + i * stride < plan.ops().op(instance.op).shape.dims[d];
      elements *= double(inside);
      key.push_back(offset);
    }
    if (seen.insert(key).second)
      made += elements;
    size_t m = 0;
    for (; m < moving.size(); ++m) {
      const TileParameter &parameter = space.parameters[moving[m]];
      const int64_t size = plan.values[moving[m]];
      if (++place[m] < (parameter.extent + size - 1) / size)
        break;
      place[m] = 0;
    }
    if (m == moving.size())
      return made;
  }
}

double evaluationsOf(const std::vector<OpEvaluations> &all, const KernelPlan &plan,
                     std::string_view name) {
  for (const OpEvaluations &each : all)
    if (plan.ops().op(each.op).name == name)
      return each.perElement;
  return 0;
}

} // namespace

TEST(Recomputation, IsCountedOverCtasAndSteps) {
  size_t repeated = 0;
  for (const std::string &text : {std::string(denseLayer), std::string(reused), softmax, window}) {
    ExploreOptions options;
    options.search.top = 12;
    const ExploredModel model = Explored().run(parseVerified(text), options);
    for (const ExploredKernel &kernel : model.kernels)
      for (const RankedPlan &ranked : kernel.plans) {
        const KernelPlan &plan = ranked.plan;
        if (plan.value("split_k") > 1)
          continue;
        const auto found = llvm::cantFail(opEvaluations(plan));
        EXPECT_FALSE(found.empty());
        for (const OpEvaluations &each : found) {
          double made = 0, elements = 1;
          for (int64_t extent : plan.ops().op(each.op).shape.dims)
            elements *= double(extent);
          for (const TileInstance &instance : plan.tiled->instances)
            if (instance.op == each.op && !instance.isInput)
              made += elementsMade(plan, instance);
          EXPECT_NEAR(each.perElement, made / elements, 1e-6 * made / elements)
              << plan.ops().op(each.op).name;
          repeated += each.perElement > 1.01;
        }
      }
  }
  EXPECT_GT(repeated, 4u);
}

TEST(Recomputation, OfCtasThatShareAProductIsWhatEachMakes) {
  const ExploredModel model = Explored().run(parseVerified(reused));
  ASSERT_EQ(model.kernels.size(), 1u);
  KernelPlan plan = model.kernels[0].plans[0].plan;
  for (auto [name, value] : {std::pair("t0", 64), {"t1", 128}, {"k0", 16}, {"split_k", 3}})
    for (size_t i = 0; i < plan.values.size(); ++i)
      if (plan.tiled->space.parameters[i].name == name)
        plan.values[i] = value;
  const auto found = llvm::cantFail(opEvaluations(plan));
  EXPECT_DOUBLE_EQ(evaluationsOf(found, plan, "p"), 3); // tiles of 128 columns
  EXPECT_DOUBLE_EQ(evaluationsOf(found, plan, "d"), 1);
  EXPECT_DOUBLE_EQ(evaluationsOf(found, plan, "r"), 1);
  const double powers = 200 * 96, others = 200 * 300 * (2 * 96 + 1);
  EXPECT_NEAR(recomputeFactor(found), (3 * powers + others) / (powers + others), 1e-12);
}

// Its lists of places have 351 elements, which each CTA of some rows computes.
TEST(Recomputation, OfAChainOfIndicesIsReported) {
  const Module module = llvm::cantFail(importFile("datasets/models/dlrm.hlo.txt"));
  ExploreOptions options;
  const ExploredModel model = Explored().run(module, options);
  size_t chains = 0;
  for (const ExploredKernel &kernel : model.kernels) {
    if (std::none_of(kernel.recomputedOps.begin(), kernel.recomputedOps.end(),
                     [](const RecomputedOp &each) { return each.op == "sign.2"; }))
      continue;
    ++chains;
    EXPECT_GT(kernel.recomputeFactor, 8);
    const KernelPlan &plan = kernel.plans.front().plan;
    EXPECT_DOUBLE_EQ(kernel.recomputedOps.front().perElement,
                     double((8192 + plan.value("t0") - 1) / plan.value("t0")));
  }
  EXPECT_EQ(chains, 1u);
}
