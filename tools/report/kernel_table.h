// The table of a model's kernels, each with its details folded away below it.
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

/// Most expensive kernels first. Says below the table what the limits left out. `id` is unique in
/// the page.
std::string kernelTable(const Model &model, const Summary &summary, TableLimits limits,
                        std::string_view id);

} // namespace tilewright::report
