#include "analysis/import/stablehlo/lowering.h"

#include "analysis/import/stablehlo/dense.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::stablehlo {

bool Lowering::failAt(uint32_t offset, std::string message) {
  return reader.lexer.fail(offset, std::move(message));
}

bool Lowering::refuse(std::string reason) {
  return reader.lexer.fail(text.offset, fmt::format("{}: {}", text.name, reason),
                           DiagClass::Unsupported);
}

bool Lowering::hasOperands(size_t count) {
  return text.operands.size() == count ||
         fail(fmt::format("{} needs {} operand{}, {} given", text.name, count,
                          count == 1 ? "" : "s", text.operands.size()));
}

bool Lowering::hasResults(size_t count) {
  return text.types.size() == count ||
         fail(fmt::format("{} has {} result{}, {} given", text.name, count, count == 1 ? "" : "s",
                          text.types.size()));
}

bool Lowering::hasRegions(size_t count) {
  return text.regions.size() == count ||
         fail(fmt::format("{} needs {} region{}, {} given", text.name, count, count == 1 ? "" : "s",
                          text.regions.size()));
}

bool Lowering::need(std::string_view name) {
  return has(name) || fail(fmt::format("{} needs {}", text.name, name));
}

bool Lowering::integers(std::string_view name, std::vector<int64_t> &out) {
  Integers read;
  if (!nested(name, read))
    return false;
  if (has(name))
    out = std::move(read.values);
  return true;
}

bool Lowering::nested(std::string_view name, Integers &out) {
  const Attribute *attribute = text.attributes.take(name);
  return !attribute || readIntegers(at(*attribute), out);
}

bool Lowering::integer(std::string_view name, int64_t &out) {
  const Attribute *attribute = text.attributes.take(name);
  return !attribute || readInteger(at(*attribute), out);
}

bool Lowering::flag(std::string_view name, bool &out) {
  const Attribute *attribute = text.attributes.take(name);
  return !attribute || readFlag(at(*attribute), out);
}

bool Lowering::word(std::string_view name, std::string_view &out) {
  const Attribute *attribute = text.attributes.take(name);
  return !attribute || readWord(at(*attribute), out);
}

bool Lowering::words(std::string_view name, std::vector<std::string_view> &out) {
  const Attribute *attribute = text.attributes.take(name);
  return !attribute || readWords(at(*attribute), out);
}

bool Lowering::string(std::string_view name, std::string &out) {
  const Attribute *attribute = text.attributes.take(name);
  return !attribute || at(*attribute).string(out);
}

bool Lowering::symbol(std::string_view name, std::string &out) {
  const Attribute *attribute = text.attributes.take(name);
  if (!attribute)
    return true;
  MlirLexer in = at(*attribute);
  return in.peek() == '"' ? in.string(out) : in.symbol(out);
}

bool Lowering::structure(std::string_view name, Attributes &out) {
  const Attribute *attribute = text.attributes.take(name);
  return !attribute || readStruct(at(*attribute), reader.attributeAliases, out);
}

bool Lowering::integersIn(Attributes &structure, std::string_view name, std::vector<int64_t> &out) {
  const Attribute *attribute = structure.take(name);
  if (!attribute)
    return true;
  Integers read;
  if (!readIntegers(at(*attribute), read))
    return false;
  out = std::move(read.values);
  return true;
}

bool Lowering::integerIn(Attributes &structure, std::string_view name, int64_t &out) {
  const Attribute *attribute = structure.take(name);
  return !attribute || readInteger(at(*attribute), out);
}

Shape Lowering::resultShape() const {
  if (text.types.size() == 1)
    return text.types[0].shape;
  Shape tuple = Shape::tuple({});
  for (const Type &type : text.types)
    tuple.elements.push_back(type.shape);
  return tuple;
}

Op Lowering::make(Opcode opcode) const {
  Op op;
  op.opcode = opcode;
  op.operands = text.operands;
  op.shape = resultShape();
  op.loc = loc();
  return op;
}

namespace {

/// Results that hold only elements of the operands, or what a computation returns, have been
/// rounded already.
bool keepsElements(Opcode opcode) {
  switch (opcode) {
  case Opcode::Broadcast:
  case Opcode::Call:
  case Opcode::Concatenate:
  case Opcode::Conditional:
  case Opcode::DynamicSlice:
  case Opcode::Gather:
  case Opcode::GetTupleElement:
  case Opcode::Reshape:
  case Opcode::Reverse:
  case Opcode::Slice:
  case Opcode::Transpose:
    return true;
  default:
    return false;
  }
}

} // namespace

bool Lowering::finish(Op op) {
  const Opcode opcode = op.opcode;
  const OpId id = scope.add(std::move(op), text.base);
  if (text.types.size() == 1)
    return finish({id}) && (keepsElements(opcode) || !text.types[0].quantization ||
                            finish({requantized(*this, id, *text.types[0].quantization)}));
  packed = id;
  const bool isQuantized = std::any_of(text.types.begin(), text.types.end(), [](const Type &type) {
    return type.quantization != nullptr;
  });
  return !isQuantized || keepsElements(opcode) || refuse("several quantised results are not read");
}

bool Lowering::finish(std::vector<OpId> results) {
  values = std::move(results);
  return true;
}

bool Lowering::reducer(size_t index, GraphId &out) {
  Region &region = text.regions[index];
  if (region.results.empty())
    return failAt(region.offset, "the region returns nothing");
  out =
      reader.finish(*region.scope, region.scope->rootOf(region.results, SourceLoc{region.offset}));
  return true;
}

void addRaw(Op &op, std::string_view name, std::string text) {
  op.rawAttrs.push_back({std::string(name), std::move(text), op.loc});
}

} // namespace tilewright::stablehlo
