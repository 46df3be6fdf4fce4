// Plans of compiled fusions: as their compiler tiled them, and the best that are ours.
#pragma once

#include "analysis/compiled/launch_shape.h"
#include "tools/explore/kernel_plans.h"

namespace tilewright {

/// The body of a fusion as a module of its own, with what it calls inlined.
llvm::Expected<std::shared_ptr<const Module>> moduleOfBody(const Module &module, const Op &fusion);

/// The kernel of all of its ops.
llvm::Expected<KernelSource> kernelOfBody(const Module &body);

/// Triton's plan of a fusion with dots, at the tiles, warps and stages of its configuration.
/// Unsupported, with the reason: no tiles of ours have these sizes.
llvm::Expected<KernelPlan> compiledPlan(std::shared_ptr<const Module> body,
                                        const TileConfig &config, const Device &device);

/// The product of a library's call as a module of a single dot. Unsupported: it isn't one.
llvm::Expected<std::shared_ptr<const Module>> moduleOfProduct(const Graph &graph, OpId call);

/// Our best plan by predicted time, with cold but clean caches. Unsupported, with the reason.
llvm::Expected<RankedPlan> bestPlan(std::shared_ptr<const Module> body, const Device &device,
                                    const Calibration &calibration, size_t budget);

} // namespace tilewright
