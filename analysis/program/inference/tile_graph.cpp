#include "analysis/program/inference/tile_graph.h"

#include "analysis/program/inference/graph_writer.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"
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

int64_t TileBox::elements() const {
  int64_t count = 1;
  for (const layout::TileDim &dim : dims)
    count *= dim.extent;
  return count;
}

namespace {

class GraphBuilder : GraphWriter {
public:
  explicit GraphBuilder(const Program &program) : GraphWriter(program) {}

  llvm::Expected<TileGraph> run() {
    if (std::vector<std::string> open = program::freeSizes(p); !open.empty())
      return makeError(DiagClass::BadInput, "size {} has no number: --let {}=NUMBER", open.front(),
                       open.front());
    if (llvm::Error error = addRegion(p.body, {}))
      return error;
    return std::move(graph);
  }

private:
  llvm::Error addRegion(const program::Region &region, const GraphPlace &place) {
    for (const Op &op : region)
      if (llvm::Error error =
              std::visit([&](const auto &what) { return addOp(op, what, place); }, op.what))
        return error;
    return llvm::Error::success();
  }

  llvm::Error addOp(const Op &op, const program::LoadOp &load, const GraphPlace &place) {
    const program::Tile &tile = p[op.results[0]].tile;
    GraphNode &node = add(NodeKind::Load, resultName(op), op, place);
    node.space = node.result = boxOf(tile.axes, tile.type);
    node.hasResult = true;
    const uint32_t n = last();
    useIndices(n, load.from);
    if (llvm::Error error = setPlaces(n, load.from, tile.axes))
      return error;
    define(op, n, place);
    return llvm::Error::success();
  }

  template <typename Stored>
  llvm::Error addStored(NodeKind kind, const Op &op, const Stored &store, const GraphPlace &place) {
    AxisSet axes = p.axesOf(store.value);
    program::unite(axes, p.axesOf(store.to));
    const DType type = p[store.to.tensor].type;
    GraphNode &node = add(kind, program::printOp(p, op), op, place);
    node.space = boxOf(axes, type);
    const uint32_t n = last();
    useScalar(n, store.value, type, fmt::format("value of {}", node.name));
    useIndices(n, store.to);
    return setPlaces(n, store.to, axes);
  }
  llvm::Error addOp(const Op &op, const program::StoreOp &store, const GraphPlace &place) {
    return addStored(NodeKind::Store, op, store, place);
  }
  llvm::Error addOp(const Op &op, const program::AtomicOp &atomic, const GraphPlace &place) {
    return addStored(NodeKind::Atomic, op, atomic, place);
  }

  llvm::Error addOp(const Op &, const program::CopyOp &copy, const GraphPlace &) {
    copied.insert(copy.buffer);
    if (auto found = buffers.find(copy.buffer); found != buffers.end())
      graph.nodes[found->second].isCopied = true;
    return llvm::Error::success();
  }

  llvm::Error addOp(const Op &op, const program::ReadOp &read, const GraphPlace &place) {
    const program::Tile &tile = p[op.results[0]].tile;
    GraphNode &node = add(NodeKind::Read, resultName(op), op, place);
    node.space = node.result = boxOf(tile.axes, tile.type);
    node.hasResult = true;
    const uint32_t n = last();
    if (read.axes.empty())
      useBuffer(n, read.buffer);
    else
      graph.notes.push_back(fmt::format("{} takes a part of {}: its conflicts are not priced",
                                        graph.nodes[n].name, p[read.buffer].name));
    define(op, n, place);
    return llvm::Error::success();
  }

  llvm::Error addOp(const Op &op, const program::WriteOp &write, const GraphPlace &place) {
    const program::Buffer &buffer = p[write.buffer];
    // The buffer's node takes the value: a node of the write itself has nothing to choose.
    AxisSet axes;
    for (AxisId axis : buffer.order)
      program::insert(axes, axis);
    uint32_t from = 0;
    std::string value;
    if (write.value.nodes.size() == 1 && write.value.root().kind == ScalarNode::Kind::Value &&
        p[write.value.root().value].tile.axes == axes && write.value.type() == buffer.type) {
      from = producerOf(write.value.root().value);
      value = p[write.value.root().value].name;
    } else {
      from = addMap(write.value, axes, buffer.type,
                    fmt::format("value of {}", program::printOp(p, op)), op, place);
      value = graph.nodes[from].name;
    }
    const uint32_t to = bufferNode(write.buffer, from);
    GraphNode &node = graph.nodes[to];
    node.trips = std::max(node.trips, place.trips);
    node.isInLoop = node.isInLoop || place.isInLoop;
    node.uses.push_back({from, boxOf(axes, buffer.type), value, place.trips});
    return llvm::Error::success();
  }

  llvm::Error addOp(const Op &op, const program::MapOp &map, const GraphPlace &place) {
    const program::Tile &tile = p[op.results[0]].tile;
    const uint32_t n = addMap(map.value, p.axesOf(map.value), tile.type, resultName(op), op, place);
    define(op, n, place);
    return llvm::Error::success();
  }

  /// Ops on one operand whose layout is the label.
  llvm::Error addReduction(NodeKind kind, const Op &op, const ScalarExpr &value, AxisSet over,
                           const GraphPlace &place) {
    const program::Tile &tile = p[op.results[0]].tile;
    GraphNode &node = add(kind, resultName(op), op, place);
    node.space = boxOf(p.axesOf(value), value.type());
    node.result = boxOf(tile.axes, tile.type);
    node.hasResult = true;
    node.resultCount = op.results.size();
    node.over = std::move(over);
    const uint32_t n = last();
    useScalar(n, value, value.type(), fmt::format("operand of {}", graph.nodes[n].name));
    define(op, n, place);
    return llvm::Error::success();
  }
  llvm::Error addOp(const Op &op, const program::ReduceOp &reduce, const GraphPlace &place) {
    return addReduction(NodeKind::Reduce, op, reduce.value, reduce.over, place);
  }
  llvm::Error addOp(const Op &op, const program::ScanOp &scan, const GraphPlace &place) {
    return addReduction(NodeKind::Scan, op, scan.value, {scan.over}, place);
  }

