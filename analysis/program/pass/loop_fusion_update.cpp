// What fused loops carry: sums, maxima, results of dots.
#include "analysis/program/pass/loop_fusion.h"
#include "analysis/program/text.h"

#include <algorithm>
#include <fmt/format.h>

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

} // namespace

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
  refuseGrowth(d);
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
  made.dependence = dependences->product(dependences->of(withoutPadding(left)),
                                         dependences->of(withoutPadding(right)));
  if (made.dependence.kind == Dependence::Kind::Other)
    return refuse(made.dependence.why);
  refuseGrowth(made.dependence);
  made.left = withoutZeros(inStep(left));
  made.right = withoutZeros(inStep(right));
  accumulators.push_back(std::move(made));
  Item item;
  item.accumulator = accumulators.size() - 1;
  items.push_back(std::move(item));
}

/// The axes whose lanes a condition says to count, `l < 40`; empty where it says anything else.
AxisSet LoopFusion::countingAxes(Node node) const {
  const ScalarNode &condition = dag[node];
  if (condition.kind != ScalarNode::Kind::Operation)
    return {};
  if (condition.opcode == Opcode::And) {
    AxisSet left = countingAxes(condition.operands[0]), right = countingAxes(condition.operands[1]);
    if (left.empty() || right.empty())
      return {};
    unite(left, right);
    return left;
  }
  if (condition.opcode != Opcode::Compare || condition.comparison != Comparison::Lt)
    return {};
  const ScalarNode &at = dag[condition.operands[0]], &end = dag[condition.operands[1]];
  if (at.kind != ScalarNode::Kind::Index || !at.index.isVariable())
    return {};
  AxisId axis = p.axisOf(at.index.variable());
  if (!axis.isValid() || !p[axis].bound)
    return {};
  Expr bound =
      end.kind == ScalarNode::Kind::Index
          ? end.index
          : p.number(static_cast<int64_t>(end.kind == ScalarNode::Kind::Number ? end.number : -1));
  return bound == p[axis].bound ? AxisSet{axis} : AxisSet{};
}

/// A value, where it is zero in lanes that do not count.
ScalarDag::Node LoopFusion::withoutPadding(Node node) {
  ScalarNode n = dag[node];
  if (n.kind != ScalarNode::Kind::Operation)
    return node;
  if (n.opcode == Opcode::Convert) {
    n.operands[0] = withoutPadding(n.operands[0]);
    return dag.add(std::move(n));
  }
  bool isPadding = n.opcode == Opcode::Select && n.operands[2] == dag.number(0) &&
                   !countingAxes(n.operands[0]).empty();
  return isPadding ? n.operands[1] : node;
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
  if (dag[slot].kind != ScalarNode::Kind::Slot || written.count(dag[slot].buffer))
    return node;
  AxisSet axes = countingAxes(n.operands[0]), own;
  for (AxisId axis : p[dag[slot].buffer].order)
    insert(own, axis);
  return !axes.empty() && without(axes, own).empty() ? n.operands[1] : node;
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

} // namespace tilewright::program
