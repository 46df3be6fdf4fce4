#include "analysis/import/stablehlo/type.h"

#include "analysis/support/printable.h"

#include "llvm/ADT/StringRef.h"

#include <charconv>
#include <fmt/format.h>

namespace tilewright::stablehlo {

namespace {

/// The element type of that MLIR name: `i32`, `ui8`, `f8E4M3FN`.
std::optional<DType> elementTypeNamed(std::string_view name) {
  if (name == "i1")
    return DType::Pred;
  std::string hlo = llvm::StringRef(name).lower();
  if (hlo.starts_with("si"))
    hlo = "s" + hlo.substr(2);
  else if (hlo.starts_with("ui"))
    hlo = "u" + hlo.substr(2);
  else if (hlo.starts_with("i") && hlo != "index")
    hlo = "s" + hlo.substr(1);
  const bool isOfMlir =
      hlo.starts_with("s") || hlo.starts_with("u") || hlo.starts_with("f") || hlo.starts_with("bf");
  return isOfMlir ? parseDType(hlo) : std::nullopt;
}

class TypeParser {
public:
  TypeParser(MlirLexer &lexer, const TypeAliases &aliases, size_t &nodes)
      : lexer(lexer), aliases(aliases), nodes(nodes) {}

  bool parse(Type &out, unsigned depth = 0);

private:
  bool count() {
    return ++nodes <= hlo_limits::shapeNodes ||
           lexer.fail(lexer.offset(),
                      fmt::format("over {} tensors in types", hlo_limits::shapeNodes));
  }
  bool refuse(uint32_t at, std::string message) {
    return lexer.fail(at, std::move(message), DiagClass::Unsupported);
  }

  bool tensor(Type &out);
  bool dims(Shape &shape);
  bool encoding(Shape &shape);
  bool element(Type &out);
  bool quantization(Type &out);
  bool channel(Quantization &q);
  bool number(double &out);
  bool tuple(Type &out, unsigned depth);

