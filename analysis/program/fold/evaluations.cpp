#include "analysis/program/evaluations.h"

#include "analysis/program/monoid.h"
#include "analysis/program/pending_reads.h"
#include "analysis/program/threads_at_work.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilewright::program {

namespace {

/// What a value or an operation depends on: axes, and loops around it.
struct Dependence {
  AxisSet axes;
  std::set<const Op *> loops;

  void unite(const Dependence &other) {
    program::unite(axes, other.axes);
    loops.insert(other.loops.begin(), other.loops.end());
  }
};

class Counter {
public:
  explicit Counter(const Program &program)
      : p(program), loads(program.number(0)), threads(ThreadsAtWork(program).count()),
        values(program.values.size()) {}

  WorkOfThreads run() {
    region(p.body);
    return {std::move(found), loads};
  }

private:
  void region(const Region &ops) {
    for (const Op &op : ops) {
      if (const auto *loop = op.as<ForOp>()) {
        loops.push_back(&op);
        // What one step hands to the next changes in each.
        for (ValueId value : carriedBy(*loop))
          values[value.index]->loops.insert(&op);
        region(loop->issue);
        region(loop->body);
        loops.pop_back();
        for (std::optional<Dependence> &value : values)
          if (value)
            value->loops.erase(&op);
        continue;
      }
      for (const Region *inner : regionsOf(op))
        region(*inner);
      visit(op);
    }
  }

  std::vector<ValueId> carriedBy(const ForOp &loop) const {
    std::vector<ValueId> carried;
    forEachOp(loop.body, [&](const Op &op, const LoopNest &) {
      for (ValueId value : op.results)
        if (values[value.index])
          carried.push_back(value);
    });
    return carried;
  }

  void visit(const Op &op) {
    Dependence all;
    if (const Access *access = accessOf(op))
      for (Expr index : access->index)
        all.unite(of(index));
    if (const auto *load = op.as<LoadOp>()) {
      const Layout &held = p[op.results[0]].tile.layout;
      loads = loads + timesOf(all, held, memoryRunOf(p, load->from).axis);
      for (const Condition &condition : load->conditions)
        add({Opcode::Compare, DType::S32, Divisor::Own, false, 1, {}}, of(condition.value), held,
            isOpen(condition.value, condition.low, condition.high));
    }
    // Each step meets other contents of shared memory.
    if (!slotReadsOf(op).empty() || op.as<DotOp>() || op.as<SumSplitsOp>())
      all.unite(ofAllLoops());
    if (!op.as<DotOp>())
      for (const ScalarExpr *scalar : scalarsOf(op))
        all.unite(evaluate(op, *scalar));
    if (const auto *reduce = op.as<ReduceOp>())
      addCombinations(op, *reduce, all);
    for (ValueId result : op.results) {
      Dependence &known =
          values[result.index] ? *values[result.index] : values[result.index].emplace();
      known.axes = p[result].tile.axes;
      known.loops.insert(all.loops.begin(), all.loops.end());
    }
  }

  /// A thread combines what it holds of a row; its values and those of other threads meet in
  /// shuffles, which are counted apart.
  void addCombinations(const Op &op, const ReduceOp &reduce, Dependence on) {
    const Opcode opcode = opcodeOf(reduce.monoid).value_or(Opcode::Select);
    unite(on.axes, reduce.over);
    add({opcode, reduce.value.type(), Divisor::Own, false, int64_t(resultCount(reduce.monoid)), {}},
        on, heldAs(p, reduce.value, axesHeld(op, reduce.value), std::nullopt));
  }

  /// Is the op at hand in a loop over what is reduced? Its steps move an axis that no CTA has a
  /// part of.
  bool isInSteps() const {
    return std::any_of(loops.begin(), loops.end(), [&](const Op *loop) {
      const VarId var = loop->as<ForOp>()->var.variable();
      return std::any_of(p.axes.begin(), p.axes.end(), [&](const Axis &axis) {
        const std::vector<VarId> variables = variablesOf(axis.origin);
        return std::binary_search(variables.begin(), variables.end(), var) &&
               std::none_of(p.grid.variables.begin(), p.grid.variables.end(),
                            [&](const GridVariable &cta) {
                              return std::binary_search(variables.begin(), variables.end(),
                                                        cta.var.variable());
                            });
      });
    });
  }

