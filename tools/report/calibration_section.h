// A calibration's parameters with their uncertainty.
#pragma once

#include "tools/report/document.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// A table with the value, its prior and a bar of one standard deviation around value/prior.
std::string calibrationSection(const CalibrationDocument &calibration, std::string_view id);

} // namespace tilewright::report
