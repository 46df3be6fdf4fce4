#include "analysis/import/proto/proto_shape.h"

#include "analysis/import/hlo_lexer.h"
#include "analysis/ir/numeric.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tilewright {

namespace {

// Field numbers of xla_data.proto.
namespace shape_field {
enum : uint32_t { ElementType = 2, Dimensions = 3, TupleShapes = 4, Layout = 5, IsDynamic = 6 };
}
namespace layout_field {
enum : uint32_t { MinorToMajor = 1, Tiles = 6, ElementBits = 7, MemorySpace = 8 };
}
constexpr int64_t tupleType = 13;

/// PrimitiveType and the field of LiteralProto that has the values; byteWidth is 0 for numbers
/// that are packed as varints.
struct TypeRow {
  int64_t number;
  DType dtype;
  uint32_t values;
  unsigned byteWidth;
};

constexpr TypeRow types[] = {
    {1, DType::Pred, 2, 0},         {30, DType::S1, 30, 1},
    {26, DType::S2, 26, 1},         {21, DType::S4, 21, 1},
    {2, DType::S8, 15, 1},          {3, DType::S16, 17, 2},
    {4, DType::S32, 4, 0},          {5, DType::S64, 5, 0},
    {31, DType::U1, 31, 1},         {27, DType::U2, 27, 1},
    {22, DType::U4, 22, 1},         {6, DType::U8, 3, 1},
    {7, DType::U16, 16, 2},         {8, DType::U32, 6, 0},
    {9, DType::U64, 7, 0},          {10, DType::F16, 11, 2},
    {11, DType::F32, 8, 4},         {16, DType::BF16, 13, 2},
    {12, DType::F64, 9, 8},         {19, DType::F8E5M2, 19, 1},
    {28, DType::F8E4M3, 28, 1},     {20, DType::F8E4M3FN, 20, 1},
    {29, DType::F8E3M4, 29, 1},     {24, DType::F8E5M2FNUZ, 24, 1},
    {25, DType::F8E4M3FNUZ, 25, 1}, {32, DType::F4E2M1FN, 32, 1},
    {33, DType::F8E8M0FNU, 33, 1},  {23, DType::F8E4M3B11FNUZ, 23, 1},
    {15, DType::C64, 12, 4},        {18, DType::C128, 18, 8},
    {17, DType::Token, 0, 0},       {14, DType::Opaque, 0, 0},
};

const TypeRow *typeOf(int64_t number) {
  auto it = std::find_if(std::begin(types), std::end(types),
                         [&](const TypeRow &row) { return row.number == number; });
  return it == std::end(types) ? nullptr : it;
}

std::string layoutText(const WireMessage &layout) {
  std::string after;
  for (const WireMessage &tile : layout.messages(layout_field::Tiles)) {
    std::vector<int64_t> dims = tile.integers(1);
    after += after.empty() ? "T(" : "(";
    for (size_t i = 0; i < dims.size(); ++i)
      after += (i ? "," : "") +
               (dims[i] == std::numeric_limits<int64_t>::min() ? "*" : std::to_string(dims[i]));
    after += ")";
  }
  if (int64_t bits = layout.integer(layout_field::ElementBits))
    after += fmt::format("E({})", bits);
  if (int64_t space = layout.integer(layout_field::MemorySpace))
    after += fmt::format("S({})", space);
  const std::vector<int64_t> order = layout.integers(layout_field::MinorToMajor);
  if (order.empty() && after.empty())
    return {};
  std::string list = bracedList(order);
  list.pop_back();
  return list + (after.empty() ? "" : ":") + after + "}";
}

bool appendShapeAt(const WireMessage &shape, std::string &out, WireError &error, bool withLayout,
                   unsigned depth) {
  if (depth == hlo_limits::depth)
    return error.fail(shape.offset(), fmt::format("tuples nest deeper than {}", depth));
  const int64_t number = shape.integer(shape_field::ElementType);
  if (number == tupleType) {
    out += '(';
    bool isFirst = true;
    for (const WireMessage &element : shape.messages(shape_field::TupleShapes)) {
      out += isFirst ? "" : ", ";
      isFirst = false;
      if (!appendShapeAt(element, out, error, withLayout, depth + 1))
        return false;
    }
    out += ')';
    return !error.isSet;
  }
  const TypeRow *type = typeOf(number);
  if (!type)
    return error.fail(shape.offset(), fmt::format("element type {} is not read", number));
  const std::vector<int64_t> dims = shape.integers(shape_field::Dimensions),
                             dynamic = shape.integers(shape_field::IsDynamic);
  out += toString(type->dtype);
  out += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    out += i ? "," : "";
    if (dims[i] == std::numeric_limits<int64_t>::min())
      out += '?';
    else
      out += (i < dynamic.size() && dynamic[i] ? "<=" : "") + std::to_string(dims[i]);
  }
  out += ']';
  if (withLayout)
    out += layoutText(shape.message(shape_field::Layout));
  return !error.isSet;
}

