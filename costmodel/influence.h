// Sensitivity of a predicted time to each calibrated parameter, and the uncertainty that follows.
#pragma once

#include "costmodel/estimate.h"

#include <vector>

namespace tilewright {

struct ParameterInfluence {
  int parameter = 0;     ///< index in parameters.def
  double elasticity = 0; ///< d ln(time) / d ln(parameter)
  double sigmaLn = 0;    ///< of ln(parameter), from the calibration
};

/// The parameters that affect the time, those whose uncertainty moves it most first. Errors as
/// featuresOf().
llvm::Expected<std::vector<ParameterInfluence>> influencesOn(const KernelPlan &plan,
                                                             const Device &device,
                                                             const Calibration &calibration,
                                                             const EstimateOptions &options = {});

/// Standard deviation of ln(time) from the parameters' uncertainties, taken as independent.
double parameterSpread(std::span<const ParameterInfluence> influences);

} // namespace tilewright
