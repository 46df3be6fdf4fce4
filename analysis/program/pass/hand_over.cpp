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
    const ScalarExpr *scalar = scalarOf(ops[at]);
    if (!scalar)
      return 0;
    std::optional<Need> need = needOf(ops[at], *scalar);
    if (!need)
      return 0;
    std::map<ValueId, ValueId> moved;
    Region before;
    for (const ScalarNode &node : scalar->nodes) {
      if (node.kind != ScalarNode::Kind::Value || moved.count(node.value))
        continue;
      const Tile &tile = p[node.value].tile;
      const Layout wanted = need->layout.withoutAxes(without(need->axes, tile.axes));
      if (tile.axes.empty() || wanted.normal() == tile.layout.normal())
        continue;
      if (bitWidth(tile.type) < 8 && tile.type != DType::Pred)
        refusal = "elements of less than a byte change hands";
      moved[node.value] = handedOver(node, *need, before);
    }
    if (moved.empty())
      return 0;
    isDone = true;
    replaceReads(ops[at], moved, {});
    ops.insert(ops.begin() + static_cast<ptrdiff_t>(at), before.begin(), before.end());
    return before.size();
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
      need.spec = *given;
      if (need.spec.of.empty() && need.spec.family != LayoutFamily::Like)
        need.spec.of.assign(need.axes.begin(), need.axes.end());
      return need;
    }
    for (const ScalarNode &node : scalar.nodes)
      if (node.kind == ScalarNode::Kind::Value && p[node.value].tile.axes == need.axes &&
          p[node.value].tile.layout.normal() == need.layout.normal()) {
        need.spec = {LayoutFamily::Like, {}, node.value};
        return need;
      }
    need.spec = {LayoutFamily::Flat, {p.number(1)}, {}};
    need.spec.of.assign(need.axes.begin(), need.axes.end());
    return need;
  }

  ValueId handedOver(const ScalarNode &leaf, const Need &need, Region &before) {
    const Value &value = p[leaf.value];
    Buffer buffer;
    buffer.name = freeName(p, "H");
    buffer.type = value.tile.type;
    buffer.stages = p.number(1);
    buffer.order.assign(value.tile.axes.begin(), value.tile.axes.end());
    const BufferId id{static_cast<uint32_t>(p.buffers.size())};
    p.buffers.push_back(std::move(buffer));
    Value made = p[leaf.value];
    made.name = freeName(p, made.name);
    made.var = p.context->variable(VarKind::Runtime, made.name);
    const ValueId result{static_cast<uint32_t>(p.values.size())};
    p.values.push_back(std::move(made));
    WriteOp write{id, {}};
    write.value.add(leaf);
    Op writing, reading;
    writing.what = std::move(write);
    reading.what = ReadOp{id, Expr(), {}, need.spec};
    reading.results = {result};
    before.push_back(std::move(writing));
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
