// Statistics of repeated times: robust ones, because clocks wander and interrupts come.
#pragma once

#include <vector>

namespace tilewright::profile {

/// The middle value, or the mean of the two middle ones. NaN for none.
double median(std::vector<double> values);

/// Median of the absolute deviations from the median. NaN for none.
double medianDeviation(const std::vector<double> &values);

} // namespace tilewright::profile
