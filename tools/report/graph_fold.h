// A long list of kernels as few nodes: what repeats, and what belongs to one layer, is one of them.
//
//   embed, [norm, qkv, attention, mlp] × 12, head     14 kernels of 50 to see, in 3 nodes
#pragma once

#include "tools/report/document.h"

#include <span>
#include <string>
#include <vector>

namespace tilewright::report {

/// A run of neighbouring kernels.
struct GraphNode {
  size_t first = 0, count = 1; ///< kernels of the model
  size_t repeats = 1;          ///< how often the same sequence runs, each time of count / repeats
  std::string label;           ///< the layer they share, numbers that differ as "*"; may be empty

  bool isKernel() const { return count == 1; }
};

/// All kernels in order as at most `most` nodes. First sequences of kernels of the same kind and
/// shape that follow each other are one node, then neighbours of one layer, at last neighbours with
/// little time.
std::vector<GraphNode> foldKernels(std::span<const Kernel> kernels, size_t most);

/// A layer with its numbers replaced: "layer_3/attn" is "layer_*/attn".
std::string layerPattern(std::string_view layer);

} // namespace tilewright::report
