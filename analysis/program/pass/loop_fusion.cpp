#include "analysis/program/pass/loop_fusion.h"

#include "analysis/program/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace tilewright::program {

namespace {

std::optional<Monoid> monoidOf(Opcode opcode) {
  switch (opcode) {
  case Opcode::Add:
    return Monoid::Add;
  case Opcode::Multiply:
    return Monoid::Mul;
  case Opcode::Maximum:
    return Monoid::Max;
  case Opcode::Minimum:
    return Monoid::Min;
  case Opcode::And:
    return Monoid::And;
  case Opcode::Or:
    return Monoid::Or;
  default:
    return std::nullopt;
  }
}

bool areAlike(const Buffer &a, const Buffer &b) {
  return a.type == b.type && a.order == b.order && a.stages == b.stages && a.isRing == b.isRing &&
         a.padElements == b.padElements && a.swizzle == b.swizzle && a.alias == b.alias &&
         a.hosts == b.hosts;
}

} // namespace

void forEachRead(const Program &program, const Op &op, const std::function<void(ValueId)> &visit) {
  auto inExpr = [&](Expr e) {
    if (e)
      for (VarId var : variablesOf(e))
        if (ValueId value = program.valueOf(var); value.isValid())
          visit(value);
  };
  forEachOpOf(op, [&](const Op &one) {
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
    if (const auto *o = one.as<RelayoutOp>())
      visit(o->value);
    if (const auto *o = one.as<SelectAxisOp>())
      visit(o->value);
    if (const auto *o = one.as<JoinOp>())
      std::for_each(o->parts.begin(), o->parts.end(), visit);
    if (const auto *o = one.as<SumSplitsOp>())
      std::for_each(o->values.begin(), o->values.end(), visit);
  });
}

void replaceReads(Op &op, const std::map<ValueId, ValueId> &values,
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
    for (Op &one : *inner)
      replaceReads(one, values, buffers);
}

LoopFusion::LoopFusion(Program &program, const Region &region, size_t at)
    : p(program), region(region), loop(*region[at].as<ForOp>()) {
  dependences.emplace(
      dag, [this](Node leaf) { return leafDependence(leaf); },
      [this](Node node) { return printScalar(p, dag.exprOf(node)); });
  loop.issue.clear();
  loop.body.clear();
  addLoop(at);
}

void LoopFusion::refuse(std::string why) {
  if (reason.empty())
    reason = std::move(why);
}

std::string LoopFusion::add(size_t at) {
  addBetween(loops.back() + 1, at);
  addLoop(at);
  return reason;
}

ValueId LoopFusion::newValue(DType type, const AxisSet &axes) {
  ValueId id{static_cast<uint32_t>(p.values.size())};
  Expr var = p.context->freshVariable(VarKind::Runtime, "value");
  p.values.push_back({p.context->info(var.variable()).name, var, {type, axes, {}}});
  return id;
}

// Leaves ------------------------------------------------------------------------------------------

ScalarDag::Node LoopFusion::leafNode(const ScalarNode &leaf) {
  if (leaf.kind == ScalarNode::Kind::Value)
    if (auto it = nodeOfValue.find(leaf.value); it != nodeOfValue.end())
      return it->second;
  ScalarNode own = leaf;
  if (leaf.kind == ScalarNode::Kind::Slot)
    if (auto it = buffers.find(leaf.buffer); it != buffers.end())
      own.buffer = it->second;
  return dag.add(std::move(own));
}

ScalarDag::Node LoopFusion::nodeOf(const ScalarExpr &scalar) {
  return dag.add(scalar, [&](const ScalarNode &leaf) { return leafNode(leaf); });
}

