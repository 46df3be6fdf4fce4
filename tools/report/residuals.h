// Where the error of an evaluation sits: against what was chosen, and in which problems it costs
// speed.
#pragma once

#include "tools/report/document.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::report {

/// For each family, and each plan dimension with more than one value in it: the median and the
/// 10th to 90th percentile of predicted/measured at each value. Empty when no row has a plan.
std::string residualFigures(const Evaluation &evaluation, std::string_view id);

/// What trusting the prediction costs in one problem.
struct Regret {
  std::string problem;
  size_t plans = 0;
  double bestNs = 0;   ///< fastest measured
  double chosenNs = 0; ///< measured, of the plan predicted fastest
  size_t needed = 0;   ///< plans to try, those predicted fastest first, for 99 % of the best speed

  double share() const { return chosenNs > 0 ? bestNs / chosenNs : 0; }
};

/// All problems of an evaluation, those first where most speed is lost; of equals by name. None
/// when no row names its problem.
std::vector<Regret> regrets(const Evaluation &evaluation);

/// The worst of them as a table; empty without any.
std::string regretTable(const Evaluation &evaluation, std::string_view id);

} // namespace tilewright::report
