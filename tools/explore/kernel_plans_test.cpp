// What holds for all plans of a kernel, whoever asks.
#include "analysis/import/import_file.h"
#include "analysis/import/testing/models.h"
#include "analysis/ir/inline.h"
#include "analysis/solve/compiled.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/plan_text.h"
#include "tools/explore/chains.h"
#include "tools/explore/explore.h"
#include "tools/explore/mask_share.h"
#include "tools/explore/testing/explore.h"

#include <random>
#include <set>

using namespace tilewright;

namespace {

struct Setting {
  Device device;
  Calibration calibration;
  explicit Setting(const char *name = "h100-sxm")
      : device(llvm::cantFail(loadDevice(name))),
        calibration(llvm::cantFail(defaultCalibration(device))) {}
};

KernelPlans plansOf(const Module &module, const Setting &setting, const PlanOptions &options = {},
                    const char *root = "") {
  auto shared = std::make_shared<const Module>(module);
  return llvm::cantFail(kernelPlans(shared, llvm::cantFail(findKernel(*shared, root)),
                                    setting.device, setting.calibration, options));
}

/// At most `most` plans of a space, evenly spread over those that are feasible.
std::vector<KernelPlan> somePlans(const KernelPlan &space, uint64_t most) {
  std::vector<KernelPlan> plans;
  auto compiled = CompiledSystem::compile(llvm::cantFail(systemOf(space, {})));
  if (!compiled) {
    ADD_FAILURE() << takeDiag(compiled.takeError()).message;
    return {};
  }
  const uint64_t every = std::max<uint64_t>(1, compiled->count().solutions / most);
  uint64_t index = 0;
  compiled->enumerate([&](std::span<const int64_t> values) {
    if (index++ % every == 0) {
      plans.push_back(space);
      plans.back().values.assign(values.begin(), values.end());
    }
    return plans.size() < most;
  });
  return plans;
}

/// Calls `visit` with the plans of every kernel of a model's entry, chains as one kernel, too.
template <class Visit>
void forEachKernel(const std::shared_ptr<const Module> &module, const Setting &setting,
                   const PlanOptions &options, const Visit &visit) {
  const Grouping grouping = groupSimply(module->entry());
  std::vector<KernelGroup> groups = grouping.kernels;
  for (const DotChain &chain : dotChains(module->entry(), grouping.kernels))
    groups.push_back(chain.whole);
  for (const KernelGroup &group : groups) {
    auto source = kernelSource(*module, module->entryId, group);
    if (!source) {
      llvm::consumeError(source.takeError());
      continue;
    }
    auto plans = kernelPlans(module, *source, setting.device, setting.calibration, options);
    if (!plans) {
      llvm::consumeError(plans.takeError());
      continue;
    }
    visit(source->name, *plans);
  }
}

const char *dot = R"(HloModule m
ENTRY e {
  a = bf16[4096,4096] parameter(0)
  b = bf16[4096,4096] parameter(1)
  ROOT c = bf16[4096,4096] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";

} // namespace

/// No plan of any kernel of the bundled models is predicted to be faster than "no kernel can be".
TEST(KernelPlans, TheBoundHoldsForAllPlans) {
  Setting setting;
  size_t kernels = 0, priced = 0;
  for (const std::string &path : bundledModels()) {
    auto module = std::make_shared<const Module>(
        llvm::cantFail(inlineCalls(llvm::cantFail(importFile(path)))));
    for (CacheState cache : {CacheState::Flushed, CacheState::Clean, CacheState::Warm})
      forEachKernel(module, setting, {.cache = cache}, [&](const auto &name, const auto &plans) {
        ++kernels;
        for (const KernelPlan &space : plans.spaces())
          for (const KernelPlan &plan : somePlans(space, 6)) {
            auto estimate = plans.price(plan);
            ASSERT_TRUE(bool(estimate)) << takeDiag(estimate.takeError()).message;
            EXPECT_GE(estimate->timeNs, plans.boundNs() * (1 - 1e-9))
                << path << " " << name << " " << planText(plan) << " cache " << int(cache);
            ++priced;
          }
      });
  }
  EXPECT_GT(kernels, 500u);
  EXPECT_GT(priced, 3000u);
}

/// Who asks for a kernel that copies wants the bytes moved, and a view of an input is that input.
TEST(KernelPlans, TheBoundOfAKernelHasTheBytesOfCopiesAndViews) {
  Setting setting;
  const double n = 1 << 26;
  for (const char *body : {"ROOT o = f32[67108864] copy(x)",
                           "v = f32[67108864] reshape(w) ROOT o = f32[67108864] negate(v)"}) {
    const Module module = parseVerified(
        "HloModule m\nENTRY e { x = f32[67108864] parameter(0) w = f32[8192,8192] parameter(1) " +
        std::string(body) + " }");
    for (CacheState cache : {CacheState::Warm, CacheState::Clean})
      EXPECT_GE(plansOf(module, setting, {.cache = cache}).boundNs(),
                (8 * n - 2 * setting.device.l2Bytes) / setting.device.dramBandwidth)
          << body;
  }
}

/// Products count at the peak of their own precision, masked ones where the mask leaves something.
TEST(KernelPlans, TheBoundIsOfWorkThatIsDone) {
  Setting setting;
  const double flops = 2.0 * 4096 * 4096 * 4096;
  EXPECT_DOUBLE_EQ(plansOf(parseVerified(dot), setting).boundNs(),
                   flops / setting.device.peakFlops(DType::BF16, true));
  std::string quarter = dot;
  for (size_t at; (at = quarter.find("bf16[")) != std::string::npos;)
    quarter.replace(at, 5, "f8e4m3fn[");
  EXPECT_DOUBLE_EQ(plansOf(parseVerified(quarter), setting).boundNs(),
                   flops / setting.device.peakFlops(DType::F8E4M3FN, true));

  auto attention = [](const std::string &mask) {
    return parseVerified(R"(HloModule m
mx { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] maximum(p, q) }
sm { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }
body {
  q = bf16[64,2048,128] parameter(0)
  k = bf16[64,2048,128] parameter(1)
  v = bf16[64,2048,128] parameter(2)
  s = f32[64,2048,2048] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  lows = f32[64,2048,2048] broadcast(low), dimensions={}
  i = s32[64,2048,2048] iota(), iota_dimension=1
  j = s32[64,2048,2048] iota(), iota_dimension=2
)" + mask + R"(
  t = f32[64,2048] reduce(m, low), dimensions={2}, to_apply=mx
  tops = f32[64,2048,2048] broadcast(t), dimensions={0,1}
  c = f32[64,2048,2048] subtract(m, tops)
  x = f32[64,2048,2048] exponential(c)
  sum = f32[64,2048] reduce(x, zero), dimensions={2}, to_apply=sm
  sums = f32[64,2048,2048] broadcast(sum), dimensions={0,1}
  n = f32[64,2048,2048] divide(x, sums)
  p = bf16[64,2048,2048] convert(n)
  ROOT o = bf16[64,2048,128] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
}
ENTRY e {
  q = bf16[64,2048,128] parameter(0)
  k = bf16[64,2048,128] parameter(1)
  v = bf16[64,2048,128] parameter(2)
  ROOT f = bf16[64,2048,128] fusion(q, k, v), kind=kCustom, calls=body
})");
  };
  const Module whole = attention("  m = f32[64,2048,2048] maximum(s, lows)\n");
  const Module causal = attention("  in = pred[64,2048,2048] compare(i, j), direction=GE\n"
                                  "  m = f32[64,2048,2048] select(in, s, lows)\n");
  const Module window =
      attention("  d = s32[64,2048,2048] subtract(i, j)\n"
                "  w = s32[] constant(128)\n  ws = s32[64,2048,2048] broadcast(w), dimensions={}\n"
                "  before = pred[64,2048,2048] compare(i, j), direction=GE\n"
                "  near = pred[64,2048,2048] compare(d, ws), direction=LT\n"
                "  in = pred[64,2048,2048] and(before, near)\n"
                "  m = f32[64,2048,2048] select(in, s, lows)\n");
  auto productsOf = [](const Module &module) {
    double flops = 0;
    for (const Graph &graph : module.all())
      if (graph.name() == "body")
        for (const auto &product : neededWork(module, graph).products)
          flops += product.flops;
    return flops;
  };
  const double full = 2 * 2.0 * 64 * 2048 * 2048 * 128;
  EXPECT_DOUBLE_EQ(productsOf(whole), full);
  EXPECT_DOUBLE_EQ(productsOf(causal), full * 2049 / 4096);
  EXPECT_DOUBLE_EQ(productsOf(window), full * (2048 * 128 - 127 * 64) / (2048.0 * 2048));
  for (const Module *module : {&whole, &causal, &window}) {
    KernelPlans plans = plansOf(*module, setting);
    // Everything is read and written, whatever the mask leaves.
    EXPECT_GE(plans.boundNs(), 4 * 64 * 2048 * 128 * 2.0 / setting.device.l2Bandwidth);
    for (const KernelPlan &space : plans.spaces())
      for (const KernelPlan &plan : somePlans(space, 50))
        EXPECT_GE(llvm::cantFail(plans.price(plan)).timeNs, plans.boundNs()) << planText(plan);
  }
}

