// Time to infer the layouts of chains of reductions along alternating axes.
#include "analysis/program/inference/infer_layouts.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"

#include <benchmark/benchmark.h>

using namespace tilewright;

namespace {

/// Four ops a block, a load and a store.
program::Program chainOf(int64_t blocks) {
  std::string text = "kernel chain(x: f32[64, 128]) -> y: f32[64, 128]\n"
                     "warps 4\naxis i < 64, j < 128\na0 = load x[i, j]\n";
  for (int64_t n = 0; n < blocks; ++n)
    text += fmt::format("m{0} = map a{0} * 2\nr{0} = reduce add m{0} over {2}\n"
                        "s{0} = map r{0} * 3\na{1} = map m{0} - s{0}\n",
                        n, n + 1, n % 2 == 0 ? "j" : "i");
  text += fmt::format("store y[i, j] = a{}\n", blocks);
  return llvm::cantFail(
      program::substituteSizes(llvm::cantFail(program::parseProgram(std::move(text))), {}));
}

void inferChain(benchmark::State &state) {
  const program::Program program = chainOf(state.range(0));
  inference::InferenceAnswer answer;
  for (auto step : state) {
    auto problem = llvm::cantFail(inference::LayoutProblem::make(program, {}));
    answer = inference::inferLayouts(*problem);
  }
  state.counters["ops"] = static_cast<double>(state.range(0) * 4 + 2);
  state.counters["labels"] = static_cast<double>(answer.labels);
  state.counters["cells"] = static_cast<double>(answer.search.cells);
}
BENCHMARK(inferChain)->Arg(6)->Arg(12)->Arg(25)->Arg(50)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
