#include "profiler/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright::profile {

double median(std::vector<double> values) {
  if (values.empty())
    return std::numeric_limits<double>::quiet_NaN();
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double medianDeviation(const std::vector<double> &values) {
  double center = median(values);
  std::vector<double> deviations;
  for (double value : values)
    deviations.push_back(std::abs(value - center));
  return median(std::move(deviations));
}

} // namespace tilewright::profile
