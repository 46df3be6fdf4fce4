// Emission: a tile program with numbers in it becomes one kernel, op by op.
//
// A tile of registers is registerCount values a thread; what a layout says of lanes and warps is
// arithmetic on the thread's number that each access shares. Copies, rings and roles become the
// instructions that their way and their place ask for (docs/program.md, "Emission").
#pragma once

#include "analysis/program/program.h"
#include "codegen/kernel_module.h"

namespace tilewright {

/// Parameters of the kernel are those of the program, then its results; results that atomics are
/// added to are in KernelInfo::initialValues. `graph`: that the program was built of; with
/// CodeMode::Traced the values of its ops are reported. Errors: BadInput for a size without a
/// number and for what breaks a rule of the verifier; Unsupported, at the op's place, for what has
/// no code.
llvm::Expected<KernelModule> emitProgram(const program::Program &program, CodeMode mode,
                                         const Graph *graph = nullptr);

} // namespace tilewright
