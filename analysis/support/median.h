// The median of a list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace tilewright {

/// The value in the middle, the mean of the two of an even number; NaN of none.
inline double medianOf(std::vector<double> values) {
  if (values.empty())
    return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

} // namespace tilewright