Dependence LoopFusion::leafDependence(Node leaf) const {
  const ScalarNode &node = dag[leaf];
  Dependence result;
  if (node.kind == ScalarNode::Kind::Number) {
    result.kind = Dependence::Kind::Number;
  } else if (node.kind == ScalarNode::Kind::Slot) {
    if (auto it = written.find(node.buffer); it != written.end())
      return it->second;
  } else if (node.kind == ScalarNode::Kind::Value) {
    if (auto it = inner.find(node.value); it != inner.end())
      return it->second;
    if (unknown.count(node.value)) {
      result.kind = Dependence::Kind::Other;
      result.why = fmt::format("it needs a value that is made behind an earlier loop by {}",
                               "something else than maps");
      return result;
    }
    result.kind = resultOf.count(node.value) ? Dependence::Kind::Reduced : Dependence::Kind::Same;
  }
  return result;
}

/// A term e as far as it is known in a step: before the step's updates, or behind them.
ScalarDag::Node LoopFusion::shiftOf(Node term, bool isNext) {
  std::map<Node, Node> leaves;
  for (Node leaf : dag.leavesOf(term)) {
    if (dag[leaf].kind != ScalarNode::Kind::Value)
      continue;
    auto it = resultOf.find(dag[leaf].value);
    if (it == resultOf.end())
      continue;
    Accumulator &of = accumulators[it->second];
    makeRunning(of);
    of.isNextUsed |= isNext;
    if (!of.dependence.factors.empty())
      refuse(fmt::format("a shift by {}, of which a factor is known at the end alone",
                         printScalar(p, dag.exprOf(term))));
    leaves[leaf] = dag.value(isNext ? of.next : of.running, p[of.value].tile.type);
  }
  constexpr double lowest = std::numeric_limits<float>::lowest();
  return dag.operation(Opcode::Maximum, {dag.replaced(term, leaves), dag.number(lowest)});
}

ScalarDag::Node LoopFusion::inStep(Node node) {
  const Dependence &d = dependences->of(node);
  if (d.kind == Dependence::Kind::Other)
    refuse(d.why);
  return dependences->inStep(node, [&](Node term) { return shiftOf(term, true); });
}

void LoopFusion::makeRunning(Accumulator &of) {
  if (of.isRunning)
    return;
  of.isRunning = true;
  if (of.isDot)
    return refuse("a shift by what a dot sums");
  const Tile tile = p[of.value].tile;
  AxisSet axes = without(tile.axes, of.lanes);
  of.running = of.lanes.empty() ? of.value : newValue(tile.type, axes);
  of.next = newValue(tile.type, axes);
}

// Loops -------------------------------------------------------------------------------------------

void LoopFusion::addLoop(size_t at) {
  const auto &from = *region[at].as<ForOp>();
  loops.push_back(at);
  addCopies(from);
  std::set<ValueId> carried; // by loops inside
  std::map<ValueId, Op> starts;
  for (const Op &op : from.body)
    if (op.as<ForOp>())
      forEachOpOf(op,
                  [&](const Op &one) { carried.insert(one.results.begin(), one.results.end()); });
  for (const Op &op : from.body) {
    if (op.as<FullOp>() && carried.count(op.results[0])) {
      starts[op.results[0]] = op;
      continue;
    }
    std::vector<Op> own; // starts of what a loop inside carries
    if (op.as<ForOp>())
      forEachOpOf(op, [&](const Op &one) {
        for (ValueId id : one.results)
          if (auto it = starts.find(id); it != starts.end()) {
            own.push_back(it->second);
            starts.erase(it);
          }
      });
    addOp(op, own);
    if (!reason.empty())
      return;
  }
  for (const Op &op : from.body)
    forEachOpOf(op, [&](const Op &one) { made.insert(one.results.begin(), one.results.end()); });
}

/// Copies of equal tiles fill one ring.
void LoopFusion::addCopies(const ForOp &own) {
  for (const Op &op : own.issue) {
    const auto &copy = *op.as<CopyOp>();
    auto same = std::find_if(loop.issue.begin(), loop.issue.end(), [&](const Op &other) {
      const auto &known = *other.as<CopyOp>();
      return known.from == copy.from && known.conditions == copy.conditions &&
             known.way == copy.way && areAlike(p[known.buffer], p[copy.buffer]);
    });
    if (same == loop.issue.end())
      loop.issue.push_back(op);
    else
      buffers[copy.buffer] = same->as<CopyOp>()->buffer;
  }
}

