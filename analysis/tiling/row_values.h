// What a reduction's kernel holds of a row from one pass over it to the next.
#pragma once

#include "analysis/ir/graph.h"

#include <functional>
#include <span>

namespace tilewright {

/// Registers of a thread for values that one pass over a row makes and a later one reads: more
/// would spill, so that the row is read again in parts. Half of what the threads of an SM leave for
/// each, for blocks of `warps`.
constexpr int64_t maxHeldRegisters = 128, heldRegistersOfSm = 65536 / 2;

/// Registers that such values of one column take, at least 1. Passes are the reductions in order,
/// then the results. A pass reads its ops down to those that an earlier one has made, which were
/// held until then; those that a thread has one of for each column count, others are a row's.
/// `isInput` says which ops are read from memory.
int64_t heldPerColumn(const Graph &graph, std::span<const OpId> reductions,
                      std::span<const OpId> results, const std::function<bool(OpId)> &isInput);

} // namespace tilewright
