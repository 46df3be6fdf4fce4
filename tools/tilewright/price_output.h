// The price of one plan, taken apart.
#pragma once

#include "analysis/explore/kernel_plans.h"
#include "costmodel/calibration.h"
#include "costmodel/influence.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct PlanPrice {
  Estimate estimate;
  std::vector<ParameterInfluence> influences;
  Parameters parameters;   ///< as they price the device
  std::string calibration; ///< the device that it was fitted on; empty: priors
  std::vector<DeviceNote> notes;
  std::string instruction, cache = "warm";
  double boundNs = 0; ///< no kernel of these ops takes less
};

llvm::Expected<PlanPrice> priceOf(const KernelPlans &plans, const KernelPlan &plan);

/// Lines for people: the time with its error bars, what each resource alone would need, bytes at
/// each level, what limits the occupancy, and the parameters that matter with their uncertainty.
void printPrice(const PlanPrice &price);
Json priceJson(const PlanPrice &price);

} // namespace tilewright::cli
