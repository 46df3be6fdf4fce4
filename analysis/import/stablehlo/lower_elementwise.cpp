// Elementwise ops, constants and tuples.
#include "analysis/import/stablehlo/dense.h"
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/support/printable.h"

#include <charconv>
#include <fmt/format.h>

namespace tilewright::stablehlo {

bool lowerDirect(Lowering &l) { return l.finish(l.make(l.row.opcode)); }

/// The bits of a quantised value are those of its integer, which isn't what is held here.
bool lowerBitcast(Lowering &l) {
  for (const std::vector<Type> *types : {&l.text.operandTypes, &l.text.types})
    for (const Type &type : *types)
      if (type.quantization)
        return l.refuse("of quantised values is not read");
  return lowerDirect(l);
}

bool denseValue(Lowering &l, std::string_view attribute, Type &type, Dense &dense) {
  const Attribute *value = l.text.attributes.take(attribute);
  if (!value)
    return l.need(attribute);
  MlirLexer in = l.at(*value), typed = in;
  typed.identifier();
  if (typed.peek() != '<' || !typed.skipGroup() || !typed.expect(':'))
    return typed.failExpected("'<'");
  size_t nodes = 0;
  if (!parseType(typed, l.reader.typeAliases, nodes, type))
    return false;
  if (type.quantization)
    return l.refuse("constants of quantised types are not read");
  return parseDense(in, type.shape, dense);
}

/// A splat becomes a scalar and a broadcast.
OpId constantOf(Lowering &l, const Shape &shape, Dense dense) {
  Op op;
  op.opcode = Opcode::Constant;
  op.shape = shape;
  op.literal = std::move(dense.literal);
  op.loc = l.loc();
  if (dense.isSplat && !op.shape.isScalar()) {
    op.operands = {l.constant(op.shape.dtype, std::move(op.literal))};
    op.literal.clear();
    op.opcode = Opcode::Broadcast;
  }
  return l.scope.add(std::move(op), l.text.base);
}

bool lowerConstant(Lowering &l) {
  Type type;
  Dense dense;
  if (!l.hasOperands(0) || !denseValue(l, "value", type, dense))
    return false;
  if (l.text.types.empty())
    l.text.types.push_back(type);
  if (!l.hasResults(1))
    return false;
  if (!type.shape.sameDimsAndType(l.result()))
    return l.fail(fmt::format("the value is {}, the result {}", briefText(type.shape),
                              briefText(l.result())));
  return l.finish({constantOf(l, l.result(), std::move(dense))});
}

bool lowerIota(Lowering &l) {
  int64_t dim = 0;
  if (!l.hasResults(1) || !l.need("iota_dimension") || !l.integer("iota_dimension", dim))
    return false;
  Op op = l.make(Opcode::Iota);
  op.operands.clear(); // dynamic_iota has the shape as operand
  op.attrs.dimensions = {dim};
  return l.finish(std::move(op));
}

bool lowerCompare(Lowering &l) {
  std::string_view direction, type;
  if (!l.need("comparison_direction") || !l.word("comparison_direction", direction) ||
      !l.word("compare_type", type))
    return false;
  Op op = l.make(Opcode::Compare);
  constexpr std::pair<std::string_view, Comparison> directions[] = {
      {"EQ", Comparison::Eq}, {"NE", Comparison::Ne}, {"LT", Comparison::Lt},
      {"LE", Comparison::Le}, {"GT", Comparison::Gt}, {"GE", Comparison::Ge}};
  bool isKnown = false;
  for (auto [word, comparison] : directions)
    if (word == direction) {
      op.attrs.comparison = comparison;
      isKnown = true;
    }
  if (!isKnown)
    return l.fail(fmt::format("the comparison '{}' is none of EQ, NE, LT, LE, GT and GE",
                              excerpt(direction)));
  if (type == "TOTALORDER") // the others follow from the operands
    addRaw(op, "type", "TOTALORDER");
  else if (!type.empty() && type != "FLOAT" && type != "SIGNED" && type != "UNSIGNED" &&
           type != "NOTYPE")
    return l.fail(fmt::format("the comparison's type '{}' is none of FLOAT, TOTALORDER, SIGNED and "
                              "UNSIGNED",
                              excerpt(type)));
  return l.finish(std::move(op));
}

/// `format = e5m10`, or two attributes.
bool lowerReducePrecision(Lowering &l) {
  Op op = l.make(Opcode::ReducePrecision);
  if (std::string_view format; l.has("format")) {
    if (!l.word("format", format))
      return false;
    const char *end = format.data() + format.size();
    const size_t m = format.find('m');
    auto [stop, code] = std::from_chars(format.data() + 1, end, op.attrs.exponentBits);
    if (!format.starts_with('e') || m == std::string_view::npos || code != std::errc() ||
        stop != format.data() + m)
      return l.fail(fmt::format("the format '{}' is not e5m10 or the like", excerpt(format)));
    auto [last, code2] = std::from_chars(format.data() + m + 1, end, op.attrs.mantissaBits);
    if (code2 != std::errc() || last != end)
      return l.fail(fmt::format("the format '{}' is not e5m10 or the like", excerpt(format)));
    return l.finish(std::move(op));
  }
  return l.need("exponent_bits") && l.integer("exponent_bits", op.attrs.exponentBits) &&
         l.need("mantissa_bits") && l.integer("mantissa_bits", op.attrs.mantissaBits) &&
         l.finish(std::move(op));
}

bool lowerTuple(Lowering &l) { return l.hasResults(1) && l.finish(l.make(Opcode::Tuple)); }

bool lowerTupleElement(Lowering &l) {
  Op op = l.make(Opcode::GetTupleElement);
  return l.need("index") && l.integer("index", op.attrs.tupleIndex) && l.finish(std::move(op));
}

/// A value with a note of how devices share it.
bool lowerSharding(Lowering &l) {
  l.ignore("sharding");
  return l.hasOperands(1) && l.hasResults(1) && l.finish({l.text.operands[0]});
}

/// Several values pass as a tuple.
bool lowerBarrier(Lowering &l) {
  Op op = l.make(Opcode::OptimizationBarrier);
  if (l.text.types.size() != l.text.operands.size())
    return l.fail(
        fmt::format("{} operands and {} results", l.text.operands.size(), l.text.types.size()));
  if (l.text.operands.size() != 1)
    op.operands = {l.tuple(l.text.operands, "operands")};
  return l.finish(std::move(op));
}

} // namespace tilewright::stablehlo
