// Ablation: how much each term of the time formula contributes. A term is switched off, all
// parameters are refitted, and shapes held out of the fit are priced with and without it.
//
// Terms are data: ablations.def gives the neutral value of each.
#pragma once

#include "costmodel/evaluation.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright {

struct AblationInfo {
  std::string_view name, removes;
};
/// The terms, in the order of ablations.def.
std::span<const AblationInfo> ablations();
std::optional<size_t> ablationIndex(std::string_view name);

/// Names of the parameters that the term fixes, in the order of parameters.def.
std::vector<std::string_view> parametersOf(size_t ablation, const Device &device);

struct TermWorth {
  size_t ablation = 0;
  EvaluationReport without; ///< the other terms refitted, shapes left out
};

struct AblationReport {
  EvaluationReport all; ///< with all terms, fitted to the same rows
  std::vector<TermWorth> terms;
  int folds = 0;
  int64_t fittedRows = 0; ///< rows that fits may see
};

struct AblationOptions {
  int folds = 5;
  /// Fits see one in `thinning` configurations of each problem (chosen by a hash; always the
  /// first); all rows are priced.
  int thinning = 4;
  std::vector<size_t> terms; ///< empty: all
  FitOptions fit;
  EvaluationProgress progress; ///< of the terms
};

/// Errors as evaluateLeftOut().
llvm::Expected<AblationReport> evaluateAblations(const Dataset &data, const Device &device,
                                                 const AblationOptions &options = {});

} // namespace tilewright
