// What makes a built program short: expressions in place of values that are used once.
#include "analysis/program/build/builder.h"

#include <algorithm>

namespace tilewright::program {

namespace {

constexpr size_t mostNodes = 64; ///< of one expression; the text is read by people

void visitExprs(const program::Op &op, const std::function<void(Expr)> &visit) {
  if (const Access *access = accessOf(op))
    for (Expr index : access->index)
      visit(index);
  if (const auto *load = op.as<LoadOp>())
    for (const Condition &condition : load->conditions)
      for (Expr e : {condition.value, condition.low, condition.high})
        visit(e);
}

/// Values that an op reads as they are, neither in a scalar expression nor in an index.
void visitWholeReads(const program::Op &op, const std::function<void(ValueId)> &visit) {
  if (const auto *o = op.as<RelayoutOp>())
    visit(o->value);
  if (const auto *o = op.as<SelectAxisOp>())
    visit(o->value);
  if (const auto *o = op.as<JoinOp>())
    std::for_each(o->parts.begin(), o->parts.end(), visit);
  if (const auto *o = op.as<SumSplitsOp>())
    std::for_each(o->values.begin(), o->values.end(), visit);
}

struct Uses {
  std::vector<unsigned> inScalars, inIndices, assigned; ///< in indices, as they are, or as layouts

  explicit Uses(const Program &p)
      : inScalars(p.values.size()), inIndices(p.values.size()), assigned(p.values.size()) {
    forEachOp(p.body, [&](const program::Op &op, const LoopNest &) {
      for (ValueId id : op.results)
        ++assigned[id.index];
      for (const ScalarExpr *scalar : scalarsOf(op))
        for (const ScalarNode &node : scalar->nodes)
          if (node.kind == ScalarNode::Kind::Value)
            ++inScalars[node.value.index];
      visitExprs(op, [&](Expr e) {
        for (VarId var : variablesOf(e))
          if (ValueId id = p.valueOf(var); id.isValid())
            ++inIndices[id.index];
      });
      visitWholeReads(op, [&](ValueId id) { ++inIndices[id.index]; });
      if (const LayoutSpec *layout = layoutOf(op); layout && layout->value.isValid())
        ++inIndices[layout->value.index];
    });
  }
};

class Merger {
public:
  explicit Merger(Program &p) : p(p), uses(p) {}

  void run(Region &ops) {
    std::map<ValueId, size_t> madeBy; ///< maps of this region that may be moved
    std::vector<bool> isGone(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      for (Region *inner : regionsOf(ops[i]))
        run(*inner);
      for (const ScalarExpr *scalar : scalarsOf(ops[i]))
        merge(ops, i, const_cast<ScalarExpr &>(*scalar), madeBy, isGone);
      // What reads a value that is assigned here again has to stay in front.
      forgetReaders(ops, i, madeBy);
      if (ops[i].as<MapOp>() && uses.assigned[ops[i].results[0].index] == 1)
        madeBy[ops[i].results[0]] = i;
    }
    size_t i = 0;
    std::erase_if(ops, [&](const program::Op &) { return isGone[i++]; });
  }

private:
  void forgetReaders(const Region &ops, size_t i, std::map<ValueId, size_t> &madeBy) {
    std::vector<ValueId> assigned = ops[i].results;
    for (const Region *inner : regionsOf(ops[i]))
      forEachOp(*inner, [&](const program::Op &op, const LoopNest &) {
        assigned.insert(assigned.end(), op.results.begin(), op.results.end());
      });
    std::erase_if(assigned, [&](ValueId id) { return uses.assigned[id.index] == 1; });
    if (assigned.empty())
      return;
    std::erase_if(madeBy, [&](const auto &entry) {
      const ScalarExpr &scalar = ops[entry.second].template as<MapOp>()->value;
      return std::any_of(scalar.nodes.begin(), scalar.nodes.end(), [&](const ScalarNode &node) {
        return node.kind == ScalarNode::Kind::Value &&
               std::find(assigned.begin(), assigned.end(), node.value) != assigned.end();
      });
    });
  }

  AxisSet axesAt(const program::Op &op, const ScalarExpr &scalar) const {
    AxisSet axes = p.axesOf(scalar);
    if (const Access *access = accessOf(op))
      unite(axes, p.axesOf(*access));
    for (ValueId id : op.results) // a sum keeps its axes
      if (op.as<MapOp>())
        unite(axes, p[id].tile.axes);
    return axes;
  }

