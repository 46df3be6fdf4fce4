#include "analysis/program/infer.h"

#include <cmath>

namespace tilewright::program {

namespace {

bool isLogic(Opcode opcode) {
  return opcode == Opcode::And || opcode == Opcode::Or || opcode == Opcode::Not ||
         opcode == Opcode::Xor;
}

/// Ops of one operand that integers have, too.
bool takesIntegers(Opcode opcode) {
  return isLogic(opcode) || opcode == Opcode::Negate || opcode == Opcode::Abs ||
         opcode == Opcode::Sign || opcode == Opcode::Clz || opcode == Opcode::PopulationCount;
}

bool isNumber(const ScalarNode &node) { return node.kind == ScalarNode::Kind::Number; }

/// The wider of two types in which arithmetic is done; pred counts as an integer.
DType wider(DType a, DType b) {
  if (isFloat(a) || isFloat(b))
    return a == DType::F64 || b == DType::F64 ? DType::F64 : DType::F32;
  unsigned bits = std::max(bitWidth(a), bitWidth(b));
  auto isUnsigned = [](DType type) { return dtypeClass(type) == DTypeClass::Unsigned; };
  if (isUnsigned(a) && isUnsigned(b) && bits >= 32)
    return bits > 32 ? DType::U64 : DType::U32;
  return bits > 32 ? DType::S64 : DType::S32;
}

} // namespace

bool isTypeChange(Opcode opcode) {
  return opcode == Opcode::Convert || opcode == Opcode::BitcastConvert;
}

tilewright::Op graphOpOf(const ScalarExpr &scalar, const ScalarNode &node) {
  tilewright::Op op;
  op.name = std::string(toString(node.opcode));
  op.opcode = node.opcode;
  op.shape = Shape::tensor(node.type, {});
  op.attrs.comparison = node.comparison;
  if (node.opcode == Opcode::ReducePrecision) {
    op.attrs.exponentBits = static_cast<int64_t>(scalar.nodes[node.operands[1]].number);
    op.attrs.mantissaBits = static_cast<int64_t>(scalar.nodes[node.operands[2]].number);
  }
  return op;
}

size_t appliedOperands(const ScalarNode &node) {
  return node.opcode == Opcode::ReducePrecision ? 1 : node.operands.size();
}

DType operandType(const ScalarExpr &scalar, const ScalarNode &node) {
  if (isTypeChange(node.opcode))
    return scalar.nodes[node.operands[0]].type;
  std::optional<DType> type;
  bool hasFraction = false;
  size_t first = node.opcode == Opcode::Select ? 1 : 0;
  for (size_t i = first; i < node.operands.size(); ++i) {
    const ScalarNode &operand = scalar.nodes[node.operands[i]];
    if (isNumber(operand))
      hasFraction |= !(operand.number == std::floor(operand.number)) || std::isinf(operand.number);
    else
      type = type && *type != operand.type ? wider(*type, operand.type) : operand.type;
  }
  bool keepsPred = isLogic(node.opcode) || node.opcode == Opcode::Select;
  if (type && keepsPred && *type == DType::Pred)
    return DType::Pred;
  bool isMaths = node.operands.size() == 1 && !takesIntegers(node.opcode);
  DType result = type ? wider(*type, *type) : DType::F32;
  bool needsFloat = hasFraction || isMaths;
  return needsFloat && !isFloat(result) ? DType::F32 : result;
}

std::optional<Layout> layoutOf(const Program &program, const ScalarExpr &scalar,
                               const AxisSet &axes) {
  for (const ScalarNode &node : scalar.nodes)
    if (node.kind == ScalarNode::Kind::Value && program[node.value].tile.axes == axes)
      return program[node.value].tile.layout;
  return std::nullopt;
}

Expr integerOf(const Program &program, const ScalarNode &node) {
  constexpr double largest = 0x1p53;
  if (node.kind == ScalarNode::Kind::Index)
    return node.index;
  bool isInteger = node.kind == ScalarNode::Kind::Number &&
                   node.number == std::floor(node.number) && std::abs(node.number) < largest;
  return isInteger ? program.number(static_cast<int64_t>(node.number)) : Expr();
}

DType accumulationType(DType left, DType right) {
  if (!isFloat(left) && !isFloat(right))
    return DType::S32;
  return left == DType::F64 || right == DType::F64 ? DType::F64 : DType::F32;
}

namespace {

class Inference {
public:
  explicit Inference(Program &program, std::vector<TypeConflict> *conflicts = nullptr)
      : p(program), conflicts(conflicts), isDefined(program.values.size()),
        isTyped(program.values.size()) {}

  llvm::Error run(Region &region) {
    for (Op &op : region)
      if (llvm::Error error = visit(op))
        return error;
    return llvm::Error::success();
  }

private:
  llvm::Error fail(const Op &op, std::string message) { return p.errorAt(op.where, message); }

