#include "analysis/ir/evaluator_scalar.h"
#include "analysis/ir/literal.h"
#include "analysis/program/build/builder.h"
#include "analysis/program/infer.h"
#include "analysis/support/diag.h"

#include <cmath>

namespace tilewright::program {

namespace {

bool isIntegral(double number) { return number == std::floor(number) && std::abs(number) < 0x1p53; }

/// Ops on narrow integers that are not those on s32 with the result cut down.
bool dependsOnWidth(Opcode opcode, DType type) {
  if (!isInteger(type) || bitWidth(type) >= 32)
    return false;
  bool isSigned = dtypeClass(type) == DTypeClass::Signed;
  return opcode == Opcode::Clz || (opcode == Opcode::PopulationCount && isSigned) ||
         (opcode == Opcode::ShiftRightLogical && isSigned) ||
         (opcode == Opcode::ShiftRightArithmetic && !isSigned) ||
         (opcode == Opcode::Not && !isSigned);
}

/// The shortest decimal that rounds to this f32.
double asFloat(double number) {
  auto narrow = static_cast<float>(number);
  if (static_cast<double>(narrow) != number || !std::isfinite(number))
    return number;
  return std::strtod(fmt::format("{}", narrow).c_str(), nullptr);
}

bool isWritten(Opcode opcode) {
  switch (opcode) {
  case Opcode::Add:
  case Opcode::Subtract:
  case Opcode::Multiply:
  case Opcode::Divide:
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Compare:
  case Opcode::Negate:
  case Opcode::Convert:
  case Opcode::BitcastConvert:
    return true;
  default:
    return findFunction(opcode) != nullptr;
  }
}

llvm::Error noProgram(const tilewright::Op &op, std::string_view why) {
  return makeError(DiagClass::Unsupported, "%{}: no program for {}: {}", op.name,
                   toString(op.opcode), why);
}

} // namespace

tilewright::Op scalarOp(Opcode opcode, DType type) {
  tilewright::Op op;
  op.name = toString(opcode);
  op.opcode = opcode;
  op.shape = Shape::tensor(type, {});
  return op;
}

tilewright::Op compareOp(Comparison comparison) {
  tilewright::Op op = scalarOp(Opcode::Compare, DType::Pred);
  op.attrs.comparison = comparison;
  return op;
}

Builder::Made Builder::folded(const tilewright::Op &op, const std::vector<Leaf> &operands,
                              const std::vector<DType> &types) {
  auto made = eval::ScalarOp::make(op, types, eval::Rounding::All);
  if (!made)
    return made.takeError();
  std::vector<eval::Scalar> values;
  for (size_t i = 0; i < operands.size(); ++i)
    values.push_back(isFloat(types[i])
                         ? eval::Scalar::of(roundFloat(types[i], operands[i].number))
                         : eval::Scalar::of(static_cast<int64_t>(operands[i].number)));
  eval::Scalar result = made->apply(values.data());
  if (isFloat(op.shape.dtype))
    return numberOf(result.real());
  if (!isIntegral(static_cast<double>(result.integer())))
    return noProgram(op, "an integer beyond 2^53");
  return numberOf(static_cast<double>(result.integer()));
}

/// Integer arithmetic on coordinates is one expression, as the text's reader makes it.
std::optional<Builder::Leaf> Builder::foldedIndex(const tilewright::Op &op,
                                                  const std::vector<Leaf> &operands) {
  for (const Leaf &leaf : operands)
    if (leaf.kind == ScalarNode::Kind::Value ||
        (leaf.kind == ScalarNode::Kind::Number && !isIntegral(leaf.number)))
      return std::nullopt;
  auto exprOf = [&](const Leaf &leaf) {
    return leaf.kind == ScalarNode::Kind::Index ? leaf.index
                                                : p.number(static_cast<int64_t>(leaf.number));
  };
  Expr x = exprOf(operands[0]), y = operands.size() > 1 ? exprOf(operands[1]) : Expr();
  switch (op.opcode) {
  case Opcode::Add:
    return leafOf(simplify(x + y));
  case Opcode::Subtract:
    return leafOf(simplify(x - y));
  case Opcode::Multiply:
    return leafOf(simplify(x * y));
  case Opcode::Minimum:
    return leafOf(simplify(x.min(y)));
  case Opcode::Maximum:
    return leafOf(simplify(x.max(y)));
  case Opcode::Negate:
    return leafOf(simplify(-x));
  default:
    return std::nullopt;
  }
}

Builder::Made Builder::converted(const Leaf &leaf, DType from, DType to) {
  if (from == to)
    return leaf;
  return pointwise(scalarOp(Opcode::Convert, to), {leaf}, {from});
}

Builder::Made Builder::binary(Opcode opcode, const Leaf &a, const Leaf &b, DType type,
                              bool rounds) {
  return pointwise(scalarOp(opcode, type), {a, b}, {type, type}, rounds);
}

Builder::Made Builder::pointwise(const tilewright::Op &op, std::vector<Leaf> operands,
                                 std::vector<DType> types, bool rounds) {
  DType type = op.shape.dtype;
  switch (op.opcode) {
  case Opcode::Copy:
  case Opcode::CopyDone:
  case Opcode::Domain:
    return operands[0];
  case Opcode::Clamp: {
    Made high = binary(Opcode::Maximum, operands[1], operands[0], type);
    return high ? binary(Opcode::Minimum, *high, operands[2], type) : std::move(high);
  }
  case Opcode::Map: {
    auto mapped = computation(module.graph(op.called[0].graph), std::move(operands), rounds);
    if (!mapped)
      return mapped.takeError();
    return mapped->front();
  }
  default:
    break;
  }
  if (op.opcode == Opcode::Convert && types[0] == type)
    return operands[0];
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == "type" && attribute.text == "TOTALORDER" && isFloat(types[0]))
      return noProgram(op, "a total order of floats");
  bool isKnown = isWritten(op.opcode) && operands.size() <= 3;
  for (DType operand : types)
    isKnown = isKnown && dtypeClass(operand) != DTypeClass::Complex &&
              !dependsOnWidth(op.opcode, operand);
  if (!isKnown)
    return noProgram(op, fmt::format("elements of type {}", toString(types[0])));
  bool areNumbers = true;
  for (const Leaf &leaf : operands)
    areNumbers = areNumbers && leaf.kind == ScalarNode::Kind::Number;
  if (areNumbers)
    return folded(op, operands, types);
  if (type == DType::S32)
    if (auto index = foldedIndex(op, operands))
      return *index;

