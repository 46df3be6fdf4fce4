#include "analysis/program/build/builder.h"
#include "analysis/program/infer.h"

#include <limits>

namespace tilewright::program {

namespace {

/// Whether a condition holds wherever this coordinate lies in a dim of that extent.
bool followsFrom(const MapConstraint &condition, Expr coordinate, int64_t extent,
                 Simplifier &simplifier) {
  if (condition.modulus != 1)
    return false;
  Expr gap = simplifier.simplify(condition.expr - coordinate);
  return gap.isConstant() && condition.range.lo <= gap.constant() &&
         condition.range.hi >= extent - 1 + gap.constant();
}

} // namespace

Builder::Made Builder::load(TensorId tensor, const Shape &shape, const Coordinates &at,
                            const Guard &guard) {
  LoadOp loadOp;
  loadOp.from.tensor = tensor;
  std::vector<int64_t> order = shape.minorToMajorOrDefault();
  for (size_t i = order.size(); i-- > 0;)
    loadOp.from.index.push_back(at[static_cast<size_t>(order[i])]);
  if (isComplex(shape.dtype))
    loadOp.from.index.push_back(p.number(part));
  for (const MapConstraint &condition : guard) {
    // Results beyond the end of the root are not stored, whatever they are made of.
    bool isImplied = std::find(rootGuard.begin(), rootGuard.end(), condition) != rootGuard.end();
    for (size_t d = 0; d < at.size() && !isImplied; ++d)
      isImplied = followsFrom(condition, at[d], shape.dims[d], *simplifier);
    if (isImplied)
      continue;
    bool isMod = condition.modulus != 1;
    int64_t low = isMod ? condition.residue : condition.range.lo;
    int64_t high = isMod ? condition.residue : condition.range.hi;
    Interval range = simplifier->range(condition.expr);
    if (isMod && !condition.range.contains(range))
      loadOp.conditions.push_back({condition.expr, p.number(std::max(condition.range.lo, range.lo)),
                                   p.number(std::min(condition.range.hi, range.hi) + 1)});
    if (!isMod) {
      low = std::max(low, range.lo);
      high = std::min(high, range.hi);
    }
    Expr value = isMod ? condition.expr.mod(condition.modulus) : condition.expr;
    loadOp.conditions.push_back({value, p.number(low), p.number(high + 1)});
  }
  AxisSet axes = p.axesOf(loadOp.from);
  unsigned level = levelOf(at, {});
  for (const Condition &condition : loadOp.conditions) {
    unite(axes, p.axesOf(condition.value));
    level = std::max(level, levelOf(condition.value));
  }
  loadOp.layout = layoutOf(axes);
  ValueId result = newValue(partType(shape.dtype), axes, level);
  append(level, std::move(loadOp), {result});
  return leafOf(result);
}

LoadOp *Builder::openLoad(ValueId value) {
  auto it = made.find(value);
  if (it == made.end() || it->second.level >= levels.size())
    return nullptr;
  Region &ops = levels[it->second.level].ops;
  bool isThere = it->second.at < ops.size() && ops[it->second.at].results == std::vector{value};
  return isThere ? ops[it->second.at].as<LoadOp>() : nullptr; // else of a loop that is closed
}

bool Builder::mayChoose(ValueId value, double number) {
  LoadOp *load = openLoad(value);
  if (!load)
    return false;
  if (elseChosen.count(value))
    return load->otherwise == number;
  DType type = p[value].tile.type;
  return isFloat(type) ? roundFloat(type, number) == number
                       : number == 0 || (number == 1 && type == DType::Pred);
}

void Builder::choose(ValueId value, double number) {
  openLoad(value)->otherwise = number;
  elseChosen.insert(value);
}

bool Builder::setElse(const Leaf &leaf, double number) {
  if (leaf.kind != ScalarNode::Kind::Value || !mayChoose(leaf.value, number))
    return false;
  choose(leaf.value, number);
  return true;
}

/// What lanes beyond the end of `axes` hold of a value if loads that have them hold `number` there.
Pad Builder::padOf(const Leaf &leaf, const AxisSet &axes, double number, std::set<ValueId> &loads) {
  if (leaf.kind == ScalarNode::Kind::Number)
    return Pad::constant(leaf.number);
  AxisSet own = axesOf(leaf), common = without(axes, without(axes, own));
  if (common.empty())
    return {Pad::Kind::Other, 0, {}};
  if (leaf.kind != ScalarNode::Kind::Value || common != axes)
    return {};
  if (openLoad(leaf.value)) {
    loads.insert(leaf.value);
    return mayChoose(leaf.value, number) ? Pad::constant(number) : Pad{};
  }
  auto it = made.find(leaf.value);
  bool isOpen = it != made.end() && it->second.level < levels.size() &&
                it->second.at < levels[it->second.level].ops.size();
  const auto *map = isOpen ? levels[it->second.level].ops[it->second.at].as<MapOp>() : nullptr;
  if (!map || levels[it->second.level].ops[it->second.at].results != std::vector{leaf.value})
    return {};
  std::vector<Pad> pads;
  for (const ScalarNode &node : map->value.nodes) {
    if (node.kind != ScalarNode::Kind::Operation)
      pads.push_back(padOf(node, axes, number, loads));
    else if (node.operands.size() == 1)
      pads.push_back(unaryPad(node.opcode, pads[node.operands[0]]));
    else if (node.operands.size() == 2 && node.opcode != Opcode::Compare)
      pads.push_back(binaryPad(node.opcode, pads[node.operands[0]], pads[node.operands[1]]));
    else
      pads.emplace_back();
  }
  return pads.back();
}

bool Builder::padWith(const Leaf &leaf, const AxisSet &axes, double identity) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (!without(axes, axesOf(leaf)).empty())
    return false;
  for (double number : {identity, 0.0, -inf, inf}) {
    std::set<ValueId> loads;
    if (!padOf(leaf, axes, number, loads).is(identity))
      continue;
    for (ValueId load : loads)
      if (mayChoose(load, number))
        choose(load, number);
    return true;
  }
  return false;
}

