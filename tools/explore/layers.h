// Which layer of its model a kernel belongs to, in the framework's names. Internal to the folder.
#pragma once

#include "tools/explore/explore.h"

namespace tilewright {

/// Sets `layer` and `origin` of kernels, and `layer` of ops without one, from what the metadata of
/// the ops say; kernels of ops
/// without names keep them empty.
///
/// The hero of a kernel counts: its dots, without those its reductions, without those all ops that
/// do more than spread a value. The layer is their common scope, that is their names without the
/// primitive behind the last '/'; where they share none, the scope of the last of them, or its
/// primitive where it has no scope. What tells no kernel apart is dropped: `jit(f)/jit(main)` in
/// front, and then the scopes that all kernels share.
void nameLayers(const Module &module, ExploredModel &model);

} // namespace tilewright
