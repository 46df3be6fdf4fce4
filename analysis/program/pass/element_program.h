// The program of a group whose threads make elements by themselves, and what they evaluate.
#pragma once

#include "analysis/program/evaluations.h"
#include "analysis/tiling/plan.h"
#include "analysis/tiling/resources.h"

namespace tilewright {

/// What threads do, over the group's parameters, of a group whose code is elementwise or that of
/// reductions; null where it has no program. The group keeps it.
const program::WorkOfThreads *workOf(const Module &module, const Graph &graph,
                                     const TiledGroup &group, const CodeChoice &code);

namespace program {

/// As programOfPlan(), for all tile sizes at once, without passes that only change how it reads.
/// Unsupported as buildProgram().
llvm::Expected<Program> programOfElements(const Module &module, const Graph &graph,
                                          const TiledGroup &group);

} // namespace program
} // namespace tilewright