  /// A region of its own: what it defines is not seen outside, unless it was defined before.
  llvm::Error inside(Region &region) {
    std::vector<bool> before = isDefined;
    llvm::Error error = run(region);
    isDefined = std::move(before);
    return error;
  }

  llvm::Error checkDefined(const Op &op, ValueId value) {
    if (!isDefined[value.index])
      return fail(op, fmt::format("{} has no value here: assign it before", p[value].name));
    return llvm::Error::success();
  }

  llvm::Error typeScalar(const Op &op, ScalarExpr &scalar) {
    for (ScalarNode &node : scalar.nodes) {
      switch (node.kind) {
      case ScalarNode::Kind::Value:
        if (llvm::Error error = checkDefined(op, node.value))
          return error;
        node.type = p[node.value].tile.type;
        break;
      case ScalarNode::Kind::Slot:
        node.type = p[node.buffer].type;
        break;
      case ScalarNode::Kind::Index:
        node.type = DType::S32;
        break;
      case ScalarNode::Kind::Number:
        node.type = DType::F32;
        break;
      case ScalarNode::Kind::Operation:
        if (node.opcode == Opcode::Compare || node.opcode == Opcode::IsFinite)
          node.type = DType::Pred;
        else if (!isTypeChange(node.opcode))
          node.type = operandType(scalar, node);
        break;
      }
    }
    return llvm::Error::success();
  }

  llvm::Error checkAccess(const Op &op, const Access &access) {
    for (Expr index : access.index)
      for (VarId var : variablesOf(index))
        if (ValueId value = p.valueOf(var); value.isValid()) {
          if (llvm::Error error = checkDefined(op, value))
            return error;
          if (isFloat(p[value].tile.type))
            return fail(op, fmt::format("{} is an index of {}, but its type is {}: convert it",
                                        p[value].name, p[access.tensor].name,
                                        toString(p[value].tile.type)));
        }
    return llvm::Error::success();
  }

  Layout layoutFor(const std::optional<LayoutSpec> &spec, const AxisSet &axes, DType type) {
    LayoutSpec flat{LayoutFamily::Flat, {p.number(1)}, {}};
    return p.layoutFor(spec ? *spec : flat, axes, type, role);
  }

  void define(ValueId value, Tile tile) {
    isDefined[value.index] = true;
    const Tile &before = p[value].tile;
    if (conflicts && isTyped[value.index] &&
        (before.type != tile.type || before.axes != tile.axes ||
         before.layout.normal() != tile.layout.normal()))
      conflicts->push_back({where, value, before, tile});
    if (!isTyped[value.index]) // carried values keep the type that they start with
      p[value].tile = std::move(tile);
    isTyped[value.index] = true;
  }

  llvm::Error visit(Op &op) {
    where = op.where;
    if (auto *o = op.as<DotOp>()) {
      if (llvm::Error error = typeScalar(op, o->left))
        return error;
      if (llvm::Error error = typeScalar(op, o->right))
        return error;
    } else {
      for (const ScalarExpr *scalar : scalarsOf(op))
        if (llvm::Error error = typeScalar(op, const_cast<ScalarExpr &>(*scalar)))
          return error;
    }
    if (const Access *access = accessOf(op))
      if (llvm::Error error = checkAccess(op, *access))
        return error;
    return std::visit([&](auto &what) { return visitKind(op, what); }, op.what);
  }

