#include "analysis/program/infer.h"
#include "codegen/emit/emission.h"

namespace tilewright::emit {

namespace {

/// A scalar expression at the registers of a layout. A node that does not move along an axis is
/// computed once for all registers that differ along it alone.
class ScalarEvaluator {
public:
  ScalarEvaluator(Emission &e, const Op &op, const ScalarExpr &scalar, const HeldLayout &held)
      : e(e), op(op), scalar(scalar), held(held), made(scalar.nodes.size()) {}

  llvm::Expected<Values> run() {
    for (const ScalarNode &node : scalar.nodes) {
      AxisSet axes;
      llvm::Expected<Values> leaf = leafOf(node, axes);
      if (!leaf)
        return leaf.takeError();
      for (uint32_t operand : node.operands)
        program::unite(axes, axesOf[operand]);
      leaves.push_back(std::move(*leaf));
      axesOf.push_back(std::move(axes));
    }
    Values result;
    for (int64_t r = 0; r < held.registers(); ++r) {
      for (size_t n = 0; n < scalar.nodes.size(); ++n)
        if (llvm::Error error = compute(n, r))
          return error;
      result.push_back(at(scalar.nodes.size() - 1, r));
    }
    return result;
  }

private:
  /// Registers of a leaf that is a tile; none for others.
  llvm::Expected<Values> leafOf(const ScalarNode &node, AxisSet &axes) {
    if (node.kind == ScalarNode::Kind::Value) {
      axes = e.p[node.value].tile.axes;
      return registersIn(e, op, node.value, held);
    }
    if (node.kind == ScalarNode::Kind::Index)
      axes = e.p.axesOf(node.index);
    if (node.kind != ScalarNode::Kind::Slot)
      return Values{};
    for (AxisId axis : e.p[node.buffer].order)
      program::insert(axes, axis);
    HeldLayout of = held.restrictedTo(axes);
    llvm::Expected<Values> read = readSlot(e, op, node.buffer, node.index, of);
    if (!read)
      return read.takeError();
    return *pickRegisters(*read, of, axes, held);
  }

  llvm::Value *at(size_t node, int64_t r) { return made[node][held.parts(axesOf[node], r)]; }

  llvm::Error compute(size_t n, int64_t r) {
    const ScalarNode &node = scalar.nodes[n];
    llvm::Value *&value = made[n][held.parts(axesOf[n], r)];
    if (value)
      return llvm::Error::success();
    switch (node.kind) {
    case ScalarNode::Kind::Value:
    case ScalarNode::Kind::Slot:
      value = leaves[n][static_cast<size_t>(r)];
      break;
    case ScalarNode::Kind::Number:
      value = e.ops.constant(node.type, node.number);
      break;
    case ScalarNode::Kind::Index: {
      Expr index = substitute(e.now(node.index), [&](VarId var) {
        AxisId axis = e.p.axisOf(var);
        return axis.isValid() ? e.coordinate(axis, e.laneOf(held, axis, r)) : Expr();
      });
      value = e.b.CreateSExtOrTrunc(e.index.index(index), e.k.i32);
      break;
    }
    case ScalarNode::Kind::Operation: {
      llvm::Expected<llvm::Value *> applied = apply(node, r);
      if (!applied)
        return applied.takeError();
      value = *applied;
      break;
    }
    }
    trace(e, node, axesOf[n], held, r, value);
    return llvm::Error::success();
  }

  llvm::Expected<llvm::Value *> apply(const ScalarNode &node, int64_t r) {
    bool isConversion = node.opcode == Opcode::Convert;
    DType type = operandType(scalar, node);
    Values operands;
    for (size_t i = 0; i < appliedOperands(node); ++i) {
      const ScalarNode &operand = scalar.nodes[node.operands[i]];
      DType wanted = node.opcode == Opcode::Select && i == 0 ? DType::Pred : type;
      operands.push_back(operand.kind == ScalarNode::Kind::Number
                             ? e.ops.constant(wanted, operand.number)
                             : e.ops.convert(operand.type, wanted, at(node.operands[i], r)));
    }
    if (node.isApproximate && type == DType::F32)
      return e.k.approx(KernelBuilder::Approx::Exp2Flushed, operands[1]);
    if (isConversion)
      return e.ops.convert(type, node.type, operands[0]);
    llvm::Expected<llvm::Value *> result =
        e.ops.apply(program::graphOpOf(scalar, node), type, operands);
    if (!result)
      return e.unsupported(op, takeDiag(result.takeError()).message);
    return result;
  }

  Emission &e;
  const Op &op;
  const ScalarExpr &scalar;
  const HeldLayout &held;
  std::vector<Values> leaves;
  std::vector<AxisSet> axesOf;
  std::vector<std::map<std::vector<int64_t>, llvm::Value *>> made; ///< by node, then place
};

} // namespace

void trace(Emission &e, const program::ScalarNode &node, const AxisSet &axes,
           const HeldLayout &held, int64_t r, llvm::Value *value) {
  if (!e.graph || !e.k.isTraced())
    return;
  LaneTable lanes(e.p.axes.size());
  for (AxisId axis : axes)
    lanes[axis.index] = e.laneOf(held, axis, r);
  for (program::SourceId id : node.sources) {
    const program::Source &source = e.p.sources[id.index];
    const Shape &shape = (*e.graph)[source.op].shape;
    bool isElsewhere = false; // where a value says, or along an axis that the node lacks
    auto placed = [&](Expr at) {
      for (VarId var : variablesOf(at)) {
        AxisId axis = e.p.axisOf(var);
        isElsewhere |= axis.isValid() ? !lanes[axis.index] || !e.knows(e.p[axis].origin)
                                      : var.index >= e.isKnown.size() || !e.isKnown[var.index];
      }
      return e.index.simplify(substitute(e.now(at), [&](VarId var) {
        AxisId axis = e.p.axisOf(var);
        return axis.isValid() && lanes[axis.index] ? e.coordinate(axis, lanes[axis.index]) : Expr();
      }));
    };
    std::vector<MapConstraint> conditions;
    requireCounting(e, conditions, lanes);
    for (MapConstraint condition : source.conditions) {
      condition.expr = placed(condition.expr);
      conditions.push_back(condition);
    }
    Expr element = e.number(0);
    for (size_t d = 0; d < source.at.size(); ++d) {
      Expr at = placed(source.at[d]);
      conditions.push_back({at, Interval::ofExtent(shape.dims[d]), 1, 0});
      element = element * shape.dims[d] + at;
    }
    if (isElsewhere)
      continue;
    llvm::Value *valid = holdAll(e, conditions);
    if (node.kind == ScalarNode::Kind::Number) // it has the type of what it meets
      value = e.ops.constant(shape.dtype, node.number);
    e.k.traceValue(source.op.index, e.index.index(e.index.simplify(element)), valid, value,
                   dtypeClass(shape.dtype) == DTypeClass::Signed);
  }
}

llvm::Expected<Values> evaluate(Emission &e, const Op &op, const ScalarExpr &scalar,
                                const HeldLayout &held) {
  return ScalarEvaluator(e, op, scalar, held).run();
}

llvm::Error emitOp(Emission &e, const Op &op, const MapOp &o) {
  llvm::Expected<HeldLayout> held = e.held(op, e.p[op.results[0]].tile.layout);
  if (!held)
    return held.takeError();
  llvm::Expected<Values> values = evaluate(e, op, o.value, *held);
  if (!values)
    return values.takeError();
  e.define(op.results[0], std::move(*values));
  return llvm::Error::success();
}

} // namespace tilewright::emit