/// Something that no rewriting reaches reads a value that depends on reductions.
bool LoopFusion::readsUnknown(const Op &op) const {
  bool isUnknown = false;
  forEachRead(p, op, [&](ValueId id) {
    isUnknown |= unknown.count(id) || resultOf.count(id);
    if (auto it = nodeOfValue.find(id); it != nodeOfValue.end())
      isUnknown |= dag.isOperation(it->second);
  });
  return isUnknown;
}

void LoopFusion::addOp(const Op &op, const std::vector<Op> &starts) {
  bool isCarried = false;
  for (size_t i = 0; i < loops.back() && !op.results.empty(); ++i)
    isCarried |= region[i].results == op.results;
  if (op.as<ForOp>())
    return addInner(op, starts);
  if (isCarried)
    return addUpdate(op);
  if (const auto *map = op.as<MapOp>()) {
    nodeOfValue[op.results[0]] = nodeOf(map->value);
    return;
  }
  bool isKnown = op.as<LoadOp>() || op.as<ReadOp>() || op.as<ReduceOp>() || op.as<DotOp>() ||
                 op.as<WriteOp>() || op.as<StoreOp>() || op.as<FullOp>();
  if (!isKnown)
    return refuse(fmt::format("{} in its steps", kindName(op)));
  addPlain(op);
}

/// An op that makes nothing that is carried.
void LoopFusion::addPlain(Op op) {
  replaceReads(op, {}, buffers);
  Item item;
  for (const ScalarExpr *scalar : scalarsOf(op)) {
    Node node = nodeOf(*scalar);
    const Dependence &d = dependences->of(node);
    if (!d.isComplete() && !op.as<WriteOp>())
      refuse(d.kind == Dependence::Kind::Other
                 ? d.why
                 : fmt::format("'{}' takes {} in a step, where it is not complete", printOp(p, op),
                               "what depends on a reduction"));
    if (const auto *write = op.as<WriteOp>())
      written[write->buffer] = d;
    item.roots.push_back(inStep(node));
  }
  if ((op.as<LoadOp>() || op.as<StoreOp>()) && loops.size() > 1) {
    Op address = op;
    if (auto *store = address.as<StoreOp>())
      store->value.nodes.clear();
    if (readsUnknown(address))
      refuse("it reads memory where a reduction says");
  }
  if (!op.results.empty()) {
    std::map<ValueId, ValueId> none;
    std::map<BufferId, BufferId> other;
    for (const Item &known : items)
      if (known.ops.size() == 1 && !known.accumulator && known.roots == item.roots &&
          !known.ops[0].results.empty() && isAlike(known.ops[0], op, none, other, true)) {
        nodeOfValue[op.results[0]] = dag.value(known.ops[0].results[0], p[op.results[0]].tile.type);
        return;
      }
    for (ValueId id : op.results)
      inner[id] = {};
  }
  item.ops = {std::move(op)};
  items.push_back(std::move(item));
}

