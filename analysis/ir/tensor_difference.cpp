#include "analysis/ir/tensor_difference.h"

#include "analysis/support/checked.h"

#include <cmath>

namespace tilewright {

namespace {

double gapOf(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y)))
    return 0;
  const double gap = std::abs(x - y) / std::max(1.0, std::abs(y));
  return std::isfinite(gap) ? gap : HUGE_VAL;
}

double gapAt(const Tensor &a, const Tensor &b, int64_t i) {
  switch (dtypeClass(a.dtype())) {
  case DTypeClass::Complex:
    return std::max(gapOf(a.complex(i).real(), b.complex(i).real()),
                    gapOf(a.complex(i).imag(), b.complex(i).imag()));
  case DTypeClass::Float:
    return gapOf(a.real(i), b.real(i));
  default:
    return a.wordsPerElement() == 0 || a.integer(i) == b.integer(i) ? 0 : HUGE_VAL;
  }
}

} // namespace

TensorDifference differenceOf(const Tensor &actual, const Tensor &expected, double tolerance) {
  TensorDifference difference;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double gap = gapAt(actual, expected, i);
    difference.over += gap > tolerance;
    if (gap > difference.worst) {
      difference.worst = gap;
      difference.element = i;
    }
  }
  return difference;
}

double defaultTolerance(DType type) {
  const DType part = partType(type);
  if (!isFloat(part))
    return 0;
  switch (bitWidth(part)) {
  case 64:
    return 1e-9;
  case 32:
    return 1e-4;
  case 16:
    return 2e-2;
  default:
    return 0.25;
  }
}

} // namespace tilewright
