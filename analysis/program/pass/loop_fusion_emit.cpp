// The fused loop, from its parts.
#include "analysis/program/pass/loop_fusion.h"

#include <algorithm>
#include <limits>

namespace tilewright::program {

namespace {

Op mapOp(ValueId result) {
  Op op;
  op.what = MapOp{};
  op.results = {result};
  return op;
}

} // namespace

// Steps -------------------------------------------------------------------------------------------

/// A value that terms e shift or scale, moved from e to e'.
ScalarDag::Node LoopFusion::moved(const Accumulator &of, Node value,
                                  const std::function<Node(Node)> &from,
                                  const std::function<Node(Node)> &to) {
  std::optional<Node> sum;
  for (auto [term, coefficient] : of.dependence.terms) {
    Node before = from(term), after = to(term);
    Node gap = dag.operation(Opcode::Subtract, coefficient == -1 ? std::vector{before, after}
                                                                 : std::vector{after, before});
    if (coefficient != 1 && coefficient != -1)
      gap = dag.operation(Opcode::Multiply, {gap, dag.number(coefficient)});
    sum = sum ? dag.operation(Opcode::Add, {*sum, gap}) : gap;
  }
  if (!sum)
    return value;
  if (of.dependence.kind == Dependence::Kind::Shifted)
    return dag.operation(Opcode::Add, {value, *sum});
  return dag.operation(Opcode::Multiply, {value, dag.operation(Opcode::Exp, {*sum})});
}

void LoopFusion::addUpdateSteps(size_t number, std::vector<Step> &steps, std::vector<Step> &ends) {
  auto repaired = [&](Node value) {
    const Accumulator &of = accumulators[number];
    return moved(
        of, value, [&](Node term) { return shiftOf(term, false); },
        [&](Node term) { return shiftOf(term, true); });
  };
  Accumulator &of = accumulators[number];
  const DType type = p[of.value].tile.type;
  Node self = dag.value(of.value, type);
  if (of.isDot) {
    if (!of.dependence.terms.empty())
      steps.push_back({mapOp(of.value), {repaired(self)}});
    steps.push_back({of.op, {of.left, of.right}});
    return;
  }
  if (!of.isRunning) {
    Node next = dag.operation(of.opcode, {self, of.term}, type);
    if (of.hasCondition)
      next = dag.operation(Opcode::Select, {of.condition, next, self}, type);
    steps.push_back({of.op, {next}});
    return;
  }
  Node term = of.term;
  if (of.hasCondition)
    term = dag.operation(Opcode::Select, {of.condition, term, dag.number(identityOf(of.monoid))},
                         type);
  if (!of.lanes.empty()) {
    Op reduce;
    reduce.what = ReduceOp{of.monoid, {}, of.lanes};
    reduce.results = {newValue(type, without(p[of.value].tile.axes, of.lanes))};
    steps.push_back({reduce, {term}});
    term = dag.value(reduce.results[0], type);
  }
  Node next = dag.operation(of.opcode, {repaired(dag.value(of.running, type)), term}, type);
  steps.push_back({mapOp(of.isNextUsed ? of.next : of.running), {next}});
  if (of.isNextUsed)
    ends.push_back({mapOp(of.running), {dag.value(of.next, type)}});
}

std::vector<LoopFusion::Step> LoopFusion::steps() {
  std::vector<Step> result, ends;
  for (const Item &item : items) {
    if (item.accumulator) {
      addUpdateSteps(*item.accumulator, result, ends);
      continue;
    }
    for (const Op &op : item.ops)
      result.push_back({op, item.roots});
  }
  result.insert(result.end(), ends.begin(), ends.end());
  return result;
}

// Ops ---------------------------------------------------------------------------------------------

void LoopFusion::countUses(const std::vector<Step> &all) {
  std::set<Node> seen;
  std::function<void(Node)> count = [&](Node node) {
    ++uses[node];
    if (!seen.insert(node).second)
      return;
    for (Node operand : dag[node].operands)
      count(operand);
  };
  for (const Step &step : all)
    for (Node root : step.roots)
      count(root);
}

/// Computed once for several uses: what holds values, and not how slots are read.
bool LoopFusion::isShared(Node node) const {
  auto used = uses.find(node);
  if (!dag.isOperation(node) || used == uses.end() || used->second < 2)
    return false;
  bool hasValue = false;
  for (Node leaf : dag.leavesOf(node)) {
    if (dag[leaf].kind == ScalarNode::Kind::Slot)
      return false;
    hasValue |= dag[leaf].kind == ScalarNode::Kind::Value;
  }
  return hasValue;
}

ScalarExpr LoopFusion::exprOf(Node root) const {
  return dag.exprOf(root, [&](Node node) -> std::optional<ScalarNode> {
    auto it = held.find(node);
    if (it == held.end())
      return std::nullopt;
    ScalarNode leaf;
    leaf.kind = ScalarNode::Kind::Value;
    leaf.value = it->second;
    leaf.type = p[it->second].tile.type;
    return leaf;
  });
}

void LoopFusion::emitShared(Node root, Region &into) {
  std::set<Node> seen;
  std::function<void(Node)> visit = [&](Node node) {
    if (held.count(node) || !seen.insert(node).second)
      return;
    for (Node operand : dag[node].operands)
      visit(operand);
    if (!isShared(node))
      return;
    ScalarExpr scalar = exprOf(node);
    AxisSet axes = p.axesOf(scalar);
    bool isHeld = std::any_of(scalar.nodes.begin(), scalar.nodes.end(), [&](const ScalarNode &n) {
      return n.kind == ScalarNode::Kind::Value && p[n.value].tile.axes == axes;
    });
    if (!isHeld) // its layout is that of what uses it
      return;
    Op op = mapOp(newValue(scalar.type(), axes));
    op.as<MapOp>()->value = std::move(scalar);
    held[node] = op.results[0];
    into.push_back(std::move(op));
  };
  visit(root);
}

void LoopFusion::emit(Step step, Region &into) {
  std::vector<ScalarExpr> scalars;
  for (Node root : step.roots) {
    emitShared(root, into);
    scalars.push_back(exprOf(root));
  }
  std::vector<const ScalarExpr *> places = scalarsOf(step.op);
  for (size_t i = 0; i < scalars.size(); ++i)
    *const_cast<ScalarExpr *>(places[i]) = std::move(scalars[i]);
  into.push_back(std::move(step.op));
}

// The region --------------------------------------------------------------------------------------

const FullOp *LoopFusion::startOf(const Accumulator &of) const {
  const FullOp *start = nullptr;
  for (size_t i = 0; i < of.loop; ++i)
    if (region[i].results == std::vector{of.value} && region[i].as<FullOp>())
      start = region[i].as<FullOp>();
  return start;
}

/// What running values start with: held as the lanes are of which they are reductions.
void LoopFusion::addStarts(Region &into) {
  for (const Accumulator &of : accumulators) {
    const FullOp *start = startOf(of);
    if (!of.isRunning || of.lanes.empty() || !start)
      continue;
    FullOp full = *start;
    full.axes = without(full.axes, of.lanes);
    if (full.layout && full.layout->of.empty())
      full.layout->of.assign(start->axes.begin(), start->axes.end());
    Op op;
    op.what = std::move(full);
    op.results = {of.running};
    into.push_back(std::move(op));
  }
}

/// Results as they are known behind the loop.
ScalarDag::Node LoopFusion::settled(Node node) {
  std::map<Node, Node> leaves;
  for (Node leaf : dag.leavesOf(node))
    if (dag[leaf].kind == ScalarNode::Kind::Value)
      if (auto it = final.find(dag[leaf].value); it != final.end())
        leaves[leaf] = dag.value(it->second, dag[leaf].type);
  return dag.replaced(node, leaves);
}

/// Divided by what the same terms scale: where these are -inf both are 0, and the quotient is NaN.
bool LoopFusion::isCorrectedByDivisor(const Accumulator &of) const {
  return std::any_of(of.dependence.factors.begin(), of.dependence.factors.end(),
                     [&](const Dependence::Factor &factor) {
                       const ScalarNode &node = dag[factor.node];
                       if (!factor.isDivisor || node.kind != ScalarNode::Kind::Value)
                         return false;
                       auto it = resultOf.find(node.value);
                       return it != resultOf.end() &&
                              accumulators[it->second].dependence.terms == of.dependence.terms;
                     });
}

/// Behind the loop: factors that waited, and shifts by e in place of what is finite.
void LoopFusion::addCorrections(size_t at, Region &into) {
  for (const Accumulator &of : accumulators) {
    if (of.loop != at)
      continue;
    ValueId base = of.isRunning ? of.running : of.value;
    if (of.isRunning && base != of.result)
      final[of.result] = base;
    if (of.dependence.isComplete())
      continue;
    DType type = p[of.value].tile.type;
    Node node = dag.value(base, type);
    // Where a choice made zeros, those are what it is of terms of -inf, too.
    if (!isCorrectedByDivisor(of) && !of.dependence.hasZeros)
      node = moved(
          of, node, [&](Node term) { return finite(settled(term), infinitiesOf(term)); },
          [&](Node term) { return settled(term); });
    for (const Dependence::Factor &factor : of.dependence.factors)
      node = dag.operation(factor.isDivisor ? Opcode::Divide : Opcode::Multiply,
                           {node, settled(factor.node)}, type);
    if (!dag.isOperation(node))
      continue;
    Op op = mapOp(newValue(type, p[base].tile.axes));
    op.as<MapOp>()->value = dag.exprOf(node);
    final[of.result] = op.results[0];
    into.push_back(std::move(op));
  }
}

/// Ops between the loops that later ones need and that do not depend on earlier ones.
std::set<size_t> LoopFusion::neededInFront() const {
  std::set<ValueId> values;
  std::set<BufferId> filled;
  auto need = [&](const Op &op) {
    forEachRead(p, op, [&](ValueId id) { values.insert(id); });
    forEachOpOf(op, [&](const Op &one) {
      values.insert(one.results.begin(), one.results.end()); // what is carried has a start
      for (const SlotRead &read : slotReadsOf(one))
        filled.insert(read.buffer);
    });
  };
  std::set<size_t> result;
  for (size_t i = loops.back() + 1; i-- > loops.front() + 1;) {
    const Op &op = region[i];
    if (std::find(loops.begin(), loops.end(), i) != loops.end()) {
      need(op);
      continue;
    }
    bool isNeeded = false;
    forEachOpOf(op, [&](const Op &one) {
      for (ValueId id : one.results)
        isNeeded |= values.count(id) > 0;
      if (const auto *copy = one.as<CopyOp>())
        isNeeded |= filled.count(copy->buffer) > 0;
      if (const auto *write = one.as<WriteOp>())
        isNeeded |= filled.count(write->buffer) > 0;
    });
    if (!isNeeded || dependsOnLoops(op))
      continue;
    result.insert(i);
    need(op);
  }
  return result;
}

Region LoopFusion::finish() {
  std::vector<Step> all = steps();
  countUses(all);
  for (Step &step : all)
    emit(std::move(step), loop.body);
  std::set<size_t> inFront = neededInFront();
  Region result(region.begin(), region.begin() + static_cast<ptrdiff_t>(loops.front()));
  for (size_t i : inFront)
    result.push_back(region[i]);
  addStarts(result);
  Op fused = region[loops.front()];
  fused.what = std::move(loop);
  result.push_back(std::move(fused));
  addCorrections(loops.front(), result);
  for (size_t i = loops.front() + 1; i < region.size(); ++i) {
    if (std::find(loops.begin(), loops.end(), i) != loops.end()) {
      addCorrections(i, result);
      continue;
    }
    if (inFront.count(i))
      continue;
    bool isGone = region[i].results.size() == 1 && final.count(region[i].results[0]);
    if (isGone) // the reduction of lanes whose running value is complete
      continue;
    result.push_back(region[i]);
    replaceReads(result.back(), final, buffers);
  }
  return result;
}

} // namespace tilewright::program