TEST(MaskShare, CountsWhatIsLeft) {
  std::mt19937_64 random(20261128);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % uint64_t(n)); };
  size_t partial = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<int64_t> dims;
    for (int64_t rank = 1 + below(3); rank > 0; --rank)
      dims.push_back(1 + below(6));
    std::vector<AffineValue> conditions(static_cast<size_t>(1 + below(3)));
    for (AffineValue &condition : conditions) {
      for (size_t d = 0; d < dims.size(); ++d)
        condition.coefficients.push_back(below(3) == 0 ? 0 : below(7) - 3);
      condition.constant = below(13) - 4;
    }
    int64_t elements = 1, left = 0;
    for (int64_t dim : dims)
      elements *= dim;
    std::vector<std::set<int64_t>> met(dims.size());
    for (int64_t number = 0; number < elements; ++number) {
      std::vector<int64_t> index;
      for (int64_t rest = number; int64_t dim : dims) {
        index.push_back(rest % dim);
        rest /= dim;
      }
      bool holds = true;
      for (const AffineValue &condition : conditions) {
        int64_t value = condition.constant;
        for (size_t d = 0; d < dims.size(); ++d)
          value += condition.coefficients[d] * index[d];
        holds &= value >= 0;
      }
      left += holds;
      for (size_t d = 0; holds && d < dims.size(); ++d)
        met[d].insert(index[d]);
    }
    bool isEveryLine = true;
    for (size_t d = 0; d < dims.size(); ++d)
      isEveryLine &= int64_t(met[d].size()) == dims[d];
    const MaskShare share = maskShare(conditions, dims);
    EXPECT_DOUBLE_EQ(share.share, double(left) / double(elements)) << trial;
    EXPECT_EQ(share.isEveryLine, isEveryLine) << trial;
    partial += left > 0 && left < elements;
  }
  EXPECT_GT(partial, 900u);
  const AffineValue causal{{1, -1}, 0};
  EXPECT_EQ(maskShare(std::span(&causal, 1), std::vector<int64_t>{0, 4}).share, 0);
}

