// Resources of a group's kernel, and the limits on them.
//
// What the program says comes from its folds: of reductions the shared memory in which partial
// results cross warps; of dots beside others all shared memory, the registers of tiles, and what
// the verifier demands of tile sizes. The structure of a program depends on which tiles cover
// their dims (VariantCase), so that an amount is a `select` over its variants. The rest are the
// formulas of analysis/tiling/resources.h, by kind of code.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/tiling/resources.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright {

/// Resources of the code, over the group's parameters.
Resources kernelResources(const Module &module, const Graph &graph, const TiledGroup &group,
                          const CodeChoice &code, const DeviceLimits &limits);
/// The same of the code that is chosen for `instruction`.
Resources kernelResources(const Module &module, const Graph &graph, const TiledGroup &group,
                          Instruction instruction, const DeviceLimits &limits);

/// Appends the device's limits on them as addResourceConstraints(), and what the programs of dots
/// beside others demand, rule "program". `isAsked`: whether tile sizes that matter take a variant
/// of the code, by its condition; of others nothing is said. Null: all matter.
void addKernelConstraints(const Module &module, const Graph &graph, TiledGroup &group,
                          const DeviceLimits &limits, Instruction instruction = Instruction::Fma,
                          llvm::function_ref<bool(Expr when)> isAsked = nullptr);

} // namespace tilewright
