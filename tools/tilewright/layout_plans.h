// The best plans of a model's kernel, ranked again by layouts: what `tilewright layout MODEL
// --plans` runs.
#pragma once

#include "tools/tilewright/command.h"
#include "tools/tilewright/layout_model.h"

namespace tilewright::cli {

struct LayoutPlansArguments {
  size_t plans = 0; ///< of each variant; 0: not asked for
  std::string device = "h100-sxm", calibration;
};

void addLayoutPlans(CLI::App &command, LayoutPlansArguments &options);
int runLayoutPlans(const std::string &path, const ModelTile &model,
                   const LayoutPlansArguments &options, bool json);

} // namespace tilewright::cli
