// Input shared by `evaluate` and `calibrate`: measurements read through templates.
#pragma once

#include "costmodel/dataset.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct MeasuredOptions {
  std::vector<std::string> files;
  std::string device = "h100-sxm", templates, out;
  bool json = false, allParameters = false;
};

struct MeasuredInput {
  Device device;
  Dataset data;
};

/// Adds FILE, --device, --templates, --all-parameters and --json.
void addMeasuredOptions(CLI::App *command, MeasuredOptions &options);

llvm::Expected<MeasuredInput> readMeasured(const MeasuredOptions &options,
                                           Times times = Times::Needed);

/// One row: family, problem and configuration.
Json rowJson(const DatasetRow &row);

/// "12.3": a fraction in percent.
std::string percent(double fraction);

} // namespace tilewright::cli
