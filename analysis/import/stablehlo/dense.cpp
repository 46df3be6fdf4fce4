#include "analysis/import/stablehlo/dense.h"

#include "analysis/ir/literal.h"
#include "analysis/ir/numeric.h"
#include "analysis/support/printable.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace tilewright::stablehlo {

namespace {

/// HLO's text of a float's encoding: short digits that round back to it.
std::string floatText(DType type, uint64_t bits) {
  const double value = decodeFloat(type, bits);
  if (std::isnan(value)) {
    const std::string sign = std::signbit(value) ? "-" : "";
    return fmt::format("{}nan({:#x})", sign, bits);
  }
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  return type == DType::F64 ? fmt::format("{}", value)
                            : fmt::format("{}", static_cast<float>(value));
}

/// HLO's text of an element's bits, little-endian as in memory.
std::string elementText(DType type, std::span<const uint8_t> bytes) {
  auto word = [&](size_t from, size_t count) {
    uint64_t bits = 0;
    for (size_t i = 0; i < count; ++i)
      bits |= uint64_t(bytes[from + i]) << (8 * i);
    return bits;
  };
  switch (dtypeClass(type)) {
  case DTypeClass::Complex: {
    const DType part = type == DType::C64 ? DType::F32 : DType::F64;
    const size_t half = bytes.size() / 2;
    return fmt::format("({}, {})", floatText(part, word(0, half)),
                       floatText(part, word(half, half)));
  }
  case DTypeClass::Float:
    return floatText(type, word(0, bytes.size()));
  case DTypeClass::Pred:
    return bytes[0] ? "true" : "false";
  default: {
    const int64_t value = wrapInteger(type, static_cast<int64_t>(word(0, bytes.size())));
    return type == DType::U64 ? fmt::format("{}", static_cast<uint64_t>(value))
                              : fmt::format("{}", value);
  }
  }
}

/// Writes HLO's nested braces around elements that come in row-major order.
class BraceWriter {
public:
  BraceWriter(const std::vector<int64_t> &dims, std::string &out) : dims(dims), out(out) {}

  /// What stands before element `index`: commas and opening braces of the dims that begin here.
  void before(int64_t index) {
    int64_t stride = 1;
    size_t begins = 0;
    for (size_t d = dims.size(); d > 0; --d) {
      stride *= dims[d - 1];
      begins += index % stride == 0;
    }
    if (index > 0)
      out += ", ";
    out.append(begins, '{');
  }
  void after(int64_t index) {
    int64_t stride = 1;
    for (size_t d = dims.size(); d > 0; --d) {
      stride *= dims[d - 1];
      if ((index + 1) % stride == 0)
        out += '}';
    }
  }

private:
  const std::vector<int64_t> &dims;
  std::string &out;
};

class DenseParser {
public:
  DenseParser(MlirLexer &lexer, const Shape &shape, Dense &out)
      : lexer(lexer), shape(shape), out(out), writer(shape.dims, out.literal) {}

  bool run();

private:
  bool blob();
  bool list();
  bool element(std::string &text);
  bool number(DType type, std::string &text);
  bool floatNumber(DType type, std::string_view word, uint32_t begin, std::string &text);
  bool integerNumber(DType type, std::string_view word, uint32_t begin, std::string &text);

