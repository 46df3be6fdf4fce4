// Quantised types: a tensor of them is held as the real values that it stands for, and what an op
// results in is rounded to values that the type can hold, as StableHLO defines it.
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/support/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::stablehlo {

namespace {

/// A number for each element along the axis, or one for all, spread over `shape`.
template <typename T>
OpId parameters(Lowering &l, const Shape &shape, const Quantization &q, const std::vector<T> &all) {
  if (q.axis < 0)
    return l.splat(shape, fmt::format("{}", all[0]));
  Op op;
  op.opcode = Opcode::Constant;
  op.shape = Shape::tensor(shape.dtype, {static_cast<int64_t>(all.size())});
  op.literal = fmt::format("{{{}}}", fmt::join(all, ", "));
  op.loc = l.loc();
  return l.broadcast(l.scope.add(std::move(op), l.text.base + ".scales"), shape, {q.axis});
}

} // namespace

OpId requantized(Lowering &l, OpId value, const Quantization &q) {
  const Shape shape = l.scope.graph.op(value).shape;
  auto binary = [&](Opcode opcode, OpId a, OpId b) { return l.add(opcode, shape, {a, b}); };
  const OpId scale = parameters(l, shape, q, q.scales),
             zero = parameters(l, shape, q, q.zeroPoints);
  const OpId steps = l.add(Opcode::RoundNearestEven, shape, {binary(Opcode::Divide, value, scale)});
  const OpId least = l.splat(shape, fmt::format("{}", q.least));
  const OpId most = l.splat(shape, fmt::format("{}", q.most));
  const OpId inRange = l.add(Opcode::Clamp, shape, {least, binary(Opcode::Add, steps, zero), most});
  // Through the integers that are stored: NaN is 0 there.
  const OpId stored = l.convert(l.convert(inRange, q.storage), shape.dtype);
  return binary(Opcode::Multiply, binary(Opcode::Subtract, stored, zero), scale);
}

bool lowerQuantize(Lowering &l) {
  if (!l.hasOperands(1) || !l.hasResults(1))
    return false;
  if (!l.text.types[0].quantization)
    return l.fail(fmt::format("the result {} is not quantised", briefText(l.result())));
  if (l.result().isDynamic())
    return l.refuse("quantised tensors with extents that are known at run time only are not read");
  const OpId value = l.convert(l.text.operands[0], l.result().dtype);
  return l.finish({requantized(l, value, *l.text.types[0].quantization)});
}

/// The value is held as real numbers already.
bool lowerDequantize(Lowering &l) {
  if (!l.hasOperands(1) || !l.hasResults(1))
    return false;
  if (!l.operand(0).sameDimsAndType(l.result()))
    return l.fail(fmt::format("the operand is {}, the result {}", briefText(l.operand(0)),
                              briefText(l.result())));
  return l.finish({l.text.operands[0]});
}

} // namespace tilewright::stablehlo
