#include "analysis/program/inference/graph_writer.h"

#include "analysis/program/inference/scalar_work.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::inference {

using program::AxisId;
using program::AxisSet;
using program::Op;
using program::Program;
using program::ScalarExpr;
using program::ScalarNode;
using program::ValueId;

GraphWriter::GraphWriter(const Program &program) : p(program) {
  for (uint32_t v = 0; v < p.context->variableCount(); ++v)
    middle.set(VarId{v}, 0);
  for (const program::GridVariable &variable : p.grid.variables)
    if (std::optional<int64_t> count = evaluate(variable.count, middle))
      middle.set(variable.var, *count / 2);
  countAssignments(p.body);
}

void GraphWriter::countAssignments(const program::Region &region) {
  program::forEachOp(region, [&](const Op &op, const program::LoopNest &) {
    for (ValueId value : op.results)
      ++assignments[value];
    if (const auto *dot = op.as<program::DotOp>(); dot && dot->isAdded)
      ++assignments[op.results[0]];
  });
}

TileBox GraphWriter::boxOf(const AxisSet &axes, DType type) const {
  TileBox box{axes, {}, bitWidth(type)};
  for (AxisId axis : axes) {
    std::optional<int64_t> extent = evaluate(p.resolved(p[axis].extent), middle);
    box.dims.emplace_back(p[axis].name, extent.value_or(1));
  }
  return box;
}

GraphNode &GraphWriter::add(NodeKind kind, std::string name, const Op &op,
                            const GraphPlace &place) {
  if (const size_t count = ++names[name]; count > 1)
    name += fmt::format(" #{}", count);
  GraphNode node;
  node.kind = kind;
  node.name = std::move(name);
  node.op = &op;
  node.role = place.role;
  node.trips = place.trips;
  node.isInLoop = place.isInLoop;
  std::optional<int64_t> warps =
      evaluate(p.resolved(place.role.isValid() ? p[place.role].warps : p.warps), middle);
  node.warps = std::max<int64_t>(1, warps.value_or(1));
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back();
}

void GraphWriter::use(GraphNode &node, uint32_t from, TileBox box, std::string value) {
  node.uses.push_back(
      {from, std::move(box), std::move(value), std::min(node.trips, graph.nodes[from].trips)});
}

void GraphWriter::useValue(GraphNode &node, ValueId value) {
  const program::Tile &tile = p[value].tile;
  use(node, producerOf(value), boxOf(tile.axes, tile.type), p[value].name);
}

std::string GraphWriter::resultName(const Op &op) const {
  const std::string &name = p[op.results[0]].name;
  return assignments.at(op.results[0]) > 1 ? name + " =" : name;
}

void GraphWriter::define(const Op &op, uint32_t node, const GraphPlace &place) {
  graph.nodes[node].value = op.results[0];
  for (ValueId value : op.results) {
    if (assignments.at(value) == 1) {
      madeBy[value] = node;
      continue;
    }
    auto [found, isNew] = madeBy.try_emplace(value, 0);
    const program::Tile &tile = p[value].tile;
    if (isNew) {
      GraphNode &carried = add(NodeKind::Carried, p[value].name, op, place);
      carried.space = carried.result = boxOf(tile.axes, tile.type);
      carried.hasResult = true;
      carried.value = value;
      found->second = last();
    }
    GraphNode &carried = graph.nodes[found->second];
    carried.trips = std::max(carried.trips, place.trips);
    carried.isInLoop = carried.isInLoop || place.isInLoop;
    carried.uses.push_back({node, boxOf(tile.axes, tile.type), p[value].name,
                            std::min(graph.nodes[node].trips, place.trips)});
  }
}

