// Evaluation: how well a calibration prices measured rows, and how well it would price shapes that
// it has never seen.
#pragma once

#include "costmodel/calibration.h"
#include "costmodel/metrics.h"

namespace tilewright {

struct EvaluationReport {
  std::string device;
  std::string calibration; ///< device it was fitted on; "left-out" when refitted without each fold
  int folds = 0;           ///< 0: one calibration priced all rows
  std::vector<FamilyMetrics> families; ///< sorted by name; families without a price too
  FamilyMetrics overall;
  std::vector<UnpricedRows> unpriced;
  int64_t failedRows = 0;
  std::vector<double> predictedNs; ///< one per row of the data set
};

/// Prices every row with one calibration.
EvaluationReport evaluate(const Dataset &data, const Device &device,
                          const Calibration &calibration);

/// Cross-validation with whole shapes left out: the rows of a shape (in every data type, and of
/// families whose manifests give the same shape name) are priced by a fit that has seen none of
/// them. Folds follow from a hash of the shape, so that they never depend on the rows' order.
llvm::Expected<EvaluationReport> evaluateLeftOut(const Dataset &data, const Device &device,
                                                 const FitOptions &options = {}, int folds = 5);

/// The fold of a shape, in [0, folds).
int foldOf(std::string_view shape, int folds);

/// JSON of schema "tilewright.evaluate" (fields as in DESIGN: families[], overall, …).
std::string toJson(const EvaluationReport &report);

} // namespace tilewright
