// The values of a row that a reduction's kernel keeps from one pass to the next.
#pragma once

#include "analysis/ir/graph.h"

#include <functional>
#include <span>

namespace tilewright {

/// Limit on a thread's registers for values that one pass over a row computes and a later one
/// reads: beyond it, values are read again instead of spilled. Half of a thread's share of an SM's
/// registers, for CTAs of `warps`.
constexpr int64_t maxHeldRegisters = 128, heldRegistersOfSm = 65536 / 2;
/// Limit on the values of a row that a thread has at once where none is held: enough loads on their
/// way to hide their latency.
constexpr int64_t maxPassingValues = 32;

/// Registers that such values of one column take; 0 where no later pass reads any. Passes are the
/// reductions in order, then the results. A pass computes its ops from those of earlier passes,
/// which are held until then; values with one element a column count, values of the whole row do
/// not. `isInput` says which ops are read from memory.
int64_t heldPerColumn(const Graph &graph, std::span<const OpId> reductions,
                      std::span<const OpId> results, const std::function<bool(OpId)> &isInput);

} // namespace tilewright