  void merge(Region &ops, size_t at, ScalarExpr &scalar, std::map<ValueId, size_t> &madeBy,
             std::vector<bool> &isGone) {
    AxisSet axes = axesAt(ops[at], scalar);
    bool hasLayout = ops[at].as<MapOp>() || ops[at].as<StoreOp>();
    for (bool isMerged = true; isMerged;) {
      isMerged = false;
      for (const ScalarNode &node : scalar.nodes) {
        if (node.kind != ScalarNode::Kind::Value || uses.inScalars[node.value.index] != 1 ||
            uses.inIndices[node.value.index] != 0)
          continue;
        auto made = madeBy.find(node.value);
        if (made == madeBy.end())
          continue;
        const ScalarExpr &inner = ops[made->second].as<MapOp>()->value;
        if (p[node.value].tile.axes != axes && !isOfCoordinates(inner))
          continue;
        if (scalar.nodes.size() + inner.nodes.size() > mostNodes + 1)
          continue; // copies take long
        ScalarExpr whole = spliced(scalar, node.value, inner);
        if (whole.nodes.size() > mostNodes || (!hasLayout && !isHeld(whole, axes)))
          continue;
        isGone[made->second] = true;
        madeBy.erase(made);
        scalar = std::move(whole);
        isMerged = true;
        break;
      }
    }
  }

  /// Conditions on coordinates, which cost little however often they are computed.
  static bool isOfCoordinates(const ScalarExpr &scalar) {
    constexpr size_t few = 8;
    return scalar.nodes.size() < few &&
           std::none_of(scalar.nodes.begin(), scalar.nodes.end(), [](const ScalarNode &node) {
             return node.kind == ScalarNode::Kind::Value;
           });
  }

  /// Some operand has all axes, and with them the layout.
  bool isHeld(const ScalarExpr &scalar, const AxisSet &axes) const {
    return std::any_of(scalar.nodes.begin(), scalar.nodes.end(), [&](const ScalarNode &node) {
      return node.kind == ScalarNode::Kind::Value && p[node.value].tile.axes == axes;
    });
  }

  static uint32_t copy(const ScalarExpr &from, uint32_t node, ValueId replaced,
                       const ScalarExpr &with, ScalarExpr &into) {
    ScalarNode own = from.nodes[node];
    if (own.kind == ScalarNode::Kind::Value && own.value == replaced) {
      uint32_t root =
          copy(with, static_cast<uint32_t>(with.nodes.size() - 1), ValueId{}, with, into);
      std::vector<SourceId> &sources = into.nodes[root].sources;
      sources.insert(sources.end(), own.sources.begin(), own.sources.end());
      return root;
    }
    for (uint32_t &operand : own.operands)
      operand = copy(from, operand, replaced, with, into);
    return into.add(std::move(own));
  }

  static ScalarExpr spliced(const ScalarExpr &scalar, ValueId value, const ScalarExpr &with) {
    ScalarExpr result;
    copy(scalar, static_cast<uint32_t>(scalar.nodes.size() - 1), value, with, result);
    return result;
  }

