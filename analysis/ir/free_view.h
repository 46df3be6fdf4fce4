// Ops whose result is their operand's bytes as they lie in memory.
//
//   w: bf16[1024,32000]{1,0}    transpose(w): bf16[32000,1024]{0,1}
//
// has the same element at the same place: nothing is moved, and a reader of the transpose can be
// given w.
#pragma once

#include "analysis/ir/graph.h"

namespace tilewright {

/// Is it a bitcast, or a reshape, transpose or copy between layouts that put the same elements in
/// the same places? Not a copy in a scheduled module: a compiler that has assigned buffers put it
/// there, and it runs.
bool movesNoByte(const Graph &graph, OpId id, bool isScheduled = false);

/// `is_scheduled=true` on the module's line.
bool isScheduled(const Module &module);

} // namespace tilewright
