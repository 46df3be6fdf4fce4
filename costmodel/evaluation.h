// Evaluation: how well a calibration prices measured rows, and how well it would price shapes that
// it has never seen.
#pragma once

#include "costmodel/baselines.h"
#include "costmodel/calibration.h"
#include "costmodel/metrics.h"

namespace tilewright {

struct EvaluationReport {
  std::string device;
  /// Device it was fitted on; "left-out" or "family-out" when refitted without what is priced;
  /// "prior" for the device description alone; the name of a baseline.
  std::string calibration;
  int folds = 0;                       ///< with "left-out"
  std::vector<FamilyMetrics> families; ///< sorted by name; families without a price too
  FamilyMetrics overall;
  std::vector<UnpricedRows> unpriced;
  int64_t failedRows = 0;
  std::vector<LeftOutRow> leftOut; ///< rows that are not believed
  std::vector<std::string> files;  ///< that leftOut counts
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

/// Each family is priced by a fit that has seen none of its rows. Of a single family nothing can be
/// left out: BadInput.
llvm::Expected<EvaluationReport> evaluateFamilyOut(const Dataset &data, const Device &device,
                                                   const FitOptions &options = {});

/// Prices every row by the device description alone: no measurement went into it.
EvaluationReport evaluatePrior(const Dataset &data, const Device &device);

/// The same metrics for a classical model.
EvaluationReport evaluateBaseline(const Dataset &data, const Device &device, Baseline baseline);

/// The time that parameters predict for each row. One without elements takes the launch alone: a
/// measured kernel with an empty result has a time all the same.
std::vector<double> predictAll(const Dataset &data, const Device &device,
                               const Parameters &parameters);

/// The report of predictions made elsewhere, one a row.
EvaluationReport reportOf(const Dataset &data, const Device &device,
                          std::vector<double> predictedNs);

/// Metrics of some families of a report taken together.
FamilyMetrics metricsOfFamilies(std::string name, const Dataset &data,
                                const EvaluationReport &report,
                                std::span<const std::string> families);

/// What a second report of the same rows changes in some families, taken together; in all of them
/// if none are named.
MetricsChange changeOfFamilies(const Dataset &data, const EvaluationReport &first,
                               const EvaluationReport &second,
                               std::span<const std::string> families = {});

/// The fold of a shape, in [0, folds).
int foldOf(std::string_view shape, int folds);

/// JSON of schema "tilewright.evaluate" (docs/formats.md).
std::string toJson(const EvaluationReport &report);

} // namespace tilewright
