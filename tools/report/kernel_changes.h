// What became of a model's kernels from one run to another, and why their times differ.
#pragma once

#include "tools/report/document.h"

#include <string>
#include <vector>

namespace tilewright::report {

struct KernelChange {
  const Kernel *before = nullptr, *after = nullptr; ///< null: there is none in that run
  double weightNs() const;                          ///< gained or lost
};

/// Kernels of both runs, matched by name without the number in front ("k07_"), the n-th of a name
/// with the n-th; those first whose time changed most, those whose time did not change left out.
std::vector<KernelChange> kernelChanges(const Model &before, const Model &after);

/// "plan: t1 128 → 64; limited by L2 → DRAM; DRAM 20.0 → 12.0 µs": escaped.
std::string whyText(const KernelChange &change);

/// "144 SMs in place of 132; calibration none in place of h100-sxm": what differs between the runs
/// as such, escaped; empty where nothing does.
std::string runDifferences(const Exploration &before, const Exploration &after);

} // namespace tilewright::report