void GraphWriter::useLeaves(uint32_t n, const ScalarExpr &scalar) {
  std::set<ValueId> values;
  std::set<program::BufferId> buffers;
  for (const ScalarNode &leaf : scalar.nodes) {
    if (leaf.kind == ScalarNode::Kind::Value && values.insert(leaf.value).second)
      useValue(graph.nodes[n], leaf.value);
    if (leaf.kind == ScalarNode::Kind::Slot && buffers.insert(leaf.buffer).second)
      useBuffer(n, leaf.buffer);
  }
}

uint32_t GraphWriter::addMap(const ScalarExpr &scalar, const AxisSet &axes, DType type,
                             std::string name, const Op &op, const GraphPlace &place) {
  GraphNode &node = add(NodeKind::Map, std::move(name), op, place);
  node.space = node.result = boxOf(axes, type);
  node.hasResult = true;
  node.work = scalarWorkOf(p, scalar);
  if (type != scalar.type() && bitWidth(type) < bitWidth(scalar.type()))
    node.work.push_back({p.axesOf(scalar), 0, 1, bitWidth(type)});
  else if (type != scalar.type())
    node.work.push_back({p.axesOf(scalar), 1, 0, 32});
  const uint32_t n = last();
  useLeaves(n, scalar);
  return n;
}

void GraphWriter::useScalar(uint32_t n, const ScalarExpr &scalar, DType type,
                            const std::string &name) {
  const Op &op = *graph.nodes[n].op;
  GraphNode &node = graph.nodes[n];
  const GraphPlace place{node.trips, node.role, node.isInLoop};
  if (scalar.nodes.size() == 1 && scalar.root().kind == ScalarNode::Kind::Value &&
      scalar.type() == type)
    return useValue(node, scalar.root().value);
  AxisSet axes = p.axesOf(scalar);
  uint32_t map = addMap(scalar, axes, type, name, op, place);
  use(graph.nodes[n], map, boxOf(axes, type), graph.nodes[map].name);
}

void GraphWriter::useBuffer(uint32_t n, program::BufferId buffer) {
  const uint32_t from = bufferNode(buffer, n);
  AxisSet axes;
  for (AxisId axis : p[buffer].order)
    program::insert(axes, axis);
  GraphNode &node = graph.nodes[n];
  node.uses.push_back({from, boxOf(axes, p[buffer].type), p[buffer].name, node.trips});
}

uint32_t GraphWriter::bufferNode(program::BufferId buffer, uint32_t user) {
  auto [found, isNew] = buffers.try_emplace(buffer, 0);
  if (!isNew)
    return found->second;
  const GraphNode &at = graph.nodes[user];
  AxisSet axes;
  for (AxisId axis : p[buffer].order)
    program::insert(axes, axis);
  GraphNode &node = add(NodeKind::Buffer, p[buffer].name, *at.op, {at.trips, at.role, at.isInLoop});
  node.space = node.result = boxOf(axes, p[buffer].type);
  node.hasResult = true;
  node.buffer = buffer;
  node.isCopied = copied.count(buffer) != 0;
  found->second = last();
  return found->second;
}

void GraphWriter::useIndices(uint32_t n, const program::Access &access) {
  std::set<ValueId> values;
  for (Expr index : access.index)
    for (VarId var : variablesOf(index))
      if (ValueId value = p.valueOf(var); value.isValid() && values.insert(value).second)
        useValue(graph.nodes[n], value);
}

llvm::Error GraphWriter::setPlaces(uint32_t n, const program::Access &access, const AxisSet &axes) {
  llvm::Expected<layout::TensorPlaces> places =
      layout::TensorPlaces::of(p, access, axes, {layout::RunTimeIndices::Distinct, &middle});
  if (!places) {
    Diag diag = takeDiag(places.takeError());
    return p.errorAt(graph.nodes[n].op->where,
                     fmt::format("{}: {}", graph.nodes[n].name, diag.message), diag.cls);
  }
  graph.nodes[n].places = std::make_shared<const layout::TensorPlaces>(std::move(*places));
  return llvm::Error::success();
}

} // namespace tilewright::inference
