#include "costmodel/op_cost.h"

#include <algorithm>

namespace tilewright {

namespace {

/// How an op is computed, which decides its instruction count.
enum class Kind { F32, F64, I32, U32, I64 };

struct Row {
  Kind kind;
  Opcode opcode;
  double instructions, half, special;
};
constexpr Row rows[] = {
#define TILEWRIGHT_OP_COST(type, opcode, instructions, half, special)                              \
  {Kind::type, Opcode::opcode, instructions, half, special},
#include "costmodel/op_cost.def"
};
/// Those of refined forms.
constexpr Row refinedRows[] = {
#define TILEWRIGHT_REFINED_OP_COST(type, opcode, instructions, half, special)                      \
  {Kind::type, Opcode::opcode, instructions, half, special},
#include "costmodel/op_cost.def"
};

Kind kindOf(DType type) {
  switch (dtypeClass(type)) {
  case DTypeClass::Float:
    return type == DType::F64 ? Kind::F64 : Kind::F32;
  case DTypeClass::Complex:
    return type == DType::C128 ? Kind::F64 : Kind::F32;
  default:
    break;
  }
  if (bitWidth(type) == 64)
    return Kind::I64;
  return dtypeClass(type) == DTypeClass::Signed ? Kind::I32 : Kind::U32;
}

const Row *find(Kind kind, Opcode opcode, ScalarForms forms) {
  auto isIt = [&](const Row &row) { return row.kind == kind && row.opcode == opcode; };
  if (forms == ScalarForms::Refined)
    if (const Row *refined = std::find_if(std::begin(refinedRows), std::end(refinedRows), isIt);
        refined != std::end(refinedRows))
      return refined;
  if (const Row *row = std::find_if(std::begin(rows), std::end(rows), isIt); row != std::end(rows))
    return row;
  // A kind without an entry takes that of the most similar kind.
  return kind == Kind::U32   ? find(Kind::I32, opcode, forms)
         : kind == Kind::F64 ? find(Kind::F32, opcode, forms)
                             : nullptr;
}

} // namespace

/// Of f32, refined: the reciprocal is there, its products are corrected, and operands at the ends
/// of the range are scaled (sm_90a, ptxas 13.0; rows of 1024 divided by a value each, and by 11.3).
static LaneOps quotientOf(Kind kind, ScalarForms forms, program::Divisor divisor) {
  constexpr LaneOps refined = {15, 9, 0}, refinedByNumber = {10, 7, 0};
  if (divisor == program::Divisor::PowerOfTwo)
    return {1, 0, 0};
  if (kind != Kind::F32 || forms != ScalarForms::Refined)
    return sharedDivisor;
  return divisor == program::Divisor::Number ? refinedByNumber : refined;
}

LaneOps laneOpsOf(Opcode opcode, DType type, ScalarForms forms, program::Divisor divisor) {
  const bool isF64 = kindOf(type) == Kind::F64 && divisor != program::Divisor::PowerOfTwo;
  if (divisor != program::Divisor::Own && !isF64)
    return quotientOf(kindOf(type), forms, divisor);
  switch (opcode) {
  case Opcode::Copy:
  case Opcode::BitcastConvert:
  case Opcode::Domain:
    return {};
  case Opcode::Convert:
    return {0.5, 0, 0}; // two halves of a word at once
  default:
    break;
  }
  const Kind kind = kindOf(type);
  if (const Row *row = find(kind, opcode, forms))
    return {row->instructions - row->special, row->half, row->special};
  // Floats: a multiply-add. Integers: one of the logic pipe. Those of 64 bit take two words, or a
  // pipe of half the rate.
  switch (kind) {
  case Kind::F32:
    return {1, 0, 0};
  case Kind::F64:
  case Kind::I32:
  case Kind::U32:
    return {1, 1, 0};
  case Kind::I64:
    return {2, 2, 0};
  }
  return {};
}

namespace {

LaneOps bodyCost(const Module &module, GraphId id, ScalarForms forms) {
  LaneOps sum;
  for (const Op &op : module.graph(id).all())
    if (opClass(op.opcode) == OpClass::Elementwise)
      sum += laneOpsOf(op.opcode, op.shape.dtype, forms);
  return sum;
}

} // namespace

LaneOps costPerElement(const Module &module, const Op &op, ScalarForms forms) {
  switch (op.opcode) {
  case Opcode::Map:
  case Opcode::Reduce:
  case Opcode::ReduceWindow: {
    LaneOps sum;
    for (const CalledGraph &called : op.called)
      sum += bodyCost(module, called.graph, forms);
    return sum;
  }
  case Opcode::Gather:
  case Opcode::DynamicSlice:
    return {4, 4, 0};
  case Opcode::Pad:
  case Opcode::Concatenate:
  case Opcode::DynamicUpdateSlice:
  case Opcode::Iota:
    return {2, 2, 0};
  default:
    return opClass(op.opcode) == OpClass::Elementwise ? laneOpsOf(op.opcode, op.shape.dtype, forms)
                                                      : LaneOps{};
  }
}

} // namespace tilewright
