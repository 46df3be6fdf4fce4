// Dataset: measured rows with the features of their plans, for pricing and fitting.
#pragma once

#include "costmodel/features.h"
#include "costmodel/templates.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// The choices of a measured plan: tile sizes and schedule, by name.
struct PlanChoice {
  std::shared_ptr<const std::vector<std::string>> names; ///< shared by rows of one kind
  std::vector<int64_t> values;                           ///< one a name
  Instruction instruction = Instruction::Fma;
};

struct DatasetRow {
  RowIdentity identity;
  PlanChoice choice;
  Features features;  ///< under the measurement's cache state
  double timeNs = 0;  ///< 0: not measured yet
  unsigned table = 0; ///< position among the tables given
  unsigned line = 0;  ///< of its file
  std::string kind;   ///< spreadKindOf() its plan
};

/// Measured rows without a price, by family and reason.
struct UnpricedRows {
  std::string family, reason;
  int64_t rows = 0;
};

/// The reason of rows that belong to no family.
constexpr const char *noTemplate = "no template takes these rows";

/// A measured row that is not believed.
struct LeftOutRow {
  unsigned table = 0, line = 0;
  std::string reason;
};

struct Dataset {
  std::vector<DatasetRow> rows;
  std::vector<LeftOutRow> leftOut;    ///< sorted by file and line
  std::vector<UnpricedRows> unpriced; ///< sorted by family, then reason
  int64_t failedRows = 0;             ///< rows with an error instead of a time
  std::vector<std::string> files;
  std::string hash; ///< of the rows' identities and times, hexadecimal
};

/// Reads rows through templates, and files of tilewright-profile, whose rows name their plans,
/// without (see MeasuredPlans). A row that no template takes, that can't be tiled or that can't be
/// launched is counted in `unpriced`; one whose time is not believed (plausible.h) stands in
/// `leftOut`; a cell that makes no sense is a BadInput error, located. So is a table without rows,
/// one whose columns no template knows, one where more rows than not have times that can't be
/// (microseconds), and one without a `time_ns` column, unless nothing need be measured yet: then
/// the column and cells of it may be missing.
enum class Times { Needed, Optional };
llvm::Expected<Dataset> loadDataset(std::span<const Table> tables, TemplateLibrary &templates,
                                    const Device &device, Times times = Times::Needed);
llvm::Expected<Dataset> loadDataset(std::span<const std::string> paths, TemplateLibrary &templates,
                                    const Device &device, Times times = Times::Needed);

} // namespace tilewright
