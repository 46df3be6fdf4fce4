#include "codegen/dump.h"

#include "analysis/support/diag.h"
#include "codegen/subprocess.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

std::string findTool(const char *name) {
  if (auto onPath = llvm::sys::findProgramByName(name))
    return *onPath;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = std::getenv(variable); home && *home)
      if (std::string path = std::string(home) + "/bin/" + name; llvm::sys::fs::can_execute(path))
        return path;
  std::string path = std::string("/usr/local/cuda/bin/") + name;
  return llvm::sys::fs::can_execute(path) ? path : "";
}

/// The text of a cubin's code; nothing without a tool that understands it.
std::optional<std::string> disassemble(const std::string &cubinFile) {
  for (const char *tool : {"nvdisasm", "cuobjdump"}) {
    std::string program = findTool(tool);
    if (program.empty())
      continue;
    std::vector<std::string> arguments;
    if (std::string_view(tool) == "cuobjdump")
      arguments.push_back("-sass");
    arguments.push_back(cubinFile);
    auto result = runProcess(program, arguments, std::chrono::seconds(60));
    if (!result) {
      llvm::consumeError(result.takeError());
      continue;
    }
    if (!result->timedOut && result->exitCode == 0)
      return result->output;
  }
  return std::nullopt;
}

} // namespace

llvm::Error writeDump(OutputFolder &folder, const KernelDump &dump) {
  std::vector<std::pair<std::string, const std::string *>> files{{".plan.json", &dump.plan},
                                                                 {".tile.txt", &dump.steps},
                                                                 {".ll", &dump.ir},
                                                                 {".optimised.ll", &dump.optimised},
                                                                 {".ptx", &dump.ptx}};
  if (!dump.log.empty())
    files.push_back({".ptxas.log", &dump.log});
  if (!dump.cubin.empty())
    files.push_back({".cubin", &dump.cubin});
  for (const auto &[ending, text] : files)
    if (auto error = folder.write(dump.base + ending, *text))
      return error;
  if (!dump.cubin.empty())
    if (auto sass = disassemble(folder / (dump.base + ".cubin")))
      return folder.write(dump.base + ".sass", *sass);
  return llvm::Error::success();
}

} // namespace tilewright
