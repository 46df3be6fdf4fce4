// Lane operations of one element of an op. Internal to the cost model.
#pragma once

#include "analysis/ir/graph.h"

namespace tilewright {

struct LaneOps {
  double alu = 0, sfu = 0;
  LaneOps &operator+=(LaneOps o) {
    alu += o.alu;
    sfu += o.sfu;
    return *this;
  }
  LaneOps operator*(double n) const { return {alu * n, sfu * n}; }
};

/// Instructions that one element of the op's result takes; of a reduce, one element of its operand.
/// Counts of the SASS that common compilers make for f32; data movement counts as its address
/// arithmetic only.
LaneOps costPerElement(const Module &module, const Op &op);

} // namespace tilewright
