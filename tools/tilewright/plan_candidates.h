// Plans that could be measured, as rows of a dataset that have no time yet.
#pragma once

#include "costmodel/dataset.h"

#include <span>
#include <string>
#include <vector>

namespace tilewright::cli {

struct PlanCandidates {
  std::vector<size_t> rows;        ///< of the dataset, in the order of the files
  std::vector<std::string> texts;  ///< one a row: the plan file as it was read
  std::vector<std::string> files;  ///< one a row
  std::vector<std::string> unused; ///< "FILE: why it can't be priced", or that it is measured
};

/// Reads plan files and adds them to `data`, as tilewright-profile would name them: the same family
/// and problem for the same ops. Plans that the data hold already are left out, so are those that
/// have no code or no price. Errors (BadInput) of files that are no plans.
llvm::Expected<PlanCandidates> addCandidates(std::span<const std::string> files,
                                             const Device &device, Dataset &data);

} // namespace tilewright::cli
