// Folders that XLA writes with --xla_dump_to: which of their files are modules.
//
// Of each module that is compiled XLA writes, among much else,
//   module_0008.jit_layer.before_optimizations.txt
//   module_0008.jit_layer.sm_9.0_gpu_after_optimizations.txt
// with .hlo.pb in place of .txt where it was asked for protocol buffers, and .gz behind it where
// they are compressed. Buffer assignments, reports and the dumps of single passes have other names.
#pragma once

#include "llvm/Support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Which of a module's two files is wanted. Auto: that after optimisation, which has the kernels
/// that ran, unless it was made for a CPU.
enum class DumpStage { Auto, Before, After };

struct DumpedModule {
  std::string name; ///< "module_0008.jit_layer"
  std::string path; ///< of the chosen file
  bool isOptimized = false;
  std::string note; ///< which file it is and why: "after optimisation for sm_9.0_gpu"
};

/// The modules of a folder in the order of their names, at least one. With a name that one:
/// "module_0008.jit_layer", or "jit_layer" where only one is called so. Of text and protocol buffer
/// the text is taken. BadInput where there is none.
llvm::Expected<std::vector<DumpedModule>> modulesOfDump(const std::string &folder, DumpStage stage,
                                                        std::string_view name = {});

/// "module_0008.jit_layer, module_0010.jit_loss and 7 more".
std::string namesOf(const std::vector<DumpedModule> &modules);

} // namespace tilewright
