// Evaluation: the error of a calibration on measured rows, and on shapes that it has never seen.
#pragma once

#include "costmodel/baselines.h"
#include "costmodel/calibration.h"
#include "costmodel/metrics.h"

#include <functional>

namespace tilewright {

struct EvaluationReport {
  std::string device;
  /// The device it was fitted on; "left-out" or "family-out" if refitted without the priced rows;
  /// "prior" for the device description alone; the name of a baseline.
  std::string calibration;
  int folds = 0;                       ///< with "left-out"
  std::vector<FamilyMetrics> families; ///< sorted by name; includes families without a price
  FamilyMetrics overall;
  std::vector<UnpricedRows> unpriced;
  int64_t failedRows = 0;
  std::vector<LeftOutRow> leftOut; ///< rows that are not believed
  std::vector<std::string> files;  ///< that leftOut counts
  std::vector<double> predictedNs; ///< one per row of the data set
};

/// Told of parts of a long evaluation that are done, of so many.
using EvaluationProgress = std::function<void(size_t done, size_t total)>;

/// Prices every row with one calibration.
EvaluationReport evaluate(const Dataset &data, const Device &device,
                          const Calibration &calibration);

/// Cross-validation with whole shapes left out: the rows of a shape (in every data type, and of
/// families whose manifests give the same shape name) are priced by a fit that has seen none of
/// them. Folds are a hash of the shape, independent of the order of rows.
llvm::Expected<EvaluationReport> evaluateLeftOut(const Dataset &data, const Device &device,
                                                 const FitOptions &options = {}, int folds = 5,
                                                 const EvaluationProgress &progress = {});

/// Each family is priced by a fit that has seen none of its rows. BadInput for a single family.
llvm::Expected<EvaluationReport> evaluateFamilyOut(const Dataset &data, const Device &device,
                                                   const FitOptions &options = {},
                                                   const EvaluationProgress &progress = {});

/// Prices every row by the device description alone, without any measurement.
EvaluationReport evaluatePrior(const Dataset &data, const Device &device);

/// The same metrics for a classical model.
EvaluationReport evaluateBaseline(const Dataset &data, const Device &device, Baseline baseline);

/// The predicted time of each row. A row without elements takes the launch overhead, since a
/// measured kernel with an empty result has a time, too.
std::vector<double> predictAll(const Dataset &data, const Device &device,
                               const Parameters &parameters);

/// The report of given predictions, one a row.
EvaluationReport reportOf(const Dataset &data, const Device &device,
                          std::vector<double> predictedNs);

/// Metrics over several families of a report together.
FamilyMetrics metricsOfFamilies(std::string name, const Dataset &data,
                                const EvaluationReport &report,
                                std::span<const std::string> families);

/// The change from one report to a second of the same rows, over the named families together; over
/// all if none are named.
MetricsChange changeOfFamilies(const Dataset &data, const EvaluationReport &first,
                               const EvaluationReport &second,
                               std::span<const std::string> families = {});

/// The fold of a shape, in [0, folds).
int foldOf(std::string_view shape, int folds);

/// JSON of schema "tilewright.evaluate" (docs/formats.md).
std::string toJson(const EvaluationReport &report);

} // namespace tilewright