/// A loop inside, of which nothing depends on the reductions.
void LoopFusion::addInner(const Op &op, const std::vector<Op> &starts) {
  if (readsUnknown(op))
    return refuse("a loop inside of it depends on its reductions");
  Item item;
  item.ops = starts;
  item.ops.push_back(op);
  std::map<ValueId, ValueId> same;
  for (auto [value, node] : nodeOfValue)
    if (dag[node].kind == ScalarNode::Kind::Value)
      same[value] = dag[node].value;
  for (Op &one : item.ops)
    replaceReads(one, same, buffers);
  std::set<ValueId> carried; // from outside, so that nothing is known of it but at the end
  forEachOpOf(op, [&](const Op &one) {
    for (ValueId id : one.results)
      for (size_t i = 0; i < loops.back(); ++i)
        if (region[i].results == std::vector{id})
          carried.insert(id);
  });
  unknown.insert(carried.begin(), carried.end());
  for (const Item &known : items) {
    if (!carried.empty() || known.ops.size() != item.ops.size() || !known.ops.back().as<ForOp>())
      continue;
    std::map<ValueId, ValueId> values;
    std::map<BufferId, BufferId> others = buffers;
    bool isSame = true;
    for (size_t i = 0; i < item.ops.size() && isSame; ++i)
      isSame = isAlike(known.ops[i], item.ops[i], values, others);
    if (!isSame)
      continue;
    buffers = std::move(others);
    for (auto [mine, theirs] : values)
      nodeOfValue[mine] = dag.value(theirs, p[theirs].tile.type);
    return;
  }
  for (const Op &one : item.ops)
    forEachOpOf(one, [&](const Op &part) {
      for (ValueId id : part.results)
        if (!carried.count(id))
          inner[id] = {};
    });
  items.push_back(std::move(item));
}

/// Whether b is a but for names: of values that both make, and of buffers that copies fill.
bool LoopFusion::isAlike(const Op &a, const Op &b, std::map<ValueId, ValueId> &values,
                         std::map<BufferId, BufferId> &others, bool areNodesEqual) const {
  if (a.what.index() != b.what.index() || a.results.size() != b.results.size())
    return false;
  if (const auto *x = a.as<CopyOp>()) {
    const auto *y = b.as<CopyOp>();
    bool isSame = x->from == y->from && x->conditions == y->conditions && x->way == y->way &&
                  areAlike(p[x->buffer], p[y->buffer]);
    if (isSame)
      others[y->buffer] = x->buffer;
    return isSame;
  }
  for (size_t i = 0; i < a.results.size(); ++i)
    values[b.results[i]] = a.results[i];
  if (const auto *x = a.as<ForOp>()) {
    const auto *y = b.as<ForOp>();
    bool isSame = x->var == y->var && x->trips == y->trips && x->issueAt == y->issueAt &&
                  x->body.size() == y->body.size() && x->issue.size() == y->issue.size();
    for (size_t i = 0; isSame && i < x->issue.size(); ++i)
      isSame = isAlike(x->issue[i], y->issue[i], values, others);
    for (size_t i = 0; isSame && i < x->body.size(); ++i)
      isSame = isAlike(x->body[i], y->body[i], values, others);
    return isSame;
  }
  Op same = b;
  replaceReads(same, values, others);
  auto scalarsAlike = [&] {
    std::vector<const ScalarExpr *> x = scalarsOf(a), y = scalarsOf(same);
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const ScalarExpr *s, const ScalarExpr *t) { return *s == *t; });
  };
  if (!areNodesEqual && !scalarsAlike())
    return false;
  if (const auto *x = a.as<LoadOp>()) {
    const auto *y = same.as<LoadOp>();
    return x->from == y->from && x->conditions == y->conditions && x->otherwise == y->otherwise &&
           x->layout == y->layout;
  }
  if (const auto *x = a.as<ReadOp>()) {
    const auto *y = same.as<ReadOp>();
    return x->buffer == y->buffer && x->step == y->step && x->axes == y->axes &&
           x->layout == y->layout;
  }
  if (const auto *x = a.as<FullOp>()) {
    const auto *y = same.as<FullOp>();
    return x->number == y->number && x->type == y->type && x->axes == y->axes &&
           x->layout == y->layout;
  }
  if (const auto *x = a.as<DotOp>()) {
    const auto *y = same.as<DotOp>();
    return x->over == y->over && x->way == y->way && x->isAdded == y->isAdded &&
           x->wait == y->wait && x->layout == y->layout;
  }
  if (const auto *x = a.as<ReduceOp>()) {
    const auto *y = same.as<ReduceOp>();
    return x->monoid == y->monoid && x->over == y->over;
  }
  if (const auto *x = a.as<MapOp>())
    return x->layout == same.as<MapOp>()->layout;
  return false;
}

// What is carried ---------------------------------------------------------------------------------

