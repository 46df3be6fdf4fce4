#include "profiler/statistics.h"

#include "analysis/support/median.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright::profile {

double medianDeviation(const std::vector<double> &values) {
  double center = medianOf(values);
  std::vector<double> deviations;
  for (double value : values)
    deviations.push_back(std::abs(value - center));
  return medianOf(std::move(deviations));
}

} // namespace tilewright::profile
