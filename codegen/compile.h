// From a lowered kernel to what a device runs: PTX, and a cubin where there is ptxas.
#pragma once

#include "codegen/kernel_module.h"
#include "codegen/ptxas.h"

namespace tilewright {

struct CompiledKernel {
  std::string ptx;
  std::string optimisedIr;            ///< as it is after LLVM's passes
  std::optional<Assembled> assembled; ///< nothing without ptxas, or where it refused
  std::string assemblyError;          ///< what it said then
  int64_t minCtasPerSm = 0;           ///< that the kernel was made to ask for; 0: nothing
};

/// Why a toolchain's target has no such kernel: "needs sm_89 or newer and PTX 8.4, not sm_80 and
/// PTX 8.5"; empty where it has.
std::string targetProblem(const KernelInfo &kernel, const Toolchain &toolchain);

/// A kernel for the toolchain's target. Where ptxas spills only to have more blocks on a
/// multiprocessor (it does for small blocks: 8 bytes of 40 registers, for 32), the kernel is made
/// to ask for one, and compiled again. Without ptxas it asks for what `minCtasPerSm` says, so that
/// what one machine found out can be had on another.
/// Errors: those of emitPtx().
llvm::Expected<CompiledKernel> compileKernel(KernelModule &kernel, const Toolchain &toolchain,
                                             int64_t minCtasPerSm = 0);

} // namespace tilewright
