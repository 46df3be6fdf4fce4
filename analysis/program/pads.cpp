// V7 by abstract interpretation: what lanes that do not count hold, one axis at a time.
#include "analysis/program/pad_state.h"
#include "analysis/program/verifier.h"

#include <cmath>

namespace tilewright::program {

namespace {

/// Walks the program for one axis.
class PadWalk {
public:
  PadWalk(Verifier &verifier, AxisId axis)
      : verifier(verifier), p(verifier.p), axis(axis), values(p.values.size()),
        buffers(p.buffers.size()), simplifier(*p.context, bounds()) {}

  void run(const Region &region) {
    for (const Op &op : region)
      visit(op);
  }

  /// Whether some lane may lie beyond the bound.
  bool isRagged() {
    const Axis &a = p[axis];
    if (!a.bound && !a.lower)
      return false;
    Expr extent = verifier.resolved(a.extent), origin = verifier.resolved(a.origin);
    if (a.lower || !a.bound)
      return true;
    Expr bound = verifier.resolved(a.bound);
    bool isWhole = origin.isConstant(0) && extent == bound;
    bool isMultiple = simplifier.simplify(bound.mod(extent)).isConstant(0);
    return !isWhole && !isMultiple;
  }

private:
  Bounds bounds() {
    Bounds result = sizeBounds(p);
    beyond = p.context->variable(VarKind::Range, "beyond");
    below = p.context->variable(VarKind::Range, "below");
    result.set(beyond, Interval{0, INT64_MAX});
    result.set(below, Interval{0, INT64_MAX});
    return result;
  }

  /// Inside the loops that move it an axis has a bound; outside all its lanes count.
  bool isActive() const {
    for (VarId var : variablesOf(p[axis].origin))
      if (p.context->info(var).kind == VarKind::Step &&
          std::none_of(loops.begin(), loops.end(),
                       [&](const ForOp *loop) { return loop->var.variable() == var; }))
        return false;
    return true;
  }

  void visit(const Op &op) {
    if (const auto *loop = op.as<ForOp>())
      return visitLoop(op, *loop);
    if (const auto *branch = op.as<IfOp>()) {
      std::vector<Pad> before = values;
      run(branch->then);
      std::swap(before, values);
      run(branch->otherwise);
      for (size_t v = 0; v < values.size(); ++v)
        values[v] = meet(values[v], before[v]);
      return;
    }
    if (const auto *role = op.as<RoleOp>())
      return run(role->body);
    std::visit([&](const auto &what) { kind(op, what); }, op.what);
  }

  void visitLoop(const Op &op, const ForOp &loop) {
    std::vector<Pad> before = values;
    bool wasActive = isActive();
    loops.push_back(&loop);
    // What a step makes is not seen outside: only what was made before is carried.
    std::vector<bool> wasKnown = known;
    std::vector<ValueId> carried;
    forEachOp(loop.body, [&](const Op &inner, const LoopNest &) {
      for (ValueId id : inner.results)
        if (known.size() > id.index && known[id.index] && contains(p[id].tile.axes, axis))
          carried.push_back(id);
    });
    bool isMoved = isActive() && !wasActive;
    auto reset = [&] {
      for (ValueId id : carried)
        if (isMoved)
          values[id.index] = {Pad::Kind::Carried, 0, id};
    };
    isQuiet++;
    constexpr int rounds = 3; // states only ever become Any
    for (int round = 0; round < rounds; ++round) {
      reset();
      run(loop.issue);
      run(loop.body);
      known = wasKnown;
      for (size_t v = 0; v < values.size() && !isMoved; ++v)
        values[v] = meet(values[v], before[v]);
    }
    isQuiet--;
    reset();
    run(loop.issue);
    run(loop.body);
    known = wasKnown;
    if (isMoved)
      for (ValueId id : carried) {
        Pad kept{Pad::Kind::Carried, 0, id};
        if (values[id.index] != kept && isQuiet == 0)
          verifier.violate(7, op.where,
                           fmt::format("a step changes {} in lanes of {} that do not count",
                                       p[id].name, p[axis].name));
        values[id.index] = {};
      }
    loops.pop_back();
  }

  Pad padOf(ValueId id) const {
    if (!contains(p[id].tile.axes, axis))
      return {Pad::Kind::Other, 0, {}};
    return values[id.index];
  }
  Pad padOf(BufferId id) const {
    const std::vector<AxisId> &order = p[id].order;
    if (std::find(order.begin(), order.end(), axis) == order.end())
      return {Pad::Kind::Other, 0, {}};
    return buffers[id.index];
  }