  void useOperand(uint32_t n, const ScalarExpr &scalar, const char *side) {
    if (scalar.nodes.size() == 1 && scalar.root().kind == ScalarNode::Kind::Slot) {
      useBuffer(n, scalar.root().buffer);
      return;
    }
    useScalar(n, scalar, scalar.type(), fmt::format("{} of {}", side, graph.nodes[n].name));
  }
  llvm::Error addOp(const Op &op, const program::DotOp &dot, const GraphPlace &place) {
    const program::Tile &tile = p[op.results[0]].tile;
    if (dot.isAdded && madeBy.count(op.results[0]) == 0)
      return p.errorAt(op.where, fmt::format("{} has no value here", p[op.results[0]].name));
    GraphNode &node = add(NodeKind::Dot, resultName(op), op, place);
    node.space = node.result = boxOf(tile.axes, tile.type);
    node.hasResult = true;
    node.over = dot.over;
    const uint32_t n = last();
    useOperand(n, dot.left, "left operand");
    useOperand(n, dot.right, "right operand");
    if (dot.isAdded)
      useValue(graph.nodes[n], op.results[0]);
    define(op, n, place);
    return llvm::Error::success();
  }

  llvm::Error addOp(const Op &op, const program::FullOp &, const GraphPlace &place) {
    const program::Tile &tile = p[op.results[0]].tile;
    GraphNode &node = add(NodeKind::Full, resultName(op), op, place);
    node.space = node.result = boxOf(tile.axes, tile.type);
    node.hasResult = true;
    define(op, last(), place);
    return llvm::Error::success();
  }

  llvm::Error addOfValues(NodeKind kind, const Op &op, std::span<const ValueId> values,
                          const TileBox &space, AxisSet over, const GraphPlace &place) {
    GraphNode &node = add(kind, resultName(op), op, place);
    const program::Tile &tile = p[op.results[0]].tile;
    node.space = space;
    node.result = boxOf(tile.axes, tile.type);
    node.hasResult = true;
    node.over = std::move(over);
    const uint32_t n = last();
    for (ValueId value : values)
      useValue(graph.nodes[n], value);
    define(op, n, place);
    return llvm::Error::success();
  }
  TileBox boxOfValue(ValueId value) const { return boxOf(p[value].tile.axes, p[value].tile.type); }
  llvm::Error addOp(const Op &op, const program::RelayoutOp &cast, const GraphPlace &place) {
    return addOfValues(NodeKind::Cast, op, {&cast.value, 1}, boxOfValue(cast.value), {}, place);
  }
  llvm::Error addOp(const Op &op, const program::SelectAxisOp &select, const GraphPlace &place) {
    return addOfValues(NodeKind::SelectAxis, op, {&select.value, 1}, boxOfValue(select.value),
                       {select.axis}, place);
  }
  llvm::Error addOp(const Op &op, const program::JoinOp &join, const GraphPlace &place) {
    return addOfValues(NodeKind::Join, op, join.parts, boxOfValue(join.parts[0]), {join.axis},
                       place);
  }
  /// A node for each sum: their layouts may differ, but for those of a value and its place.
  llvm::Error addOp(const Op &op, const program::SumSplitsOp &sum, const GraphPlace &place) {
    if (program::resultCount(sum.monoid) == 2) {
      if (llvm::Error error = addOfValues(NodeKind::SumSplits, op, sum.values,
                                          boxOfValue(sum.values[0]), {}, place))
        return error;
      graph.nodes[last()].resultCount = op.results.size();
      return llvm::Error::success();
    }
    for (size_t n = 0; n < sum.values.size(); ++n) {
      GraphNode &node = add(NodeKind::SumSplits, p[op.results[n]].name, op, place);
      node.space = node.result = boxOfValue(op.results[n]);
      node.hasResult = true;
      node.value = op.results[n];
      const uint32_t id = last();
      useValue(graph.nodes[id], sum.values[n]);
      madeBy[op.results[n]] = id;
    }
    return llvm::Error::success();
  }
  llvm::Error addOp(const Op &, const program::ForOp &loop, const GraphPlace &place) {
    std::optional<int64_t> trips = evaluate(p.resolved(loop.trips), middle);
    GraphPlace inside = place;
    inside.trips *= std::max<int64_t>(1, trips.value_or(1));
    inside.isInLoop = true;
    middle.set(loop.var, trips.value_or(1) / 2);
    for (const Op &copy : loop.issue)
      if (const auto *one = copy.as<program::CopyOp>())
        copied.insert(one->buffer);
    return addRegion(loop.body, inside);
  }
  llvm::Error addOp(const Op &, const program::IfOp &condition, const GraphPlace &place) {
    if (llvm::Error error = addRegion(condition.then, place))
      return error;
    return addRegion(condition.otherwise, place);
  }
  llvm::Error addOp(const Op &, const program::BarrierOp &, const GraphPlace &) {
    return llvm::Error::success();
  }
  llvm::Error addOp(const Op &, const program::RoleOp &role, const GraphPlace &place) {
    GraphPlace inside = place;
    inside.role = role.role;
    return addRegion(role.body, inside);
  }
};

} // namespace

llvm::Expected<TileGraph> graphOf(const Program &program) { return GraphBuilder(program).run(); }

} // namespace tilewright::inference
