// What a report derives from a model's numbers: shares, order, what the total leaves out.
#pragma once

#include "tools/report/document.h"
#include "tools/report/term_chart.h"

#include <string>
#include <vector>

namespace tilewright::report {

struct Summary {
  double sumNs = 0;   ///< Σ time · trip count over the kernels that have a time
  Quantity totalNs;   ///< the document's total, else the sum; missing without any time
  size_t untimed = 0; ///< kernels without a predicted time
  /// Why the total isn't the whole model's time; empty when it is.
  std::vector<std::string> gaps;
  /// Things in the document that don't fit together.
  std::vector<std::string> warnings;
  std::vector<size_t> byTime;                     ///< kernels, most expensive first
  std::vector<std::pair<Term, double>> limiterNs; ///< time by limiting term, in Term's order

  /// Fraction of the sum that all executions of `kernel` take; 0 when nothing has a time.
  double share(const Kernel &kernel) const;
};

Summary summarise(const Model &model);

/// All executions of `kernel` in one run of the model.
Quantity totalTimeNs(const Kernel &kernel);

/// FLOP/s and FLOP a DRAM byte of one execution; missing where a part is missing or zero.
Quantity achievedFlopsPerS(const Kernel &kernel);
Quantity intensity(const Kernel &kernel);
Quantity achievedBytesPerS(const Kernel &kernel);

/// The largest limit for which the parts, each cut to the limit, sum up to at most `budget`; at
/// least `floor`.
size_t shareBudget(const std::vector<size_t> &parts, size_t budget, size_t floor);

} // namespace tilewright::report
