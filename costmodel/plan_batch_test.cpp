#include "costmodel/plan_batch.h"
#include "costmodel/testing/data.h"

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace tilewright {
namespace {

using testing::bundledTemplates;
using testing::h100;

/// Plans of the bundled measurements by the group that they are plans of.
struct MeasuredPlans {
  std::vector<KernelPlan> plans;
};

/// Every n-th row of the bundled files, taken together where they are of one problem.
std::vector<MeasuredPlans> bundledGroups(size_t everyNth) {
  TemplateLibrary templates = bundledTemplates();
  const Device device = h100();
  std::map<const TiledGroup *, size_t> known;
  std::vector<MeasuredPlans> groups;
  for (const char *file :
       {"gemm.csv.gz", "gemm_variants.csv.gz", "memory.csv.gz", "attention.csv.gz"}) {
    Table table =
        llvm::cantFail(Table::read(fmt::format("datasets/measurements/h100-sxm/{}", file)));
    for (size_t r = 0; r < table.rowCount(); r += everyNth) {
      TableRow row(table, r);
      std::optional<size_t> found = templates.match(row);
      if (!found)
        continue;
      KernelPlan plan = llvm::cantFail(templates.planOf(*found, row, device));
      auto [it, isNew] = known.try_emplace(plan.tiled.get(), groups.size());
      if (isNew)
        groups.emplace_back();
      groups[it->second].plans.push_back(std::move(plan));
    }
  }
  return groups;
}

void expectSameFeatures(const Features &a, const Features &b, const std::string &plan) {
  EXPECT_EQ(static_cast<const FeatureKind &>(a), static_cast<const FeatureKind &>(b)) << plan;
  constexpr size_t count = sizeof(FeatureNumbers<double>) / sizeof(double);
  using Numbers = std::array<double, count>;
  auto x = std::bit_cast<Numbers>(static_cast<const FeatureNumbers<double> &>(a));
  auto y = std::bit_cast<Numbers>(static_cast<const FeatureNumbers<double> &>(b));
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(x[i], y[i]) << plan << ": number " << i;
}

TEST(PlanBatch, GivesTheFeaturesAndTimesOfPlansAlone) {
  const Device device = h100();
  const Parameters p = llvm::cantFail(loadCalibration("h100-sxm")).values();
  size_t compared = 0;
  for (const MeasuredPlans &group : bundledGroups(7)) {
    PlanBatch batch(group.plans.front(), device);
    for (const KernelPlan &plan : group.plans)
      llvm::cantFail(batch.add(plan.values));
    std::vector<Features> features = llvm::cantFail(batch.features());
    std::vector<double> times(batch.size());
    for (CacheState cache : {CacheState::Flushed, CacheState::Clean, CacheState::Warm}) {
      llvm::cantFail(batch.score(p, cache, times));
      for (size_t i = 0; i < times.size(); ++i) {
        KernelPlan plan = group.plans[i];
        plan.instruction = llvm::cantFail(preferredInstruction(plan, device));
        Features alone = llvm::cantFail(featuresOf(plan, device));
        expectSameFeatures(features[i], alone, plan.name);
        double time = estimateTime(alone, device, p, 0.1, {cache}).timeNs;
        ASSERT_TRUE(times[i] == time || std::abs(times[i] / time - 1) < 1e-13) << plan.name;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 9000u);
}

/// Sizes that no compiler would choose, among them such as fit nowhere, for groups of all kinds.
TEST(PlanBatch, AgreesOnRandomPlans) {
  std::mt19937_64 random(5);
  const Device device = h100();
  const Parameters p = priorParameters(device);
  for (const MeasuredPlans &group : bundledGroups(211))
    for (const ProgramStyle &style : {tritonStyle, tilewrightStyle}) {
      KernelPlan prototype = group.plans.front();
      prototype.style = style;
      PlanBatch batch(prototype, device, prototype.instruction);
      std::vector<KernelPlan> plans;
      for (int i = 0; i < 60; ++i) {
        KernelPlan plan = prototype;
        for (size_t v = 0; v < plan.values.size(); ++v) {
          const TileParameter &parameter = plan.tiled->space.parameters[v];
          int64_t largest = std::max<int64_t>(parameter.extent, 1);
          plan.values[v] = std::min<int64_t>(largest, int64_t(1) << random() % 12);
          if (random() % 4 == 0)
            plan.values[v] = std::min<int64_t>(largest, 1 + int64_t(random() % 100));
        }
        llvm::cantFail(batch.add(plan.values));
        plans.push_back(std::move(plan));
      }
      std::vector<Features> features = llvm::cantFail(batch.features());
      std::vector<double> times(batch.size());
      llvm::cantFail(batch.score(p, CacheState::Flushed, times));
      for (size_t i = 0; i < plans.size(); ++i) {
        Features alone = llvm::cantFail(featuresOf(plans[i], device));
        expectSameFeatures(features[i], alone, plans[i].name);
        double time = estimateTime(alone, device, p, 0.1).timeNs;
        EXPECT_TRUE(times[i] == time || std::abs(times[i] / time - 1) < 1e-13) << plans[i].name;
      }
      batch.clear();
      EXPECT_EQ(batch.size(), 0u);
    }
}

} // namespace
} // namespace tilewright
