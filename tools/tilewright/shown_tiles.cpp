#include "tools/tilewright/shown_tiles.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::cli {

Shown::Shown(const TileReport &report) {
  const TileSpace &space = report.tiled().space;
  Bounds bounds = report.tiled().bounds();
  context = &space.parameters.front().size.context();
  replacement.resize(context->variableCount());
  for (size_t i = 0; i < space.parameters.size(); ++i) {
    const TileParameter &parameter = space.parameters[i];
    std::optional<int64_t> value = report.choice[i];
    if (!value)
      continue;
    replacement[parameter.size.variable().index] = context->constant(*value);
    bounds.set(parameter.size, Interval::point(*value));
    if (!parameter.index)
      continue;
    int64_t tiles = std::max<int64_t>(1, (parameter.extent + *value - 1) / *value);
    bounds.set(parameter.index, Interval::ofExtent(tiles));
    if (tiles == 1)
      replacement[parameter.index.variable().index] = context->constant(0);
  }
  simplifier = std::make_unique<Simplifier>(*context, bounds);
}

Tile Shown::operator()(const Tile &tile) {
  Tile result = tile;
  for (TileDim &dim : result.dims)
    for (Expr *part : {&dim.offset, &dim.size, &dim.stride, &dim.lower, &dim.upper})
      *part = (*this)(*part);
  return result;
}

Exactness Shown::exactness(const TileInstance &instance) {
  const bool isExact = instance.exactWhen && (*this)(instance.exactWhen).isConstant(1);
  return isExact ? Exactness::Exact : instance.exactness;
}

bool hasFreeSizes(const TileReport &report) {
  const std::vector<TileParameter> &parameters = report.tiled().space.parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!report.choice[i] && parameters[i].role != TileParameter::Role::Schedule)
      return true;
  return false;
}

std::string valuesText(const TileSpace &space, const Choice &values, const Choice &asked) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] && (asked[i] || space.parameters[i].role != TileParameter::Role::Schedule))
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", space.parameters[i].name, *values[i]);
  return out.empty() ? "free" : out;
}

Choice asChoice(const std::vector<int64_t> &values) { return Choice(values.begin(), values.end()); }

} // namespace tilewright::cli