void LoopFusion::addUpdate(const Op &op) {
  Accumulator made;
  made.value = made.result = op.results[0];
  made.loop = loops.back();
  made.op = op;
  size_t assigned = 0;
  forEachOp(region[loops.back()].as<ForOp>()->body, [&](const Op &other, const LoopNest &) {
    assigned += std::count(other.results.begin(), other.results.end(), made.value);
  });
  size_t readers = 0; // in other ops of its loop, where it is not complete
  for (const Op &other : region[loops.back()].as<ForOp>()->body)
    if (other.results != op.results)
      forEachRead(p, other, [&](ValueId id) { readers += id == made.value; });
  if (assigned != 1 || readers > 0 || op.results.size() != 1)
    return refuse(fmt::format("'{}' is no sum or maximum", printOp(p, op)));
  const auto *map = op.as<MapOp>();
  const auto *dot = op.as<DotOp>();
  if (map)
    return addMapUpdate(std::move(made), *map);
  if (dot && dot->isAdded)
    return addDotUpdate(std::move(made), *dot);
  refuse(fmt::format("'{}' is no sum or maximum", printOp(p, op)));
}

/// a = a ⊕ x, or a = where(c, a ⊕ x, a).
void LoopFusion::addMapUpdate(Accumulator made, const MapOp &map) {
  Node root = nodeOf(map.value), self = dag.value(made.value, p[made.value].tile.type);
  if (dag[root].kind == ScalarNode::Kind::Operation && dag[root].opcode == Opcode::Select &&
      dag[root].operands[2] == self) {
    made.hasCondition = true;
    made.condition = dag[root].operands[0];
    root = dag[root].operands[1];
  }
  const ScalarNode n = dag[root];
  std::optional<Monoid> monoid =
      n.kind == ScalarNode::Kind::Operation ? monoidOf(n.opcode) : std::nullopt;
  bool isUpdate = monoid && (n.operands[0] == self) != (n.operands[1] == self);
  if (!isUpdate)
    return refuse(fmt::format("'{}' is no sum or maximum", printOp(p, made.op)));
  made.monoid = *monoid;
  made.opcode = n.opcode;
  made.term = n.operands[n.operands[0] == self ? 1 : 0];
  setResult(made);
  made.dependence = dependences->of(made.term);
  const Dependence &d = made.dependence;
  using Kind = Dependence::Kind;
  bool isSum = made.monoid == Monoid::Add,
       isOrder = made.monoid == Monoid::Max || made.monoid == Monoid::Min;
  if (made.hasCondition && !dependences->of(made.condition).isComplete())
    return refuse("a condition of what is reduced depends on a reduction");
  if (d.kind == Kind::Other)
    return refuse(d.why);
  bool isRepairable =
      d.isComplete() || (isSum && d.kind == Kind::Scaled) ||
      (isOrder && (d.kind == Kind::Shifted || (d.kind == Kind::Scaled && d.factors.empty())));
  if (!isRepairable && isOrder && d.kind == Kind::Scaled)
    return refuse(fmt::format("{} does not commute with a factor of unknown sign, {}",
                              toString(made.monoid),
                              printScalar(p, dag.exprOf(d.factors[0].node))));
  if (!isRepairable)
    return refuse(fmt::format("{} of '{}' can't be corrected later", toString(made.monoid),
                              printScalar(p, dag.exprOf(made.term))));
  made.term = inStep(made.term);
  if (!d.isComplete())
    makeRunning(made);
  accumulators.push_back(std::move(made));
  Item item;
  item.accumulator = accumulators.size() - 1;
  items.push_back(std::move(item));
}

void LoopFusion::addDotUpdate(Accumulator made, const DotOp &dot) {
  made.isDot = true;
  Node left = nodeOf(dot.left), right = nodeOf(dot.right);
  made.dependence = dependences->product(dependences->of(left), dependences->of(right));
  if (made.dependence.kind == Dependence::Kind::Other)
    return refuse(made.dependence.why);
  made.left = withoutZeros(inStep(left));
  made.right = withoutZeros(inStep(right));
  accumulators.push_back(std::move(made));
  Item item;
  item.accumulator = accumulators.size() - 1;
  items.push_back(std::move(item));
}

