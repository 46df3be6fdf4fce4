// Plans that could be measured, as dataset rows without a time.
#pragma once

#include "costmodel/dataset.h"

#include <span>
#include <string>
#include <vector>

namespace tilewright::cli {

struct PlanCandidates {
  std::vector<size_t> rows;       ///< of the dataset, in the order of the files
  std::vector<std::string> texts; ///< one a row: the text of the plan file
  std::vector<std::string> files; ///< one a row
  std::vector<std::string>
      unused; ///< "FILE: why it can't be priced", or that it is already measured
};

/// Reads plan files and adds them to `data`, as tilewright-profile would name them: the same family
/// and problem for the same ops. Skips plans that the data already contain, and plans without code
/// or price. BadInput for files that are not plans.
llvm::Expected<PlanCandidates> addCandidates(std::span<const std::string> files,
                                             const Device &device, Dataset &data);

} // namespace tilewright::cli
