// Imports other tools' measurements as rows of ours: `kernel` and `time_ns` first, then the tool's
// own columns, unchanged.
#pragma once

#include "costmodel/measurements.h"

namespace tilewright {

enum class ForeignFormat {
  Auto,          ///< by the columns
  Rows,          ///< has `time_ns`: our files, and XLA's *.kernels.csv
  NsightCompute, ///< ncu --csv, page raw (a row of units under the header) or details
  Benchmark,     ///< a time column per variant with its unit in the name: Triton's perf_report
};
std::string_view toString(ForeignFormat format); ///< "auto", "rows", "ncu", "benchmark"

/// A number as people and tools write it: "1,234.5", "1.234,5", "1 234.5", "3e-2". One comma before
/// exactly three digits separates thousands, any other is a decimal comma. Nothing for other text.
std::optional<double> parseLocalNumber(std::string_view text);

/// Factor from a unit of time to ns: "ns", "nsecond", "us", "usecond", "ms", "s" and their like.
std::optional<double> nanosecondsPer(std::string_view unit);

/// Reads a file's text (skipping lines of ncu that start with "==" and comments before the header;
/// fields may be separated by semicolons or tabs) and writes CSV with the columns above. Without a
/// column `kernel`, one of "Kernel Name", "benchmark", "kind", "name" takes its place. Errors
/// (BadInput) are located by the file's lines: no column of times, an unknown unit, a cell that is
/// not a number.
llvm::Expected<std::string> importForeign(const std::string &name, const std::string &text,
                                          ForeignFormat format = ForeignFormat::Auto);

} // namespace tilewright
