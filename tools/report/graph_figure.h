// A model's kernels in execution order with the data flow between them.
#pragma once

#include "tools/report/document.h"
#include "tools/report/summary.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// One line a kernel, coloured by its share of the time, and an arc from each kernel to those that
/// read its result. Long models show their first kernels. Empty for a model without kernels.
std::string graphFigure(const Model &model, const Summary &summary, size_t maxKernels,
                        std::string_view id);

} // namespace tilewright::report