  MlirLexer &lexer;
  const Shape &shape;
  Dense &out;
  BraceWriter writer;
  int64_t count = 0;
};

bool DenseParser::run() {
  const uint32_t begin = lexer.place();
  const std::string_view kind = lexer.identifier();
  if (kind == "dense_resource") {
    out.isElided = true;
    out.literal = "{...}";
    return lexer.peek() == '<' ? lexer.skipGroup() : lexer.failExpected("'<'");
  }
  if (kind == "opaque")
    return lexer.fail(begin, "the values of this constant are left out; print the module with "
                             "large constants");
  if (kind != "dense") {
    lexer.rewind(begin);
    return lexer.failExpected("dense<…>");
  }
  std::optional<int64_t> elements = shape.elementCount();
  if (shape.isTuple || dtypeClass(shape.dtype) == DTypeClass::NonNumeric || !elements ||
      shape.isDynamic())
    return lexer.fail(begin, fmt::format("a constant can't be {}", briefText(shape)));
  count = *elements;
  if (!lexer.expect('<'))
    return false;
  if (lexer.peek() == '>') { // dense<> of a tensor without elements
    if (count > 0)
      return lexer.failExpected("values");
    out.isSplat = true;
    out.literal = zeroLiteral(shape.dtype);
    return lexer.expect('>');
  }
  const bool isRead = lexer.peek() == '"'   ? blob()
                      : lexer.peek() == '[' ? list()
                                            : (out.isSplat = true, element(out.literal));
  return isRead && lexer.expect('>');
}

/// Bytes in hexadecimal, elements in memory's order; one element stands for all.
bool DenseParser::blob() {
  const uint32_t begin = lexer.offset();
  if (!lexer.skipString())
    return false;
  std::string_view digits = lexer.slice(begin + 1, lexer.offset() - 1);
  if (!digits.starts_with("0x") || digits.size() % 2 != 0)
    return lexer.fail(begin, "expected 0x and pairs of hexadecimal digits");
  digits.remove_prefix(2);
  const size_t width = std::max<size_t>(bitWidth(shape.dtype) / 8, 1), bytes = digits.size() / 2;
  const bool isPacked = shape.dtype == DType::Pred && count > 1 && bytes != 1 &&
                        bytes == static_cast<size_t>((count + 7) / 8);
  out.isSplat = bytes == width;
  if (!out.isSplat && !isPacked && bytes / width != static_cast<size_t>(count))
    return lexer.fail(begin, fmt::format("{} bytes, {} needs {} each of its {} elements", bytes,
                                         briefText(shape), width, count));
  std::array<uint8_t, 16> element{};
  auto byteAt = [&](size_t i) {
    uint8_t value = 0;
    auto [stop, code] =
        std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, value, 16);
    return code == std::errc() && stop == digits.data() + 2 * i + 2 ? int(value) : -1;
  };
  const int64_t elements = out.isSplat ? 1 : count;
  for (int64_t i = 0; i < elements; ++i) {
    for (size_t k = 0; k < width; ++k) {
      const size_t at = isPacked ? static_cast<size_t>(i / 8) : static_cast<size_t>(i) * width + k;
      const int byte = byteAt(at);
      if (byte < 0)
        return lexer.fail(begin + 3 + static_cast<uint32_t>(2 * at), "not a hexadecimal digit");
      element[k] = static_cast<uint8_t>(isPacked ? byte >> (i % 8) & 1 : byte);
    }
    const std::string text = elementText(shape.dtype, std::span(element).first(width));
    if (out.isSplat) {
      out.literal = text;
      break;
    }
    writer.before(i);
    out.literal += text;
    writer.after(i);
  }
  return true;
}

/// `[[1, 2], [3, 4]]`: as deep as the tensor has dims, each list as long as its dim.
bool DenseParser::list() {
  const uint32_t begin = lexer.offset();
  std::array<int64_t, hlo_limits::rank + 1> met{};
  size_t depth = 0;
  int64_t index = 0;
  const size_t rank = shape.rank();
  do {
    if (depth > 0 && lexer.peek() == ']') {
      lexer.advance();
      if (met[depth] != shape.dims[depth - 1])
        return lexer.fail(begin, fmt::format("the constant has {} elements along dim {}, {} needs "
                                             "{}",
                                             met[depth], depth - 1, briefText(shape),
                                             shape.dims[depth - 1]));
      --depth;
      continue;
    }
    if (met[depth] > 0 && !lexer.expect(','))
      return false;
    if (depth > 0 && met[depth] == shape.dims[depth - 1])
      return lexer.fail(lexer.place(), fmt::format("the constant has over {} elements along dim "
                                                   "{} of {}",
                                                   met[depth], depth - 1, briefText(shape)));
    ++met[depth];
    if (depth == rank) {
      if (lexer.peek() == '[')
        return lexer.fail(lexer.offset(), fmt::format("the constant nests deeper than the {} dims "
                                                      "of {}",
                                                      rank, briefText(shape)));
      std::string text;
      if (!element(text))
        return false;
      writer.before(index);
      out.literal += text;
      writer.after(index++);
    } else {
      if (!lexer.expect('['))
        return false;
      met[++depth] = 0;
    }
  } while (depth > 0);
  if (count == 0) { // [] of a tensor without elements
    out.isSplat = true;
    out.literal = zeroLiteral(shape.dtype);
  }
  return true;
}

bool DenseParser::element(std::string &text) {
  if (dtypeClass(shape.dtype) != DTypeClass::Complex)
    return number(shape.dtype, text);
  const DType part = shape.dtype == DType::C64 ? DType::F32 : DType::F64;
  std::string real, imaginary;
  if (!lexer.expect('(') || !number(part, real) || !lexer.expect(',') || !number(part, imaginary) ||
      !lexer.expect(')'))
    return false;
  text = fmt::format("({}, {})", real, imaginary);
  return true;
}