/// A choice of zero beyond a bound, of a slot whose padding is zero already.
ScalarDag::Node LoopFusion::withoutZeros(Node node) {
  ScalarNode n = dag[node];
  if (n.kind != ScalarNode::Kind::Operation)
    return node;
  if (n.opcode == Opcode::Convert) {
    n.operands[0] = withoutZeros(n.operands[0]);
    return dag.add(std::move(n));
  }
  if (n.opcode != Opcode::Select || n.operands[2] != dag.number(0))
    return node;
  Node slot = n.operands[1];
  while (dag[slot].kind == ScalarNode::Kind::Operation && dag[slot].opcode == Opcode::Convert)
    slot = dag[slot].operands[0];
  const ScalarNode condition = dag[n.operands[0]];
  if (dag[slot].kind != ScalarNode::Kind::Slot || condition.opcode != Opcode::Compare ||
      condition.comparison != Comparison::Lt || written.count(dag[slot].buffer))
    return node;
  const ScalarNode &at = dag[condition.operands[0]], &end = dag[condition.operands[1]];
  if (at.kind != ScalarNode::Kind::Index || !at.index.isVariable())
    return node;
  AxisId axis = p.axisOf(at.index.variable());
  if (!axis.isValid() || !p[axis].bound)
    return node;
  Expr bound =
      end.kind == ScalarNode::Kind::Index
          ? end.index
          : p.number(static_cast<int64_t>(end.kind == ScalarNode::Kind::Number ? end.number : -1));
  const std::vector<AxisId> &order = p[dag[slot].buffer].order;
  bool isPadding =
      bound == p[axis].bound && std::find(order.begin(), order.end(), axis) != order.end();
  return isPadding ? n.operands[1] : node;
}

/// The reduction over lanes behind the loop, where nothing else reads the value.
void LoopFusion::setResult(Accumulator &of) {
  const Op *found = nullptr;
  size_t readers = 0;
  for (size_t i = loops.back() + 1; i < region.size(); ++i)
    forEachRead(p, region[i], [&](ValueId id) {
      if (id != of.value)
        return;
      ++readers;
      found = &region[i];
    });
  const auto *reduce = found ? found->as<ReduceOp>() : nullptr;
  if (readers != 1 || !reduce || reduce->monoid != of.monoid || reduce->value.nodes.size() != 1)
    return;
  of.result = found->results[0];
  of.lanes = reduce->over;
}

// Between loops -----------------------------------------------------------------------------------

bool LoopFusion::dependsOnLoops(const Op &op) const {
  bool depends = false;
  forEachRead(p, op, [&](ValueId id) { depends |= made.count(id) > 0; });
  return depends;
}

void LoopFusion::addBetween(size_t from, size_t to) {
  for (size_t a = 0; a < accumulators.size(); ++a)
    resultOf[accumulators[a].result] = a;
  for (size_t i = from; i < to; ++i) {
    const Op &op = region[i];
    if (!dependsOnLoops(op))
      continue;
    bool isResult = op.results.size() == 1 && resultOf.count(op.results[0]);
    forEachOpOf(op, [&](const Op &one) { made.insert(one.results.begin(), one.results.end()); });
    if (isResult)
      continue;
    if (const auto *map = op.as<MapOp>()) {
      nodeOfValue[op.results[0]] = nodeOf(map->value);
      continue;
    }
    forEachOpOf(op, [&](const Op &one) {
      unknown.insert(one.results.begin(), one.results.end());
      if (const auto *write = one.as<WriteOp>()) {
        Dependence other;
        other.kind = Dependence::Kind::Other;
        other.why = fmt::format("it reads {}, which is written behind an earlier loop",
                                p[write->buffer].name);
        written[write->buffer] = std::move(other);
      }
    });
  }
}

} // namespace tilewright::program
