// Chains: two dots that may become one kernel, the first one's result staying on chip.
//
// Attention is one: softmax(Q·Kᵀ)·V never writes its scores to memory. The simple grouping ends a
// kernel at every dot. Here the kernels from one dot to the next are proposed as one kernel:
//
//     dot ── elementwise, reduces ──▶ dot        %s = dot(q, k), %p = softmax(%s), dot(%p, v)
//
// A chain is a candidate, not a decision. It saves what would be written to memory and read back,
// and may compute the first dot again for every tile of the second one's columns; the tile sizes
// that it leaves may be poor ones, or none. So both ways are priced, and the faster one is taken.
#pragma once

#include "analysis/explore/grouping.h"

#include <span>
#include <vector>

namespace tilewright {

struct DotChain {
  std::vector<size_t> kernels; ///< those that it would replace, ascending; the last has its root
  KernelGroup whole;
  OpId first, second; ///< the dots
};

/// The chains of a graph's kernels: each kernel from the first dot to the second is read by the
/// next ones alone, one operand of the second dot depends on the first dot, and what follows the
/// second dot reads the first one's result only through it and through reductions: a softmax may
/// divide by its sum before the second dot or behind it.
std::vector<DotChain> dotChains(const Graph &graph, std::span<const KernelGroup> kernels);

/// Chains that save the most together, of chains that save `gains` each; a kernel is in one chosen
/// chain at most, and none that saves nothing is chosen. Ascending.
std::vector<size_t> chooseChains(std::span<const DotChain> chains, std::span<const double> gains);

} // namespace tilewright