/// The plan that a tile is completed to is the best one of that tile, and the best tile's is the
/// best of all.
TEST(KernelPlans, ATileIsCompletedToItsBestPlan) {
  Setting setting;
  KernelPlans plans = plansOf(parseVerified(dot), setting);
  const PlanRanking all = llvm::cantFail(plans.search({.top = 5}));
  ASSERT_EQ(all.best.size(), 5u);
  const TileSpace &space = plans.spaces().front().tiled->space;
  for (const RankedPlan &best : all.best) {
    PlanSearchOptions searching{.top = 1};
    for (size_t i = 0; i < space.parameters.size(); ++i)
      searching.choice.push_back(space.parameters[i].role == TileParameter::Role::Schedule
                                     ? std::nullopt
                                     : std::optional(best.plan.values[i]));
    const PlanRanking ofTile = llvm::cantFail(plans.search(searching));
    ASSERT_FALSE(ofTile.best.empty());
    double least = INFINITY;
    for (const KernelPlan &each : plans.spaces()) {
      auto compiled = CompiledSystem::compile(llvm::cantFail(systemOf(each, searching)));
      ASSERT_TRUE(bool(compiled));
      compiled->enumerate([&](std::span<const int64_t> values) {
        KernelPlan plan = each;
        plan.values.assign(values.begin(), values.end());
        EXPECT_EQ(isFeasible(*plan.tiled, plan.values), true);
        least = std::min(least, llvm::cantFail(plans.price(plan)).timeNs);
        return true;
      });
    }
    EXPECT_EQ(ofTile.best[0].estimate.timeNs, least);
    EXPECT_LE(least, best.estimate.timeNs);
  }
  // 512 accumulators a thread, or none at all.
  PlanSearchOptions large{.top = 1};
  for (const TileParameter &p : space.parameters)
    large.choice.push_back(p.name == "t0" || p.name == "t1" ? std::optional<int64_t>(256)
                           : p.name == "k0"                 ? std::optional<int64_t>(64)
                           : p.name == "warps"              ? std::optional<int64_t>(4)
                                                            : std::nullopt);
  const PlanRanking none = llvm::cantFail(plans.search(large));
  EXPECT_TRUE(none.best.empty());
  EXPECT_EQ(none.feasible, 0u);
  EXPECT_NE(none.refusal.find("with wgmma: "), std::string::npos) << none.refusal;
  EXPECT_NE(none.refusal.find("registers a thread"), std::string::npos) << none.refusal;
}

