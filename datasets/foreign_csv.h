// Measurements of other tools, made into rows of ours: `kernel` and `time_ns` first, the tool's own
// columns after them, unchanged.
#pragma once

#include "costmodel/measurements.h"

namespace tilewright {

enum class ForeignFormat {
  Auto,          ///< by the columns
  Rows,          ///< `time_ns` is there: files of ours, and XLA's *.kernels.csv
  NsightCompute, ///< ncu --csv, page raw (a row of units under the header) or details
  Benchmark,     ///< a time column per variant with its unit in the name: Triton's perf_report
};
std::string_view toString(ForeignFormat format); ///< "auto", "rows", "ncu", "benchmark"

/// A number as people and tools write it: "1,234.5", "1.234,5", "1 234.5", "3e-2". One comma before
/// exactly three digits separates thousands, any other is a decimal comma. Nothing for other text.
std::optional<double> parseLocalNumber(std::string_view text);

/// Factor from a unit of time to ns: "ns", "nsecond", "us", "usecond", "ms", "s" and their like.
std::optional<double> nanosecondsPer(std::string_view unit);

/// Reads a file's text (lines of ncu that start with "==" and comments before the header are left
/// out; fields may be separated by semicolons or tabs) and writes CSV with the columns said above.
/// Where there is no column `kernel`, one that names what was timed takes its place ("Kernel Name",
/// "benchmark", "kind", "name"). Errors (BadInput) are located by the file's lines: no column of
/// times, a unit that is not known, a cell that is no number.
llvm::Expected<std::string> importForeign(const std::string &name, const std::string &text,
                                          ForeignFormat format = ForeignFormat::Auto);

} // namespace tilewright
