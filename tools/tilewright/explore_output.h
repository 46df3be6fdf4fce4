// Output of `tilewright explore`.
#pragma once

#include "tools/explore/explore.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// A model's entry of the document; its name is `path`.
Json modelJson(const std::string &path, const ExploredModel &model);
/// {"tile", "schedule", "grid"}.
Json planJson(const KernelPlan &plan);
Json deviceJson(const Device &device);
Json leversJson(const std::vector<Lever> &levers);

/// The table of an entry's kernels, and what has none.
void printModel(const Json &model);

} // namespace tilewright::cli
