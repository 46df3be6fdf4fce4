#include "analysis/program/pass/hand_over.h"

#include "analysis/program/infer.h"
#include "analysis/program/pass/edit.h"
#include "analysis/program/pass/layouts.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::program {

namespace {

class HandOver {
public:
  explicit HandOver(const Program &program) : p(program) {}

  llvm::Expected<Program> run() {
    region(p.body);
    if (!refusal.empty() || !isDone)
      return makeError(DiagClass::Unsupported, "{}: {}", p.name,
                       refusal.empty() ? "values are held where they are needed" : refusal);
    if (llvm::Error error = inferTypes(p))
      return error;
    return std::move(p);
  }

private:
  /// How an op needs its operands: the layout of all axes, and what says so.
  struct Need {
    Layout layout;
    AxisSet axes;
    LayoutSpec spec;
  };

  void region(Region &ops) {
    for (size_t at = 0; at < ops.size(); ++at) {
      for (Region *inner : regionsOf(ops[at]))
        region(*inner);
      at += visit(ops, at);
    }
  }

  /// Returns how many ops were put in front.
  size_t visit(Region &ops, size_t at) {
    std::map<ValueId, ValueId> moved;
    Region before;
    if (auto *dot = ops[at].as<DotOp>()) {
      if (dot->way != DotWay::Fma) // fragments are a matter of their own
        return 0;
      const std::optional<Need> need = needOf(ops[at], *dot);
      for (ScalarExpr *scalar : {&dot->left, &dot->right}) {
        writeContracted(*scalar, dot->over, before);
        move(*scalar, need, moved, before);
      }
    } else if (const ScalarExpr *scalar = scalarOf(ops[at])) {
      move(*scalar, needOf(ops[at], *scalar), moved, before);
    }
    replaceReads(ops[at], moved, {});
    isDone |= !before.empty();
    ops.insert(ops.begin() + static_cast<ptrdiff_t>(at), before.begin(), before.end());
    return before.size();
  }

  /// Those of the values that are held by other threads than the need says.
  void move(const ScalarExpr &scalar, const std::optional<Need> &need,
            std::map<ValueId, ValueId> &moved, Region &before) {
    if (!need)
      return;
    for (const ScalarNode &node : scalar.nodes) {
      if (node.kind != ScalarNode::Kind::Value || moved.count(node.value))
        continue;
      const Tile &tile = p[node.value].tile;
      const Layout wanted = need->layout.withoutAxes(without(need->axes, tile.axes));
      if (!tile.axes.empty() && wanted.normal() != tile.layout.normal())
        moved[node.value] = handedOver(node, *need, before);
    }
  }

  /// A sum by fma goes over its lanes one after the other: what lies along them is read from
  /// memory.
  void writeContracted(ScalarExpr &scalar, const AxisSet &over, Region &before) {
    for (ScalarNode &node : scalar.nodes) {
      if (node.kind != ScalarNode::Kind::Value || without(over, p[node.value].tile.axes) == over)
        continue;
      node.buffer = written(node, before);
      node.kind = ScalarNode::Kind::Slot;
      node.value = {};
    }
  }

  static const ScalarExpr *scalarOf(const Op &op) {
    if (const auto *o = op.as<MapOp>())
      return &o->value;
    if (const auto *o = op.as<ReduceOp>())
      return &o->value;
    if (const auto *o = op.as<WriteOp>())
      return &o->value;
    if (const auto *o = op.as<StoreOp>())
      return &o->value;
    return nullptr;
  }

  /// The operands of a sum by fma are needed by the threads that hold it.
  std::optional<Need> needOf(const Op &op, const DotOp &dot) const {
    const Tile &tile = p[op.results[0]].tile;
    Need need{tile.layout, tile.axes, {LayoutFamily::Like, {}, op.results[0]}};
    if (dot.isAdded)
      return need;
    if (!dot.layout)
      return std::nullopt;
    need.spec = ofAxes(*dot.layout, tile.axes);
    return need;
  }

  /// What a layout of these axes is called where a tile lacks some of them.
  static LayoutSpec ofAxes(LayoutSpec spec, const AxisSet &axes) {
    if (spec.of.empty() && spec.family != LayoutFamily::Like)
      spec.of.assign(axes.begin(), axes.end());
    return spec;
  }

  std::optional<Need> needOf(const Op &op, const ScalarExpr &scalar) const {
    Need need;
    need.axes = p.axesOf(scalar);
    const LayoutSpec *given = layoutOf(op);
    if (const auto *store = op.as<StoreOp>(); store && given) {
      unite(need.axes, p.axesOf(store->to));
      need.layout = p.layoutFor(*given, need.axes, scalar.type(), {});
    } else if (op.as<MapOp>()) {
      need.layout = p[op.results[0]].tile.layout;
    } else if (std::optional<Layout> layout = program::layoutOf(p, scalar, need.axes)) {
      need.layout = *layout;
    } else {
      return std::nullopt;
    }
    if (given) {
      need.spec = ofAxes(*given, need.axes);
      return need;
    }
    for (const ScalarNode &node : scalar.nodes)
      if (node.kind == ScalarNode::Kind::Value && p[node.value].tile.axes == need.axes &&
          p[node.value].tile.layout.normal() == need.layout.normal()) {
        need.spec = {LayoutFamily::Like, {}, node.value};
        return need;
      }
    need.spec = ofAxes({LayoutFamily::Flat, {p.number(1)}, {}}, need.axes);
    return need;
  }

  BufferId written(const ScalarNode &leaf, Region &before) {
    const Value &value = p[leaf.value];
    if (bitWidth(value.tile.type) < 8 && value.tile.type != DType::Pred)
      refusal = "elements of less than a byte change hands";
    Buffer buffer;
    buffer.name = freeName(p, "H");
    buffer.type = value.tile.type;
    buffer.stages = p.number(1);
    buffer.order.assign(value.tile.axes.begin(), value.tile.axes.end());
    const BufferId id{static_cast<uint32_t>(p.buffers.size())};
    p.buffers.push_back(std::move(buffer));
    WriteOp write{id, {}};
    write.value.add(leaf);
    Op writing;
    writing.what = std::move(write);
    before.push_back(std::move(writing));
    return id;
  }

  ValueId handedOver(const ScalarNode &leaf, const Need &need, Region &before) {
    const BufferId id = written(leaf, before);
    Value made = p[leaf.value];
    made.name = freeName(p, made.name);
    made.var = p.context->variable(VarKind::Runtime, made.name);
    const ValueId result{static_cast<uint32_t>(p.values.size())};
    p.values.push_back(std::move(made));
    Op reading;
    reading.what = ReadOp{id, Expr(), {}, need.spec};
    reading.results = {result};
    before.push_back(std::move(reading));
    return result;
  }

  Program p;
  std::string refusal;
  bool isDone = false;
};

} // namespace

llvm::Expected<Program> handOver(const Program &program) { return HandOver(program).run(); }

} // namespace tilewright::program
