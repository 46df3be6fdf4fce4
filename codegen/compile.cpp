#include "codegen/compile.h"

#include "codegen/nvptx.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

namespace {

llvm::Expected<CompiledKernel> compileOnce(const KernelModule &kernel, const Toolchain &toolchain) {
  CompiledKernel result;
  auto ptx = emitPtx(kernel, toolchain.target, toolchain.version, &result.optimisedIr);
  if (!ptx)
    return ptx.takeError();
  result.ptx = std::move(*ptx);
  if (!toolchain.ptxas)
    return result;
  auto assembled = assemble(*toolchain.ptxas, toolchain.target, result.ptx);
  if (assembled)
    result.assembled = std::move(*assembled);
  else
    result.assemblyError = takeDiag(assembled.takeError()).message;
  return result;
}

} // namespace

std::string targetProblem(const KernelInfo &kernel, const Toolchain &toolchain) {
  const Target &target = toolchain.target;
  if (!kernel.target.empty() && kernel.target != target.name)
    return fmt::format("needs the target {}, not {}", kernel.target, target.name);
  if (target.architecture < kernel.oldestArchitecture || toolchain.version < kernel.oldestPtx)
    return fmt::format("needs sm_{} or newer and PTX {}, not {} and PTX {}",
                       kernel.oldestArchitecture, kernel.oldestPtx.str(), target.name,
                       toolchain.version.str());
  return "";
}

llvm::Expected<CompiledKernel> compileKernel(KernelModule &kernel, const Toolchain &toolchain,
                                             int64_t minCtasPerSm) {
  constexpr int64_t perThread = 255, perCta = 65536; // on all targets
  bool asks = !toolchain.ptxas && minCtasPerSm > 0;
  if (!asks) {
    auto result = compileOnce(kernel, toolchain);
    if (!result || !result->assembled || !result->assembled->report.spills() ||
        result->assembled->report.registers >=
            std::min(perThread, perCta / kernel.launch.threads / 8 * 8))
      return result;
  }
  kernel.setMinCtasPerSm(1);
  auto result = compileOnce(kernel, toolchain);
  if (result)
    result->minCtasPerSm = 1;
  return result;
}

} // namespace tilewright
