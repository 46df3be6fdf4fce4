#include "tools/tilewright/tile_joins.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tilewright::cli {

namespace {

constexpr int64_t maxTiles = 1 << 16;

std::vector<int64_t> boundariesOf(const Graph &graph, const Op &op, size_t dim) {
  std::vector<int64_t> result;
  int64_t end = 0;
  for (OpId operand : op.operands) {
    const int64_t extent = graph.op(operand).shape.dims[dim];
    if (extent > 0 && end > 0)
      result.push_back(end);
    end += extent;
  }
  return result;
}

/// Counts the tiles along one dim by looking at each.
void countTiles(const TileReport &report, const TileDim &dim, int64_t extent, Join &join) {
  const TileSpace &space = report.tiled().space;
  Assignment point;
  for (size_t i = 0; i < space.parameters.size(); ++i)
    if (report.choice[i])
      point.set(space.parameters[i].size, *report.choice[i]);
  for (const RuntimeVariable &rt : report.tiled().runtime)
    point.set(rt.var, rt.range.lo);
  struct Mover {
    Expr index;
    int64_t tiles;
  };
  std::vector<Mover> movers;
  std::optional<int64_t> total = 1;
  for (const VarId id : variablesOf(std::vector{dim.offset, dim.size, dim.stride}))
    for (size_t i = 0; i < space.parameters.size(); ++i) {
      const TileParameter &parameter = space.parameters[i];
      if (!parameter.index || parameter.index.variable().index != id.index)
        continue;
      if (!report.choice[i])
        return;
      movers.push_back(
          {parameter.index, std::max<int64_t>(1, ceilDiv(parameter.extent, *report.choice[i]))});
      total = total ? checkedMul(*total, movers.back().tiles) : std::nullopt;
    }
  if (!total || *total > maxTiles)
    return;
  int64_t straddling = 0;
  for (int64_t number = 0; number < *total; ++number) {
    int64_t rest = number;
    for (const Mover &mover : movers) {
      point.set(mover.index, rest % mover.tiles);
      rest /= mover.tiles;
    }
    const auto offset = evaluate(dim.offset, point), size = evaluate(dim.size, point),
               stride = evaluate(dim.stride, point);
    if (!offset || !size || !stride)
      return;
    const int64_t reach = (*size - 1) * *stride;
    const int64_t first = std::max<int64_t>(0, *offset + std::min<int64_t>(0, reach));
    const int64_t last = std::min(extent - 1, *offset + std::max<int64_t>(0, reach));
    straddling += std::any_of(join.boundaries.begin(), join.boundaries.end(),
                              [&](int64_t at) { return first < at && at <= last; });
  }
  join.tiles = *total;
  join.straddling = straddling;
}

} // namespace

std::vector<Join> joinsOf(const TileReport &report) {
  std::vector<Join> result;
  std::set<uint32_t> seen;
  for (const TileInstance &instance : report.tiled().instances) {
    const Op &op = report.graph.op(instance.op);
    if (op.opcode != Opcode::Concatenate || instance.isInput ||
        !seen.insert(instance.op.index).second)
      continue;
    Join join;
    join.op = instance.op;
    join.dim = op.attrs.dimensions.front();
    const size_t dim = static_cast<size_t>(join.dim);
    join.boundaries = boundariesOf(report.graph, op, dim);
    if (join.boundaries.empty())
      continue;
    countTiles(report, instance.tile.dims[dim], op.shape.dims[dim], join);
    result.push_back(std::move(join));
  }
  std::sort(result.begin(), result.end(), [](const Join &a, const Join &b) { return a.op < b.op; });
  return result;
}

std::string toText(const Join &join, const Graph &graph) {
  constexpr size_t maxShown = 16;
  std::string at;
  for (size_t i = 0; i < join.boundaries.size(); ++i) {
    if (i == maxShown) {
      at += fmt::format(" and {} more", join.boundaries.size() - i);
      break;
    }
    at += (i ? ", " : "") + std::to_string(join.boundaries[i]);
  }
  std::string text = fmt::format("%{} dim {}: boundar{} {}", graph.op(join.op).name, join.dim,
                                 join.boundaries.size() == 1 ? "y" : "ies", at);
  if (join.tiles)
    text += *join.straddling == 0
                ? fmt::format("; each of the {} tiles lies in one operand", *join.tiles)
                : fmt::format("; {} of {} tiles have elements of several operands, masked",
                              *join.straddling, *join.tiles);
  return text;
}

} // namespace tilewright::cli
