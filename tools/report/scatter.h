// Predicted against measured time, one panel a family.
#pragma once

#include "tools/report/document.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// Panels on common logarithmic axes, with the line of equality and the band of ±20 %. Points that
/// fall on the same pixel are drawn once, so the size is bounded however many rows there are. Empty
/// when no row has both times. `id` is unique in the page.
std::string scatterFigures(const Evaluation &evaluation, std::string_view id);

} // namespace tilewright::report
