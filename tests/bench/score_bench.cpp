// Plans priced a second on one core: alone, and many at a time, with and without the derivation of
// their features from tile sizes.
#include "costmodel/dataset.h"
#include "costmodel/feature_batch.h"
#include "costmodel/plan_batch.h"

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <fmt/format.h>

namespace tilewright {
namespace {

Device device() { return llvm::cantFail(loadDevice("h100-sxm")); }

const Dataset &bundled() {
  static const Dataset data = [] {
    TemplateLibrary templates = llvm::cantFail(TemplateLibrary::load());
    std::vector<std::string> files;
    for (const char *file : {"gemm", "gemm_variants", "memory", "attention"})
      files.push_back(fmt::format("datasets/measurements/h100-sxm/{}.csv.gz", file));
    return llvm::cantFail(loadDataset(files, templates, device()));
  }();
  return data;
}

/// Plans of the first rows of the GEMM file.
std::vector<KernelPlan> somePlans() {
  TemplateLibrary templates = llvm::cantFail(TemplateLibrary::load());
  Table table = llvm::cantFail(Table::read("datasets/measurements/h100-sxm/gemm.csv.gz"));
  const Device d = device();
  std::vector<KernelPlan> plans;
  for (size_t r = 0; r < 500; ++r) {
    TableRow row(table, r);
    plans.push_back(llvm::cantFail(templates.planOf(*templates.match(row), row, d)));
  }
  return plans;
}

/// From tile sizes to features.
void features(benchmark::State &state) {
  const Device d = device();
  const std::vector<KernelPlan> plans = somePlans();
  for (auto _ : state)
    for (const KernelPlan &plan : plans)
      benchmark::DoNotOptimize(llvm::cantFail(featuresOf(plan, d)).ctas);
  state.SetItemsProcessed(state.iterations() * int64_t(plans.size()));
}
BENCHMARK(features);

/// Plans of one problem: every choice of power-of-two sizes up to 256 (or the dim) and schedules,
/// whether it fits or not.
std::vector<KernelPlan> plansOfProblem(const char *file, size_t row) {
  TemplateLibrary templates = llvm::cantFail(TemplateLibrary::load());
  Table table =
      llvm::cantFail(Table::read(fmt::format("datasets/measurements/h100-sxm/{}.csv.gz", file)));
  TableRow at(table, row);
  std::vector<KernelPlan> plans = {
      llvm::cantFail(templates.planOf(*templates.match(at), at, device()))};
  const std::vector<TileParameter> &parameters = plans.front().tiled->space.parameters;
  for (size_t p = 0; p < parameters.size(); ++p) {
    std::vector<int64_t> choices = {1, 2, 4, 8};
    if (parameters[p].role != TileParameter::Role::Schedule) {
      choices.clear();
      for (int64_t size = 16; size <= 256 && size < 2 * parameters[p].largest(); size *= 2)
        choices.push_back(std::min(size, parameters[p].largest()));
      if (choices.empty())
        choices = {parameters[p].largest()};
    }
    std::vector<KernelPlan> next;
    for (const KernelPlan &plan : plans)
      for (int64_t choice : choices) {
        next.push_back(plan);
        next.back().values[p] = choice;
      }
    plans = std::move(next);
  }
  return plans;
}

/// From tile sizes to times, one group at a time, all kinds of plans known.
void planBatch(benchmark::State &state, const char *file, size_t row) {
  const Device d = device();
  const Parameters p = priorParameters(d);
  const std::vector<KernelPlan> plans = plansOfProblem(file, row);
  PlanBatch batch(plans.front(), d);
  std::vector<double> times(plans.size());
  auto scoreAll = [&] {
    batch.clear();
    for (const KernelPlan &plan : plans)
      llvm::cantFail(batch.add(plan.values));
    llvm::cantFail(batch.score(p, CacheState::Flushed, times));
  };
  scoreAll();
  for (auto _ : state)
    scoreAll();
  state.SetItemsProcessed(state.iterations() * int64_t(times.size()));
  state.counters["plans"] = double(plans.size());
  state.counters["kinds"] = double(batch.kinds());
}
BENCHMARK_CAPTURE(planBatch, gemm, "gemm", 100);
BENCHMARK_CAPTURE(planBatch, batchedGemm, "gemm_variants", 7000);
BENCHMARK_CAPTURE(planBatch, copy, "memory", 10);
BENCHMARK_CAPTURE(planBatch, reduction, "memory", 2500);
BENCHMARK_CAPTURE(planBatch, attention, "attention", 20);

/// The first time: kinds of plans are met and worked out on the way.
void planBatchAnew(benchmark::State &state, const char *file, size_t row) {
  const Device d = device();
  const Parameters p = priorParameters(d);
  const std::vector<KernelPlan> plans = plansOfProblem(file, row);
  std::vector<double> times(plans.size());
  for (auto _ : state) {
    PlanBatch batch(plans.front(), d);
    for (const KernelPlan &plan : plans)
      llvm::cantFail(batch.add(plan.values));
    llvm::cantFail(batch.score(p, CacheState::Flushed, times));
  }
  state.SetItemsProcessed(state.iterations() * int64_t(times.size()));
}
BENCHMARK_CAPTURE(planBatchAnew, gemm, "gemm", 100);
BENCHMARK_CAPTURE(planBatchAnew, batchedGemm, "gemm_variants", 7000);
BENCHMARK_CAPTURE(planBatchAnew, attention, "attention", 20);

void alone(benchmark::State &state) {
  const Device d = device();
  const Parameters p = priorParameters(d);
  for (auto _ : state)
    for (const DatasetRow &row : bundled().rows)
      benchmark::DoNotOptimize(estimateTime(row.features, d, p, 0.1).timeNs);
  state.SetItemsProcessed(state.iterations() * int64_t(bundled().rows.size()));
}
BENCHMARK(alone);

void addAndScore(benchmark::State &state) {
  const Device d = device();
  const Parameters p = priorParameters(d);
  std::vector<double> times(bundled().rows.size());
  FeatureBatch batch;
  for (auto _ : state) {
    batch.clear();
    for (const DatasetRow &row : bundled().rows)
      batch.add(row.features);
    batch.score(d, p, CacheState::Flushed, times);
  }
  state.SetItemsProcessed(state.iterations() * int64_t(times.size()));
}
BENCHMARK(addAndScore);

void score(benchmark::State &state) {
  const Device d = device();
  const Parameters p = priorParameters(d);
  FeatureBatch batch;
  for (const DatasetRow &row : bundled().rows)
    batch.add(row.features);
  std::vector<double> times(batch.size());
  for (auto _ : state)
    batch.score(d, p, CacheState::Flushed, times);
  state.SetItemsProcessed(state.iterations() * int64_t(times.size()));
}
BENCHMARK(score);

} // namespace
} // namespace tilewright

BENCHMARK_MAIN();
