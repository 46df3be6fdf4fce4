// Lane operations of one element of an op. Internal to the cost model.
#pragma once

#include "analysis/ir/graph.h"

namespace tilewright {

struct OpCost {
  double alu = 0, sfu = 0;
  OpCost &operator+=(OpCost o) {
    alu += o.alu;
    sfu += o.sfu;
    return *this;
  }
  OpCost operator*(double n) const { return {alu * n, sfu * n}; }
};

/// Instructions that one element of the op's result takes; of a reduce, one element of its operand.
/// Counts of the SASS that common compilers make for f32; data movement counts as its address
/// arithmetic only.
OpCost costPerElement(const Module &module, const Op &op);

} // namespace tilewright
