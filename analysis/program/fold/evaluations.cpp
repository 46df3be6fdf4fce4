#include "analysis/program/evaluations.h"

#include "analysis/program/pending_reads.h"
#include "analysis/program/threads_at_work.h"

#include <algorithm>
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
        add({Opcode::Compare, DType::S32, false, 1, {}}, of(condition.value), held);
    }
    // Each step meets other contents of shared memory.
    if (!slotReadsOf(op).empty() || op.as<DotOp>() || op.as<SumSplitsOp>())
      all.unite(ofAllLoops());
    if (!op.as<DotOp>())
      for (const ScalarExpr *scalar : scalarsOf(op))
        all.unite(evaluate(op, *scalar));
    for (ValueId result : op.results) {
      Dependence &known =
          values[result.index] ? *values[result.index] : values[result.index].emplace();
      known.axes = p[result].tile.axes;
      known.loops.insert(all.loops.begin(), all.loops.end());
    }
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
        add({node.opcode, node.type, isByNumber(scalar, node), 1, {}}, of[n], held);
        break;
      }
    }
    return of.back();
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

  static bool isByNumber(const ScalarExpr &scalar, const ScalarNode &node) {
    return (node.opcode == Opcode::Divide || node.opcode == Opcode::Remainder) &&
           isInteger(node.type) && scalar.nodes[node.operands[1]].kind == ScalarNode::Kind::Number;
  }

  void add(Evaluations what, const Dependence &on, const Layout &held) {
    const Expr times = timesOf(on, held);
    auto alike = std::find_if(found.begin(), found.end(), [&](const Evaluations &other) {
      return other.opcode == what.opcode && other.type == what.type &&
             other.isByNumber == what.isByNumber && other.times == times;
    });
    if (alike != found.end()) {
      ++alike->operations;
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
      const Expr trips = p.resolved(loop->as<ForOp>()->trips);
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
