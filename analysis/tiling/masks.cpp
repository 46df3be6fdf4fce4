#include "analysis/tiling/masks.h"

#include "analysis/ir/literal.h"
#include "analysis/support/checked.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

/// Masks are a few ops deep; deeper expressions are not hand-written masks.
constexpr unsigned maxDepth = 32;
/// Largest constant tensor that is scanned for a single value.
constexpr int64_t maxConstantElements = 4096;

/// Coefficient-wise a + sign · b. Nothing on overflow.
std::optional<AffineValue> combine(const AffineValue &a, const AffineValue &b, int64_t sign) {
  if (a.coefficients.size() != b.coefficients.size())
    return std::nullopt;
  AffineValue out = a;
  auto add = [&](int64_t &to, int64_t from) {
    std::optional<int64_t> product = checkedMul(from, sign);
    std::optional<int64_t> sum = product ? checkedAdd(to, *product) : std::nullopt;
    to = sum.value_or(0);
    return sum.has_value();
  };
  for (size_t i = 0; i < out.coefficients.size(); ++i)
    if (!add(out.coefficients[i], b.coefficients[i]))
      return std::nullopt;
  return add(out.constant, b.constant) ? std::optional(out) : std::nullopt;
}

/// True if all values lie in the type's range.
bool fits(const AffineValue &value, const Shape &shape) {
  int64_t lo = value.constant, hi = value.constant;
  for (size_t i = 0; i < value.coefficients.size(); ++i) {
    std::optional<int64_t> reach =
        checkedMul(value.coefficients[i], std::max<int64_t>(shape.dims[i] - 1, 0));
    std::optional<int64_t> end = reach ? checkedAdd(*reach < 0 ? lo : hi, *reach) : std::nullopt;
    if (!end)
      return false;
    (*reach < 0 ? lo : hi) = *end;
  }
  const bool isSigned = dtypeClass(shape.dtype) == DTypeClass::Signed;
  const unsigned bits = bitWidth(shape.dtype) - (isSigned ? 1 : 0);
  const int64_t top = bits >= 63 ? INT64_MAX : (int64_t(1) << bits) - 1;
  return hi <= top && lo >= (isSigned ? -top - 1 : 0);
}

} // namespace

std::optional<double> uniformConstant(const Op &op) {
  const int64_t count = op.shape.isTuple ? 0 : op.shape.elementCount().value_or(0);
  if (op.opcode != Opcode::Constant || op.isElidedConstant() || count < 1 ||
      count > maxConstantElements || dtypeClass(op.shape.dtype) == DTypeClass::Complex ||
      dtypeClass(op.shape.dtype) == DTypeClass::NonNumeric)
    return std::nullopt;
  llvm::Expected<Tensor> tensor = parseLiteral(op.shape, op.literal);
  if (!tensor) {
    llvm::consumeError(tensor.takeError());
    return std::nullopt;
  }
  for (int64_t i = 1; i < count; ++i)
    if (tensor->words()[i] != tensor->words()[0])
      return std::nullopt;
  return tensor->asDouble(0);
}

/// An operand's value in the indices of an op that only moves elements.
std::optional<AffineValue> MaskReader::moved(const Op &op, const AffineValue &operand) const {
  AffineValue out;
  out.coefficients.resize(op.shape.dims.size(), 0);
  out.constant = operand.constant;
  if (op.opcode == Opcode::Broadcast || op.opcode == Opcode::Transpose) {
    // broadcast: operand dim i is output dim dimensions[i]; transpose: the other way round.
    for (size_t i = 0; i < op.attrs.dimensions.size(); ++i) {
      const auto other = static_cast<size_t>(op.attrs.dimensions[i]);
      if (op.opcode == Opcode::Transpose)
        out.coefficients[i] = operand.coefficients[other];
      else if (graph[op.operands[0]].shape.dims[i] > 1)
        out.coefficients[other] = operand.coefficients[i];
    }
    return out;
  }
  // reshape, bitcast: only if they add or drop dims of extent 1.
  const std::vector<int64_t> &from = graph[op.operands[0]].shape.dims, &to = op.shape.dims;
  size_t next = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 1)
      continue;
    while (next < from.size() && from[next] == 1)
      ++next;
    if (next == from.size() || from[next] != to[i])
      return std::nullopt;
    out.coefficients[i] = operand.coefficients[next++];
  }
  return out;
}

std::optional<AffineValue> MaskReader::value(OpId id, unsigned depth) {
  auto it = values.find(id);
  if (it != values.end())
    return it->second;
  std::optional<AffineValue> out = computeValue(id, depth);
  if (out && !fits(*out, graph[id].shape))
    out = std::nullopt;
  values.emplace(id, out);
  return out;
}

