// Accuracy reports and learning curves as text and as Markdown tables.
#pragma once

#include "costmodel/learning.h"

namespace tilewright::cli {

/// A table that both formats print.
struct TextTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows; ///< the first cell is a name, the others numbers

  std::string text() const;
  std::string markdown() const;
};

/// "device h100-sxm, whole shapes left out (5 folds)".
std::string describe(const EvaluationReport &report);

/// One row a family and one for all: errors with intervals, and choice metrics.
TextTable metricsTable(const EvaluationReport &report);
/// The parameters of a calibration, one row each.
TextTable parameterTable(const Calibration &calibration);
/// Lines on rows that have no price, or whose times are not believed.
std::vector<std::string> notesOf(const EvaluationReport &report);
/// The first rows that are not believed, with files and lines.
std::vector<std::string> leftOutNotes(std::span<const LeftOutRow> rows,
                                      std::span<const std::string> files);

/// One row for each number of measurements.
TextTable curveTable(const LearningCurve &curve);
/// MAPE of each family by number of designed measurements.
TextTable curveFamilies(const LearningCurve &curve);

} // namespace tilewright::cli