  Pad padOf(const ScalarExpr &scalar) {
    std::vector<Pad> pads;
    for (const ScalarNode &node : scalar.nodes)
      pads.push_back(padOf(scalar, node, pads));
    return pads.back();
  }

  Pad padOf(const ScalarExpr &scalar, const ScalarNode &node, const std::vector<Pad> &pads) {
    switch (node.kind) {
    case ScalarNode::Kind::Value:
      return padOf(node.value);
    case ScalarNode::Kind::Slot:
      return padOf(node.buffer);
    case ScalarNode::Kind::Number:
      return Pad::constant(node.number);
    case ScalarNode::Kind::Index:
      if (contains(p.axesOf(node.index), axis))
        return {};
      return {Pad::Kind::Other, 0, {}};
    case ScalarNode::Kind::Operation:
      break;
    }
    if (node.opcode == Opcode::Compare)
      return comparison(scalar, node, pads);
    const Pad &a = pads[node.operands[0]];
    if (node.operands.size() == 1) {
      return unaryPad(node.opcode, a);
    }
    const Pad &b = pads[node.operands[1]];
    if (node.opcode == Opcode::Select) {
      const Pad &c = pads[node.operands[2]];
      return a.isConstant() ? (a.number != 0 ? b : c) : meet(b, c);
    }
    return binaryPad(node.opcode, a, b);
  }

  /// Coordinates beyond the bound against coordinates that count.
  Pad comparison(const ScalarExpr &scalar, const ScalarNode &node, const std::vector<Pad> &pads) {
    const ScalarNode &a = scalar.nodes[node.operands[0]], &b = scalar.nodes[node.operands[1]];
    const Pad &x = pads[node.operands[0]], &y = pads[node.operands[1]];
    if (x.isConstant() && y.isConstant())
      return Pad::constant(holds(node.comparison, x.number, y.number));
    Expr left = integerOf(p, a), right = integerOf(p, b);
    if (!left || !right || p[axis].lower || !p[axis].bound)
      return x.kind == Pad::Kind::Other && y.kind == Pad::Kind::Other ? x : Pad{};
    std::vector<Expr> table(p.context->variableCount());
    for (uint32_t i = 0; i < p.axes.size(); ++i) {
      const Axis &other = p.axes[i];
      if (!other.bound)
        continue;
      Expr bound = p.resolved(other.bound);
      table[other.var.variable().index] = AxisId{i} == axis ? bound + beyond : bound - 1 - below;
    }
    Expr gap = tilewright::substitute(right - left, std::span<const Expr>(table));
    Interval range = simplifier.range(p.resolved(gap)); // of b - a
    std::optional<bool> always = decided(node.comparison, range);
    return always ? Pad::constant(*always) : Pad{};
  }

  /// a ⋈ b, where b - a lies in a range.
  static std::optional<bool> decided(Comparison comparison, Interval gap) {
    auto answer = [](bool yes, bool no) {
      return yes ? std::optional(true) : no ? std::optional(false) : std::nullopt;
    };
    switch (comparison) {
    case Comparison::Lt:
      return answer(gap.lo > 0, gap.hi <= 0);
    case Comparison::Le:
      return answer(gap.lo >= 0, gap.hi < 0);
    case Comparison::Gt:
      return answer(gap.hi < 0, gap.lo >= 0);
    case Comparison::Ge:
      return answer(gap.hi <= 0, gap.lo > 0);
    case Comparison::Eq:
      return answer(gap == Interval::point(0), !gap.contains(0));
    case Comparison::Ne:
      return answer(!gap.contains(0), gap == Interval::point(0));
    }
    return std::nullopt;
  }

  void set(ValueId id, Pad pad) {
    if (pad.kind == Pad::Kind::Other) // of a value that has the axis: the same along it
      pad = {};
    values[id.index] = pad;
    known.resize(p.values.size());
    known[id.index] = true;
  }

  void demand(const Op &op, const Pad &pad, double identity, const char *what) {
    if (isQuiet > 0 || !isActive() || pad.is(identity))
      return;
    std::string holdsWhat = pad.isConstant() ? fmt::format("{}", pad.number) : "anything";
    verifier.violate(7, op.where,
                     fmt::format("lanes of {} beyond {} hold {} where {} needs {}: load them with "
                                 "else, or select by the coordinate",
                                 p[axis].name,
                                 printExpr(p, p[axis].bound ? p[axis].bound : p[axis].lower),
                                 holdsWhat, what, identity));
  }

