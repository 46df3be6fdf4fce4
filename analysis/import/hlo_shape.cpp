#include "analysis/import/hlo_shape.h"

#include "analysis/support/printable.h"

namespace tilewright {

namespace {

/// `(8,128)`, where `*` joins a dim to the next.
bool checkTile(HloLexer &lexer) {
  const uint32_t begin = lexer.offset();
  if (!lexer.skipBalanced())
    return false;
  HloLexer sizes = lexer.part(begin + 1, lexer.offset() - 1);
  for (bool isFirst = true; !sizes.atEnd(); isFirst = false) {
    if (!isFirst && !sizes.expect(','))
      return false;
    if (sizes.consume('*'))
      continue;
    int64_t size;
    const uint32_t place = sizes.place();
    if (!sizes.integer(size, "a size of the tile"))
      return false;
    if (size < 1)
      return sizes.fail(place,
                        fmt::format("size {} of the layout's tile must be at least 1", size));
  }
  return true;
}

/// `{1,0:T(8,128)}` behind a tensor's dims.
bool parseLayout(HloLexer &lexer, Shape &shape) {
  uint32_t begin = lexer.place();
  lexer.advance(); // '{'
  Layout layout;
  while (lexer.peek() != ':' && lexer.peek() != '}') {
    if (!layout.minorToMajor.empty() && !lexer.expect(','))
      return false;
    int64_t dim;
    if (!lexer.integer(dim, "a dim of the layout"))
      return false;
    layout.minorToMajor.push_back(dim);
    if (layout.minorToMajor.size() > shape.rank())
      break;
  }
  if (layout.minorToMajor.size() != shape.rank() &&
      !(layout.minorToMajor.empty() && lexer.peek() == ':'))
    return lexer.fail(begin, fmt::format("the layout of {} must list its {} dims", shape.str(false),
                                         shape.rank()));
  uint64_t seen = 0; // rank ≤ 32
  for (int64_t dim : layout.minorToMajor) {
    if (dim < 0 || dim >= shape.rank() || (seen >> dim & 1))
      return lexer.fail(begin, fmt::format("the layout of {} is not a permutation of 0 to {}",
                                           shape.str(false), int64_t(shape.rank()) - 1));
    seen |= uint64_t(1) << dim;
  }
  if (lexer.consume(':')) {
    uint32_t annotations = lexer.place();
    bool isTiling = false; // behind a T
    while (lexer.peek() != '}') {
      char c = lexer.peek();
      if (c == '(' && isTiling) {
        if (!checkTile(lexer))
          return false;
      } else if (c == '(') {
        if (!lexer.skipBalanced())
          return false;
      } else if (c == '#' || c == '*') {
        lexer.advance();
      } else if (std::string_view word = lexer.word(); !word.empty()) {
        isTiling = word == "T";
      } else {
        return lexer.failExpected("'}' at the end of the layout");
      }
    }
    layout.annotations = lexer.slice(annotations, lexer.offset());
    while (!layout.annotations.empty() && layout.annotations.back() == ' ')
      layout.annotations.pop_back();
  }
  if (!lexer.expect('}'))
    return false;
  if (!layout.minorToMajor.empty() || !layout.annotations.empty()) // `f32[]{}` says nothing
    shape.layout = std::move(layout);
  return true;
}

bool parseTensorShape(HloLexer &lexer, Shape &out, bool layoutAfterSpace) {
  uint32_t begin = lexer.place();
  std::string_view word = lexer.word();
  if (word.empty())
    return lexer.failExpected("a shape");
  std::optional<DType> dtype = parseDType(word);
  if (!dtype)
    return lexer.fail(begin, fmt::format("'{}' is not an element type", excerpt(word)));
  out.dtype = *dtype;
  if (!lexer.expect('['))
    return false;
  while (lexer.peek() != ']') {
    if (!out.dims.empty() && !lexer.expect(','))
      return false;
    uint32_t place = lexer.place();
    const bool isUnbounded = lexer.consume('?');
    const bool isDynamic = isUnbounded || lexer.consume("<=");
    int64_t extent = Shape::unbounded;
    if (!isUnbounded && !lexer.integer(extent, "an extent"))
      return false;
    if (extent < 0)
      return lexer.fail(place, fmt::format("extent {} is negative", extent));
    if (out.dims.size() == hlo_limits::rank)
      return lexer.fail(begin, fmt::format("rank is over {}", hlo_limits::rank),
                        DiagClass::Unsupported);
    if (isDynamic)
      out.dynamic.resize(out.dims.size());
    out.dims.push_back(extent);
    if (isDynamic || !out.dynamic.empty())
      out.dynamic.push_back(isDynamic);
  }
  lexer.advance(); // ']'
  if (!out.isUnbounded() && !out.byteSize())
    return lexer.fail(begin,
                      fmt::format("{} takes more bytes than 64 bits can count", out.str(false)));
  char next = layoutAfterSpace ? lexer.peek() : lexer.peekRaw();
  return next != '{' || parseLayout(lexer, out);
}

/// `b(`, without space: a word that an opening parenthesis follows is no name.
bool startsBuffer(HloLexer &lexer) { return lexer.peekWord() == "b" && lexer.peekRaw(1) == '('; }

bool parseBufferShape(HloLexer &lexer, Shape &out) {
  lexer.advance(2); // "b("
  if (!parseTensorShape(lexer, out, true))
    return false;
  out.isBuffer = true;
  return lexer.expect(')');
}

bool parseShapeAt(HloLexer &lexer, Shape &out, size_t &nodes, bool layoutAfterSpace,
                  unsigned depth) {
  if (++nodes > hlo_limits::shapeNodes)
    return lexer.fail(lexer.offset(),
                      fmt::format("the shapes of the module hold over {} tensors and tuples",
                                  hlo_limits::shapeNodes));
  if (startsBuffer(lexer))
    return parseBufferShape(lexer, out);
  if (lexer.peek() != '(')
    return parseTensorShape(lexer, out, layoutAfterSpace);
  if (depth == hlo_limits::depth)
    return lexer.fail(lexer.offset(), fmt::format("tuples nest deeper than {}", hlo_limits::depth));
  lexer.advance();
  out.isTuple = true;
  while (lexer.peek() != ')') {
    if (!out.elements.empty() && !lexer.expect(','))
      return false;
    if (!parseShapeAt(lexer, out.elements.emplace_back(), nodes, true, depth + 1))
      return false;
  }
  lexer.advance(); // ')'
  return true;
}

} // namespace

bool looksLikeShape(HloLexer &lexer) {
  uint32_t begin = lexer.place();
  if (startsBuffer(lexer))
    return true;
  while (lexer.consume('('))
    ;
  const bool isTuple = lexer.offset() != begin;
  uint32_t length = static_cast<uint32_t>(lexer.peekWord().size());
  const bool isShape = length > 0 ? lexer.peekRaw(length) == '[' : isTuple && lexer.peek() == ')';
  lexer.rewind(begin);
  return isShape;
}

bool parseShape(HloLexer &lexer, Shape &out, size_t &nodes, bool layoutAfterSpace) {
  return parseShapeAt(lexer, out, nodes, layoutAfterSpace, 0);
}

} // namespace tilewright
