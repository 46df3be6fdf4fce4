// The price of one plan, with its terms.
#pragma once

#include "costmodel/calibration.h"
#include "costmodel/influence.h"
#include "tools/explore/kernel_plans.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct PlanPrice {
  Estimate estimate;
  std::vector<ParameterInfluence> influences;
  Parameters parameters;   ///< for the priced device
  std::string calibration; ///< the device it was fitted on; empty: priors
  std::vector<DeviceNote> notes;
  std::string instruction, cache = "warm";
  double boundNs = 0; ///< no kernel of these ops takes less
};

llvm::Expected<PlanPrice> priceOf(const KernelPlans &plans, const KernelPlan &plan);

/// Human-readable: the time with error bars, its terms, bytes at each level, the occupancy's limit,
/// and the most influential parameters with their uncertainty.
void printPrice(const PlanPrice &price);
Json priceJson(const PlanPrice &price);

} // namespace tilewright::cli
