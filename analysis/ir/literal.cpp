#include "analysis/ir/literal.h"

#include "analysis/ir/fill.h"
#include "analysis/ir/numeric.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tilewright {

namespace {
/// A cursor over the literal's text. Functions return false after setting `problem`.
class LiteralParser {
public:
  LiteralParser(std::string_view text, Tensor &result) : text(text), result(result) {}

  bool parse() {
    if (!parseDim(0))
      return false;
    skipBlank();
    return position == text.size() || fail("unexpected text after the literal");
  }

  std::string problem;
  size_t position = 0;

private:
  bool fail(std::string message) {
    problem = std::move(message);
    return false;
  }

  void skipBlank() {
    while (position < text.size()) {
      if (text[position] == ' ' || text[position] == '\n' || text[position] == '\t' ||
          text[position] == '\r') {
        ++position;
      } else if (text.substr(position, 2) == "/*") {
        size_t end = text.find("*/", position + 2);
        position = end == std::string_view::npos ? text.size() : end + 2;
      } else {
        return;
      }
    }
  }

  bool accept(char c) {
    skipBlank();
    if (position == text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }

  /// Depth of recursion is the rank, which the shape's parser bounds.
  bool parseDim(size_t dim) {
    const std::vector<int64_t> &dims = result.shape().dims;
    if (dim == dims.size())
      return parseElement();
    if (!accept('{'))
      return fail(fmt::format("expected '{{' of dim {}", dim));
    for (int64_t i = 0; i < dims[dim]; ++i) {
      if (i != 0 && !accept(','))
        return fail(fmt::format("dim {} has {} entries, its shape {}", dim, i, dims[dim]));
      if (!parseDim(dim + 1))
        return false;
    }
    if (!accept('}'))
      return fail(fmt::format("expected '}}' after the {} entries of dim {}", dims[dim], dim));
    return true;
  }

  bool parseElement() {
    DType type = result.dtype();
    if (dtypeClass(type) == DTypeClass::Complex) {
      double real = 0, imaginary = 0;
      if (!accept('('))
        return fail("expected '(' of a complex value");
      if (!parseReal(real))
        return false;
      if (!accept(','))
        return fail("expected ',' between the parts of a complex value");
      if (!parseReal(imaginary))
        return false;
      if (!accept(')'))
        return fail("expected ')' of a complex value");
      DType part = type == DType::C64 ? DType::F32 : DType::F64;
      result.setComplex(next++, {roundFloat(part, real), roundFloat(part, imaginary)});
      return true;
    }
    if (isFloat(type)) {
      double value = 0;
      if (!parseReal(value))
        return false;
      result.setReal(next++, roundFloat(type, value));
      return true;
    }
    int64_t value = 0;
    if (!parseInteger(value))
      return false;
    result.setInteger(next++, value);
    return true;
  }

  /// The characters up to the next delimiter.
  std::string_view token() {
    skipBlank();
    size_t end = text.find_first_of(" ,{}()\n\t\r/", position);
    std::string_view word =
        text.substr(position, end == std::string_view::npos ? end : end - position);
    return word;
  }

  bool parseReal(double &value) {
    std::string_view word = token(), digits = word;
    bool isNegative = !digits.empty() && digits.front() == '-';
    if (!digits.empty() && (digits.front() == '-' || digits.front() == '+'))
      digits.remove_prefix(1);
    if (digits == "inf") {
      value = std::numeric_limits<double>::infinity();
    } else if (digits == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (digits == "true" || digits == "false") {
      value = digits == "true";
    } else {
      auto format = std::chars_format::general;
      if (digits.starts_with("0x") || digits.starts_with("0X")) {
        digits.remove_prefix(2);
        format = std::chars_format::hex;
      }
      const char *end = digits.data() + digits.size();
      auto [stop, error] = std::from_chars(digits.data(), end, value, format);
      // Out of double's range: what from_chars leaves undone is infinity or zero by the exponent.
      if (error == std::errc::result_out_of_range)
        value = digits.find("e-") != std::string_view::npos ? 0 : HUGE_VAL;
      if (digits.empty() || digits.front() == '-' || error == std::errc::invalid_argument ||
          stop != end)
        return fail(fmt::format("'{}' is not a number", word));
    }
    value = std::copysign(value, isNegative ? -1.0 : 1.0);
    position += word.size();
    if (std::isnan(value) && text.substr(position, 3) == "(0x")
      skipNanPayload(value);
    return true;
  }

  /// "nan(0x7fe00000)": the payload is kept where it fits the double's mantissa.
  void skipNanPayload(double &value) {
    size_t end = text.find(')', position);
    if (end == std::string_view::npos)
      return;
    uint64_t payload = 0;
    std::from_chars(text.data() + position + 3, text.data() + end, payload, 16);
    if (isFloat(result.dtype())) {
      double decoded = decodeFloat(result.dtype(), payload);
      if (std::isnan(decoded))
        value = std::copysign(decoded, value);
    }
    position = end + 1;
  }

  bool parseInteger(int64_t &value) {
    std::string_view word = token();
    DType type = result.dtype();
    const char *end = word.data() + word.size();
    bool isRead = false;
    if (word == "true" || word == "false") {
      value = word == "true";
      isRead = true;
    } else if (type == DType::U64) {
      uint64_t bits = 0;
      auto [stop, error] = std::from_chars(word.data(), end, bits);
      isRead = stop == end && error == std::errc();
      value = static_cast<int64_t>(bits);
    } else {
      auto [stop, error] = std::from_chars(word.data(), end, value);
      isRead = stop == end && error == std::errc();
    }
    if (!isRead || wrapInteger(type, value) != value)
      return fail(fmt::format("'{}' is not a value of {}", word, toString(type)));
    position += word.size();
    return true;
  }

  std::string_view text;
  Tensor &result;
  int64_t next = 0;
};
} // namespace

llvm::Expected<Tensor> parseLiteral(const Shape &shape, std::string_view text) {
  if (shape.isTuple)
    return makeError(DiagClass::Unsupported, "constants of tuple shape {} are not read",
                     shape.str(false));
  if (text.find("...") != std::string_view::npos)
    return makeError(DiagClass::Unsupported,
                     "the dump left the values out of this constant of "
                     "shape {}; dump with large constants printed",
                     shape.str(false));
  std::optional<int64_t> count = shape.elementCount();
  // Each element takes at least one character, so that a short text can't ask for much memory.
  if (!count || *count > static_cast<int64_t>(text.size()))
    return makeError(DiagClass::BadInput, "literal of {} characters is too short for shape {}",
                     text.size(), shape.str(false));
  if (dtypeClass(shape.dtype) == DTypeClass::NonNumeric)
    return makeError(DiagClass::BadInput, "a constant can't be of type {}", toString(shape.dtype));
  Tensor result(shape);
  LiteralParser parser(text, result);
  if (!parser.parse())
    return makeError(DiagClass::BadInput, "literal column {}: {}", parser.position + 1,
                     parser.problem);
  return result;
}

std::string realText(DType type, double value) {
  if (std::isnan(value))
    return std::signbit(value) ? "-nan" : "nan";
  return bitWidth(type) < 64 ? fmt::format("{}", static_cast<float>(value))
                             : fmt::format("{}", value);
}

namespace {

void appendLiteral(const Tensor &tensor, size_t dim, int64_t &next, std::string &out) {
  const std::vector<int64_t> &dims = tensor.shape().dims;
  if (dim == dims.size()) {
    out += elementText(tensor, next++);
    return;
  }
  out += "{";
  for (int64_t i = 0; i < dims[dim]; ++i) {
    out += i ? ", " : "";
    appendLiteral(tensor, dim + 1, next, out);
  }
  out += "}";
}

} // namespace

std::string elementText(const Tensor &tensor, int64_t i) {
  const DType type = partType(tensor.dtype());
  switch (dtypeClass(tensor.dtype())) {
  case DTypeClass::Complex:
    return fmt::format("({}, {})", realText(type, tensor.complex(i).real()),
                       realText(type, tensor.complex(i).imag()));
  case DTypeClass::Float:
    return realText(type, tensor.real(i));
  case DTypeClass::Pred:
    return tensor.integer(i) ? "true" : "false";
  default:
    return type == DType::U64 ? std::to_string(static_cast<uint64_t>(tensor.integer(i)))
                              : std::to_string(tensor.integer(i));
  }
}

std::string literalText(const Tensor &tensor) {
  std::string out;
  int64_t next = 0;
  if (tensor.wordsPerElement() > 0)
    appendLiteral(tensor, 0, next, out);
  return out;
}

} // namespace tilewright
