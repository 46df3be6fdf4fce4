#include "analysis/import/numpy/npy.h"

#include "analysis/import/numpy/zip.h"
#include "analysis/ir/fill.h"
#include "analysis/ir/numeric.h"
#include "analysis/support/checked.h"
#include "analysis/support/printable.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace tilewright {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr size_t mostDims = 64; // numpy's own limit

/// What numpy calls an element type: its letter and bytes. `V` are bytes without a meaning.
struct Descr {
  char order = '|', letter = 'V';
  int64_t bytes = 0;
};

std::optional<Descr> parseDescr(std::string_view text) {
  Descr descr;
  if (text.size() < 3 || std::string_view("<>|=").find(text[0]) == std::string_view::npos)
    return std::nullopt;
  descr.order = text[0];
  descr.letter = text[1];
  auto [rest, error] = std::from_chars(text.data() + 2, text.data() + text.size(), descr.bytes);
  if (error != std::errc() || rest != text.data() + text.size() || descr.bytes < 1 ||
      descr.bytes > 16)
    return std::nullopt;
  return descr;
}

/// The type of a descr, or of the shape it is wanted for where numpy has no name for it.
std::optional<DType> typeOf(const Descr &descr, DType wanted) {
  const int64_t bytes = descr.bytes;
  auto sized = [&](std::initializer_list<std::pair<int64_t, DType>> known) {
    for (auto [size, type] : known)
      if (size == bytes)
        return std::optional(type);
    return std::optional<DType>();
  };
  switch (descr.letter) {
  case 'b':
    return sized({{1, DType::Pred}});
  case 'i':
    return sized({{1, DType::S8}, {2, DType::S16}, {4, DType::S32}, {8, DType::S64}});
  case 'u':
    return sized({{1, DType::U8}, {2, DType::U16}, {4, DType::U32}, {8, DType::U64}});
  case 'f':
    return sized({{2, DType::F16}, {4, DType::F32}, {8, DType::F64}});
  case 'c':
    return sized({{8, DType::C64}, {16, DType::C128}});
  case 'V': {
    const bool isUnnamed =
        bitWidth(wanted) < 8 || wanted == DType::BF16 || (isFloat(wanted) && bitWidth(wanted) == 8);
    return isUnnamed && bytes == (bitWidth(wanted) + 7) / 8 ? std::optional(wanted) : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

/// The dictionary of a header: three keys, each once, Python's literals.
class HeaderParser {
public:
  HeaderParser(std::string_view text, NumpyArray &array) : text(text), array(array) {}

  /// Empty where it was read, else what is wrong at `at`.
  std::string parse() {
    if (!accept('{'))
      return "a header begins with {";
    bool hasDescr = false, hasOrder = false, hasShape = false;
    while (!accept('}')) {
      std::string key;
      if (!parseString(key) || !accept(':'))
        return "a key in quotes and : are expected";
      bool *seen = key == "descr"           ? &hasDescr
                   : key == "fortran_order" ? &hasOrder
                   : key == "shape"         ? &hasShape
                                            : nullptr;
      if (!seen || *seen)
        return fmt::format("'{}' is no key of a header, or stands twice", excerpt(key));
      *seen = true;
      const bool isRead = seen == &hasDescr   ? parseString(array.descr)
                          : seen == &hasOrder ? parseOrder()
                                              : parseShape();
      if (!isRead)
        return seen == &hasDescr ? "descr is no plain type; records and objects are not read"
                                 : fmt::format("{} can't be read", key);
      if (!accept(',') && !(peek() == '}'))
        return "a comma is expected";
    }
    skipBlank();
    if (at != text.size())
      return "text stands behind the header";
    if (!hasDescr || !hasOrder || !hasShape)
      return "descr, fortran_order or shape is missing";
    return {};
  }

  size_t at = 0;

private:
  void skipBlank() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }
  char peek() {
    skipBlank();
    return at < text.size() ? text[at] : '\0';
  }
  bool accept(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  bool acceptWord(std::string_view word) {
    skipBlank();
    if (!text.substr(at).starts_with(word))
      return false;
    at += word.size();
    return true;
  }
  bool parseString(std::string &out) {
    const char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    const size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos)
      return false;
    out = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  bool parseOrder() {
    array.isColumnMajor = acceptWord("True");
    return array.isColumnMajor || acceptWord("False");
  }
  bool parseShape() {
    if (!accept('('))
      return false;
    while (!accept(')')) {
      int64_t dim = 0;
      skipBlank();
      auto [rest, error] = std::from_chars(text.data() + at, text.data() + text.size(), dim);
      if (error != std::errc() || dim < 0 || array.dims.size() == mostDims)
        return false;
      at = static_cast<size_t>(rest - text.data());
      acceptWord("L"); // Python 2
      array.dims.push_back(dim);
      if (!accept(',') && peek() != ')')
        return false;
    }
    return true;
  }

  std::string_view text;
  NumpyArray &array;
};

llvm::Expected<NumpyArray> parseNpy(std::string name, std::string key, std::string_view bytes) {
  auto error = [&](size_t at, const std::string &message) {
    return makeError(DiagClass::BadInput, "{}: byte {}: {}", name, at, message);
  };
  if (!bytes.starts_with(magic))
    return error(0,
                 "this is no array of numpy: it begins with \\x93NUMPY; save it with numpy.save");
  if (bytes.size() < 10)
    return error(bytes.size(), "the file ends in its header");
  const unsigned version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return error(6, fmt::format("version {} of the format is not known, 1 to 3 are", version));
  const size_t lengthBytes = version == 1 ? 2 : 4;
  size_t begin = 8 + lengthBytes, length = 0;
  for (size_t i = lengthBytes; i-- > 0 && bytes.size() >= begin;)
    length = length << 8 | static_cast<unsigned char>(bytes[8 + i]);
  if (bytes.size() < begin || bytes.size() - begin < length)
    return error(bytes.size(), "the file ends in its header");
  NumpyArray array;
  array.name = name;
  array.key = std::move(key);
  HeaderParser parser(bytes.substr(begin, length), array);
  if (std::string problem = parser.parse(); !problem.empty())
    return error(begin + parser.at, problem);
  const std::optional<Descr> descr = parseDescr(array.descr);
  if (!descr || std::string_view("biufcV").find(descr->letter) == std::string_view::npos)
    return error(begin, fmt::format("elements of type '{}' are not read; booleans, integers and "
                                    "floats are",
                                    excerpt(array.descr)));
  if (descr->order == '>')
    return error(begin,
                 "its bytes are in big-endian order; save it with .astype of the native one");
  std::optional<int64_t> size = descr->bytes;
  for (int64_t dim : array.dims)
    size = size && *size == 0 ? size : checkedMul(size, dim);
  const size_t data = begin + length;
  if (!size || static_cast<uint64_t>(*size) != bytes.size() - data)
    return error(data, fmt::format("{} bytes of elements follow, and shape and type say {}",
                                   bytes.size() - data,
                                   size ? std::to_string(*size) : "more than any file has"));
  array.elements = bytes.substr(data);
  return array;
}

/// The element's bits, at its row-major place whatever the file's order.
class ElementReader {
public:
  ElementReader(const NumpyArray &array, unsigned width, const Shape &shape)
      : array(array), width(width), dims(shape.dims) {}

  uint64_t bits(int64_t element, unsigned part) const {
    const size_t at = (static_cast<size_t>(place(element)) * parts + part) * width;
    uint64_t value = 0;
    for (unsigned i = width; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(array.elements[at + i]);
    return value;
  }

  unsigned parts = 1;

private:
  int64_t place(int64_t element) const {
    if (!array.isColumnMajor)
      return element;
    int64_t at = 0, stride = 1;
    // The last dim changes fastest in `element`, the first one in the file.
    std::vector<int64_t> index(dims.size());
    for (size_t d = dims.size(); d-- > 0; element /= dims[d])
      index[d] = element % dims[d];
    for (size_t d = 0; d < dims.size(); ++d) {
      at += index[d] * stride;
      stride *= dims[d];
    }
    return at;
  }

  const NumpyArray &array;
  unsigned width;
  const std::vector<int64_t> &dims;
};

bool isReal(DType type) { return isFloat(type) || dtypeClass(type) == DTypeClass::Complex; }

/// The word of an element of another type, where that has its value.
std::optional<uint64_t> converted(uint64_t word, DType from, DType to) {
  if (isReal(from) && isReal(to)) {
    const double value = std::bit_cast<double>(word), rounded = roundFloat(to, value);
    return value == rounded || (std::isnan(value) && std::isnan(rounded))
               ? std::optional(std::bit_cast<uint64_t>(rounded))
               : std::nullopt;
  }
  const auto integer = static_cast<int64_t>(word);
  if (isReal(from))
    return std::nullopt;
  if (isReal(to)) {
    const double value =
        from == DType::U64 ? static_cast<double>(word) : static_cast<double>(integer);
    const bool isExact = std::abs(value) <= 0x1p53 && roundFloat(to, value) == value;
    return isExact ? std::optional(std::bit_cast<uint64_t>(value)) : std::nullopt;
  }
  if (to == DType::Pred)
    return word <= 1 ? std::optional(word) : std::nullopt;
  const bool isLarge = from == DType::U64 && integer < 0;
  const bool keeps = wrapInteger(to, integer) == integer && (!isLarge || to == DType::U64) &&
                     (integer >= 0 || isLarge || to != DType::U64);
  return keeps ? std::optional(word) : std::nullopt;
}

} // namespace

llvm::Expected<std::vector<NumpyArray>> parseNumpy(const std::string &name,
                                                   std::string_view bytes) {
  std::vector<NumpyArray> arrays;
  auto add = [&](std::string called, std::string key, std::string_view of) {
    llvm::Expected<NumpyArray> array = parseNpy(std::move(called), std::move(key), of);
    if (array)
      arrays.push_back(std::move(*array));
    return array.takeError();
  };
  if (!isZip(bytes)) {
    if (llvm::Error error = add(name, "", bytes))
      return error;
    return arrays;
  }
  llvm::Expected<std::vector<ZipMember>> members = readZip(name, bytes);
  if (!members)
    return members.takeError();
  for (const ZipMember &member : *members) {
    std::string key = member.name;
    if (key.ends_with(".npy"))
      key.resize(key.size() - 4);
    if (llvm::Error error = add(fmt::format("{}: {}", name, key), key, member.bytes))
      return error;
  }
  return arrays;
}

llvm::Expected<std::vector<NumpyArray>> readNumpy(const std::string &path) {
  llvm::Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  return parseNumpy(path, *bytes);
}

llvm::Expected<Tensor> tensorOf(const NumpyArray &array, const Shape &shape) {
  auto error = [&](const std::string &message) {
    return makeError(DiagClass::BadInput, "{}: {}", array.name, message);
  };
  if (shape.isTuple || array.dims != shape.dims)
    return error(fmt::format("its shape is [{}], {} is needed", fmt::join(array.dims, ","),
                             shape.str(false)));
  const std::optional<Descr> descr = parseDescr(array.descr);
  const std::optional<DType> from = descr ? typeOf(*descr, shape.dtype) : std::nullopt;
  const bool isComplex = from && dtypeClass(*from) == DTypeClass::Complex;
  const bool wantsComplex = dtypeClass(shape.dtype) == DTypeClass::Complex;
  if (!from || wordsPerElement(shape.dtype) == 0 || (isComplex && !wantsComplex))
    return error(
        fmt::format("elements of type '{}' can't be {}", array.descr, toString(shape.dtype)));
  Tensor tensor(shape);
  const DType part = partType(*from), to = partType(shape.dtype);
  ElementReader reader(array, static_cast<unsigned>(descr->bytes) / (isComplex ? 2 : 1), shape);
  reader.parts = isComplex ? 2 : 1;
  for (int64_t i = 0; i < tensor.size(); ++i)
    for (unsigned k = 0; k < reader.parts; ++k) {
      const std::optional<uint64_t> word = converted(decodeWord(part, reader.bits(i, k)), part, to);
      if (!word)
        return error(fmt::format("element {} of its {} has a value that no {} has", i,
                                 tensor.size(), toString(shape.dtype)));
      tensor.words()[static_cast<size_t>(i) * tensor.wordsPerElement() + k] = *word;
    }
  return tensor;
}

} // namespace tilewright
