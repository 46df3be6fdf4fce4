#include "analysis/tiling/plan_identity.h"

#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/resource_view.h"

#include <algorithm>

namespace tilewright {

namespace {

using Role = TileParameter::Role;

class Parts {
public:
  Parts(const Graph &graph, const TiledGroup &group, const CodeChoice &code)
      : view(graph, group), group(group), code(code) {}

  std::vector<Expr> run() {
    for (const TileParameter &p : group.space.parameters)
      if (p.role == Role::Parallel)
        parts.push_back(p.size.min(p.largest()));
    for (const char *name : {"warps", "split_k"})
      parts.push_back(view.parameter(name));
    switch (code.kind) {
    case CodeKind::Elementwise: // loops take an element at a time
      break;
    case CodeKind::Reduction:
      addReduction();
      break;
    case CodeKind::Dot:
    case CodeKind::Chain:
      addProduct();
      break;
    case CodeKind::Fused:
      addFused();
      break;
    }
    return std::move(parts);
  }

private:
  void addReduction() {
    const ReductionTiles tiles = reductionTiles(view);
    parts.push_back(tiles.held);
    parts.push_back(tiles.isWhole);
    const auto &first = group.instances[tiles.reductions.front()].reduces;
    for (unsigned p = 0; p < group.space.parameters.size(); ++p)
      if (group.space.parameters[p].role == Role::Sequential &&
          std::find(first.begin(), first.end(), p) == first.end())
        parts.push_back(group.space.parameters[p].size);
  }

  /// Of products in any order all numbers count.
  void addFused() {
    for (const TileParameter &p : group.space.parameters)
      parts.push_back(p.role == Role::Sequential ? p.size.min(p.largest()) : p.size);
  }

  void addProduct() {
    unsigned dot = 0;
    bool rowsAreColumns = false;
    if (auto dots = twoDots(view.graph, group.group)) {
      dot = group.instancesOf(dots->second).front();
      rowsAreColumns = dots->scoresSide == 1;
    } else {
      while (!view.isDot(dot))
        ++dot;
    }
    Expr steps = view.constant(1);
    const bool isPacked =
        view.op(dot).opcode == Opcode::Convolution &&
        packedConvolutionStep(view.op(dot), view.graph[view.op(dot).operands[1]].shape);
    for (const TileParameter &p : group.space.parameters)
      if (p.role == Role::Sequential) {
        if (!isPacked)
          parts.push_back(p.size.min(p.largest()));
        steps = steps * p.tileCount();
      }
    if (view.op(dot).opcode == Opcode::Convolution) // steps for each element of the window, too
      steps = steps * 2;
    const Expr stepsOfCta = steps.ceilDiv(view.parameter("split_k")).max(1);
    parts.push_back(view.parameter("stages").min(stepsOfCta));
    parts.push_back(order(dotSides(view, dot), rowsAreColumns));
  }

  /// Rows of tiles that are walked together; 1 where there is only one order.
  Expr order(const std::vector<DotSide> &sides, bool rowsAreColumns) const {
    Expr rows = view.constant(1), columns = rows;
    for (size_t i = 0; i < sides.size(); ++i)
      if (sides[i] != DotSide::Batch)
        ((sides[i] == DotSide::Rows) != rowsAreColumns ? rows : columns) =
            ((sides[i] == DotSide::Rows) != rowsAreColumns ? rows : columns) *
            group.space.parameters[i].tileCount();
    const Expr hasColumns = isAtLeast(columns, view.constant(2));
    return (view.parameter("group_m").min(rows) - 1) * hasColumns + 1;
  }

  ResourceView view;
  const TiledGroup &group;
  CodeChoice code;
  std::vector<Expr> parts;
};

} // namespace

PlanIdentity::PlanIdentity(const Graph &graph, const TiledGroup &group, Instruction instruction)
    : group(group), parts(Parts(graph, group, codeOf(graph, group, instruction)).run()) {}

std::vector<int64_t> PlanIdentity::of(std::span<const int64_t> values) const {
  const Assignment point = group.space.assign(values);
  std::vector<int64_t> identity;
  for (Expr part : parts) {
    const std::optional<int64_t> value = evaluate(part, point);
    if (!value) // nothing is known of it: it is like no other
      return {values.begin(), values.end()};
    identity.push_back(*value);
  }
  return identity;
}

} // namespace tilewright
