// Statistics of repeated times: robust ones, because clocks wander and interrupts come.
#pragma once

#include <vector>

namespace tilewright::profile {

/// Median of the absolute deviations from the median. NaN for none.
double medianDeviation(const std::vector<double> &values);

} // namespace tilewright::profile