  MlirLexer &lexer;
  const TypeAliases &aliases;
  size_t &nodes;
};

bool TypeParser::parse(Type &out, unsigned depth) {
  if (depth > hlo_limits::depth)
    return lexer.fail(lexer.offset(), fmt::format("tuples nest deeper than {}", hlo_limits::depth));
  out = {};
  const uint32_t begin = lexer.place();
  if (!count())
    return false;
  if (lexer.peek() == '!') {
    lexer.advance();
    const std::string_view name = lexer.identifier();
    if (name == "stablehlo.token" || name == "mhlo.token") {
      out.shape = Shape::tensor(DType::Token, {});
      return true;
    }
    if (auto it = aliases.find(name); it != aliases.end()) {
      out = it->second;
      return true;
    }
    return refuse(begin, fmt::format("the type !{} is not read here; tensors, tuples and tokens "
                                     "are",
                                     excerpt(name)));
  }
  const std::string_view name = lexer.identifier();
  if (name == "tensor")
    return tensor(out);
  if (name == "tuple")
    return tuple(out, depth);
  lexer.rewind(begin);
  if (std::optional<DType> type = elementTypeNamed(name); type || name == "complex")
    return element(out);
  if (name.empty())
    return lexer.failExpected("a type");
  return refuse(
      begin, fmt::format("the type {} is not read; tensors, tuples and tokens are", excerpt(name)));
}

bool TypeParser::tuple(Type &out, unsigned depth) {
  out.shape = Shape::tuple({});
  if (!lexer.expect('<'))
    return false;
  while (lexer.peek() != '>') {
    Type element;
    if ((!out.shape.elements.empty() && !lexer.expect(',')) || !parse(element, depth + 1))
      return false;
    if (element.quantization)
      return refuse(lexer.offset(), "quantised tensors in tuples are not read");
    out.shape.elements.push_back(std::move(element.shape));
  }
  lexer.advance();
  return true;
}

bool TypeParser::tensor(Type &out) {
  const uint32_t begin = lexer.offset();
  Shape dimensions;
  if (!lexer.expect('<') || !dims(dimensions) || !element(out))
    return false;
  out.shape.dims = std::move(dimensions.dims);
  out.shape.dynamic = std::move(dimensions.dynamic);
  if (lexer.consume(',') && !encoding(out.shape))
    return false;
  if (!lexer.expect('>'))
    return false;
  if (out.quantization && out.quantization->axis >= 0) {
    const Quantization &q = *out.quantization;
    if (q.axis >= out.shape.rank() ||
        out.shape.dims[static_cast<size_t>(q.axis)] != static_cast<int64_t>(q.scales.size()))
      return lexer.fail(begin, fmt::format("{} scales along dim {} of {}", q.scales.size(), q.axis,
                                           briefText(out.shape)));
  }
  if (!out.shape.isUnbounded() && !out.shape.byteSize())
    return lexer.fail(begin,
                      fmt::format("the bytes of {} do not fit in 64 bits", briefText(out.shape)));
  return true;
}

/// `4x?x`
bool TypeParser::dims(Shape &shape) {
  while (true) {
    const uint32_t begin = lexer.place();
    int64_t extent = Shape::unbounded;
    if (lexer.peek() == '?') {
      lexer.advance();
    } else if (lexer.peekRaw() >= '0' && lexer.peekRaw() <= '9') {
      if (!lexer.integer(extent, "an extent"))
        return false;
      if (extent == Shape::unbounded) // stands for '?'
        return lexer.fail(begin, fmt::format("extent {} is out of range", extent));
    } else if (lexer.peekRaw() == '*') {
      return refuse(begin, "tensors of any rank are not read; the rank must be known");
    } else {
      break;
    }
    if (lexer.peekRaw() != 'x')
      return lexer.failExpected("'x'");
    lexer.advance();
    if (shape.rank() == hlo_limits::rank)
      return refuse(begin, fmt::format("more than {} dims", hlo_limits::rank));
    if (extent == Shape::unbounded) {
      shape.dynamic.resize(shape.rank() + 1);
      shape.dynamic.back() = true;
    }
    shape.dims.push_back(extent);
  }
  if (!shape.dynamic.empty())
    shape.dynamic.resize(shape.rank());
  return true;
}

/// `#stablehlo.bounds<?, 4>` or `#mhlo.type_extensions<bounds = [?, 4]>`
bool TypeParser::encoding(Shape &shape) {
  const uint32_t begin = lexer.place();
  if (!lexer.consume('#'))
    return lexer.failExpected("the bounds of the tensor");
  const std::string_view name = lexer.identifier();
  const bool isExtension = name == "mhlo.type_extensions" || name == "stablehlo.type_extensions";
  if (name != "stablehlo.bounds" && !isExtension)
    return refuse(begin, fmt::format("the encoding #{} of a tensor is not read; "
                                     "#stablehlo.bounds is",
                                     excerpt(name)));
  if (!lexer.expect('<') || (isExtension && (!lexer.consumeIdentifier("bounds") ||
                                             !lexer.expect('=') || !lexer.expect('['))))
    return lexer.failExpected("bounds");
  for (size_t dim = 0; dim < shape.rank(); ++dim) {
    if (dim > 0 && !lexer.expect(','))
      return false;
    if (lexer.consume('?'))
      continue;
    int64_t bound;
    const uint32_t at = lexer.place();
    if (!lexer.integer(bound, "a bound"))
      return false;
    if (bound < 0 || bound == Shape::unbounded || shape.dynamic.empty() || !shape.dynamic[dim])
      return lexer.fail(at, fmt::format("bound {} of dim {}, which is {}", bound, dim,
                                        bound < 0                   ? "negative"
                                        : bound == Shape::unbounded ? "out of range"
                                                                    : "not '?'"));
    shape.dims[dim] = bound;
  }
  return (!isExtension || lexer.expect(']')) && lexer.expect('>');
}

bool TypeParser::element(Type &out) {
  const uint32_t begin = lexer.place();
  if (lexer.peek() == '!') {
    lexer.advance();
    const std::string_view name = lexer.identifier();
    if (name == "quant.uniform")
      return quantization(out);
    if (auto it = aliases.find(name); it != aliases.end() && it->second.shape.isScalar()) {
      out = it->second;
      return true;
    }
    return refuse(begin, fmt::format("elements of type !{} are not read", excerpt(name)));
  }
  const std::string_view name = lexer.identifier();
  if (name == "complex") {
    Type part;
    if (!lexer.expect('<'))
      return false;
    const uint32_t at = lexer.place();
    const std::string_view of = lexer.identifier();
    if (of != "f32" && of != "f64")
      return refuse(at, fmt::format("complex numbers of {} are not read, of f32 and f64 they are",
                                    excerpt(of)));
    out.shape.dtype = of == "f32" ? DType::C64 : DType::C128;
    return lexer.expect('>');
  }
  if (name.empty())
    return lexer.failExpected("an element type");
  std::optional<DType> type = elementTypeNamed(name);
  if (!type)
    return refuse(begin, fmt::format("elements of type {} are not read", excerpt(name)));
  out.shape.dtype = *type;
  return true;
}

bool TypeParser::number(double &out) {
  const uint32_t begin = lexer.place();
  while (std::string_view("+-.0123456789eExXabcdfABCDF").find(lexer.peekRaw()) !=
             std::string_view::npos &&
         lexer.peekRaw() != '\0')
    lexer.advance();
  const std::string_view text = lexer.slice(begin, lexer.offset());
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return (code == std::errc() && stop == text.data() + text.size()) ||
         lexer.fail(begin, fmt::format("'{}' is not a scale", excerpt(text)));
}

/// `0.1:-3`
bool TypeParser::channel(Quantization &q) {
  double scale;
  int64_t zeroPoint = 0;
  const uint32_t begin = lexer.place();
  if (!number(scale) || (lexer.consume(':') && !lexer.integer(zeroPoint, "a zero point")))
    return false;
  if (!(scale > 0) || scale > 1e300)
    return lexer.fail(begin, fmt::format("scale {} must be positive", scale));
  q.scales.push_back(scale);
  q.zeroPoints.push_back(zeroPoint);
  return true;
}

bool TypeParser::quantization(Type &out) {
  auto q = std::make_shared<Quantization>();
  if (!lexer.expect('<'))
    return false;
  const uint32_t begin = lexer.place();
  const std::string_view storage = lexer.identifier();
  // The storage's signless type is signed, `u8` is not.
  std::optional<DType> type = elementTypeNamed(storage);
  if (!type || !isInteger(*type) || bitWidth(*type) > 32)
    return refuse(begin,
                  fmt::format("quantised values stored as {} are not read", excerpt(storage)));
  q->storage = *type;
  const unsigned bits = bitWidth(*type);
  const bool isSigned = dtypeClass(*type) == DTypeClass::Signed;
  q->least = isSigned ? -(int64_t(1) << (bits - 1)) : 0;
  q->most = (int64_t(1) << (isSigned ? bits - 1 : bits)) - 1;
  if (lexer.consume('<') && (!lexer.integer(q->least, "a bound") || !lexer.expect(':') ||
                             !lexer.integer(q->most, "a bound") || !lexer.expect('>')))
    return false;
  if (!lexer.expect(':'))
    return false;
  const uint32_t at = lexer.place();
  const std::string_view expressed = lexer.identifier();
  std::optional<DType> real = elementTypeNamed(expressed);
  if (!real || !isFloat(*real))
    return refuse(at, fmt::format("quantised values of {} are not read", excerpt(expressed)));
  q->expressed = out.shape.dtype = *real;
  if (lexer.consume(':')) {
    if (lexer.peek() == '{')
      return refuse(at, "values quantised in blocks are not read, by tensor and by axis they are");
    if (!lexer.integer(q->axis, "the dim of the scales"))
      return false;
    if (q->axis < 0)
      return lexer.fail(at, fmt::format("dim {} of the scales is negative", q->axis));
  }
  if (!lexer.expect(','))
    return false;
  const bool isList = lexer.consume('{');
  do {
    if (!channel(*q))
      return false;
  } while (isList && lexer.consume(','));
  if ((isList && !lexer.expect('}')) || !lexer.expect('>'))
    return false;
  if (isList != (q->axis >= 0))
    return lexer.fail(begin, "scales in braces and a dim for them go together");
  out.quantization = std::move(q);
  return true;
}

} // namespace

bool parseType(MlirLexer &lexer, const TypeAliases &aliases, size_t &nodes, Type &out) {
  return TypeParser(lexer, aliases, nodes).parse(out);
}

} // namespace tilewright::stablehlo
