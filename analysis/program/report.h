// A program with its folds beside the lines that they come from.
#pragma once

#include "analysis/program/fold.h"
#include "analysis/program/verify.h"

namespace tilewright::program {

/// A fold's amount: a number where the sizes at hand give one, else the expression in the text's
/// words.
struct ReportedAmount {
  Count count;
  std::optional<int64_t> number;
  std::string text; ///< "1 GiB copied", "cdiv(M, BM) * 4 barriers"
};

struct ReportedLine {
  std::string text;
  std::vector<ReportedAmount> amounts;
  std::vector<std::string> broken; ///< "V7: …", of rules that this line breaks
};

struct ProgramReport {
  /// CTAs, threads, shared bytes, live registers.
  std::vector<ReportedAmount> whole;
  std::vector<ReportedLine> lines;    ///< of the canonical text
  std::vector<ReportedAmount> shared; ///< of a CTA's memory, by part
  std::vector<std::string> broken;    ///< rules that no line of its own breaks
  std::vector<std::string> open;      ///< what has to hold of the sizes that have no number
  bool isLegal = true;

  /// The lines with what they do behind them, as `tilewright program` prints them.
  std::string str() const;
};

/// `sizes` may leave some out. Errors as substituteSizes().
llvm::Expected<ProgramReport> reportOf(const Program &program, const SizeValues &sizes,
                                       const DeviceLimits *limits = nullptr);

} // namespace tilewright::program
