// The kernels of an explored model in the order they run, each with what L2 holds when it starts.
// Internal to the folder.
#pragma once

#include "tools/explore/explore.h"
#include "tools/explore/neighbour_levers.h"
#include "tools/explore/parts.h"

namespace tilewright {

/// What one computation and those that it runs take of `model`, run after run of it: of its kernels
/// and ops, as often as they run in one run of the model. Sets `inSequence` of these. `known` may
/// be asked again for other kernels.
double sequenceNsOf(const Module &module, const std::vector<ModelPart> &parts, GraphId computation,
                    const Calibration &calibration, KnownFeatures &known, ExploredModel &model);

/// Sets `inSequence` of the kernels and of `assumed`, the kernels' levers, and the model's
/// `sequenceNs`. `parts`: with how often each runs.
void priceSequence(const Module &module, const std::vector<ModelPart> &parts, const Device &device,
                   const Calibration &calibration, ExploredModel &model);

} // namespace tilewright