/// "Exhaustive" says that each feasible plan was priced, and the counts are those of the spaces.
TEST(KernelPlans, WhatTheBudgetLeavesOutIsSaid) {
  Setting setting;
  for (const char *text : {dot, "HloModule m\nENTRY e {\n  a = f32[512,96] parameter(0)\n"
                                "  ROOT n = f32[512,96] negate(a)\n}\n"}) {
    KernelPlans plans = plansOf(parseVerified(text), setting);
    uint64_t feasible = 0;
    for (const KernelPlan &space : plans.spaces())
      feasible += llvm::cantFail(CompiledSystem::compile(llvm::cantFail(systemOf(space, {}))))
                      .count()
                      .solutions;
    ASSERT_GT(feasible, 0u);
    for (size_t budget : {size_t(1), size_t(40), size_t(1000), size_t(1) << 30}) {
      const PlanRanking ranking =
          llvm::cantFail(plans.search({.top = 3, .maxPriced = budget, .refinedTilings = 1u << 20}));
      EXPECT_EQ(ranking.feasible, feasible);
      EXPECT_LE(ranking.priced, feasible);
      EXPECT_EQ(ranking.isExhaustive, ranking.priced == feasible) << budget;
      if (budget < feasible / 10) {
        EXPECT_FALSE(ranking.isExhaustive) << budget;
      }
    }
  }
}

