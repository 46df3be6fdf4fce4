// Expressions and index maps: building, asking, simplifying, composing.
#include "analysis/affine/map_pool.h"

#include <benchmark/benchmark.h>
#include <chrono>

namespace tilewright {
namespace {

/// Row-major offset of coordinates within a shape.
Expr linearise(ExprContext &c, const std::vector<Expr> &at, const std::vector<int64_t> &shape) {
  Expr offset = c.constant(0);
  for (size_t i = 0; i < shape.size(); ++i)
    offset = offset * shape[i] + at[i];
  return offset;
}

std::vector<Expr> delinearise(Expr offset, const std::vector<int64_t> &shape) {
  std::vector<Expr> at(shape.size());
  for (size_t i = shape.size(); i-- > 0; offset = offset.floorDiv(shape[i]))
    at[i] = i == 0 ? offset : offset.mod(shape[i]);
  return at;
}

/// From the coordinates of `to` to those of `from`, of the same number of elements.
IndexMap reshape(ExprContext &c, const std::vector<int64_t> &to, const std::vector<int64_t> &from) {
  std::vector<Expr> dims;
  for (unsigned i = 0; i < to.size(); ++i)
    dims.push_back(c.dim(i));
  return IndexMap::overExtents(c, to, delinearise(linearise(c, dims, to), from));
}

IndexMap reversedRank(ExprContext &c, const std::vector<int64_t> &shape) {
  std::vector<Expr> results;
  std::vector<int64_t> turned(shape.rbegin(), shape.rend());
  for (unsigned i = 0; i < shape.size(); ++i)
    results.push_back(c.dim(static_cast<unsigned>(shape.size()) - 1 - i));
  return IndexMap::overExtents(c, turned, results);
}

/// A sum of `terms` divisions and remainders of d0…d3.
Expr mixed(ExprContext &c, unsigned terms) {
  Expr e = c.dim(0);
  for (unsigned i = 0; i < terms; ++i) {
    Expr d = c.dim(i % 4);
    e = e + (d * (i % 7 + 1) + 3).floorDiv(i % 5 + 2) + (d + i).mod(i % 9 + 2) * 4;
  }
  return e;
}

Bounds dimBounds(ExprContext &c) {
  Bounds bounds;
  for (unsigned i = 0; i < 4; ++i)
    bounds.set(c.dim(i), Interval::ofExtent(96));
  return bounds;
}

void build(benchmark::State &state) {
  for (auto _ : state) {
    ExprContext c;
    benchmark::DoNotOptimize(mixed(c, static_cast<unsigned>(state.range(0))));
  }
}

void evaluateExpr(benchmark::State &state) {
  ExprContext c;
  Expr e = mixed(c, static_cast<unsigned>(state.range(0)));
  Assignment at;
  for (unsigned i = 0; i < 4; ++i)
    at.set(c.dim(i), 17 + i);
  for (auto _ : state)
    benchmark::DoNotOptimize(evaluate(e, at));
}

void substituteExpr(benchmark::State &state) {
  ExprContext c;
  Expr e = mixed(c, static_cast<unsigned>(state.range(0)));
  std::vector<Expr> table;
  for (unsigned i = 0; i < 4; ++i)
    table.push_back(c.dim(3 - i) + i);
  for (auto _ : state)
    benchmark::DoNotOptimize(substitute(e, table));
}

void rangeOfExpr(benchmark::State &state) {
  ExprContext c;
  Expr e = mixed(c, static_cast<unsigned>(state.range(0)));
  Bounds bounds = dimBounds(c);
  for (auto _ : state)
    benchmark::DoNotOptimize(rangeOf(e, bounds));
}

void simplifyExpr(benchmark::State &state) {
  ExprContext c;
  Expr e = mixed(c, static_cast<unsigned>(state.range(0)));
  Bounds bounds = dimBounds(c);
  for (auto _ : state)
    benchmark::DoNotOptimize(Simplifier(c, bounds).simplify(e));
}

/// Composes maps one after the other, in a context that has composed nothing and finds nothing
/// again.
template <typename Make> void composeFirst(benchmark::State &state, Make make) {
  using Clock = std::chrono::steady_clock;
  for (auto _ : state) {
    ExprContext c;
    c.maps().stopRemembering();
    std::vector<IndexMap> steps = make(c);
    for (IndexMap &step : steps)
      step = step.simplified();
    Clock::time_point start = Clock::now();
    IndexMap map = steps[0];
    for (size_t i = 1; i < steps.size(); ++i)
      map = compose(map, steps[i]);
    benchmark::DoNotOptimize(map);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
  }
}

/// Reshape, transpose, reshape back: what a split-and-merge of heads makes.
std::vector<IndexMap> headSteps(ExprContext &c) {
  return {
      reshape(c, {64, 4096}, {64, 32, 128}),
      IndexMap::overExtents(c, std::vector<int64_t>{64, 32, 128}, {c.dim(1), c.dim(0), c.dim(2)}),
      reshape(c, {32, 64, 128}, {2048, 128})};
}

void composeReshapes(benchmark::State &state) { composeFirst(state, headSteps); }

/// The same once more in one context, which remembers its compositions: finding them, no more.
void findReshapes(benchmark::State &state) {
  ExprContext c;
  std::vector<IndexMap> steps = headSteps(c);
  for (auto _ : state)
    benchmark::DoNotOptimize(compose(compose(steps[0], steps[1]), steps[2]));
}

/// `ops` elementwise ops, transposes and reshapes, one after the other.
void composeChain(benchmark::State &state) {
  composeFirst(state, [&](ExprContext &c) {
    std::vector<IndexMap> steps{IndexMap::identity(c, std::vector<int64_t>{16, 24})};
    for (int64_t i = 0; i < state.range(0); ++i)
      switch (i % 5) {
      case 0:
        steps.push_back(IndexMap::identity(c, std::vector<int64_t>{16, 24}));
        break;
      case 1:
        steps.push_back(reversedRank(c, {24, 16}));
        break;
      case 2:
        steps.push_back(reshape(c, {24, 16}, {16, 24}));
        break;
      case 3:
        steps.push_back(reshape(c, {16, 24}, {24, 16}));
        break;
      default:
        steps.push_back(reversedRank(c, {16, 24}));
        break;
      }
    return steps;
  });
}

/// Shifts of a long line, each by another amount: no two compositions are the same.
void composeShifts(benchmark::State &state) {
  composeFirst(state, [&](ExprContext &c) {
    std::vector<IndexMap> steps;
    for (int64_t i = 0; i <= state.range(0); ++i)
      steps.push_back(IndexMap::overExtents(c, std::vector<int64_t>{1000000 + i * (i + 1) / 2},
                                            {c.dim(0) + i + 1}));
    return steps;
  });
}

/// One dim taken apart into twelve of two and turned round, then put together again.
void composeRankTwelve(benchmark::State &state) {
  composeFirst(state, [&](ExprContext &c) {
    std::vector<int64_t> bits(12, 2);
    return std::vector<IndexMap>{reshape(c, {4096}, bits), reversedRank(c, bits),
                                 reshape(c, bits, {4096})};
  });
}

BENCHMARK(build)->Arg(4)->Arg(60)->Unit(benchmark::kMicrosecond);
BENCHMARK(evaluateExpr)->Arg(1)->Arg(4)->Arg(60)->Unit(benchmark::kNanosecond);
BENCHMARK(substituteExpr)->Arg(1)->Arg(4)->Arg(60)->Unit(benchmark::kNanosecond);
BENCHMARK(rangeOfExpr)->Arg(1)->Arg(4)->Arg(60)->Unit(benchmark::kNanosecond);
BENCHMARK(simplifyExpr)->Arg(1)->Arg(4)->Arg(60)->Unit(benchmark::kMicrosecond);
BENCHMARK(composeReshapes)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(findReshapes)->Unit(benchmark::kNanosecond);
BENCHMARK(composeRankTwelve)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(composeChain)->Arg(100)->Arg(1000)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(composeShifts)->Arg(1000)->UseManualTime()->Unit(benchmark::kMillisecond);

} // namespace
} // namespace tilewright

BENCHMARK_MAIN();
