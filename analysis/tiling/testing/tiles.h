// Tiles a whole computation that is given as HLO text: for tests.
#pragma once

#include "analysis/import/hlo_text.h"
#include "analysis/tiling/numeric_tile.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// One computation's ops as one group. The module has a computation "add" for reductions.
struct TiledText {
  std::shared_ptr<const Module> module;
  std::unique_ptr<ExprContext> context = std::make_unique<ExprContext>();
  TiledGroup group;

  const Graph &graph() const { return module->entry(); }

  const TileInstance &instance(std::string_view name, unsigned which = 0) const {
    return group.instances[group.instancesOf(graph().find(name)).at(which)];
  }
  size_t instanceCount(std::string_view name) const {
    return group.instancesOf(graph().find(name)).size();
  }
  std::string tile(std::string_view name, unsigned which = 0) const {
    return instance(name, which).tile.str(graph()[graph().find(name)].shape.dims);
  }

  /// Values of the first parameters; the others are 1.
  std::vector<int64_t> filled(std::vector<int64_t> values) const {
    values.resize(group.space.parameters.size(), 1);
    return values;
  }
  bool feasible(const std::vector<int64_t> &values) const {
    return isFeasible(group, filled(values)).value();
  }
  /// Violated constraints in words.
  std::vector<std::string> reasons(const std::vector<int64_t> &values) const {
    std::vector<std::string> out;
    Assignment point = group.space.assign(filled(values));
    for (const Constraint &c : group.constraints)
      if (c.formula.evaluate(point) == false)
        out.push_back(c.describe(point));
    return out;
  }
  /// An op's tile with numbers, `ids` for the program and step ids of the first parameters; runtime
  /// values are the least they may be.
  std::vector<NumericDim> numbers(std::string_view name, unsigned which,
                                  const std::vector<int64_t> &values,
                                  const std::vector<int64_t> &ids) const {
    Assignment point = group.space.assign(filled(values));
    for (size_t i = 0; i < ids.size(); ++i)
      point.set(group.space.parameters[i].index, ids[i]);
    for (const RuntimeVariable &rt : group.runtime)
      point.set(rt.var, rt.range.lo);
    return numericTile(instance(name, which).tile, point).value();
  }
};

inline llvm::Expected<TiledText> tryTileText(const std::string &body) {
  auto module = parseHlo(std::make_shared<SourceBuffer>(
      "test", "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
              "  ROOT s = f32[] add(a, b)\n}\n\nENTRY main {\n" +
                  body + "}\n"));
  if (!module)
    return module.takeError();
  TiledText out;
  out.module = std::make_shared<Module>(std::move(*module));
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < out.graph().size(); ++i)
    if (opClass(out.graph()[OpId{i}].opcode) != OpClass::Tuple &&
        out.graph()[OpId{i}].opcode != Opcode::Parameter)
      ops.push_back(OpId{i});
  auto group = makeGroup(out.graph(), ops);
  if (!group)
    return group.takeError();
  auto tiled = tileGroup(out.graph(), *group, *out.context);
  if (!tiled)
    return tiled.takeError();
  out.group = std::move(*tiled);
  return out;
}

inline TiledText tileText(const std::string &body) {
  auto out = tryTileText(body);
  if (!out) {
    ADD_FAILURE() << takeDiag(out.takeError()).str();
    std::abort();
  }
  return std::move(*out);
}

} // namespace tilewright
