// Inlining of calls and fusions into their callers.
#pragma once

#include "analysis/ir/graph.h"

#include "llvm/Support/Error.h"

#include <cstddef>

namespace tilewright {

struct InlineOptions {
  bool calls = true;       ///< `call` ops
  bool fusions = false;    ///< `fusion` ops: undoes the fusion decisions of the file's compiler
  size_t maxOps = 1 << 20; ///< of the result; nested calls can multiply ops without bound
};

/// A module that computes the same without those ops, to any depth of nesting, and without
/// annotations (annotation.h). Bodies of loops, branches and reductions stay computations;
/// computations without callers are dropped.
///
/// The op that computes a call's value takes the call's name; the others keep theirs, with a number
/// appended if it is taken. All keep their source locations, and their framework's names behind the
/// call's (origin.h). A tuple that a callee returns only for
/// its elements to be extracted disappears with the get-tuple-elements.
///
/// `module` must be verified. BudgetSpent if the result would hold more than `maxOps` ops.
llvm::Expected<Module> inlineCalls(const Module &module, const InlineOptions &options = {});

} // namespace tilewright
