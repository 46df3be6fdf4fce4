// Short forms that are not a list of operands and keys.
#include "analysis/import/stablehlo/dense.h"
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/support/printable.h"

#include <fmt/format.h>

namespace tilewright::stablehlo {

namespace {

/// `dense<…> : type`: the value with its type becomes the attribute `value`.
bool parseDenseValue(Reader &in, OpText &op) {
  Attribute value{"value", in.lexer.place(), {}, false};
  value.value.begin = value.offset;
  if (std::string_view word = in.lexer.peekIdentifier();
      word != "dense" && word != "dense_resource" && word != "opaque")
    return in.lexer.failExpected("dense<…>");
  in.lexer.identifier();
  if (in.lexer.peek() != '<' || !in.lexer.skipGroup())
    return in.lexer.failExpected("'<'");
  if (!in.parseTypes(op))
    return false;
  value.value.end = in.lexer.offset();
  return op.attributes.add(in.lexer, value);
}

} // namespace

/// `stablehlo.constant dense<…> : type`
bool parseConstant(Reader &in, Scope &, OpText &op) {
  return in.parseAttributes(op) && parseDenseValue(in, op);
}

/// `check.expect_eq_const %x, dense<…> : type`
bool parseCheckConstant(Reader &in, Scope &scope, OpText &op) {
  return in.parseOperand(scope, op) && in.lexer.expect(',') && parseDenseValue(in, op);
}

/// `stablehlo.slice %x [0:2, 1:8:3] : types`
bool parseSlice(Reader &in, Scope &scope, OpText &op) {
  if (!in.parseOperand(scope, op))
    return false;
  Attribute ranges{"ranges", in.lexer.place(), {}, false};
  ranges.value.begin = ranges.offset;
  if (in.lexer.peek() != '[' || !in.lexer.skipGroup())
    return in.lexer.failExpected("'['");
  ranges.value.end = in.lexer.offset();
  return op.attributes.add(in.lexer, ranges) && in.parseAttributes(op) && in.parseTypes(op);
}

/// `sdy.sharding_constraint %x <@mesh, [{"x"}]> : type`
bool parseSharding(Reader &in, Scope &scope, OpText &op) {
  if (!in.parseOperand(scope, op))
    return false;
  if (in.lexer.peek() != '<' || !in.lexer.skipGroup())
    return in.lexer.failExpected("'<'");
  return in.parseAttributes(op) && in.parseTypes(op);
}

/// `stablehlo.get_tuple_element %t[0] : types`
bool parseTupleElement(Reader &in, Scope &scope, OpText &op) {
  if (!in.parseOperand(scope, op) || !in.lexer.expect('['))
    return false;
  Attribute index{"index", in.lexer.place(), {}, false};
  int64_t ignored;
  index.value.begin = index.offset;
  if (!in.lexer.integer(ignored, "an element's number"))
    return false;
  index.value.end = in.lexer.offset();
  return op.attributes.add(in.lexer, index) && in.lexer.expect(']') && in.parseAttributes(op) &&
         in.parseTypes(op);
}

namespace {

/// `(%a: t, %b: t) (%c: t, %d: t)`: for each input the sum so far and the element. As arguments of
/// the region the sums come first.
bool parseReducerArguments(Reader &in, std::vector<Argument> &out) {
  std::vector<Argument> elements;
  while (in.lexer.peek() == '(') {
    in.lexer.advance();
    if (!in.parseArgument(out.emplace_back()) || !in.lexer.expect(',') ||
        !in.parseArgument(elements.emplace_back()) || !in.lexer.expect(')'))
      return false;
  }
  out.insert(out.end(), elements.begin(), elements.end());
  return !out.empty() || in.lexer.failExpected("'('");
}

} // namespace

/// `stablehlo.reduce(%x init: %i), (%y init: %j) applies stablehlo.add across dimensions = [0]
/// : types`, or `across dimensions = [0] : types reducer(…) { … }`
bool parseReduce(Reader &in, Scope &scope, OpText &op) {
  std::vector<OpId> initial;
  std::vector<uint32_t> initialOffsets;
  do {
    OpText pair;
    if (!in.lexer.expect('(') || !in.parseOperand(scope, pair))
      return false;
    if (!in.lexer.consumeIdentifier("init"))
      return in.lexer.failExpected("init:");
    if (!in.lexer.expect(':') || !in.parseOperand(scope, pair) || !in.lexer.expect(')'))
      return false;
    op.operands.push_back(pair.operands[0]);
    op.operandOffsets.push_back(pair.operandOffsets[0]);
    initial.push_back(pair.operands[1]);
    initialOffsets.push_back(pair.operandOffsets[1]);
  } while (in.lexer.consume(','));
  op.operands.insert(op.operands.end(), initial.begin(), initial.end());
  op.operandOffsets.insert(op.operandOffsets.end(), initialOffsets.begin(), initialOffsets.end());
  if (in.lexer.consumeIdentifier("applies")) {
    Attribute applies{"applies", in.lexer.place(), {}, false};
    applies.value.begin = applies.offset;
    if (in.lexer.identifier().empty())
      return in.lexer.failExpected("an op");
    applies.value.end = in.lexer.offset();
    if (!op.attributes.add(in.lexer, applies))
      return false;
  }
  if (!in.lexer.consumeIdentifier("across") || !in.lexer.consumeIdentifier("dimensions"))
    return in.lexer.failExpected("across dimensions");
  Attribute dimensions{"dimensions", in.lexer.place(), {}, false};
  if (!in.lexer.expect('='))
    return false;
  dimensions.value.begin = in.lexer.place();
  if (!in.lexer.skipShortValue())
    return false;
  dimensions.value.end = in.lexer.offset();
  if (!op.attributes.add(in.lexer, dimensions) || !in.parseAttributes(op) || !in.parseTypes(op))
    return false;
  if (!in.lexer.consumeIdentifier("reducer"))
    return true;
  std::vector<Argument> arguments;
  return parseReducerArguments(in, arguments) &&
         in.parseRegion(scope, op, RegionKind::Scalars, &arguments);
}

/// `stablehlo.while(%a = %x, %b = %y) : t, t attributes {…} cond { … } do { … }`
bool parseWhile(Reader &in, Scope &scope, OpText &op) {
  std::vector<Argument> arguments;
  if (!in.lexer.expect('('))
    return false;
  while (in.lexer.peek() != ')') {
    Argument argument;
    if (!arguments.empty() && !in.lexer.expect(','))
      return false;
    argument.offset = in.lexer.place();
    if (!in.lexer.valueName(argument.name) || !in.lexer.expect('=') || !in.parseOperand(scope, op))
      return false;
    arguments.push_back(argument);
  }
  in.lexer.advance();
  if (in.lexer.peek() == ':') {
    if (!in.parseTypes(op))
      return false;
  }
  op.operandTypes = op.types;
  op.hasOperandTypes = true;
  if (op.types.size() != arguments.size())
    return in.lexer.fail(op.offset, fmt::format("{} values, of {} the types are given",
                                                arguments.size(), op.types.size()));
  for (size_t i = 0; i < arguments.size(); ++i)
    arguments[i].type = op.types[i];
  if (in.lexer.consumeIdentifier("attributes") && !in.parseAttributes(op))
    return false;
  if (!in.lexer.consumeIdentifier("cond"))
    return in.lexer.failExpected("cond");
  if (!in.parseRegion(scope, op, RegionKind::State, &arguments))
    return false;
  if (!in.lexer.consumeIdentifier("do"))
    return in.lexer.failExpected("do");
  return in.parseRegion(scope, op, RegionKind::State, &arguments);
}

} // namespace tilewright::stablehlo
