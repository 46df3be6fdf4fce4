// Dataset: measured rows with the features of their plans, ready to price and to fit.
#pragma once

#include "costmodel/features.h"
#include "costmodel/templates.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// What was chosen for a measured plan: tile sizes and schedule, by name.
struct PlanChoice {
  std::shared_ptr<const std::vector<std::string>> names; ///< shared by rows of one kind
  std::vector<int64_t> values;                           ///< one a name
  Instruction instruction = Instruction::Fma;
};

struct DatasetRow {
  RowIdentity identity;
  PlanChoice choice;
  Features features;  ///< under the caches of the measurement
  double timeNs = 0;  ///< 0: not measured yet
  unsigned table = 0; ///< position among the tables given
  unsigned line = 0;  ///< of its file
};

/// Rows that are measured but have no price, by family and reason.
struct UnpricedRows {
  std::string family, reason;
  int64_t rows = 0;
};

struct Dataset {
  std::vector<DatasetRow> rows;
  std::vector<UnpricedRows> unpriced; ///< sorted by family, then reason
  int64_t failedRows = 0;             ///< with an error in place of a time
  std::vector<std::string> files;
  std::string hash; ///< of the rows' identities and times, hexadecimal
};

/// Reads rows through templates, and files of tilewright-profile, whose rows name their plans,
/// without (see MeasuredPlans). A row that no template takes or that can't be tiled is counted
/// in `unpriced`; a cell that makes no sense is a BadInput error, located. A table without a
/// `time_ns` column is an error, unless nothing need be measured yet: then the column and cells of
/// it may be missing.
enum class Times { Needed, Optional };
llvm::Expected<Dataset> loadDataset(std::span<const Table> tables, TemplateLibrary &templates,
                                    const Device &device, Times times = Times::Needed);
llvm::Expected<Dataset> loadDataset(std::span<const std::string> paths, TemplateLibrary &templates,
                                    const Device &device, Times times = Times::Needed);

} // namespace tilewright
