// Checks of constants' values against their shapes.
#include "analysis/import/hlo_shape.h"
#include "analysis/support/printable.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace tilewright {

namespace {

/// One value's text: up to a comma, bracket or white space.
std::string_view valueText(HloLexer &lexer) {
  uint32_t begin = lexer.place();
  while (true) {
    char c = lexer.peekRaw();
    bool ends = c == '\0' || c == ',' || c == '{' || c == '}' || c == '(' || c == ')' || c == ' ' ||
                (c >= '\t' && c <= '\r') || c == '/';
    if (ends)
      return lexer.slice(begin, lexer.offset());
    lexer.advance();
  }
}

bool isFloatText(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+'))
    text.remove_prefix(1);
  if (text == "inf" || text == "nan")
    return true;
  auto format = std::chars_format::general;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    format = std::chars_format::hex;
  }
  if (text.empty() || text[0] == '-')
    return false;
  double value;
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value, format);
  // Out-of-range values round to infinity or zero; HLO dumps may contain them.
  return code != std::errc::invalid_argument && stop == text.data() + text.size();
}

bool checkFloat(HloLexer &lexer, DType dtype) {
  uint32_t begin = lexer.place();
  std::string_view text = valueText(lexer);
  // A NaN's payload follows in parentheses: nan(0x400001).
  if (text.ends_with("nan") && lexer.peekRaw() == '(' && !lexer.skipBalanced())
    return false;
  return isFloatText(text) || lexer.fail(begin, fmt::format("'{}' is not a value of {}",
                                                            excerpt(text), toString(dtype)));
}

/// True if the integer's text is in the dtype's range.
bool isIntegerText(std::string_view text, DType dtype) {
  unsigned bits = bitWidth(dtype);
  const char *begin = text.data(), *end = begin + text.size();
  if (dtypeClass(dtype) == DTypeClass::Signed) {
    int64_t value;
    auto [stop, code] = std::from_chars(begin, end, value);
    int64_t limit = static_cast<int64_t>(std::numeric_limits<uint64_t>::max() >> (64 - bits) >> 1);
    return code == std::errc() && stop == end && value <= limit && value >= -limit - 1;
  }
  uint64_t value;
  auto [stop, code] = std::from_chars(begin, end, value);
  return code == std::errc() && stop == end &&
         value <= std::numeric_limits<uint64_t>::max() >> (64 - bits);
}

bool checkValue(HloLexer &lexer, DType dtype) {
  if (char next = lexer.peek(); next == '\0' || next == ',' || next == '}')
    return lexer.failExpected("a value");
  DTypeClass cls = dtypeClass(dtype);
  if (cls == DTypeClass::Float)
    return checkFloat(lexer, dtype);
  if (cls == DTypeClass::Complex) {
    if (!lexer.consume('('))
      return checkFloat(lexer, dtype); // a real number
    return checkFloat(lexer, dtype) && lexer.expect(',') && checkFloat(lexer, dtype) &&
           lexer.expect(')');
  }
  uint32_t begin = lexer.place();
  std::string_view text = valueText(lexer);
  bool ok;
  if (cls == DTypeClass::Pred)
    ok = text == "true" || text == "false" || text == "1" || text == "0";
  else
    ok = cls != DTypeClass::NonNumeric && isIntegerText(text, dtype);
  return ok || lexer.fail(begin,
                          fmt::format("'{}' is not a value of {}", excerpt(text), toString(dtype)));
}

/// `{...}` at the cursor: the dump left this part out.
bool consumeElided(HloLexer &lexer) {
  uint32_t begin = lexer.offset();
  if (lexer.consume('{') && lexer.consume("...") && lexer.consume('}'))
    return true;
  lexer.rewind(begin);
  return false;
}

bool checkTensor(HloLexer &lexer, const Shape &shape) {
  uint32_t begin = lexer.place();
  size_t rank = shape.rank();
  bool isEmpty = shape.elementCount() == 0;
  std::array<int64_t, hlo_limits::rank + 1> count{}; // elements met at each depth
  size_t depth = 0;
  do {
    if (depth > 0 && lexer.peek() == '}') {
      lexer.advance();
      int64_t extent = shape.dims[depth - 1];
      bool mayStopEarly = isEmpty && count[depth] == 0; // {} for any shape without elements
      bool isShort = !shape.dynamic.empty() && count[depth] <= extent;
      if (count[depth] != extent && !mayStopEarly && !isShort)
        return lexer.fail(begin,
                          fmt::format("the literal has {} elements along dim {}, {} needs {}",
                                      count[depth], depth - 1, shape.str(false), extent));
      --depth;
      continue;
    }
    if (count[depth] > 0 && !lexer.expect(','))
      return false;
    ++count[depth];
    if (depth < rank && consumeElided(lexer)) // one row, or the whole at depth 0
      continue;
    if (lexer.peek() == '.' && lexer.consume("...")) { // { 1, 2, ... }
      if (depth == 0)
        return lexer.failExpected("a value");
      count[depth] = shape.dims[depth - 1];
      continue;
    }
    if (depth == rank) {
      if (lexer.peek() == '{')
        return lexer.fail(lexer.offset(), fmt::format("the literal's braces nest deeper than {} "
                                                      "dims of {}",
                                                      rank, shape.str(false)));
      if (!checkValue(lexer, shape.dtype))
        return false;
    } else {
      if (!lexer.expect('{'))
        return false;
      count[++depth] = 0;
    }
  } while (depth > 0);
  return true;
}

bool checkLiteralAt(HloLexer &lexer, const Shape &shape) {
  if (consumeElided(lexer))
    return true;
  if (!shape.isTuple)
    return checkTensor(lexer, shape);
  // The shape's depth is bounded by its parser.
  if (!lexer.expect('('))
    return false;
  for (size_t i = 0; i < shape.elements.size(); ++i)
    if ((i > 0 && !lexer.expect(',')) || !checkLiteralAt(lexer, shape.elements[i]))
      return false;
  return lexer.expect(')');
}

} // namespace

bool checkLiteral(HloLexer &lexer, const Shape &shape) {
  return checkLiteralAt(lexer, shape) &&
         (lexer.atEnd() || lexer.failExpected("')' behind the literal"));
}

} // namespace tilewright