bool DenseParser::number(DType type, std::string &text) {
  const uint32_t begin = lexer.place();
  while (std::string_view(",]>)[(\" \n\t\r").find(lexer.peekRaw()) == std::string_view::npos &&
         lexer.peekRaw() != '\0')
    lexer.advance();
  const std::string_view word = lexer.slice(begin, lexer.offset());
  if (word.empty())
    return lexer.failExpected("a value");
  return isFloat(type) ? floatNumber(type, word, begin, text)
                       : integerNumber(type, word, begin, text);
}

/// A hexadecimal integer is the value's encoding.
bool DenseParser::floatNumber(DType type, std::string_view word, uint32_t begin,
                              std::string &text) {
  const char *end = word.data() + word.size();
  if (word.starts_with("0x")) {
    uint64_t bits = 0;
    auto [stop, code] = std::from_chars(word.data() + 2, end, bits, 16);
    if (code == std::errc() && stop == end && (bitWidth(type) == 64 || !(bits >> bitWidth(type)))) {
      text = floatText(type, bits);
      return true;
    }
  } else {
    double value = 0;
    auto [stop, code] = std::from_chars(word.data(), end, value);
    const bool isNumber = std::string_view("+-.0123456789").find(word[0]) != std::string_view::npos;
    if (isNumber && code != std::errc::invalid_argument && stop == end) {
      // Beyond double's range: as HLO reads it, infinity or zero.
      text = code == std::errc() ? floatText(type, encodeFloat(type, value)) : std::string(word);
      return true;
    }
  }
  return lexer.fail(begin, fmt::format("'{}' is not a value of {}", excerpt(word), toString(type)));
}

/// Signless integers may be written as unsigned ones.
bool DenseParser::integerNumber(DType type, std::string_view word, uint32_t begin,
                                std::string &text) {
  auto refuse = [&] {
    return lexer.fail(begin,
                      fmt::format("'{}' is not a value of {}", excerpt(word), toString(type)));
  };
  if (type == DType::Pred) {
    text = word == "1" || word == "-1" ? "true" : word == "0" ? "false" : word;
    return text == "true" || text == "false" || refuse();
  }
  const bool isNegative = word.starts_with('-');
  std::string_view digits = word.substr(isNegative ? 1 : 0);
  const int base = digits.starts_with("0x") ? 16 : 10;
  if (base == 16)
    digits.remove_prefix(2);
  uint64_t magnitude = 0;
  auto [stop, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  const unsigned bits = bitWidth(type);
  const uint64_t most = bits == 64 ? UINT64_MAX : (uint64_t(1) << bits) - 1;
  const uint64_t lowest = dtypeClass(type) == DTypeClass::Signed ? uint64_t(1) << (bits - 1) : 0;
  if (digits.empty() || code != std::errc() || stop != digits.data() + digits.size() ||
      magnitude > (isNegative ? lowest : most))
    return refuse();
  const int64_t value =
      wrapInteger(type, static_cast<int64_t>(isNegative ? 0 - magnitude : magnitude));
  text = type == DType::U64 ? fmt::format("{}", static_cast<uint64_t>(value))
                            : fmt::format("{}", value);
  return true;
}

} // namespace

std::string zeroLiteral(DType type) {
  return dtypeClass(type) == DTypeClass::Pred      ? "false"
         : dtypeClass(type) == DTypeClass::Complex ? "(0, 0)"
                                                   : "0";
}

bool parseDense(MlirLexer &lexer, const Shape &shape, Dense &out) {
  return DenseParser(lexer, shape, out).run();
}

bool integersOf(MlirLexer &lexer, uint32_t offset, const Shape &shape, const Dense &dense,
                std::vector<int64_t> &out) {
  Shape read = dense.isSplat ? Shape::tensor(shape.dtype, {}) : shape;
  if (!isInteger(shape.dtype) && shape.dtype != DType::Pred)
    return lexer.fail(offset, fmt::format("integers are needed, not {}", briefText(shape)));
  llvm::Expected<Tensor> values = parseLiteral(read, dense.literal);
  if (!values)
    return lexer.fail(offset, takeDiag(values.takeError()).message);
  for (int64_t i = 0; i < *shape.elementCount(); ++i)
    out.push_back(values->integer(dense.isSplat ? 0 : i));
  return true;
}

} // namespace tilewright::stablehlo
