// From a KernelSpec to its tile program's kernel, by kind of group.
#pragma once

#include "codegen/extract.h"
#include "codegen/lower.h"

namespace tilewright {

/// A kernel's symbol: a name valid in both PTX and C.
std::string symbolOf(const std::string &name);

/// The kernel of the group's tile program. `isByLoops`: reductions and dots are loops of the thread
/// that makes an element. Unsupported where it has none yet.
llvm::Expected<KernelModule> lowerProgram(const KernelSpec &spec, CodeKind kind, CodeMode mode,
                                          bool isByLoops = false);
/// Of dots, convolutions and chains of two dots, alone or beside others.
llvm::Expected<KernelModule> lowerProducts(const KernelSpec &spec, CodeKind kind, CodeMode mode);

} // namespace tilewright
