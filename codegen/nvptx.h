// LLVM's NVPTX backend: its tables, and IR to PTX. The only file that includes its machinery is
// nvptx.cpp.
#pragma once

#include "codegen/target.h"

namespace tilewright {

class KernelModule;

std::string llvmVersion();                       ///< "LLVM 19.1.7"
bool llvmKnowsProcessor(const std::string &cpu); ///< "sm_90a"
std::vector<std::string> llvmFeatures();         ///< names in the subtarget table: "ptx85", …

/// PTX text of a kernel lowered for a device. The module is not changed. `optimised` gets the IR as
/// it is after LLVM's passes. Errors: Internal when the IR is malformed or LLVM reports an error.
llvm::Expected<std::string> emitPtx(const KernelModule &kernel, const Target &target,
                                    PtxVersion version, std::string *optimised = nullptr);

} // namespace tilewright
