// Plans of self-describing rows: files of tilewright-profile.
//
// Such a row has the hash of its ops (`problem`) and its plan as text (`plan`); the ops are in
// FILE.csv.problems.json beside FILE.csv. No template is needed.
#pragma once

#include "analysis/tiling/plan.h"
#include "costmodel/measurements.h"

#include <map>
#include <set>

namespace tilewright {

class MeasuredPlans {
public:
  /// True if the table has rows of that kind.
  static bool describes(const Table &table);

  /// Reads the ops file beside a table. Errors (BadInput) name the file and the field.
  llvm::Error readProblems(const Table &table);

  /// The plan of a row. BadInput, located at the row, for an unknown problem or a plan that does
  /// not fit it; Unsupported for ops that can't be tiled. Tiled ops are kept.
  llvm::Expected<KernelPlan> planOf(const TableRow &row);

  /// "dot/bf16": the row's kind and the type of its first input.
  std::string familyOf(const TableRow &row) const;

private:
  struct Problem {
    std::string hlo, dtype;
    std::shared_ptr<const KernelPlan> prototype; ///< tiled once
  };
  std::map<std::string, Problem, std::less<>> problems;
};

/// The valid rows of such a table: measurements of the last attempt, without the incumbent's
/// repetitions.
std::set<size_t> rowsThatCount(const Table &table);

} // namespace tilewright