llvm::Expected<uint32_t> Builder::nodesOf(ScalarExpr &into, OpId op, Expr e) {
  bool hasValue = false;
  for (VarId var : variablesOf(e))
    hasValue |= p.valueOf(var).isValid();
  if (!hasValue)
    return into.add(leafOf(e));
  if (e.isVariable())
    return into.add(leafOf(p.valueOf(e.variable())));
  Opcode opcode;
  switch (e.kind()) {
  case ExprKind::Add:
    opcode = Opcode::Add;
    break;
  case ExprKind::Mul:
    opcode = Opcode::Multiply;
    break;
  case ExprKind::Min:
    opcode = Opcode::Minimum;
    break;
  case ExprKind::Max:
    opcode = Opcode::Maximum;
    break;
  default:
    return unsupported(op, "a condition on a value at run time that is no sum");
  }
  auto left = nodesOf(into, op, e.lhs());
  if (!left)
    return left;
  auto right = nodesOf(into, op, e.rhs());
  if (!right)
    return right;
  ScalarNode node;
  node.kind = ScalarNode::Kind::Operation;
  node.opcode = opcode;
  node.operands = {*left, *right};
  node.type = operandType(into, node);
  return into.add(std::move(node));
}

llvm::Expected<std::optional<Builder::Leaf>> Builder::predicate(OpId op, const Guard &conditions) {
  ScalarExpr scalar;
  std::optional<uint32_t> all;
  auto require = [&](Expr e, Comparison comparison, int64_t number) -> llvm::Error {
    auto at = nodesOf(scalar, op, e);
    if (!at)
      return at.takeError();
    ScalarNode node;
    node.kind = ScalarNode::Kind::Operation;
    node.opcode = Opcode::Compare;
    node.comparison = comparison;
    uint32_t other = scalar.add(numberOf(static_cast<double>(number)));
    node.operands = {*at, other};
    node.type = DType::Pred;
    uint32_t holds = scalar.add(std::move(node));
    if (all) {
      ScalarNode both;
      both.kind = ScalarNode::Kind::Operation;
      both.opcode = Opcode::And;
      both.operands = {*all, holds};
      both.type = DType::Pred;
      holds = scalar.add(std::move(both));
    }
    all = holds;
    return llvm::Error::success();
  };
  for (const MapConstraint &condition : simplified(conditions)) {
    Interval range = simplifier->range(condition.expr);
    if (condition.range.lo > range.lo)
      if (llvm::Error error = require(condition.expr, Comparison::Ge, condition.range.lo))
        return error;
    if (condition.range.hi < range.hi)
      if (llvm::Error error = require(condition.expr, Comparison::Lt, condition.range.hi + 1))
        return error;
    if (condition.modulus != 1)
      if (llvm::Error error = require(simplify(condition.expr.mod(condition.modulus)),
                                      Comparison::Eq, condition.residue))
        return error;
  }
  if (!all)
    return std::optional<Leaf>();
  return std::optional<Leaf>(mapOf(std::move(scalar)));
}

Builder::Made Builder::select(const std::optional<Leaf> &condition, const Leaf &yes, const Leaf &no,
                              DType type) {
  if (!condition)
    return yes;
  tilewright::Op op;
  op.name = "select";
  op.opcode = Opcode::Select;
  type = partType(type);
  op.shape = Shape::tensor(type, {});
  return pointwise(op, {*condition, yes, no}, {DType::Pred, type, type}, false);
}

} // namespace tilewright::program
