#include "costmodel/op_cost.h"

namespace tilewright {

namespace {

/// Double precision and integers run the same ops at other rates.
LaneOps elementwiseCost(Opcode opcode, DType type) {
  bool isInteger = !isFloat(type);
  switch (opcode) {
  case Opcode::Copy:
  case Opcode::BitcastConvert:
  case Opcode::Domain:
    return {0, 0};
  case Opcode::Convert:
    return {0.5, 0}; // two halves of a word at once
  case Opcode::Divide:
  case Opcode::Remainder:
    return isInteger ? LaneOps{20, 1} : LaneOps{8, 1};
  case Opcode::Exp:
    return {3, 1};
  case Opcode::Log:
    return {6, 1};
  case Opcode::Rsqrt:
    return {3, 1};
  case Opcode::Sqrt:
    return {6, 1};
  case Opcode::Logistic:
    return {14, 2};
  case Opcode::Tanh:
    return {12, 2};
  case Opcode::Erf:
    return {25, 1};
  case Opcode::Expm1:
  case Opcode::Log1p:
    return {12, 1};
  case Opcode::Sine:
  case Opcode::Cosine:
  case Opcode::Tan:
    return {20, 1};
  case Opcode::Power:
  case Opcode::Cbrt:
    return {14, 2};
  case Opcode::Acos:
  case Opcode::Acosh:
  case Opcode::Asin:
  case Opcode::Asinh:
  case Opcode::Atan2:
  case Opcode::Atanh:
  case Opcode::Cosh:
  case Opcode::Sinh:
    return {30, 2};
  case Opcode::Clz:
  case Opcode::PopulationCount:
    return {1, 1}; // a quarter of the ALU rate, like the special functions
  case Opcode::Clamp:
  case Opcode::Sign:
  case Opcode::RoundNearestAfz:
    return {2, 0};
  default:
    return {1, 0};
  }
}

LaneOps bodyCost(const Module &module, GraphId id) {
  LaneOps sum;
  for (const Op &op : module.graph(id).all())
    if (opClass(op.opcode) == OpClass::Elementwise)
      sum += elementwiseCost(op.opcode, op.shape.dtype);
  return sum;
}

} // namespace

LaneOps costPerElement(const Module &module, const Op &op) {
  switch (op.opcode) {
  case Opcode::Map:
  case Opcode::Reduce:
  case Opcode::ReduceWindow: {
    LaneOps sum;
    for (const CalledGraph &called : op.called)
      sum += bodyCost(module, called.graph);
    return sum;
  }
  case Opcode::Gather:
  case Opcode::DynamicSlice:
    return {4, 0};
  case Opcode::Pad:
  case Opcode::Concatenate:
  case Opcode::DynamicUpdateSlice:
  case Opcode::Iota:
    return {2, 0};
  default:
    return opClass(op.opcode) == OpClass::Elementwise ? elementwiseCost(op.opcode, op.shape.dtype)
                                                      : LaneOps{};
  }
}

} // namespace tilewright
