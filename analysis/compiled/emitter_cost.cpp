#include "analysis/compiled/emitter_cost.h"

#include <algorithm>

namespace tilewright {

namespace {

struct CostRow {
  Opcode opcode;
  EmitterCost cost;
};
constexpr CostRow floatRows[] = {
#define TILEWRIGHT_EMITTER_COST(opcode, instructions, half, special)                               \
  {Opcode::opcode, {instructions, half, special}},
#define TILEWRIGHT_EMITTER_INTEGER_COST(opcode, instructions, half, special)
#include "analysis/compiled/emitter_cost.def"
};
constexpr CostRow integerRows[] = {
#define TILEWRIGHT_EMITTER_COST(opcode, instructions, half, special)
#define TILEWRIGHT_EMITTER_INTEGER_COST(opcode, instructions, half, special)                       \
  {Opcode::opcode, {instructions, half, special}},
#include "analysis/compiled/emitter_cost.def"
};

template <size_t N> const EmitterCost *rowOf(const CostRow (&rows)[N], Opcode opcode) {
  auto found =
      std::find_if(std::begin(rows), std::end(rows), [&](auto &r) { return r.opcode == opcode; });
  return found == std::end(rows) ? nullptr : &found->cost;
}

bool isFree(Opcode opcode) {
  switch (opcode) {
  case Opcode::Bitcast:
  case Opcode::Reshape:
  case Opcode::GetTupleElement:
  case Opcode::Tuple:
  case Opcode::Parameter:
  case Opcode::Constant:
  case Opcode::Broadcast:
  case Opcode::Transpose:
  case Opcode::Slice:
  case Opcode::Reverse:
  case Opcode::BitcastConvert:
    return true;
  default:
    return false;
  }
}

/// Is an op of 16 bit computed in that type?
bool isNarrow(Opcode opcode) {
  switch (opcode) {
  case Opcode::Add:
  case Opcode::Subtract:
  case Opcode::Multiply:
  case Opcode::Convert:
  case Opcode::Select:
  case Opcode::Compare:
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Negate:
  case Opcode::Abs:
  case Opcode::Maximum:
  case Opcode::Minimum:
  case Opcode::Iota:
    return true;
  default:
    return false;
  }
}

EmitterCost elementCost(const Op &op) {
  if (isFree(op.opcode) || op.shape.isTuple)
    return {};
  const DType type = op.shape.dtype;
  if (isInteger(type))
    if (const EmitterCost *row = rowOf(integerRows, op.opcode))
      return *row;
  EmitterCost cost{1, 0, 0};
  if (const EmitterCost *row = rowOf(floatRows, op.opcode))
    cost = *row;
  if (isFloat(type) && bitWidth(type) == 16 && !isNarrow(op.opcode))
    cost.instructions += 2;
  if (op.opcode == Opcode::Divide && type == DType::F32)
    cost.instructions += 4;
  if (op.opcode == Opcode::Convert && type == DType::BF16)
    cost = {cost.instructions + 1, cost.half + 1, cost.special};
  return cost;
}

/// Bounds of every tap in every padded dim are checked, inside or not.
EmitterCost windowCost(const Op &op) {
  double taps = 1, padded = 0;
  for (const WindowDim &dim : op.attrs.window) {
    taps *= double(dim.size);
    padded += dim.padLow != 0 || dim.padHigh != 0;
  }
  return {(2 + 4 * padded) * taps, 0, 0};
}

} // namespace

EmitterCost emitterCost(const Module &module, const Graph &graph, const Op &op) {
  switch (op.opcode) {
  case Opcode::ReduceWindow:
    return windowCost(op);
  case Opcode::Reduce:
  case Opcode::Map:
  case Opcode::Scatter: {
    EmitterCost sum;
    for (const CalledGraph &called : op.called)
      for (const Op &inner : module.graph(called.graph).all()) {
        const EmitterCost cost = elementCost(inner);
        sum = {sum.instructions + cost.instructions, sum.half + cost.half,
               sum.special + cost.special};
      }
    return sum;
  }
  default:
    return elementCost(op);
  }
}

} // namespace tilewright
