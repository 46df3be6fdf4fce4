// Plans priced a second on one core: alone, and eight at a time.
#include "costmodel/dataset.h"
#include "costmodel/feature_batch.h"

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