  Dependence ofAllLoops() const { return {{}, {loops.begin(), loops.end()}}; }

  /// An index moves with the loops that it names, and with those that its axes' tiles do.
  Dependence of(Expr index) const {
    Dependence result{p.axesOf(index), loopsOf(index)};
    for (AxisId axis : result.axes)
      for (Expr moved : {p[axis].origin, p[axis].bound, p[axis].lower})
        if (moved)
          result.loops.merge(loopsOf(moved));
    for (VarId var : variablesOf(index))
      if (ValueId value = p.valueOf(var); value.isValid() && values[value.index])
        result.unite(*values[value.index]);
    return result;
  }

  std::set<const Op *> loopsOf(Expr expr) const {
    const std::vector<VarId> variables = variablesOf(expr);
    std::set<const Op *> result;
    for (const Op *loop : loops)
      if (std::binary_search(variables.begin(), variables.end(), loop->as<ForOp>()->var.variable()))
        result.insert(loop);
    return result;
  }

  Dependence evaluate(const Op &op, const ScalarExpr &scalar) {
    const Layout held = heldAs(p, scalar, axesHeld(op, scalar), layoutOf(op));
    std::vector<Dependence> of(scalar.nodes.size());
    std::vector<Expr> open(scalar.nodes.size(), p.number(1));
    for (size_t n = 0; n < scalar.nodes.size(); ++n) {
      const ScalarNode &node = scalar.nodes[n];
      switch (node.kind) {
      case ScalarNode::Kind::Value:
        of[n].axes = p[node.value].tile.axes;
        if (values[node.value.index])
          of[n].loops = values[node.value.index]->loops;
        break;
      case ScalarNode::Kind::Slot:
        of[n] = ofAllLoops();
        of[n].axes = axesOfBuffer(node.buffer);
        break;
      case ScalarNode::Kind::Index:
        of[n] = this->of(node.index);
        break;
      case ScalarNode::Kind::Number:
        break;
      case ScalarNode::Kind::Operation:
        for (uint32_t operand : node.operands)
          of[n].unite(of[operand]);
        open[n] = isOpen(scalar, node, open);
        add({node.opcode, node.type, divisorOf(scalar, node, of), false, 1, {}}, of[n], held,
            open[n]);
        break;
      }
    }
    return of.back();
  }

  /// 0 where sizes say that low <= value < high, so that nothing is compared; else 1.
  Expr isOpen(Expr value, Expr low, Expr high) const {
    const AxisId axis = value.isVariable() ? p.axisOf(value.variable()) : AxisId{};
    if (!axis.isValid() || !low.isConstant() || low.constant() > 0)
      return p.number(1);
    return p.number(1) - p.resolved(high).isAtLeast(endOf(axis));
  }
  /// Of a node: a mask that holds for all lanes leaves no `and` and no choice either.
  Expr isOpen(const ScalarExpr &scalar, const ScalarNode &node,
              const std::vector<Expr> &open) const {
    switch (node.opcode) {
    case Opcode::And:
      return open[node.operands[0]] * open[node.operands[1]];
    case Opcode::Select:
      return open[node.operands[0]];
    case Opcode::Compare: {
      const ScalarNode &at = scalar.nodes[node.operands[0]], &end = scalar.nodes[node.operands[1]];
      const bool isEnd =
          end.kind == ScalarNode::Kind::Index || end.kind == ScalarNode::Kind::Number;
      if (node.comparison != Comparison::Lt || at.kind != ScalarNode::Kind::Index || !isEnd)
        return p.number(1);
      return isOpen(at.index, p.number(0),
                    end.kind == ScalarNode::Kind::Index
                        ? end.index
                        : p.number(static_cast<int64_t>(end.number)));
    }
    default:
      return p.number(1);
    }
  }
  /// Behind the last coordinate of an axis in all CTAs and steps.
  Expr endOf(AxisId axis) const {
    const Expr last = substitute(p.resolved(p[axis].origin), [&](VarId var) -> Expr {
      for (const GridVariable &cta : p.grid.variables)
        if (cta.var.variable() == var)
          return p.resolved(cta.count) - 1;
      for (const Op *loop : loops)
        if (loop->as<ForOp>()->var.variable() == var)
          return p.resolved(loop->as<ForOp>()->trips) - 1;
      return {};
    });
    return last + p.resolved(p[axis].extent);
  }

