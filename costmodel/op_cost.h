// Lane operations of one element of an op. Internal to the cost model.
#pragma once

#include "analysis/program/evaluations.h"
#include "analysis/tiling/plan.h"

namespace tilewright {

/// Instructions of one lane: special functions, all others, and those of the others that run on a
/// pipe of half rate (64 lanes a clock and SM).
struct LaneOps {
  double alu = 0, half = 0, sfu = 0;
  LaneOps &operator+=(LaneOps o) {
    alu += o.alu;
    half += o.half;
    sfu += o.sfu;
    return *this;
  }
  LaneOps operator*(double n) const { return {alu * n, half * n, sfu * n}; }
};

/// Of an elementwise op on one element of that type.
LaneOps laneOpsOf(Opcode opcode, DType type, ScalarForms forms,
                  program::Divisor divisor = program::Divisor::Own);

/// A quotient by what is the same for many elements, if it is not refined to the last place: a
/// product, with a scaling or a shift that keeps it in range.
inline constexpr LaneOps sharedDivisor = {3, 0, 0};

/// Cost of one element of the op's result; for a reduce, of its operand. Counts of compiled code
/// (op_cost.def); data movement counts as its address arithmetic only.
LaneOps costPerElement(const Module &module, const Op &op, ScalarForms forms);

/// An exponential of an online softmax between two dots: one multiply-add and a special function,
/// since the factor log2 e is folded into the scale of the scores and small results are flushed to
/// zero.
inline constexpr LaneOps chainedExponential = {3, 0, 1};

} // namespace tilewright
