// Equal layers of a network share plans, under their own names.
#include "analysis/import/import_file.h"
#include "tools/explore/group_explorer.h"
#include "tools/explore/testing/explore.h"
#include "tools/explore/twins.h"

#include <fmt/format.h>

using namespace tilewright;

namespace {

std::string layers(size_t count) {
  std::string text = "HloModule m\nENTRY e {\n  x0 = bf16[512,512]{1,0} parameter(0)\n";
  for (size_t i = 0; i < count; ++i)
    text += fmt::format(R"(  w{0} = bf16[512,512]{{1,0}} parameter({1})
  d{0} = bf16[512,512]{{1,0}} dot(x{0}, w{0}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  n{0} = bf16[512,512]{{1,0}} negate(d{0})
  {2}x{1} = bf16[512,512]{{1,0}} exponential(n{0})
)",
                        i, i + 1, i + 1 == count ? "ROOT " : "");
  return text + "}\n";
}

/// The names after a % that are not of layer `i`.
size_t foreignNames(const std::string &text, size_t i) {
  size_t foreign = 0;
  for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
    const std::string name = text.substr(at + 1, 2);
    foreign += name != fmt::format("x{}", i) && name != fmt::format("w{}", i) &&
               name != fmt::format("d{}", i) && name != fmt::format("n{}", i) &&
               name != fmt::format("x{}", i + 1);
  }
  return foreign;
}

class SearchCount : public PlanStore {
public:
  std::optional<std::string> find(const std::string &) override { return std::nullopt; }
  void keep(const std::string &, const std::string &) override { ++searches; }
  size_t searches = 0;
};

} // namespace

TEST(Twins, SharePlansUnderTheirOwnNames) {
  constexpr size_t count = 4;
  Explored explored;
  ExploreOptions options;
  options.tileMaps = true;
  const ExploredModel model = explored.run(parseVerified(layers(count)), options);
  ASSERT_EQ(model.kernels.size(), count);
  size_t shared = 0, reasons = 0;
  for (size_t i = 0; i < count; ++i) {
    const ExploredKernel &kernel = model.kernels[i];
    EXPECT_EQ(kernel.name, fmt::format("x{}", i + 1));
    shared += hasSharedPlans(kernel);
    EXPECT_EQ(kernel.plans.front().plan.tiled, model.kernels.front().plans.front().plan.tiled);
    for (const RankedPlan &ranked : kernel.plans) {
      EXPECT_EQ(ranked.plan.name, kernel.name);
      const KernelPlan own = llvm::cantFail(ownPlan(kernel, ranked.plan));
      EXPECT_EQ(own.tiled->group.ops, kernel.source.group.ops);
      EXPECT_EQ(own.ops()[own.tiled->group.roots.front()].name, kernel.name);
      const Estimate estimate = llvm::cantFail(
          estimateTime(own, explored.device, explored.calibration, {.cache = options.plans.cache}));
      EXPECT_EQ(estimate.timeNs, ranked.estimate.timeNs);
    }
    for (const TileMap::Cell &cell : kernel.tileMap.cells) {
      reasons += cell.reason.find('%') != std::string::npos;
      EXPECT_EQ(foreignNames(cell.reason, i), 0u) << cell.reason;
    }
    for (const Lever &lever : kernel.levers)
      EXPECT_EQ(foreignNames(lever.because, i), 0u) << lever.because;
  }
  EXPECT_EQ(shared, count - 1);
  EXPECT_GE(reasons, count);
}

/// What is said of the first layer is said of each: no price depends on which one was searched.
TEST(Twins, CostWhatTheyCostAlone) {
  Explored explored;
  const ExploredModel all = explored.run(parseVerified(layers(3))),
                      one = explored.run(parseVerified(layers(1)));
  ASSERT_EQ(one.kernels.size(), 1u);
  for (const ExploredKernel &kernel : all.kernels) {
    ASSERT_EQ(kernel.plans.size(), one.kernels.front().plans.size());
    for (size_t i = 0; i < kernel.plans.size(); ++i) {
      EXPECT_EQ(kernel.plans[i].plan.values, one.kernels.front().plans[i].plan.values);
      EXPECT_EQ(kernel.plans[i].estimate.timeNs, one.kernels.front().plans[i].estimate.timeNs);
    }
  }
}

TEST(Twins, AreRefusedUnderTheirOwnNames) {
  const auto module = std::make_shared<const Module>(parseVerified(R"(HloModule m
ENTRY e {
  p0 = f32[64,48] parameter(0)
  q0 = f32[7,7] parameter(1)
  p1 = f32[64,48] parameter(2)
  q1 = f32[7,7] parameter(3)
  n0 = f32[64,48] negate(p0)
  t0 = f32[7,7] negate(q0)
  n1 = f32[64,48] negate(p1)
  t1 = f32[7,7] negate(q1)
  ROOT r = (f32[64,48], f32[7,7], f32[64,48], f32[7,7]) tuple(n0, t0, n1, t1)
})"));
  const Explored explored;
  const ExploreOptions options;
  const GroupExplorer groups(module, explored.device, explored.calibration, options);
  std::string reasons[2];
  for (int i : {0, 1}) {
    KernelGroup group;
    group.roots = {module->entry().find(fmt::format("n{}", i)),
                   module->entry().find(fmt::format("t{}", i))};
    group.ops = group.roots;
    group.root = group.roots.back();
    reasons[i] = groups.price(module->entryId, group, 0).refusal;
    EXPECT_NE(reasons[i].find(fmt::format("%n{}", i)), std::string::npos) << reasons[i];
    EXPECT_EQ(reasons[i].find(fmt::format("%n{}", 1 - i)), std::string::npos) << reasons[i];
  }
  EXPECT_EQ(reasons[0].size(), reasons[1].size());
}

/// A network takes as many searches as it has different kernels, whatever its depth.
TEST(Networks, AreSearchedOnceForEachStructure) {
  Explored explored;
  for (const auto &[name, kernels, most] :
       {std::tuple("gpt2", 60, 40), std::tuple("llama3_8b", 12 * 32, 40)}) {
    SearchCount count;
    ExploreOptions options;
    options.store = &count;
    options.search.maxPriced = 1;
    options.search.refinedTilings = 1;
    const Module module =
        llvm::cantFail(importFile(fmt::format("datasets/models/networks/{}.mlir.gz", name)));
    auto model = exploreModel(module, explored.device, explored.calibration, options);
    ASSERT_TRUE(bool(model)) << takeDiag(model.takeError()).str();
    EXPECT_TRUE(model->isComplete()) << name;
    EXPECT_GE(model->kernels.size(), size_t(kernels)) << name;
    EXPECT_LE(count.searches, size_t(most)) << name;
    EXPECT_GE(count.searches, 8u) << name;
  }
}

TEST(Networks, AreRead) {
  size_t ops = 0;
  for (const char *name : {"bert_base", "gpt2_train", "llama3_8b_scan", "mamba2", "mixtral",
                           "resnet50", "unet", "vit_b16"}) {
    auto module = importFile(fmt::format("datasets/models/networks/{}.mlir.gz", name));
    ASSERT_TRUE(bool(module)) << takeDiag(module.takeError()).str();
    for (const Graph &graph : module->all())
      ops += graph.size();
  }
  EXPECT_GE(ops, 10'000u);
}
