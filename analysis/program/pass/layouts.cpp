#include "analysis/program/pass/layouts.h"

namespace tilewright::program {

AxisId fastestAxis(const LayoutSpec &spec, const AxisSet &axes) {
  std::vector<AxisId> order = spec.of.empty() ? axes : spec.of;
  AxisId fastest;
  if (order.empty())
    return fastest;
  switch (spec.family) {
  case LayoutFamily::Flat:
  case LayoutFamily::Columns:
    fastest = order.back();
    break;
  case LayoutFamily::Across:
    fastest = order.front();
    break;
  case LayoutFamily::Rows:
    if (order.size() > 1)
      fastest = order.back();
    break;
  default:
    break;
  }
  return fastest.isValid() && contains(axes, fastest) ? fastest : AxisId{};
}

const LayoutSpec *layoutOf(const Program &program, ValueId value) {
  const Op *made = nullptr;
  forEachOp(program.body, [&](const Op &op, const LoopNest &) {
    if (!made && std::find(op.results.begin(), op.results.end(), value) != op.results.end())
      made = &op;
  });
  if (!made)
    return nullptr;
  if (const LayoutSpec *named = layoutOf(*made))
    return named;
  if (!made->as<MapOp>())
    return nullptr;
  for (const ScalarNode &node : made->as<MapOp>()->value.nodes)
    if (node.kind == ScalarNode::Kind::Value && node.value != value &&
        program[node.value].tile.axes == program[value].tile.axes)
      return layoutOf(program, node.value);
  return nullptr;
}

Expr contiguousIndex(const Program &program, const Access &access) {
  const std::vector<Expr> &dims = program[access.tensor].dims;
  for (size_t d = dims.size(); d-- > 0;)
    if (!dims[d].isConstant(1))
      return access.index[d];
  return Expr();
}

} // namespace tilewright::program