  void demandIdentity(const Op &op, const Pad &pad, Monoid monoid, DType type, const char *what) {
    if (!pad.isConstant() || !isIdentity(monoid, type, pad.number))
      demand(op, pad, identityOf(monoid), what);
  }

  void kind(const Op &op, const LoadOp &o) { set(op.results[0], Pad::constant(o.otherwise)); }
  void kind(const Op &op, const ReadOp &o) {
    bool isPart = !o.axes.empty() && axis == o.axes[0] && axis != p[o.buffer].order[0];
    set(op.results[0], isPart ? Pad{} : padOf(o.buffer));
  }
  void kind(const Op &op, const MapOp &o) { set(op.results[0], padOf(o.value)); }
  void kind(const Op &op, const FullOp &o) { set(op.results[0], Pad::constant(o.number)); }
  void kind(const Op &, const CopyOp &o) { buffers[o.buffer.index] = Pad::constant(0); }
  void kind(const Op &, const WriteOp &o) {
    Pad pad = padOf(o.value);
    buffers[o.buffer.index] = pad.kind == Pad::Kind::Other ? Pad{} : pad;
  }
  void kind(const Op &op, const RelayoutOp &o) { set(op.results[0], padOf(o.value)); }
  void kind(const Op &op, const SelectAxisOp &o) { set(op.results[0], padOf(o.value)); }
  void kind(const Op &op, const JoinOp &o) {
    Pad pad = padOf(o.parts[0]);
    for (ValueId part : o.parts)
      pad = meet(pad, padOf(part));
    set(op.results[0], pad);
  }
  void kind(const Op &op, const SumSplitsOp &o) {
    for (size_t i = 0; i < o.values.size(); ++i) {
      Pad pad = padOf(o.values[i]);
      set(op.results[i], reduced(o.monoid, pad));
    }
  }
  /// A reduction over other axes of lanes that all hold c.
  static Pad reduced(Monoid monoid, const Pad &pad) {
    bool keeps = monoid != Monoid::Add && monoid != Monoid::Mul;
    bool isIdentity = pad.is(identityOf(monoid));
    return pad.isConstant() && (keeps || isIdentity) ? pad : Pad{};
  }
  void kind(const Op &op, const ReduceOp &o) {
    Pad pad = padOf(o.value);
    if (contains(o.over, axis))
      demandIdentity(op, pad, o.monoid, o.value.type(), "the reduction");
    for (ValueId id : op.results)
      set(id, id == op.results[0] ? reduced(o.monoid, pad) : Pad{});
  }
  void kind(const Op &op, const ScanOp &o) {
    Pad pad = padOf(o.value);
    if (o.over == axis)
      demandIdentity(op, pad, o.monoid, o.value.type(), "the scan");
    set(op.results[0], o.over == axis ? Pad{} : reduced(o.monoid, pad));
  }
  void kind(const Op &op, const DotOp &o) {
    Pad left = padOf(o.left), right = padOf(o.right);
    if (contains(o.over, axis)) {
      demand(op, left, 0, "the left operand of the dot");
      demand(op, right, 0, "the right operand of the dot");
    }
    Pad product = left.is(0) || right.is(0) ? Pad::constant(0) : Pad{};
    set(op.results[0], o.isAdded ? binaryPad(Opcode::Add, padOf(op.results[0]), product) : product);
  }
  void kind(const Op &, const StoreOp &) {}
  void kind(const Op &, const AtomicOp &) {}
  void kind(const Op &, const BarrierOp &) {}
  void kind(const Op &, const ForOp &) {}
  void kind(const Op &, const IfOp &) {}
  void kind(const Op &, const RoleOp &) {}

  Verifier &verifier;
  const Program &p;
  AxisId axis;
  std::vector<Pad> values, buffers;
  std::vector<bool> known; ///< has been assigned
  std::vector<const ForOp *> loops;
  int isQuiet = 0;
  Expr beyond, below;
  Simplifier simplifier;
};

} // namespace

void checkPads(Verifier &verifier) {
  for (uint32_t i = 0; i < verifier.p.axes.size(); ++i) {
    PadWalk walk(verifier, AxisId{i});
    if (walk.isRagged())
      walk.run(verifier.p.body);
  }
}

} // namespace tilewright::program