  AxisSet axesOfBuffer(BufferId buffer) const {
    AxisSet axes;
    for (AxisId axis : p[buffer].order)
      insert(axes, axis);
    return axes;
  }

  /// The box over which an op evaluates.
  AxisSet axesHeld(const Op &op, const ScalarExpr &scalar) const {
    AxisSet axes = p.axesOf(scalar);
    if (const auto *store = op.as<StoreOp>())
      unite(axes, p.axesOf(store->to));
    else if (const auto *write = op.as<WriteOp>())
      unite(axes, axesOfBuffer(write->buffer));
    else if (op.as<MapOp>())
      unite(axes, p[op.results[0]].tile.axes);
    return axes;
  }

  static std::optional<LayoutSpec> layoutOf(const Op &op) {
    if (const auto *store = op.as<StoreOp>())
      return store->layout;
    if (const auto *map = op.as<MapOp>())
      return map->layout;
    return std::nullopt;
  }

  static Divisor divisorOf(const ScalarExpr &scalar, const ScalarNode &node,
                           const std::vector<Dependence> &of) {
    if (node.opcode != Opcode::Divide && node.opcode != Opcode::Remainder)
      return Divisor::Own;
    const uint32_t by = node.operands[1];
    const bool isNumber = scalar.nodes[by].kind == ScalarNode::Kind::Number;
    if (!isFloat(node.type))
      return isInteger(node.type) && isNumber ? Divisor::Number : Divisor::Own;
    if (node.opcode == Opcode::Remainder)
      return Divisor::Own;
    if (isNumber) {
      int exponent = 0;
      const bool isPower = std::abs(std::frexp(scalar.nodes[by].number, &exponent)) == 0.5;
      return isPower ? Divisor::PowerOfTwo : Divisor::Number;
    }
    return without(of[node.operands[0]].axes, of[by].axes).empty() ? Divisor::Own : Divisor::Shared;
  }

  void add(Evaluations what, const Dependence &on, const Layout &held, Expr isDone = {}) {
    const Expr times = isDone ? timesOf(on, held) * isDone : timesOf(on, held);
    what.isInSteps = isInSteps();
    auto alike = std::find_if(found.begin(), found.end(), [&](const Evaluations &other) {
      return other.opcode == what.opcode && other.type == what.type &&
             other.divisor == what.divisor && other.isInSteps == what.isInSteps &&
             other.times == times;
    });
    if (alike != found.end()) {
      alike->operations += what.operations;
      return;
    }
    what.times = times;
    found.push_back(what);
  }

  /// `along`: an axis of whose neighbours a vector counts once.
  Expr timesOf(const Dependence &on, const Layout &held, AxisId along = {}) const {
    Expr times = threads * stepsOf(on);
    for (size_t i = 0; i < held.registers.size(); ++i) {
      const Digit &digit = held.registers[i];
      const bool isVector =
          i == 0 && along.isValid() && digit.axis == along && digit.stride.isConstant(1);
      if (digit.axis.isValid() && contains(on.axes, digit.axis) && !digit.isCopy() && !isVector)
        times = times * digit.extent;
    }
    return times;
  }

  /// Steps of the loops to the innermost one, of several steps, that matters.
  Expr stepsOf(const Dependence &on) const {
    Expr steps = p.number(1), all = p.number(1);
    for (const Op *loop : loops) {
      const auto &of = *loop->as<ForOp>();
      Expr trips = p.resolved(of.trips);
      if (of.splits) // a CTA's share of them
        trips = trips.ceilDiv(p.resolved(of.splits));
      all = all * trips;
      if (on.loops.count(loop))
        steps = select(trips.isAtLeast(p.number(2)), all, steps);
    }
    return steps;
  }

  const Program &p;
  Expr loads;
  const Expr threads; ///< of a CTA, that evaluate
  LoopNest loops;     ///< around the op at hand
  std::vector<std::optional<Dependence>> values;
  std::vector<Evaluations> found;
};

} // namespace

WorkOfThreads workOfThreads(const Program &program) { return Counter(program).run(); }

} // namespace tilewright::program
