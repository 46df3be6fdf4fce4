#include "analysis/tiling/plan_text.h"
#include "tools/explore/plan_sample.h"
#include "tools/explore/testing/explore.h"

#include <cmath>
#include <set>

namespace tilewright {

namespace {

/// Plans far from 32 in all sizes are slow; those with 16 warps have no price.
class DistanceScorer : public PlanScorer {
public:
  static double timeOf(std::span<const int64_t> values) {
    double sum = 1;
    for (int64_t value : values)
      sum += std::pow(std::log2(double(value)) - 5, 2) / 20;
    return 1000 * sum;
  }
  llvm::Error add(const KernelPlan &plan) override {
    if (plan.value("warps") == 16)
      return makeError(DiagClass::Unsupported, "too many warps");
    added.push_back(timeOf(plan.values));
    return llvm::Error::success();
  }
  llvm::Expected<std::vector<double>> score() override { return std::exchange(added, {}); }

private:
  std::vector<double> added;
};

KernelPlan product() {
  auto module = std::make_shared<const Module>(parseVerified(R"(HloModule m
ENTRY e {
  a = bf16[512,384] parameter(0)
  b = bf16[384,256] parameter(1)
  ROOT d = bf16[512,256] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})"));
  auto plan = planOfEntry(module);
  if (!plan) {
    ADD_FAILURE() << takeDiag(plan.takeError()).str();
    return {};
  }
  return *plan;
}

std::vector<PricedPlan> sample(const PlanSampleOptions &options) {
  DistanceScorer scorer;
  auto plans = samplePlans(product(), scorer, options);
  if (!plans) {
    ADD_FAILURE() << takeDiag(plans.takeError()).str();
    return {};
  }
  return *plans;
}

size_t indexOf(const KernelPlan &plan, std::string_view name) {
  for (size_t i = 0; i < plan.tiled->space.parameters.size(); ++i)
    if (plan.tiled->space.parameters[i].name == name)
      return i;
  ADD_FAILURE() << name;
  return 0;
}

} // namespace

TEST(PlanSample, IsSortedDistinctWithinBoundsAndSpread) {
  const PlanSampleOptions options{.count = 40, .slowest = 4};
  std::vector<PricedPlan> plans = sample(options);
  ASSERT_EQ(plans.size(), options.count);
  std::set<std::vector<int64_t>> distinct;
  std::array<int, 2> halves{};
  for (size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i].timeNs, DistanceScorer::timeOf(plans[i].values));
    EXPECT_LE(plans[i].timeNs, options.slowest * plans[0].timeNs);
    EXPECT_GE(plans[i].timeNs, plans[i > 0 ? i - 1 : 0].timeNs);
    distinct.insert(plans[i].values);
    ++halves[plans[i].timeNs > 1.6 * plans[0].timeNs];
  }
  EXPECT_EQ(distinct.size(), plans.size());
  // Neither only good plans nor only bad ones.
  EXPECT_GE(halves[0], 10);
  EXPECT_GE(halves[1], 10);
  // Every parameter that has a choice is seen with several values.
  KernelPlan plan = product();
  for (const char *name : {"t0", "t1", "k0", "warps", "stages", "split_k", "group_m"}) {
    std::set<int64_t> values;
    for (const PricedPlan &each : plans)
      values.insert(each.values[indexOf(plan, name)]);
    EXPECT_GE(values.size(), 3u) << name;
  }
}

TEST(PlanSample, TheSameOptionsGiveTheSamePlans) {
  auto values = [](const PlanSampleOptions &options) {
    std::vector<std::vector<int64_t>> result;
    for (const PricedPlan &plan : sample(options))
      result.push_back(plan.values);
    return result;
  };
  const PlanSampleOptions options{.count = 12, .maxPriced = 300};
  EXPECT_EQ(values(options), values(options));
  PlanSampleOptions other = options;
  other.seed = 2;
  EXPECT_NE(values(options), values(other));
}

TEST(PlanSample, RefusedPlansAreReplaced) {
  size_t warps = indexOf(product(), "warps");
  PlanSampleOptions options{.count = 16};
  size_t asked = 0;
  options.accepts = [&](const KernelPlan &plan) {
    ++asked;
    return plan.values[warps] == 4;
  };
  std::vector<PricedPlan> plans = sample(options);
  EXPECT_EQ(plans.size(), 16u);
  EXPECT_GT(asked, plans.size());
  for (const PricedPlan &plan : plans)
    EXPECT_EQ(plan.values[warps], 4);
  options.accepts = [](const KernelPlan &) { return false; };
  EXPECT_TRUE(sample(options).empty());
}

TEST(PlanSample, SmallSpacesAreTakenWhole) {
  DistanceScorer scorer;
  KernelPlan plan = product();
  auto tiled = std::make_shared<TiledGroup>(*plan.tiled);
  ExprContext &context = tiled->space.parameters.front().size.context();
  for (const TileParameter &parameter : tiled->space.parameters)
    if (parameter.name != "warps") // 1, 2, 4, 8 are left; 16 has no price
      tiled->constraints.push_back(
          {Formula::lessEqual(parameter.size, context.constant(1)), Provenance{}});
  plan.tiled = tiled;
  auto plans = samplePlans(plan, scorer, {.count = 48, .slowest = 1000});
  ASSERT_TRUE(static_cast<bool>(plans));
  EXPECT_EQ(plans->size(), 4u);
}

} // namespace tilewright
