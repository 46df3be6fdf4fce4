#include "analysis/program/inference/tile_graph.h"

#include "analysis/program/inference/scalar_work.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <map>
#include <set>

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

/// Where an op stands.
struct GraphPlace {
  int64_t trips = 1;
  program::RoleId role;
  bool isInLoop = false;
};

class GraphBuilder {
public:
  explicit GraphBuilder(const Program &program) : p(program) {
    for (uint32_t v = 0; v < p.context->variableCount(); ++v)
      middle.set(VarId{v}, 0);
    for (const program::GridVariable &variable : p.grid.variables)
      if (std::optional<int64_t> count = evaluate(variable.count, middle))
        middle.set(variable.var, *count / 2);
    countAssignments(p.body);
  }

  llvm::Expected<TileGraph> run() {
    if (std::vector<std::string> open = program::freeSizes(p); !open.empty())
      return makeError(DiagClass::BadInput, "size {} has no number: --let {}=NUMBER", open.front(),
                       open.front());
    if (llvm::Error error = addRegion(p.body, {}))
      return error;
    return std::move(graph);
  }

private:
  void countAssignments(const program::Region &region) {
    program::forEachOp(region, [&](const Op &op, const program::LoopNest &) {
      for (ValueId value : op.results)
        ++assignments[value];
      if (const auto *dot = op.as<program::DotOp>(); dot && dot->isAdded)
        ++assignments[op.results[0]];
    });
  }

  TileBox boxOf(const AxisSet &axes, DType type) const {
    TileBox box{axes, {}, bitWidth(type)};
    for (AxisId axis : axes) {
      std::optional<int64_t> extent = evaluate(p.resolved(p[axis].extent), middle);
      box.dims.emplace_back(p[axis].name, extent.value_or(1));
    }
    return box;
  }

  GraphNode &add(NodeKind kind, std::string name, const Op &op, const GraphPlace &place) {
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
  uint32_t last() const { return static_cast<uint32_t>(graph.nodes.size() - 1); }

  void use(GraphNode &node, uint32_t from, TileBox box, std::string value) {
    node.uses.push_back(
        {from, std::move(box), std::move(value), std::min(node.trips, graph.nodes[from].trips)});
  }

  /// The node that has a value; values are defined before they are used.
  uint32_t producerOf(ValueId value) { return madeBy.at(value); }

  void useValue(GraphNode &node, ValueId value) {
    const program::Tile &tile = p[value].tile;
    use(node, producerOf(value), boxOf(tile.axes, tile.type), p[value].name);
  }

  /// The name of an op's result: of values that are assigned once, the value's.
  std::string resultName(const Op &op) const {
    const std::string &name = p[op.results[0]].name;
    return assignments.at(op.results[0]) > 1 ? name + " =" : name;
  }

  /// What an op makes: the value's node, or one of the assignments that go to it.
  void define(const Op &op, uint32_t node, const GraphPlace &place) {
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

  void useLeaves(uint32_t n, const ScalarExpr &scalar) {
    std::set<ValueId> values;
    std::set<program::BufferId> buffers;
    for (const ScalarNode &leaf : scalar.nodes) {
      if (leaf.kind == ScalarNode::Kind::Value && values.insert(leaf.value).second)
        useValue(graph.nodes[n], leaf.value);
      if (leaf.kind == ScalarNode::Kind::Slot && buffers.insert(leaf.buffer).second)
        useBuffer(n, leaf.buffer);
    }
  }

  /// A node that computes a scalar expression over some axes.
  uint32_t addMap(const ScalarExpr &scalar, const AxisSet &axes, DType type, std::string name,
                  const Op &op, const GraphPlace &place) {
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

  /// The value of an expression: a value itself, or that of a node in front of the op.
  void useScalar(uint32_t n, const ScalarExpr &scalar, DType type, const std::string &name) {
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

  void useBuffer(uint32_t n, program::BufferId buffer) {
    const uint32_t from = bufferNode(buffer, n);
    AxisSet axes;
    for (AxisId axis : p[buffer].order)
      program::insert(axes, axis);
    GraphNode &node = graph.nodes[n];
    node.uses.push_back({from, boxOf(axes, p[buffer].type), p[buffer].name, node.trips});
  }

  uint32_t bufferNode(program::BufferId buffer, uint32_t user) {
    auto [found, isNew] = buffers.try_emplace(buffer, 0);
    if (!isNew)
      return found->second;
    const GraphNode &at = graph.nodes[user];
    AxisSet axes;
    for (AxisId axis : p[buffer].order)
      program::insert(axes, axis);
    GraphNode &node =
        add(NodeKind::Buffer, p[buffer].name, *at.op, {at.trips, at.role, at.isInLoop});
    node.space = node.result = boxOf(axes, p[buffer].type);
    node.hasResult = true;
    node.buffer = buffer;
    node.isCopied = copied.count(buffer) != 0;
    found->second = last();
    return found->second;
  }

  /// Values that an access is indexed by.
  void useIndices(uint32_t n, const program::Access &access) {
    std::set<ValueId> values;
    for (Expr index : access.index)
      for (VarId var : variablesOf(index))
        if (ValueId value = p.valueOf(var); value.isValid() && values.insert(value).second)
          useValue(graph.nodes[n], value);
  }

  llvm::Error setPlaces(uint32_t n, const program::Access &access, const AxisSet &axes) {
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

  // -- ops
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
  /// A node for each sum: their layouts may differ.
  llvm::Error addOp(const Op &op, const program::SumSplitsOp &sum, const GraphPlace &place) {
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

  const Program &p;
  Assignment middle; ///< CTAs and steps in the middle
  TileGraph graph;
  std::map<ValueId, size_t> assignments;
  std::map<ValueId, uint32_t> madeBy;
  std::map<program::BufferId, uint32_t> buffers;
  std::set<program::BufferId> copied;
  std::map<std::string, size_t> names;
};

} // namespace

llvm::Expected<TileGraph> graphOf(const Program &program) { return GraphBuilder(program).run(); }

} // namespace tilewright::inference
