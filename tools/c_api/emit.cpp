// Code of a plan.
#include "tools/c_api/choices.h"
#include "tools/c_api/status.h"

#ifdef TILEWRIGHT_HAS_CODEGEN
#include "codegen/compile.h"
#include "codegen/lower.h"
#include "codegen/pack.h"
#endif

namespace tilewright::capi {

namespace {

#ifdef TILEWRIGHT_HAS_CODEGEN

llvm::Expected<std::string> ptxOf(const KernelSpec &spec, const Toolchain &toolchain) {
  llvm::Expected<KernelModule> code = lowerKernel(spec, CodeMode::Device);
  if (!code)
    return code.takeError();
  if (std::string problem = targetProblem(*code, toolchain); !problem.empty())
    return makeError(DiagClass::Unsupported, "{}: {}", spec.name, problem);
  llvm::Expected<CompiledKernel> compiled = compileKernel(*code, toolchain);
  if (!compiled)
    return compiled.takeError();
  return std::move(compiled->ptx);
}

llvm::Error emitPlan(const KernelPlan &plan, const char *targetName, const char *folder,
                     tw_text *ptx) {
  llvm::Expected<Target> target = findTarget(targetName);
  if (!target)
    return target.takeError();
  llvm::Expected<Toolchain> toolchain = findToolchain(*target);
  if (!toolchain)
    return toolchain.takeError();
  llvm::Expected<KernelSpec> spec = specOf(plan);
  if (!spec)
    return spec.takeError();
  llvm::Expected<std::string> text = ptxOf(*spec, *toolchain);
  if (!text)
    return text.takeError();
  if (folder)
    if (auto emitted = emitPack(std::span<const KernelSpec>(&*spec, 1), *target, folder); !emitted)
      return emitted.takeError();
  giveText(ptx, std::move(*text));
  return llvm::Error::success();
}

#else

llvm::Error emitPlan(const KernelPlan &, const char *, const char *, tw_text *) {
  return makeError(DiagClass::Unsupported, "this library was built without code generation");
}

#endif

llvm::Error emit(tw_kernel handle, tw_instruction instruction, const int64_t *values, size_t count,
                 const char *target, const char *folder, tw_text *ptx) {
  auto object = objectOf<Kernel>(handle);
  if (!object)
    return object.takeError();
  if (!target || !ptx)
    return noPlace(target ? "ptx" : "target");
  const std::lock_guard lock((*object)->mutex);
  llvm::Expected<KernelPlan> plan = planOf(**object, instruction, values, count);
  if (!plan)
    return plan.takeError();
  return emitPlan(*plan, target, folder, ptx);
}

} // namespace

} // namespace tilewright::capi

tw_status tw_emit(tw_kernel kernel, tw_instruction instruction, const int64_t *values, size_t count,
                  const char *target, const char *folder, tw_text *ptx, tw_text *error) {
  using namespace tilewright::capi;
  return guarded(error,
                 [&] { return emit(kernel, instruction, values, count, target, folder, ptx); });
}
