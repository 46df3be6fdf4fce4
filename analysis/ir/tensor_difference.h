// How far two tensors are apart, and how far they may be.
#pragma once

#include "analysis/ir/tensor.h"

namespace tilewright {

/// |actual - expected| / max(1, |expected|), for integers and truth values 0 or infinity. Equal
/// infinities and NaNs differ by 0, a NaN and anything else by infinity. Of complex numbers the
/// worse part counts.
struct TensorDifference {
  double worst = 0;
  int64_t element = -1; ///< the first one that is off by that, row-major; -1 where none is
  int64_t over = 0;     ///< elements that are off by more than the tolerance
};

/// Precondition: the same dims and dtype.
TensorDifference differenceOf(const Tensor &actual, const Tensor &expected, double tolerance);

/// What rounding in another order may leave: 1e-9 for f64, 1e-4 for f32, 2e-2 for 16 bits, 0.25 for
/// fewer, of complex numbers as of their parts; 0 for integers and truth values.
double defaultTolerance(DType type);

} // namespace tilewright
