// Compiles a lowered kernel to PTX, and to a cubin where ptxas is found.
#pragma once

#include "codegen/kernel_module.h"
#include "codegen/ptxas.h"

namespace tilewright {

struct CompiledKernel {
  std::string ptx;
  std::string optimisedIr;            ///< the IR after LLVM's passes
  std::optional<Assembled> assembled; ///< empty without ptxas, or where it failed
  std::string assemblyError;          ///< ptxas's message where it failed
  int64_t minCtasPerSm = 0;           ///< that the kernel was made to ask for; 0: nothing
};

/// Why a toolchain's target has no such kernel: "needs sm_89 or newer and PTX 8.4, not sm_80 and
/// PTX 8.5"; empty if it has one.
std::string targetProblem(const KernelInfo &kernel, const Toolchain &toolchain);

/// Compiles a kernel for the toolchain's target. Where ptxas spills only to fit more CTAs on an SM
/// (it does for small CTAs: 8 bytes of 40 registers, to get to 32), the kernel is compiled again
/// with a minimum of one CTA an SM. Without ptxas it asks for what `minCtasPerSm` says, so that
/// what one machine found out can be had on another. Errors: those of emitPtx().
llvm::Expected<CompiledKernel> compileKernel(KernelModule &kernel, const Toolchain &toolchain,
                                             int64_t minCtasPerSm = 0);

} // namespace tilewright
