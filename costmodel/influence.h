// What a predicted time hangs on: the parameters of a calibration, and how far their uncertainty
// carries.
#pragma once

#include "costmodel/estimate.h"

#include <vector>

namespace tilewright {

struct ParameterInfluence {
  int parameter = 0;     ///< its place in parameters.def
  double elasticity = 0; ///< d ln(time) / d ln(parameter): per cent of the time for one of its own
  double sigmaLn = 0;    ///< of ln(parameter), as the calibration has it
};

/// Of all parameters that move the time, those whose uncertainty moves it the most first. Errors as
/// featuresOf().
llvm::Expected<std::vector<ParameterInfluence>> influencesOn(const KernelPlan &plan,
                                                             const Device &device,
                                                             const Calibration &calibration,
                                                             const EstimateOptions &options = {});

/// Spread of ln(time) that the parameters' uncertainties make, taken as independent.
double parameterSpread(std::span<const ParameterInfluence> influences);

} // namespace tilewright