std::string floatText(DType type, int64_t bits) {
  const double value = decodeFloat(type, static_cast<uint64_t>(bits));
  if (std::isnan(value))
    return std::signbit(value) ? "-nan" : "nan";
  // The shortest text that rounds to it in the type's own precision or in f32's.
  return type == DType::F64 ? fmt::format("{}", value)
                            : fmt::format("{}", static_cast<float>(value));
}

std::string valueText(const TypeRow &type, const std::vector<int64_t> &values, size_t i) {
  switch (dtypeClass(type.dtype)) {
  case DTypeClass::Pred:
    return values[i] ? "true" : "false";
  case DTypeClass::Float:
    return floatText(type.dtype, values[i]);
  case DTypeClass::Complex: {
    const DType part = type.dtype == DType::C64 ? DType::F32 : DType::F64;
    return fmt::format("({}, {})", floatText(part, values[2 * i]),
                       floatText(part, values[2 * i + 1]));
  }
  default: {
    const int64_t value = wrapInteger(type.dtype, values[i]);
    return type.dtype == DType::U64 ? std::to_string(static_cast<uint64_t>(value))
                                    : std::to_string(value);
  }
  }
}

/// All values with their braces.
void appendTensor(const TypeRow &type, const std::vector<int64_t> &values,
                  const std::vector<int64_t> &dims, size_t count, std::string &out) {
  for (size_t i = 0; i < count; ++i) {
    size_t inner = 1, opened = 0, closed = 0;
    for (size_t d = dims.size(); d-- > 0;) {
      inner *= static_cast<size_t>(dims[d]);
      opened += i % inner == 0;
      closed += (i + 1) % inner == 0;
    }
    out += i ? ", " : "";
    out += std::string(opened, '{') + valueText(type, values, i) + std::string(closed, '}');
  }
}

bool appendLiteralAt(const WireMessage &literal, LiteralBudget &budget, std::string &out,
                     WireError &error, unsigned depth) {
  namespace field = shape_field;
  const WireMessage shape = literal.message(1);
  const int64_t number = shape.integer(field::ElementType);
  if (depth == hlo_limits::depth)
    return error.fail(literal.offset(), fmt::format("tuples nest deeper than {}", depth));
  if (number == tupleType) {
    out += '(';
    bool isFirst = true;
    for (const WireMessage &element : literal.messages(10)) {
      out += isFirst ? "" : ", ";
      isFirst = false;
      if (!appendLiteralAt(element, budget, out, error, depth + 1))
        return false;
    }
    out += ')';
    return !error.isSet;
  }
  const TypeRow *type = typeOf(number);
  if (!type || type->values == 0)
    return error.fail(literal.offset(),
                      fmt::format("constants of element type {} are not read", number));
  const std::vector<int64_t> dims = shape.integers(field::Dimensions);
  std::optional<int64_t> count = 1;
  for (int64_t dim : dims)
    count = count && dim >= 0 ? checkedMul(*count, dim) : std::nullopt;
  if (dims.size() > hlo_limits::rank || !count)
    return error.fail(literal.offset(), "the constant's shape is out of range");
  if (*count == 0 || static_cast<uint64_t>(*count) > budget.elements) {
    out += *count == 0 ? "{}" : "{...}";
    return true;
  }
  const std::vector<int64_t> values = type->byteWidth > 0
                                          ? literal.fixed(type->values, type->byteWidth)
                                          : literal.integers(type->values);
  const size_t parts = dtypeClass(type->dtype) == DTypeClass::Complex ? 2 : 1;
  if (error.isSet)
    return false;
  if (values.size() / parts != static_cast<size_t>(*count))
    return error.fail(literal.offset(), fmt::format("the constant has {} values, its shape {}",
                                                    values.size() / parts, *count));
  budget.elements -= static_cast<size_t>(*count);
  appendTensor(*type, values, dims, static_cast<size_t>(*count), out);
  return true;
}

} // namespace

std::string bracedList(const std::vector<int64_t> &values) {
  std::string out = "{";
  for (size_t i = 0; i < values.size(); ++i)
    out += (i ? "," : "") + std::to_string(values[i]);
  return out + "}";
}

bool appendShape(const WireMessage &shape, std::string &out, WireError &error, bool withLayout) {
  return appendShapeAt(shape, out, error, withLayout, 0);
}

bool appendLiteral(const WireMessage &literal, LiteralBudget &budget, std::string &out,
                   WireError &error) {
  return appendLiteralAt(literal, budget, out, error, 0);
}

} // namespace tilewright
