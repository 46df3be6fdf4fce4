// The implementation of `tilewright emit --coverage`.
#pragma once

#include <string>
#include <vector>

namespace tilewright::cli {

struct CoverageRequest {
  std::vector<std::string> models, targets;
  bool json = false;
};

/// Explores each model for a device of each target's architecture, lowers the best plan of every
/// kernel, assembles it and checks it at reduced sizes; prints a row for each model and what is not
/// covered. Exit code 1 if anything is not.
int runCoverage(const CoverageRequest &request);

} // namespace tilewright::cli
