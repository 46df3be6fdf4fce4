// The kernels of an explored model in the order they run, each with what L2 holds when it starts.
// Internal to the folder.
#pragma once

#include "tools/explore/explore.h"
#include "tools/explore/parts.h"

namespace tilewright {

/// Sets `inSequence` of the kernels and of `assumed`, and the model's `sequenceNs`. `parts`: with
/// how often each runs.
void priceSequence(const Module &module, const std::vector<ModelPart> &parts, const Device &device,
                   const Calibration &calibration, ExploredModel &model);

} // namespace tilewright
