// The table of a model's kernels, each with its folded details below it.
#pragma once

#include "tools/report/summary.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// How many kernels a table lists, and for how many of those (the most expensive) it has details,
/// and tile maps in the details.
struct TableLimits {
  size_t rows, details, maps;
};

/// Most expensive kernels first. A note below the table counts what the limits omitted. `id` is
/// unique in the page.
std::string kernelTable(const Model &model, const Summary &summary, TableLimits limits,
                        std::string_view id);

} // namespace tilewright::report
