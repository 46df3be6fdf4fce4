// Experimental design: which measurements to take first; and the learning curve of a calibration.
#pragma once

#include "costmodel/evaluation.h"

#include <span>
#include <vector>

namespace tilewright {

/// Chooses `count` of the candidate rows to measure, in the order in which to measure them; all of
/// them if there are fewer. Times are not read: the information of a row follows from the gradients
/// of ln(time) at the priors. The rows of `measured` count as known.
///
/// A greedy Bayesian design that minimises the mean variance of the predictions over all rows of
/// the data set ("V-optimal"). A row is taken to measure g·x + e + noise: x are the log parameters,
/// e an error of the formula that the rows of its family share, as large as the spread s of the
/// noise. Without e many rows of one family would seem to tell a parameter exactly, and the fit
/// would bend it to that family's error. With C the covariance of x and of all e (at first the
/// prior's), M the mean of g gᵀ over all rows, each family weighing alike, and h = (g, 1 at its e),
/// the next row is the one of largest
///   hᵀ C M C h / (s² + hᵀ C h),
/// by which its measurement lowers tr(C M); predictions depend on x alone, so that M is 0 for e.
/// Rows of one problem share yet more, so that a problem is asked again only when all have been
/// asked. Unlike the determinant (D-optimality), this does not run to extreme configurations that
/// tell a parameter well but that hardly any row resembles. (Chaloner and Verdinelli, Bayesian
/// experimental design: a review, Statistical Science 10(3), 1995.)
std::vector<size_t> designMeasurements(const Dataset &data, std::span<const size_t> candidates,
                                       const Device &device, size_t count,
                                       const FitOptions &options = {},
                                       std::span<const size_t> measured = {});

/// Error on held-out shapes after calibrating on a number of rows of the other shapes.
struct LearningPoint {
  size_t measurements = 0;
  /// Rows chosen by designMeasurements().
  FamilyMetrics designed;
  std::vector<FamilyMetrics> designedFamilies;
  /// Random rows, families equally likely: median and range of MAPE over the draws, median of the
  /// others. Without measurements there is one draw.
  double randomMape = 0, randomLow = 0, randomHigh = 0, randomOracleAt1 = 0, randomOracleAt5 = 0;
};

struct LearningCurve {
  std::vector<LearningPoint> points; ///< by number of measurements
  EvaluationReport all;              ///< all rows of the other shapes measured: cross-validation
  int folds = 0, draws = 0;
};

struct LearningOptions {
  std::vector<size_t> counts = {0, 4, 8, 16, 32, 64, 128, 256};
  int draws = 10;
  int folds = 5;
  FitOptions fit;
  EvaluationProgress progress; ///< of the counts
};

/// Errors as evaluateLeftOut().
llvm::Expected<LearningCurve> learningCurve(const Dataset &data, const Device &device,
                                            const LearningOptions &options = {});

} // namespace tilewright
