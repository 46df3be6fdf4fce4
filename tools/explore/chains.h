// Chains: back-to-back dots that may be fused into one kernel, with the first result on chip.
//
// Attention is one: softmax(Q·Kᵀ)·V never writes its scores to memory. The simple grouping ends a
// kernel at every dot. Here the kernels from one dot to the next are candidates for fusion:
//
//     dot ── elementwise, reduces ──▶ dot        %s = dot(q, k), %p = softmax(%s), dot(%p, v)
//
// A chain is a candidate, not a decision. Fusing saves the memory traffic of the intermediate, but
// may recompute the first dot for every tile of the second one's columns and restricts the tile
// sizes. So both fused and unfused kernels are priced, and the faster choice is taken.
#pragma once

#include "tools/explore/grouping.h"

#include <span>
#include <vector>

namespace tilewright {

struct DotChain {
  std::vector<size_t>
      kernels; ///< the kernels that it replaces, ascending; the last one has its root
  KernelGroup whole;
  OpId first, second; ///< the dots
};

/// The chains of a graph's kernels: each kernel from the first dot to the second is read by the
/// next ones alone, one operand of the second dot depends on the first dot, and what follows the
/// second dot reads the first one's result only through it and through reductions: a softmax may
/// divide by its sum before the second dot or behind it.
std::vector<DotChain> dotChains(const Graph &graph, std::span<const KernelGroup> kernels);

/// The chains that together save the most, where chain i saves gains[i]. A kernel is in at most one
/// chosen chain, and every chosen chain has a positive gain. Ascending.
std::vector<size_t> chooseChains(std::span<const DotChain> chains, std::span<const double> gains);

} // namespace tilewright