  llvm::Error visitKind(Op &op, LoadOp &o) {
    AxisSet axes = p.axesOf(o.from);
    for (const Condition &condition : o.conditions)
      unite(axes, p.axesOf(condition.value));
    DType type = p[o.from.tensor].type;
    define(op.results[0], {type, axes, layoutFor(o.layout, axes, type)});
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, ReadOp &o) {
    AxisSet axes;
    for (AxisId axis : axesReadBy(o, p[o.buffer].order))
      insert(axes, axis);
    DType type = p[o.buffer].type;
    define(op.results[0], {type, axes, layoutFor(o.layout, axes, type)});
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, MapOp &o) {
    AxisSet axes = p.axesOf(o.value);
    std::optional<Layout> layout = o.layout ? std::nullopt : layoutOf(p, o.value, axes);
    define(op.results[0],
           {o.value.type(), axes, layout ? *layout : layoutFor(o.layout, axes, o.value.type())});
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, ReduceOp &o) {
    AxisSet axes = p.axesOf(o.value), kept = without(axes, o.over);
    std::optional<Layout> layout = layoutOf(p, o.value, axes);
    Layout held = (layout ? *layout : layoutFor(std::nullopt, axes, o.value.type()));
    DType type = o.value.type();
    define(op.results[0], {type, kept, held.withoutAxes(o.over)});
    for (size_t i = 1; i < op.results.size(); ++i)
      define(op.results[i], {DType::S32, kept, held.withoutAxes(o.over)});
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, ScanOp &o) {
    AxisSet axes = p.axesOf(o.value);
    std::optional<Layout> layout = layoutOf(p, o.value, axes);
    define(op.results[0], {o.value.type(), axes,
                           layout ? *layout : layoutFor(std::nullopt, axes, o.value.type())});
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, DotOp &o) {
    if (o.isAdded)
      return checkDefined(op, op.results[0]);
    AxisSet axes = p.axesOf(o.left);
    unite(axes, p.axesOf(o.right));
    axes = without(std::move(axes), o.over);
    std::optional<LayoutSpec> spec = o.layout;
    if (!spec && o.way == DotWay::MmaSync)
      spec = LayoutSpec{LayoutFamily::Mma, {p.warps, p.number(1)}, {}};
    if (!spec && o.way == DotWay::Wgmma)
      spec = LayoutSpec{LayoutFamily::Wgmma, {p.warps.floorDiv(4), p.number(1)}, {}};
    DType type = accumulationType(o.left.type(), o.right.type());
    define(op.results[0], {type, axes, layoutFor(spec, axes, type)});
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, FullOp &o) {
    define(op.results[0], {o.type, o.axes, layoutFor(o.layout, o.axes, o.type)});
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, RelayoutOp &o) {
    if (llvm::Error error = checkDefined(op, o.value))
      return error;
    const Tile &from = p[o.value].tile;
    define(op.results[0],
           {from.type, from.axes, p.layoutFor(o.layout, from.axes, from.type, role)});
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, SelectAxisOp &o) {
    if (llvm::Error error = checkDefined(op, o.value))
      return error;
    const Tile &from = p[o.value].tile;
    define(op.results[0],
           {from.type, without(from.axes, {o.axis}), from.layout.withoutAxes({o.axis})});
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, JoinOp &o) {
    for (ValueId part : o.parts)
      if (llvm::Error error = checkDefined(op, part))
        return error;
    Tile tile = p[o.parts[0]].tile;
    insert(tile.axes, o.axis);
    Expr count = p.number(static_cast<int64_t>(o.parts.size()));
    tile.layout.registers.push_back({o.axis, count, p.number(1)});
    define(op.results[0], std::move(tile));
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &op, SumSplitsOp &o) {
    for (size_t i = 0; i < o.values.size(); ++i) {
      if (llvm::Error error = checkDefined(op, o.values[i]))
        return error;
      define(op.results[i], p[o.values[i]].tile);
    }
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &, ForOp &o) {
    // Copies depend on nothing that the body makes; what stands in front of `issue` is body.
    if (llvm::Error error = inside(o.issue))
      return error;
    return inside(o.body);
  }
  llvm::Error visitKind(Op &op, IfOp &o) {
    std::vector<bool> before = isDefined;
    if (llvm::Error error = run(o.then))
      return error;
    std::vector<bool> first = std::exchange(isDefined, before);
    if (llvm::Error error = run(o.otherwise))
      return error;
    // Defined behind the `if`: what both branches define.
    for (size_t i = 0; i < isDefined.size(); ++i)
      isDefined[i] = isDefined[i] && first[i];
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &, RoleOp &o) {
    RoleId outer = std::exchange(role, o.role);
    llvm::Error error = run(o.body);
    role = outer;
    return error;
  }
  /// A number alone has no type of its own: where f32 may not hold it, it has the tensor's.
  llvm::Error visitKind(Op &, StoreOp &o) {
    ScalarNode &root = o.value.nodes.back();
    const DType type = p[o.to.tensor].type;
    const bool isIntegral = isInteger(type) && bitWidth(type) >= 32 && integerOf(p, root);
    if (isNumber(root) && (type == DType::F64 || isIntegral))
      root.type = type;
    return llvm::Error::success();
  }
  llvm::Error visitKind(Op &, AtomicOp &) { return llvm::Error::success(); }
  llvm::Error visitKind(Op &, CopyOp &) { return llvm::Error::success(); }
  llvm::Error visitKind(Op &, WriteOp &) { return llvm::Error::success(); }
  llvm::Error visitKind(Op &, BarrierOp &) { return llvm::Error::success(); }

  Program &p;
  std::vector<TypeConflict> *conflicts;
  std::vector<bool> isDefined, isTyped;
  SourceLoc where;
  RoleId role; ///< of the region at hand
};

} // namespace

llvm::Error inferTypes(Program &program) { return Inference(program).run(program.body); }

std::vector<TypeConflict> typeConflicts(const Program &program) {
  Program copy = program;
  std::vector<TypeConflict> conflicts;
  llvm::consumeError(Inference(copy, &conflicts).run(copy.body)); // typed before, so that it is
  return conflicts;
}

} // namespace tilewright::program
