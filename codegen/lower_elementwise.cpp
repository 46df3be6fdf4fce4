// Elementwise groups: each CTA makes one root tile.
//
// A tile's elements are numbered in the root's physical order and dealt out to threads in vectors
// of `lanes`, so that a warp's accesses to the root coalesce. Ops with range variables (windows,
// convolutions, scatters) become a loop for each of their elements that is read.
#include "analysis/support/checked.h"
#include "analysis/tiling/element_work.h"
#include "codegen/lowering.h"
#include "codegen/staged_inputs.h"

#include <algorithm>

namespace tilewright {

namespace {
/// Vectors of `lanes` elements that a thread interleaves: fewer the more work each takes, one where
/// it takes a loop.
int64_t vectorsAtOnce(const Graph &graph, unsigned lanes) {
  return std::clamp<int64_t>(pendingElements(graph, idsOf(graph), graph.parameters()) / lanes, 1,
                             maxPendingVectors);
}

/// Coordinates of the result element that a thread makes beside element `at` of the root: the one
/// at the same row-major position, so that each element is made once whatever the shapes.
Coordinates coordinatesIn(ValueEmitter &emitter, const Shape &result, const Shape &root,
                          const Coordinates &at) {
  if (result.dims == root.dims)
    return at;
  std::vector<int64_t> minorToMajor;
  for (size_t d = result.dims.size(); d-- > 0;)
    minorToMajor.push_back(static_cast<int64_t>(d));
  Expr place = at.empty() ? emitter.constant(0)
                          : ValueEmitter::offsetOf(Shape::tensor(root.dtype, root.dims), at);
  return emitter.delinearize(emitter.simplify(place), result.dims, minorToMajor);
}

} // namespace

llvm::Expected<KernelModule> lowerElementwise(const KernelSpec &spec, CodeMode mode) {
  const Graph &graph = spec.graph();
  std::vector<OpId> results = resultsOf(graph);
  const Shape &shape = graph[results[0]].shape;
  auto refusal = whyNotElementwise(graph, idsOf(graph), results);
  if (!refusal)
    return refusal.takeError();
  if (!refusal->empty())
    return makeError(DiagClass::Unsupported, "{}", *refusal);
  auto grid = tileCount(shape.dims, spec.rootTile);
  if (!grid)
    return grid.takeError();

  std::vector<int64_t> order = shape.minorToMajorOrDefault();
  unsigned lanes =
      order.empty() ? 1 : lanesFor(graph, shape.dims[order[0]], spec.rootTile[order[0]]);
  const auto most = static_cast<unsigned>(maxLanes(graph, idsOf(graph), graph.parameters()));
  lanes = std::min(lanes, std::max(most, leastLanes(graph, results)));
  Lowering lowering(spec, mode, lanes);
  StagedInputs staged(lowering, spec.rootTile);
  staged.find();
  lanes = staged.lanes(lanes);
  lowering.emitter.setLanes(lanes);
  int64_t atOnce = vectorsAtOnce(graph, lanes);
  KernelBuilder &k = lowering.k;
  ValueEmitter &emitter = lowering.emitter;
  Coordinates pids = lowering.decodeTiles(lowering.ctaVariable(*grid), shape.dims, spec.rootTile);

  if (!staged.isEmpty())
    if (auto error = staged.emitLoads(pids, lanes))
      return error;
  int64_t vectors = 1;
  std::vector<int64_t> box = spec.rootTile;
  if (!order.empty())
    box[order[0]] /= lanes;
  for (int64_t extent : box)
    vectors *= extent;

  // Emits vectors first, first + step, … (`count` of them): all values, then the stores.
  auto emitVectors = [&](Expr first, int64_t step, int64_t count) -> llvm::Error {
    struct Pending {
      Guard guard;
      std::vector<Coordinates> at; ///< by result
      std::vector<Values> values;
    };
    std::vector<Pending> pending;
    for (int64_t i = 0; i < count; ++i) {
      Pending vector;
      Expr position = first + i * step;
      vector.guard.push_back({position, Interval::ofExtent(vectors), 1, 0});
      Coordinates at = emitter.delinearize(position, box, order);
      for (size_t d = 0; d < at.size(); ++d) {
        if (static_cast<int64_t>(d) == order[0] && lanes > 1)
          at[d] = at[d] * lanes + emitter.lane();
        at[d] = emitter.simplify(pids[d] * spec.rootTile[d] + at[d]);
      }
      emitter.addDomain(vector.guard, at, shape.dims);
      for (OpId id : lowering.results) {
        vector.at.push_back(coordinatesIn(emitter, graph[id].shape, shape, at));
        auto value = emitter.values(id, vector.at.back(), vector.guard, lanes);
        if (!value)
          return value.takeError();
        vector.values.push_back(std::move(*value));
      }
      pending.push_back(std::move(vector));
    }
    for (const Pending &vector : pending)
      for (size_t r = 0; r < lowering.results.size(); ++r)
        if (auto error = emitter.store(lowering.outputBuffer(r), graph[lowering.results[r]].shape,
                                       vector.at[r], vector.guard, vector.values[r]))
          return error;
    return llvm::Error::success();
  };

  int64_t rounds = ceilDiv(vectors, lowering.threads);
  atOnce = ceilDiv(rounds, ceilDiv(rounds, atOnce)); // equal trips
  if (rounds <= atOnce) {
    if (auto error = emitVectors(lowering.tid, lowering.threads, rounds))
      return error;
  } else {
    llvm::Error error = llvm::Error::success();
    int64_t step = lowering.threads * atOnce;
    int64_t trips = ceilDiv(vectors, step);
    k.forLoop(
        k.c32(0), k.c32(trips), k.c32(1), {}, [&](llvm::Value *counter, const Values &) -> Values {
          ValueEmitter::Scope scope(emitter);
          Expr trip = emitter.variable(VarKind::Step, "trip", Interval::ofExtent(trips), counter);
          if (auto problem = emitVectors(trip * step + lowering.tid, lowering.threads, atOnce))
            error = llvm::joinErrors(std::move(error), std::move(problem));
          return {};
        });
    if (error)
      return error;
  }
  return std::move(lowering).finish({CodeKind::Elementwise, Instruction::Fma}, *grid,
                                    staged.bytes());
}

} // namespace tilewright