  Program &p;
  Uses uses;
};

bool removeOnce(Program &p, Region &ops, const Uses &uses) {
  bool isChanged = false;
  for (program::Op &op : ops)
    for (Region *inner : regionsOf(op))
      isChanged |= removeOnce(p, *inner, uses);
  size_t before = ops.size();
  std::erase_if(ops, [&](const program::Op &op) {
    if (const auto *loop = op.as<ForOp>())
      return loop->body.empty();
    return !op.results.empty() &&
           std::all_of(op.results.begin(), op.results.end(), [&](ValueId id) {
             return uses.inScalars[id.index] == 0 && uses.inIndices[id.index] == 0;
           });
  });
  return isChanged || ops.size() != before;
}

} // namespace

LayoutSpec *layoutOf(program::Op &op) {
  auto named = [](auto *o) -> LayoutSpec * { return o && o->layout ? &*o->layout : nullptr; };
  if (auto *o = op.as<LoadOp>())
    return named(o);
  if (auto *o = op.as<StoreOp>())
    return named(o);
  if (auto *o = op.as<ReadOp>())
    return named(o);
  if (auto *o = op.as<MapOp>())
    return named(o);
  if (auto *o = op.as<FullOp>())
    return named(o);
  if (auto *o = op.as<DotOp>())
    return named(o);
  if (auto *o = op.as<RelayoutOp>())
    return &o->layout;
  return nullptr;
}

const LayoutSpec *layoutOf(const program::Op &op) {
  return layoutOf(const_cast<program::Op &>(op));
}

void forEachRead(const Program &program, const program::Op &op,
                 const std::function<void(ValueId)> &visit) {
  auto inExpr = [&](Expr e) {
    if (e)
      for (VarId var : variablesOf(e))
        if (ValueId value = program.valueOf(var); value.isValid())
          visit(value);
  };
  forEachOpOf(op, [&](const program::Op &one) {
    for (const ScalarExpr *scalar : scalarsOf(one))
      for (const ScalarNode &node : scalar->nodes) {
        if (node.kind == ScalarNode::Kind::Value)
          visit(node.value);
        inExpr(node.index);
      }
    if (const Access *access = accessOf(one))
      for (Expr index : access->index)
        inExpr(index);
    if (const auto *load = one.as<LoadOp>())
      for (const Condition &condition : load->conditions)
        inExpr(condition.value);
    visitWholeReads(one, visit);
  });
}

void replaceReads(program::Op &op, const std::map<ValueId, ValueId> &values,
                  const std::map<BufferId, BufferId> &buffers) {
  auto at = [](const auto &map, auto &id) {
    if (auto it = map.find(id); it != map.end())
      id = it->second;
  };
  for (const ScalarExpr *scalar : scalarsOf(op))
    for (ScalarNode &node : const_cast<ScalarExpr *>(scalar)->nodes) {
      if (node.kind == ScalarNode::Kind::Value)
        at(values, node.value);
      if (node.kind == ScalarNode::Kind::Slot)
        at(buffers, node.buffer);
    }
  if (auto *o = op.as<ReadOp>())
    at(buffers, o->buffer);
  if (auto *o = op.as<RelayoutOp>())
    at(values, o->value);
  if (auto *o = op.as<SelectAxisOp>())
    at(values, o->value);
  if (auto *o = op.as<JoinOp>())
    for (ValueId &part : o->parts)
      at(values, part);
  if (auto *o = op.as<SumSplitsOp>())
    for (ValueId &value : o->values)
      at(values, value);
  for (Region *inner : regionsOf(op))
    for (program::Op &one : *inner)
      replaceReads(one, values, buffers);
}

void mergeMaps(Program &program) { Merger(program).run(program.body); }

void removeUnused(Program &program) {
  while (removeOnce(program, program.body, Uses(program))) {
  }
  // Ids of values follow. Of a value that another op took the place of only the layout is left, for
  // those that are held like it.
  std::map<ValueId, ValueId> numbers;
  std::vector<Value> kept;
  auto keep = [&](ValueId id) {
    if (numbers.try_emplace(id, ValueId{static_cast<uint32_t>(kept.size())}).second)
      kept.push_back(program[id]);
  };
  forEachOp(program.body, [&](const program::Op &op, const LoopNest &) {
    std::for_each(op.results.begin(), op.results.end(), keep);
  });
  forEachOp(program.body, [&](const program::Op &op, const LoopNest &) {
    if (const LayoutSpec *layout = layoutOf(op); layout && layout->value.isValid())
      keep(layout->value);
  });
  auto follow = [&](auto &&self, Region &ops) -> void {
    for (program::Op &op : ops) {
      for (ValueId &id : op.results)
        id = numbers.at(id);
      if (LayoutSpec *layout = layoutOf(op); layout && layout->value.isValid())
        layout->value = numbers.at(layout->value);
      for (Region *inner : regionsOf(op))
        self(self, *inner);
    }
  };
  follow(follow, program.body);
  for (program::Op &op : program.body)
    replaceReads(op, numbers, {});
  program.values = std::move(kept);
}

void nameValues(Program &program, Names &names) {
  ExprContext &context = *program.context;
  std::vector<Expr> table(context.variableCount());
  for (Value &value : program.values) {
    value.name = names.of("abcdefghmnoxyz");
    Expr var = context.variable(VarKind::Runtime, value.name);
    table[value.var.variable().index] = var;
    value.var = var;
  }
  rewriteExprs(program, [&](Expr &e) { e = substitute(e, std::span<const Expr>(table)); });
}

void setLayouts(Program &program,
                const std::function<std::optional<LayoutSpec>(const AxisSet &)> &layoutOf) {
  auto isHeld = [&](const ScalarExpr &scalar, const AxisSet &axes) {
    return std::any_of(scalar.nodes.begin(), scalar.nodes.end(), [&](const ScalarNode &node) {
      return node.kind == ScalarNode::Kind::Value && program[node.value].tile.axes == axes;
    });
  };
  auto visit = [&](auto &&self, Region &ops) -> void {
    for (program::Op &op : ops) {
      AxisSet axes;
      for (const ScalarExpr *scalar : scalarsOf(op))
        unite(axes, program.axesOf(*scalar));
      if (auto *map = op.as<MapOp>(); map && !isHeld(map->value, axes))
        map->layout = layoutOf(axes);
      if (auto *store = op.as<StoreOp>()) {
        unite(axes, program.axesOf(store->to));
        if (!isHeld(store->value, axes))
          store->layout = layoutOf(axes);
      }
      for (Region *inner : regionsOf(op))
        self(self, *inner);
    }
  };
  visit(visit, program.body);
}

} // namespace tilewright::program
