// Features of kernels of XLA's own emitters, and of Triton's without a dot, as they are compiled:
// from how often the ops of a fusion are evaluated and how the kernel is launched. What they do
// then takes the time that the formula (formula.h) gives it.
#pragma once

#include "analysis/compiled/launches.h"
#include "costmodel/features.h"

#include <optional>

namespace tilewright {

/// `registers` of a thread, where they are known from the compiled kernel; else they are estimated.
Features emitterFeatures(const Module &module, const Op &fusion, const FusionWork &work,
                         const LaunchDims &shape, const Device &device,
                         std::optional<double> registers = {});

} // namespace tilewright
