// Detects impossible times, below the bound of the device's peaks.
//
// Peaks are taken generously (the highest clock, every unit busy), so that a time below the bound
// is a broken measurement and never a good kernel.
#pragma once

#include "profiler/pack_reader.h"

namespace tilewright::profile {

enum class Regime {
  Cold,  ///< L2 was overwritten before each launch
  Warm,  ///< launches follow each other
  Graph, ///< warm, as the nodes of one CUDA graph
};
constexpr Regime allRegimes[] = {Regime::Cold, Regime::Warm, Regime::Graph};
const char *toString(Regime regime); ///< "cold", "warm", "graph"

/// Operations of that type that one multiprocessor can finish in a clock, at most. Dense tensor
/// cores: NVIDIA A100, H100 and B200 whitepapers; a generation that is not known gets the largest
/// number known.
double peakOpsPerClock(int major, int minor, DType type, bool onTensorCores);

/// The shortest possible time of the kernel on the device, in ns; 0 if the pack does not state its
/// work. A cold kernel reads its inputs from DRAM; its writes may stay in L2. A warm one needs DRAM
/// only for bytes that do not fit in L2.
double leastTimeNs(const PackKernel &kernel, const GpuInfo &gpu, Regime regime);

} // namespace tilewright::profile