std::optional<AffineValue> MaskReader::computeValue(OpId id, unsigned depth) {
  const Op &op = graph[id];
  if (depth > maxDepth || op.shape.isTuple || !isInteger(op.shape.dtype))
    return std::nullopt;
  auto operand = [&](size_t i) { return value(op.operands[i], depth + 1); };
  AffineValue out;
  out.coefficients.resize(op.shape.dims.size(), 0);
  switch (op.opcode) {
  case Opcode::Iota:
    out.coefficients[op.attrs.dimensions.front()] = 1;
    return out;
  case Opcode::Constant: {
    std::optional<double> number = uniformConstant(op);
    if (!number || std::abs(*number) > 9e15)
      return std::nullopt;
    out.constant = static_cast<int64_t>(*number);
    return out;
  }
  case Opcode::Convert:
  case Opcode::Copy:
    return operand(0);
  case Opcode::Broadcast:
  case Opcode::Transpose:
  case Opcode::Reshape: {
    std::optional<AffineValue> from = operand(0);
    return from ? moved(op, *from) : std::nullopt;
  }
  case Opcode::Negate: {
    std::optional<AffineValue> from = operand(0);
    return from ? combine(out, *from, -1) : std::nullopt;
  }
  case Opcode::Add:
  case Opcode::Subtract: {
    std::optional<AffineValue> a = operand(0), b = operand(1);
    return a && b ? combine(*a, *b, op.opcode == Opcode::Add ? 1 : -1) : std::nullopt;
  }
  case Opcode::Multiply: {
    std::optional<AffineValue> a = operand(0), b = operand(1);
    if (!a || !b)
      return std::nullopt;
    auto isConstant = [](const AffineValue &v) {
      return std::all_of(v.coefficients.begin(), v.coefficients.end(),
                         [](int64_t c) { return c == 0; });
    };
    if (!isConstant(*b))
      std::swap(a, b);
    return isConstant(*b) ? combine(out, *a, b->constant) : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

std::vector<AffineValue> MaskReader::conditions(OpId id, unsigned depth) {
  const Op &op = graph[id];
  std::vector<AffineValue> out;
  if (depth > maxDepth || op.shape.isTuple)
    return out;
  switch (op.opcode) {
  case Opcode::And: {
    out = conditions(op.operands[0], depth + 1);
    // Chains of conjunctions are left-deep; on the right a few levels are enough.
    std::vector<AffineValue> more = conditions(op.operands[1], std::max(depth + 1, maxDepth - 4));
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  case Opcode::Broadcast:
  case Opcode::Transpose:
  case Opcode::Reshape:
    for (const AffineValue &condition : conditions(op.operands[0], depth + 1))
      if (std::optional<AffineValue> here = moved(op, condition))
        out.push_back(std::move(*here));
    return out;
  case Opcode::Compare: {
    std::optional<AffineValue> a = value(op.operands[0], depth + 1),
                               b = value(op.operands[1], depth + 1);
    if (!a || !b)
      return out;
    auto need = [&](const AffineValue &high, const AffineValue &low, int64_t margin) {
      std::optional<AffineValue> difference = combine(high, low, -1);
      std::optional<int64_t> constant =
          difference ? checkedAdd(difference->constant, -margin) : std::nullopt;
      if (!constant)
        return;
      difference->constant = *constant;
      out.push_back(std::move(*difference));
    };
    const Comparison c = op.attrs.comparison;
    if (c == Comparison::Ge || c == Comparison::Eq)
      need(*a, *b, 0);
    if (c == Comparison::Le || c == Comparison::Eq)
      need(*b, *a, 0);
    if (c == Comparison::Gt)
      need(*a, *b, 1);
    if (c == Comparison::Lt)
      need(*b, *a, 1);
    return out;
  }
  default:
    return out;
  }
}

bool MaskReader::isExact(OpId predicate) {
  const Op &op = graph[predicate];
  switch (op.opcode) {
  case Opcode::And:
    return isExact(op.operands[0]) && isExact(op.operands[1]);
  case Opcode::Compare:
    return conditionsOf(predicate).size() == (op.attrs.comparison == Comparison::Eq ? 2u : 1u);
  case Opcode::Broadcast:
  case Opcode::Transpose:
  case Opcode::Reshape:
    return conditionsOf(predicate).size() == conditionsOf(op.operands[0]).size() &&
           isExact(op.operands[0]);
  default:
    return false;
  }
}

bool alwaysHoldSomewhere(const std::vector<AffineValue> &conditions,
                         const std::vector<int64_t> &dims, size_t along) {
  // x + rest ≥ 0 bounds x from below, -x + rest ≥ 0 from above. An integer x fulfils all of them
  // iff every pair's sum, which is free of x, is at least 0.
  AffineValue first, last;
  first.coefficients.assign(dims.size(), 0);
  last = first;
  first.coefficients[along] = 1;
  last.coefficients[along] = -1;
  last.constant = dims[along] - 1;
  std::vector<AffineValue> below{first}, above{last}, sums;
  for (const AffineValue &condition : conditions) {
    if (condition.coefficients.size() != dims.size())
      return false;
    switch (condition.coefficients[along]) {
    case 0:
      sums.push_back(condition);
      break;
    case 1:
      below.push_back(condition);
      break;
    case -1:
      above.push_back(condition);
      break;
    default: // an integer between fractions would have to be found
      return false;
    }
  }
  for (const AffineValue &low : below)
    for (const AffineValue &high : above) {
      std::optional<AffineValue> sum = combine(low, high, 1);
      if (!sum)
        return false;
      sums.push_back(std::move(*sum));
    }
  return std::all_of(sums.begin(), sums.end(), [&](const AffineValue &sum) {
    std::optional<int64_t> least = sum.constant;
    for (size_t i = 0; least && i < dims.size(); ++i) {
      std::optional<int64_t> reach = checkedMul(sum.coefficients[i], dims[i] - 1);
      least = reach ? checkedAdd(*least, std::min<int64_t>(*reach, 0)) : std::nullopt;
    }
    return least && *least >= 0;
  });
}

} // namespace tilewright
