// The steps of a kernel on its way to the GPU, for people to read.
#pragma once

#include "analysis/support/output_folder.h"

#include <string>

namespace tilewright {

struct KernelDump {
  std::string base;      ///< of the file names
  std::string plan;      ///< the plan file: tile sizes, schedule, the ops as HLO text
  std::string steps;     ///< what the kernel does, for people (kernel_steps.h)
  std::string ir;        ///< as lowered
  std::string optimised; ///< after LLVM's passes
  std::string ptx, log;  ///< PTX; what ptxas said, empty without one
  std::string cubin;     ///< disassembled where a tool for it is found
};

/// Writes BASE.plan.json, BASE.tile.txt, BASE.ll, BASE.optimised.ll, BASE.ptx, and BASE.ptxas.log
/// and BASE.sass where there is something to write. Errors: BadInput where it can't be written.
llvm::Error writeDump(OutputFolder &folder, const KernelDump &dump);

} // namespace tilewright
