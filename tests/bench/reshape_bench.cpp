// How fast reshapes of high rank are decided: conditions made and evaluated for one tile, and the
// question whether any tile fits put to Z3.
#include "analysis/solve/tile_system.h"
#include "analysis/solve/z3_solver.h"
#include "analysis/tiling/group.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/tiled_group.h"

#include <benchmark/benchmark.h>

namespace tilewright {
namespace {

using Dims = std::vector<int64_t>;

Graph reshapeOf(Dims from, Dims to) {
  Graph graph("g");
  Op input, reshape;
  input.name = "x";
  input.opcode = Opcode::Parameter;
  input.shape = Shape::tensor(DType::F32, std::move(from));
  reshape.name = "y";
  reshape.opcode = Opcode::Reshape;
  reshape.shape = Shape::tensor(DType::F32, std::move(to));
  reshape.operands = {graph.add(std::move(input))};
  graph.setRoot(graph.add(std::move(reshape)));
  return graph;
}

/// 64 dims: 62 of extent 2 (more overflow) between two of extent 1.
Dims rank64() {
  Dims dims(64, 2);
  dims.front() = dims.back() = 1;
  return dims;
}

Graph shapes(int64_t which) {
  switch (which) {
  case 0: // all into one
    return reshapeOf(rank64(), {int64_t(1) << 62});
  case 1: // one into all
    return reshapeOf({int64_t(1) << 62}, rank64());
  default: { // pairs joined, the first and the last on their own
    Dims pairs(32, 4);
    pairs.front() = pairs.back() = 2;
    return reshapeOf(rank64(), std::move(pairs));
  }
  }
}

TiledGroup tiled(const Graph &graph, ExprContext &context) {
  const OpId root = graph.root();
  Group group = llvm::cantFail(makeGroup(graph, {&root, 1}));
  return llvm::cantFail(tileGroup(graph, group, context));
}

/// The tile of one element, which every reshape accepts, from the graph on.
void decideTile(benchmark::State &state) {
  const Graph graph = shapes(state.range(0));
  for (auto _ : state) {
    ExprContext context;
    const TiledGroup group = tiled(graph, context);
    const Dims ones(group.space.parameters.size(), 1);
    if (isFeasible(group, ones) != true)
      state.SkipWithError("one element is a tile");
    state.counters["constraints"] = double(group.constraints.size());
  }
}

/// Whether any tile fits at all. (Not of a root of 64 dims: with the schedule's own these are more
/// parameters than a system takes.)
void askZ3(benchmark::State &state) {
  const Graph graph = shapes(state.range(0));
  ExprContext context;
  const TiledGroup group = tiled(graph, context);
  const ConstraintSystem system = llvm::cantFail(makeSystem(group.space, group.constraints));
  for (auto _ : state)
    if (llvm::cantFail(decide(system)).verdict != Verdict::Yes)
      state.SkipWithError("one element is a tile");
}

BENCHMARK(decideTile)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);
BENCHMARK(askZ3)->Arg(0)->Arg(2)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace tilewright

BENCHMARK_MAIN();
