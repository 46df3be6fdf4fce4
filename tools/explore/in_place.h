// Updates in place as kernels: of an update that need not copy its buffer, what runs computes the
// window and writes it where it belongs.
//
//     put = dynamic-update-slice(all, row, i)          put = window [1, 65536] of f32[1000,65536]
//     f = fusion(cache, row), a scatter in it          f = gather of the old values, updates added
//
// Such a kernel is a small graph of its own beside the model's: its inputs are parameters, its
// roots the windows, and what they lie within says how their rows lie in memory. A window whose
// update another kernel makes is written by that kernel, which saves the way through memory.
#pragma once

#include "tools/explore/parts.h"

#include <map>
#include <memory>

namespace tilewright {

/// A kernel that stands for a KernelGroup and is not made of its graph's ops as they are.
struct PlacedKernel {
  std::string name;
  GraphId graph;
  std::vector<OpId> roots;
  std::map<OpId, std::vector<int64_t>> within; ///< see Group::within
};

/// Plans the updates of all parts: adds graphs to the module, gives kernels their `placed` or a
/// note on why they write more, merges windows with what makes them, adds the copies that loops
/// need before they start, and leaves out kernels of nothing but a loop's counter.
void planUpdates(Module &module, std::vector<ModelPart> &parts);

} // namespace tilewright