/// Registers that are given decide the occupancy, and with it the time and the choice of a plan.
TEST(KernelPlans, GivenRegistersArePriced) {
  Setting setting;
  const Module module = parseVerified(dot);
  KernelPlans few = plansOf(module, setting, {.registers = 64}),
              many = plansOf(module, setting, {.registers = 240});
  size_t slower = 0;
  for (size_t i = 0; i < few.spaces().size(); ++i) {
    const std::vector<KernelPlan> plans = somePlans(few.spaces()[i], 40);
    std::unique_ptr<PlanScorer> scorer = few.scorer(few.spaces()[i]);
    for (const KernelPlan &plan : plans) {
      const Estimate a = llvm::cantFail(few.price(plan)), b = llvm::cantFail(many.price(plan));
      EXPECT_EQ(a.resources.registers, 64);
      EXPECT_GT(b.resources.registers, 64); // 240, or what a CTA of so many threads can have
      EXPECT_GE(a.resources.byRegisters, b.resources.byRegisters);
      slower += b.timeNs > a.timeNs;
      llvm::cantFail(scorer->add(plan));
    }
    const std::vector<double> times = llvm::cantFail(scorer->score());
    for (size_t p = 0; p < plans.size(); ++p)
      EXPECT_EQ(times[p], llvm::cantFail(few.price(plans[p])).timeNs);
  }
  EXPECT_GT(slower, 0u);
}

TEST(KernelPlans, ReasonsOfAllInstructionsAreSaidOnce) {
  EXPECT_EQ(joinReasons({{Instruction::Wgmma, {"a", "b"}}, {Instruction::MmaSync, {"c", "a"}}}),
            "a; with wgmma: b; with mma.sync: c");
  EXPECT_EQ(joinReasons({{Instruction::Fma, {"a", "b"}}}), "a; b");
  EXPECT_EQ(joinReasons({}), "");
}

/// A chain of two dots is the same question as a fusion and as kernels that are joined, and rows
/// that are fewer than a matrix instruction has are padded.
TEST(KernelPlans, FewRowsOfAChainArePadded) {
  Setting setting;
  const char *body = R"(
  q = bf16[2,8,64] parameter(0)
  k = bf16[2,512,64] parameter(1)
  v = bf16[2,512,64] parameter(2)
  s = f32[2,8,512] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  t = f32[2,8] reduce(s, low), dimensions={2}, to_apply=mx
  tops = f32[2,8,512] broadcast(t), dimensions={0,1}
  c = f32[2,8,512] subtract(s, tops)
  x = f32[2,8,512] exponential(c)
  sum = f32[2,8] reduce(x, zero), dimensions={2}, to_apply=sm
  sums = f32[2,8,512] broadcast(sum), dimensions={0,1}
  n = f32[2,8,512] divide(x, sums)
  p = bf16[2,8,512] convert(n)
  ROOT o = bf16[2,8,64] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
}
)";
  const std::string reducers = R"(HloModule m
mx { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] maximum(p, q) }
sm { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }
)";
  const Module apart = parseVerified(reducers + "ENTRY e {" + body);
  const Module fused = parseVerified(reducers + "body {" + body + R"(
ENTRY e {
  q = bf16[2,8,64] parameter(0)
  k = bf16[2,512,64] parameter(1)
  v = bf16[2,512,64] parameter(2)
  ROOT f = bf16[2,8,64] fusion(q, k, v), kind=kCustom, calls=body
})");
  const PlanRanking ranking = llvm::cantFail(plansOf(fused, setting).search({.top = 1}));
  ASSERT_FALSE(ranking.best.empty()) << ranking.refusal;
  EXPECT_EQ(ranking.best[0].plan.value("t1"), 8);
  auto explored = exploreModel(apart, setting.device, setting.calibration);
  ASSERT_TRUE(bool(explored));
  ASSERT_EQ(explored->chains.size(), 1u);
  EXPECT_EQ(explored->chains[0].fusedNs, ranking.best[0].estimate.timeNs)
      << explored->chains[0].reason;
  auto whole = exploreModel(fused, setting.device, setting.calibration);
  ASSERT_TRUE(bool(whole));
  ASSERT_FALSE(whole->kernels.empty());
  EXPECT_EQ(whole->kernels[0].feasible, ranking.feasible);
}
