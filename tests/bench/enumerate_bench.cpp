// How fast tilings are enumerated, counted and decided, on four spaces with known numbers of
// solutions. "raw/s" is the size of the candidate grid over the time; with strong pruning it says
// little, so that visited nodes and solutions per second stand beside it.
#include "analysis/import/import_file.h"
#include "analysis/ir/inline.h"
#include "analysis/program/pass/resources.h"
#include "analysis/solve/explain.h"
#include "analysis/solve/tile_system.h"
#include "costmodel/device.h"
#include "tests/tilings/bundled_kernels.h"
#include "tools/explore/chains.h"
#include "tools/explore/kernels.h"

#include <benchmark/benchmark.h>
#include <ctime>
#include <memory>

namespace tilewright {
namespace {

struct Space {
  std::shared_ptr<ExprContext> context = std::make_shared<ExprContext>();
  ConstraintSystem system;
  uint64_t expected = 0;
  double raw = 1;

  Expr add(const char *name, std::vector<int64_t> list) {
    Expr var = context->variable(VarKind::TileParam, name);
    raw *= double(list.size());
    system.parameters.push_back({var.variable(), name, std::move(list)});
    return var;
  }
  void require(const char *text, Formula formula) {
    Provenance from;
    from.text = text;
    system.constraints.push_back({std::move(formula), std::move(from)});
  }
  void atMost(const char *text, Expr a, int64_t bound) {
    require(text, Formula::lessEqual(a, context->constant(bound)));
  }
  void atLeast(const char *text, Expr a, int64_t bound) {
    require(text, Formula::lessEqual(context->constant(bound), a));
  }
  void multiple(const char *text, Expr a, int64_t of) {
    require(text, Formula::divides(context->constant(of), a));
  }
  void divides(const char *text, Expr a, int64_t n) {
    require(text, Formula::divides(a, context->constant(n)));
  }
};

std::vector<int64_t> range(int64_t first, int64_t last, int64_t step) {
  std::vector<int64_t> out;
  for (int64_t v = first; v <= last; v += step)
    out.push_back(v);
  return out;
}

/// bf16 dot 4096 × 11008 × 4096 with three stages: shared memory, accumulators, instruction shape,
/// whole k tiles, enough programs, whole vectors per thread.
Space dot(std::vector<int64_t> m, std::vector<int64_t> n, std::vector<int64_t> k,
          uint64_t expected) {
  Space s;
  s.expected = expected;
  Expr bm = s.add("bm", std::move(m)), bn = s.add("bn", std::move(n)),
       bk = s.add("bk", std::move(k));
  s.atMost("shared memory", bm * bk * 6 + bn * bk * 6, 232448);
  s.atMost("accumulators", bm * bn, 65536 * 3 / 4);
  s.multiple("m", bm, 16);
  s.multiple("n", bn, 8);
  s.multiple("k", bk, 16);
  s.divides("whole k tiles", bk, 4096);
  s.atLeast("programs",
            s.context->constant(4096).ceilDiv(bm) * s.context->constant(11008).ceilDiv(bn), 132);
  s.multiple("vectors", bm * bn, 1024);
  return s;
}

/// Two dots in one kernel, eight parameters.
Space fused() {
  Space s;
  s.expected = 3883120;
  Expr bm = s.add("bm", range(16, 256, 16)), bn = s.add("bn", range(8, 256, 8)),
       bk = s.add("bk", range(16, 128, 16)), bd = s.add("bd", range(32, 256, 32)),
       stages = s.add("stages", range(1, 7, 1)), warps = s.add("warps", {1, 2, 4, 8, 16}),
       splitK = s.add("split_k", {1, 2, 3, 4, 6, 8, 12, 16}),
       group = s.add("group", {1, 2, 4, 8, 16});
  s.atMost("shared memory", bm * bk * stages * 2 + bn * bk * stages * 2 + bn * bd * 2 + bm * bd * 2,
           232448);
  s.atMost("registers", bm * bn + bm * bd - warps * (200 * 32), 0);
  s.divides("whole k tiles", bk * splitK, 4608);
  s.multiple("instruction tiles", bm * bn, 128);
  s.divides("reshape", bn, 3072);
  s.atMost("a tile per warp", warps * 128 - bm * bn, 0);
  s.atLeast("programs",
            s.context->constant(4096).ceilDiv(bm) * s.context->constant(1024).ceilDiv(bd) * splitK,
            132);
  s.atMost("group", bm * group, 4096);
  return s;
}

Space space(int64_t number) {
  switch (number) {
  case 0:
    return dot(powersOfTwoAndDim(4096), powersOfTwoAndDim(11008), powersOfTwoAndDim(4096), 132);
  case 1:
    return dot(range(8, 4096, 8), range(8, 4096, 8), range(8, 1024, 8), 1282);
  case 2:
    return dot(range(1, 640, 1), range(1, 640, 1), range(1, 256, 1), 1025);
  default:
    return fused();
  }
}

void report(benchmark::State &state, const Space &s, const SearchResult &result) {
  if (result.solutions != s.expected)
    state.SkipWithError("the number of solutions is wrong");
  using benchmark::Counter;
  state.counters["raw/s"] = Counter(s.raw, Counter::kIsIterationInvariantRate);
  state.counters["nodes/s"] = Counter(double(result.nodes), Counter::kIsIterationInvariantRate);
  state.counters["solutions/s"] =
      Counter(double(result.solutions), Counter::kIsIterationInvariantRate);
}

void compileSpace(benchmark::State &state) {
  Space s = space(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(llvm::cantFail(CompiledSystem::compile(s.system)));
}

void enumerateSpace(benchmark::State &state) {
  Space s = space(state.range(0));
  CompiledSystem compiled = llvm::cantFail(CompiledSystem::compile(s.system));
  SearchResult result;
  for (auto _ : state)
    result = compiled.enumerate([](std::span<const int64_t> point) {
      benchmark::DoNotOptimize(point.data());
      return true;
    });
  report(state, s, result);
}

void countSpace(benchmark::State &state) {
  Space s = space(state.range(0));
  CompiledSystem compiled =
      llvm::cantFail(CompiledSystem::compile(s.system, SearchOrder::Tightest));
  SearchResult result;
  for (auto _ : state)
    result = compiled.count();
  report(state, s, result);
}

/// Every candidate evaluated: nothing is pruned.
void scanSpace(benchmark::State &state) {
  Space s = space(state.range(0));
  CompiledSystem compiled = llvm::cantFail(CompiledSystem::compile(s.system));
  SearchResult result;
  for (auto _ : state)
    result = compiled.countAll();
  if (double(result.nodes) != s.raw)
    state.SkipWithError("some candidates were left out");
  report(state, s, result);
}

void decideSpace(benchmark::State &state) {
  Space s = space(state.range(0));
  for (auto _ : state)
    if (llvm::cantFail(decide(s.system)).verdict != Verdict::Yes)
      state.SkipWithError("not decided");
}

/// Of the chains of two dots of a bundled model that have a tiling, the one with the most ops.
/// `isDense`: tiles in multiples of 8.
Space largestFusedGroup(bool isDense) {
  Module module = llvm::cantFail(
      inlineCalls(llvm::cantFail(importFile("datasets/models/llama3_8b_prefill.hlo.txt"))));
  Device device = llvm::cantFail(loadDevice("h100-sxm"));
  CandidatePlan plan = CandidatePlan::standard();
  if (isDense)
    plan.tiles = llvm::cantFail(parseCandidateRule("x8"));
  Space s;
  size_t ops = 0;
  Grouping grouping = groupSimply(module.entry());
  for (const DotChain &chain : dotChains(module.entry(), grouping.kernels)) {
    KernelSource source = llvm::cantFail(kernelSource(module, module.entryId, chain.whole));
    TiledKernel kernel = llvm::cantFail(tileKernel(module, source));
    TiledGroup group = *kernel.tiled;
    addKernelConstraints(module, module.entry(), group, device.limits);
    ConstraintSystem system = llvm::cantFail(makeSystem(group.space, group.constraints, plan));
    std::vector<int64_t> any;
    CompiledSystem compiled =
        llvm::cantFail(CompiledSystem::compile(system, SearchOrder::Tightest));
    if (group.group.ops.size() < ops || compiled.findFirst(any).verdict() != Verdict::Yes)
      continue;
    ops = group.group.ops.size();
    s.context = std::move(kernel.context);
    s.system = std::move(system);
  }
  for (const SolveParameter &parameter : s.system.parameters)
    s.raw *= double(parameter.candidates.size());
  return s;
}

void enumerateFusedGroup(benchmark::State &state) {
  Space s = largestFusedGroup(state.range(0) != 0);
  CompiledSystem compiled = llvm::cantFail(CompiledSystem::compile(s.system));
  constexpr uint64_t enough = 50'000'000; // of more, the first ones
  uint64_t seen = 0;
  SearchResult result;
  for (auto _ : state) {
    seen = 0;
    result = compiled.enumerate([&](std::span<const int64_t> point) {
      benchmark::DoNotOptimize(point.data());
      return ++seen < enough;
    });
  }
  s.expected = result.solutions;
  report(state, s, result);
}

Choice largestSizes(const ConstraintSystem &system) {
  Choice choice;
  for (const SolveParameter &parameter : system.parameters)
    choice.push_back(parameter.candidates.back());
  return choice;
}

/// Why is the largest tile infeasible, and what is nearest? Z3's certificate included.
void explainSpace(benchmark::State &state) {
  Space s = state.range(0) < 4 ? space(state.range(0)) : largestFusedGroup(false);
  const Choice choice = largestSizes(s.system);
  ExplainOptions options;
  options.findNearest = state.range(1) != 0;
  for (auto _ : state) {
    Explanation answer = llvm::cantFail(explain(s.system, choice, options));
    bool isWhole = answer.core && answer.core->isSmallest && answer.core->isCertified &&
                   (!options.findNearest || answer.nearest->isNearest);
    if (!isWhole)
      state.SkipWithError("no certified smallest core, or no nearest tile");
  }
}

/// The same for every kernel of every bundled model, at the largest sizes and at three times the
/// middle candidates: the slowest of them, in CPU time.
void explainBundledKernels(benchmark::State &state) {
  Device device = llvm::cantFail(loadDevice("h100-sxm"));
  ExplainOptions options;
  options.findNearest = state.range(0) != 0;
  double slowest = 0, sum = 0, questions = 0, infeasible = 0;
  const Space first = space(1); // the first question of a process starts Z3
  llvm::cantFail(explain(first.system, largestSizes(first.system), options));
  for (auto _ : state)
    for (const BundledKernel &kernel : llvm::cantFail(bundledKernels())) {
      TiledKernel tiled = llvm::cantFail(tileKernel(*kernel.module, kernel.source));
      TiledGroup group = *tiled.tiled;
      addKernelConstraints(*kernel.module, kernel.module->graph(kernel.source.graph), group,
                           device.limits);
      ConstraintSystem system = llvm::cantFail(makeSystem(group.space, group.constraints));
      for (bool isLargest : {true, false}) {
        Choice choice;
        for (const SolveParameter &parameter : system.parameters) {
          const std::vector<int64_t> &list = parameter.candidates;
          choice.push_back(isLargest ? list.back()
                                     : std::min(3 * list[list.size() / 2], list.back()));
        }
        const std::clock_t start = std::clock();
        Explanation answer = llvm::cantFail(explain(system, choice, options));
        const double spent = double(std::clock() - start) / CLOCKS_PER_SEC;
        ++questions;
        if (answer.feasible == Verdict::Yes)
          continue;
        bool isWhole = answer.core && answer.core->isSmallest && answer.core->isCertified &&
                       (!options.findNearest || answer.nearest->found != Verdict::Unknown);
        if (!isWhole)
          state.SkipWithError("no certified smallest core, or no nearest tile");
        ++infeasible;
        sum += spent;
        if (spent > slowest) {
          slowest = spent;
          state.SetLabel(kernel.name);
        }
      }
    }
  state.counters["questions"] = questions;
  state.counters["infeasible"] = infeasible;
  state.counters["mean_ms"] = sum / infeasible * 1e3;
  state.counters["slowest_ms"] = slowest * 1e3;
}

BENCHMARK(explainBundledKernels)->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(enumerateFusedGroup)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(explainSpace)->ArgsProduct({{0, 1, 3, 4}, {0, 1}})->Unit(benchmark::kMillisecond);
BENCHMARK(compileSpace)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
BENCHMARK(enumerateSpace)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(countSpace)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(scanSpace)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(decideSpace)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace tilewright

BENCHMARK_MAIN();
