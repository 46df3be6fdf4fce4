#include "analysis/tiling/program_map.h"

#include "analysis/affine/simplify.h"
#include "analysis/support/checked.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/plan.h"

#include <algorithm>
#include <numeric>

namespace tilewright {

namespace {

constexpr int64_t maxCtas = 2147483647;

/// Row-major coordinates of `linear` over some dims, set in `tile`.
void decode(Expr linear, std::span<const unsigned> dims, std::span<const int64_t> counts,
            std::vector<Expr> &tile) {
  for (size_t i = dims.size(); i-- > 0;) {
    const int64_t count = counts[dims[i]];
    tile[dims[i]] = i == 0 ? linear : linear.mod(count);
    linear = linear.floorDiv(count);
  }
}

int64_t encode(std::span<const unsigned> dims, std::span<const int64_t> counts,
               std::span<const int64_t> tile) {
  int64_t linear = 0;
  for (unsigned d : dims)
    linear = linear * counts[d] + tile[d];
  return linear;
}

} // namespace

ProgramOrder ProgramOrder::inOrder(size_t dims) {
  ProgramOrder order;
  order.outer.resize(dims);
  std::iota(order.outer.begin(), order.outer.end(), 0u);
  return order;
}

llvm::Expected<ProgramMap> ProgramMap::make(ExprContext &context,
                                            std::span<const int64_t> tileCounts,
                                            const ProgramOrder &order) {
  std::vector<bool> seen(tileCounts.size());
  for (const auto *list : {&order.outer, &order.rows, &order.columns})
    for (unsigned d : *list) {
      if (d >= seen.size())
        return makeError(DiagClass::BadInput, "the order of CTAs names dim {} of {}", d,
                         seen.size());
      if (seen[d])
        return makeError(DiagClass::BadInput, "the order of CTAs names dim {} of {} twice", d,
                         seen.size());
      seen[d] = true;
    }
  if (auto missing = std::find(seen.begin(), seen.end(), false); missing != seen.end())
    return makeError(DiagClass::BadInput, "the order of CTAs leaves out dim {} of {}",
                     missing - seen.begin(), seen.size());
  if (order.group < 1 || order.splits < 1 || order.tilesPerProgram < 1)
    return makeError(DiagClass::BadInput,
                     "{} rows together, {} splits and {} tiles a CTA must be 1 or more",
                     order.group, order.splits, order.tilesPerProgram);
  ProgramMap out;
  out.counts.assign(tileCounts.begin(), tileCounts.end());
  out.order = order;
  std::optional<int64_t> items = order.splits;
  for (int64_t count : tileCounts) {
    if (count < 0)
      return makeError(DiagClass::BadInput, "{} tiles along a dim", count);
    items = items ? checkedMul(*items, count) : std::nullopt;
  }
  out.items = items.value_or(INT64_MAX);
  out.ctas = ceilDiv(out.items, order.tilesPerProgram);
  if (out.ctas > maxCtas)
    return makeError(DiagClass::Unsupported, "a grid of more than {} CTAs", maxCtas);
  for (unsigned d : order.rows)
    out.rowTiles *= tileCounts[d];
  for (unsigned d : order.columns)
    out.columnTiles *= tileCounts[d];

  const int64_t group = std::min(order.group, std::max<int64_t>(out.rowTiles, 1));
  const int64_t columns = out.columnTiles, plane = out.rowTiles * columns;
  out.cta = context.freshVariable(VarKind::ProgramId, "program");
  out.turn = context.freshVariable(VarKind::Step, "turn");
  out.item = out.turn * out.ctas + out.cta;
  out.tile.assign(tileCounts.size(), context.constant(0));
  out.split = context.constant(0);
  if (out.items == 0)
    return out; // no tiles: the expressions are never evaluated
  out.split = out.item.mod(order.splits);
  const Expr number = out.item.floorDiv(order.splits), within = number.mod(plane);
  const Expr first = within.floorDiv(group * columns) * group;
  const Expr inGroup = within.mod(group * columns);
  const Expr height = (context.constant(out.rowTiles) - first).min(group);
  decode(number.floorDiv(plane), order.outer, tileCounts, out.tile);
  decode(first + inGroup.mod(height), order.rows, tileCounts, out.tile);
  decode(inGroup.floorDiv(height), order.columns, tileCounts, out.tile);
  Bounds bounds;
  bounds.set(out.cta, {0, out.ctas - 1});
  bounds.set(out.turn, {0, order.tilesPerProgram - 1});
  Simplifier simplifier(context, bounds);
  for (Expr &index : out.tile)
    index = simplifier.simplify(index);
  out.split = simplifier.simplify(out.split);
  out.item = simplifier.simplify(out.item);
  return out;
}

ProgramMap::Place ProgramMap::itemOf(std::span<const int64_t> at, int64_t splitIndex) const {
  const int64_t row = encode(order.rows, counts, at), column = encode(order.columns, counts, at);
  const int64_t group = std::min(order.group, rowTiles);
  const int64_t first = row / group * group, height = std::min(rowTiles - first, group);
  const int64_t plane = encode(order.outer, counts, at);
  const int64_t number =
      plane * rowTiles * columnTiles + first * columnTiles + column * height + (row - first);
  const int64_t linear = number * order.splits + splitIndex;
  return {linear % ctas, linear / ctas};
}

llvm::Expected<ProgramMap> programMapOf(const KernelPlan &plan, ExprContext &context,
                                        const ProgramTurns &turns) {
  const TiledGroup &group = *plan.tiled;
  const Schedule schedule = plan.schedule();
  const std::vector<int64_t> all = tileCounts(group.space, plan.values);
  std::vector<int64_t> counts;
  std::vector<VarId> pids;
  for (size_t p = 0; p < all.size(); ++p)
    if (group.space.parameters[p].role == TileParameter::Role::Parallel) {
      counts.push_back(all[p]);
      pids.push_back(group.space.parameters[p].index.variable());
    }
  ProgramOrder dims = ProgramOrder::inOrder(counts.size());
  if (!turns.order.empty())
    dims.outer = turns.order;
  ProgramOrder order{{}, {}, {}, schedule.groupM, schedule.splitK, turns.tilesPerProgram};
  // Finds the root dims that move each operand of the last dot.
  auto isDot = [&](const TileInstance &instance) {
    const Opcode opcode = plan.ops()[instance.op].opcode;
    return !instance.isInput && (opcode == Opcode::Dot || opcode == Opcode::Convolution);
  };
  auto dot = std::find_if(group.instances.rbegin(), group.instances.rend(), isDot);
  auto reads = [&](unsigned operand, unsigned dim) {
    std::vector<Expr> offsets;
    for (const TileDim &d : group.instances[dot->operands[operand]].tile.dims)
      offsets.push_back(d.offset);
    const std::vector<VarId> used = variablesOf(offsets);
    return dim < pids.size() && std::binary_search(used.begin(), used.end(), pids[dim]);
  };
  for (unsigned dim : dims.outer) {
    const bool isRow = dot != group.instances.rend() && reads(0, dim);
    const bool isColumn = dot != group.instances.rend() && reads(1, dim);
    (isRow == isColumn ? order.outer : isRow ? order.rows : order.columns).push_back(dim);
  }
  return ProgramMap::make(context, counts, order);
}

SplitRange splitRange(Expr split, int64_t splits, int64_t steps) {
  const int64_t length = ceilDiv(steps, splits);
  return {(split * length).min(steps), ((split + 1) * length).min(steps)};
}

llvm::Error JointCtas::add(int64_t more) {
  std::optional<int64_t> end = checkedAdd(ctas(), more);
  if (!end || *end > maxCtas)
    return makeError(DiagClass::Unsupported, "a grid of more than {} CTAs", maxCtas);
  ends.push_back(*end);
  return llvm::Error::success();
}

std::optional<JointCtas::Place> JointCtas::partOf(int64_t cta) const {
  auto end = std::upper_bound(ends.begin(), ends.end(), cta);
  if (end == ends.end() || cta < 0)
    return std::nullopt;
  return Place{size_t(end - ends.begin()), cta - (end == ends.begin() ? 0 : *std::prev(end))};
}

} // namespace tilewright