  ScalarExpr scalar;
  ScalarNode node;
  node.kind = ScalarNode::Kind::Operation;
  node.opcode = op.opcode;
  node.comparison = op.attrs.comparison;
  bool hasTypedOperand = false;
  size_t first = op.opcode == Opcode::Select ? 1 : 0;
  for (size_t i = first; i < operands.size(); ++i)
    hasTypedOperand |= operands[i].kind != ScalarNode::Kind::Number;
  for (size_t i = 0; i < operands.size(); ++i) {
    Leaf leaf = operands[i];
    bool isWide = types[i] == DType::F64 || bitWidth(types[i]) > 32;
    if (i >= first && !hasTypedOperand && isWide && leaf.kind == ScalarNode::Kind::Number) {
      // A number alone has no type of its own.
      ValueId full = newValue(types[i], {}, 0);
      append(0, FullOp{leaf.number, types[i], {}, std::nullopt}, {full});
      leaf = leafOf(full);
    }
    if (leaf.kind == ScalarNode::Kind::Number && types[i] == DType::F32)
      leaf.number = asFloat(leaf.number);
    node.operands.push_back(scalar.add(leaf));
  }
  if (op.opcode == Opcode::ReducePrecision)
    for (int64_t bits : {op.attrs.exponentBits, op.attrs.mantissaBits})
      node.operands.push_back(scalar.add(numberOf(static_cast<double>(bits))));
  if (isTypeChange(op.opcode))
    node.type = type;
  else if (op.opcode == Opcode::Compare || op.opcode == Opcode::IsFinite)
    node.type = DType::Pred;
  else
    node.type = operandType(scalar, node);
  uint32_t made = scalar.add(std::move(node));
  DType is = scalar.type();
  bool isSame = is == type || (!rounds && isFloat(type) && is == DType::F32);
  if (!isSame) {
    ScalarNode convert;
    convert.kind = ScalarNode::Kind::Operation;
    convert.opcode = Opcode::Convert;
    convert.operands = {made};
    convert.type = type;
    scalar.add(std::move(convert));
  }
  return mapOf(std::move(scalar));
}

llvm::Expected<std::vector<Builder::Leaf>>
Builder::computation(const Graph &called, std::vector<Leaf> arguments, bool rounds) {
  std::vector<std::vector<Leaf>> made;
  for (const tilewright::Op &op : called.all()) {
    std::vector<Leaf> operands;
    std::vector<DType> types;
    for (OpId operand : op.operands) {
      operands.insert(operands.end(), made[operand.index].begin(), made[operand.index].end());
      types.push_back(called[operand].shape.dtype);
    }
    if (op.opcode == Opcode::Parameter) {
      made.push_back({arguments[static_cast<size_t>(op.attrs.parameterNumber)]});
    } else if (op.opcode == Opcode::Constant && !op.shape.isTuple && op.shape.elementCount() == 1) {
      auto literal = parseLiteral(op.shape, op.literal);
      if (!literal)
        return literal.takeError();
      made.push_back({numberOf(literal->asDouble(0))});
    } else if (op.opcode == Opcode::Tuple) {
      made.push_back(std::move(operands));
    } else if (opClass(op.opcode) == OpClass::Elementwise) {
      Made result = pointwise(op, std::move(operands), std::move(types), rounds);
      if (!result)
        return result.takeError();
      made.push_back({*result});
    } else {
      return noProgram(op, "in a computation on scalars");
    }
  }
  return std::move(made[called.root().index]);
}

} // namespace tilewright::program
