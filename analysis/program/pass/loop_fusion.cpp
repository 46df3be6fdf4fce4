#include "analysis/program/pass/loop_fusion.h"

#include "analysis/program/pass/ops_alike.h"
#include "analysis/program/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace tilewright::program {

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
  return finite(dag.replaced(term, leaves), infinitiesOf(term));
}

/// Which infinities a term e may be where a loop has met nothing: maxima start at -inf.
LoopFusion::Infinities LoopFusion::infinitiesOf(Node term) const {
  const ScalarNode &node = dag[term];
  if (node.kind == ScalarNode::Kind::Value) {
    auto it = resultOf.find(node.value);
    const bool isOrdered = it != resultOf.end() && !accumulators[it->second].isDot;
    const Monoid monoid = isOrdered ? accumulators[it->second].monoid : Monoid::Add;
    return {monoid == Monoid::Max, monoid == Monoid::Min};
  }
  if (node.kind != ScalarNode::Kind::Operation)
    return {};
  Infinities all;
  std::vector<Infinities> of;
  for (Node operand : node.operands) {
    of.push_back(infinitiesOf(operand));
    all.low |= of.back().low;
    all.high |= of.back().high;
  }
  auto negated = [](Infinities one) { return Infinities{one.high, one.low}; };
  switch (node.opcode) {
  case Opcode::Add:
  case Opcode::Maximum:
  case Opcode::Minimum:
  case Opcode::Convert:
    return all;
  case Opcode::Negate:
    return negated(all);
  case Opcode::Subtract:
    return {of[0].low || of[1].high, of[0].high || of[1].low};
  default:
    all.low = all.high = all.low || all.high;
    return all;
  }
}

/// Exactly what it is wherever it is finite.
ScalarDag::Node LoopFusion::finite(Node shift, Infinities start) {
  constexpr double lowest = std::numeric_limits<float>::lowest();
  if (start.high)
    shift = dag.operation(Opcode::Minimum, {shift, dag.number(-lowest)});
  if (start.low)
    shift = dag.operation(Opcode::Maximum, {shift, dag.number(lowest)});
  return shift;
}

/// Sums that start at 0 are repaired by factors of at most 1: 0 · exp(e' - lowest) is NaN.
void LoopFusion::refuseGrowth(const Dependence &of) {
  if (of.kind != Dependence::Kind::Scaled)
    return;
  for (auto [term, coefficient] : of.terms) {
    const Infinities start = infinitiesOf(term);
    if (coefficient > 0 ? start.low : start.high)
      refuse(fmt::format("a factor that grows with {} from nothing",
                         printScalar(p, dag.exprOf(term))));
  }
}

ScalarDag::Node LoopFusion::inStep(Node node) {
  const Dependence &d = dependences->of(node);
  if (d.kind == Dependence::Kind::Other)
    refuse(d.why);
  return dependences->inStep(node, [&](Node term) { return shiftOf(term, true); });
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
  forEachOpOf(op, [&](const Op &one) {
    for (const SlotRead &read : slotReadsOf(one))
      if (auto it = written.find(read.buffer); it != written.end())
        isUnknown |= !it->second.isComplete();
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
      written[write->buffer] = behindWrite(write->buffer, d);
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
          !known.ops[0].results.empty() && areAlike(p, known.ops[0], op, none, other, true)) {
        nodeOfValue[op.results[0]] = dag.value(known.ops[0].results[0], p[op.results[0]].tile.type);
        return;
      }
    for (ValueId id : op.results)
      inner[id] = {};
    if (const auto *read = op.as<ReadOp>())
      if (auto it = written.find(read->buffer); it != written.end())
        inner[op.results[0]] = it->second;
  }
  item.ops = {std::move(op)};
  items.push_back(std::move(item));
}

/// What a buffer holds in a step: a value with what it is scaled or shifted by. A reduction itself
/// can't be told from what is known of it so far, once it is read.
Dependence LoopFusion::behindWrite(BufferId buffer, const Dependence &of) const {
  if (of.kind != Dependence::Kind::Reduced)
    return of;
  Dependence other;
  other.kind = Dependence::Kind::Other;
  other.why =
      fmt::format("it reads {}, which holds a reduction that is not complete", p[buffer].name);
  return other;
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
      isSame = areAlike(p, known.ops[i], item.ops[i], values, others);
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
