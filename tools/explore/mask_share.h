// How much of an op's index space a mask leaves.
//
// The causal mask of scores [4, 4] is  index 0 - index 1 ≥ 0  (masks.h): it leaves 10 of 16
// elements, and some element in each row and in each column.
#pragma once

#include "analysis/tiling/masks.h"

#include <span>

namespace tilewright {

struct MaskShare {
  double share = 1;        ///< of the elements, those at which all conditions hold
  bool isEveryLine = true; ///< along each dim, each index has such an element
};

/// Counts the elements of a shape with these dims at which all conditions hold. Conditions over
/// more than two dims are counted where the product of all but the longest is below 2^20; else
/// nothing is claimed to be left.
MaskShare maskShare(std::span<const AffineValue> conditions, std::span<const int64_t> dims);

} // namespace tilewright
