// How fast tilings are enumerated, counted and decided, on four spaces with known numbers of
// solutions. "raw/s" is the size of the candidate grid over the time; with strong pruning it says
// little, so that visited nodes and solutions per second stand beside it.
#include "analysis/solve/candidates.h"
#include "analysis/solve/compiled.h"
#include "analysis/solve/z3_solver.h"

#include <benchmark/benchmark.h>
#include <memory>

namespace tilewright {
namespace {

struct Space {
  std::unique_ptr<ExprContext> context = std::make_unique<ExprContext>();
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

void decideSpace(benchmark::State &state) {
  Space s = space(state.range(0));
  for (auto _ : state)
    if (llvm::cantFail(decide(s.system)).verdict != Verdict::Yes)
      state.SkipWithError("not decided");
}

BENCHMARK(compileSpace)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);
BENCHMARK(enumerateSpace)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(countSpace)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(decideSpace)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace tilewright

BENCHMARK_MAIN();
