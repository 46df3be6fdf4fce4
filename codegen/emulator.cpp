#include "codegen/emulator.h"

#include "codegen/emulator_cta.h"
#include "codegen/emulator_runtime.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

namespace tilewright {

struct EmulatedKernel::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  EmulatedCta::Entry entry = nullptr;
  KernelInfo info;
};

EmulatedKernel::EmulatedKernel(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
EmulatedKernel::EmulatedKernel(EmulatedKernel &&) noexcept = default;
EmulatedKernel &EmulatedKernel::operator=(EmulatedKernel &&) noexcept = default;
EmulatedKernel::~EmulatedKernel() = default;

const std::vector<KernelParameter> &EmulatedKernel::parameters() const {
  return impl->info.parameters;
}
const std::vector<KernelWorkspace> &EmulatedKernel::workspaces() const {
  return impl->info.workspaces;
}
int64_t EmulatedKernel::ctasTogether() const { return impl->info.ctasTogether; }
const LaunchShape &EmulatedKernel::launch() const { return impl->info.launch; }
const std::vector<std::string> &EmulatedKernel::steps() const { return impl->info.steps; }

/// Scheduling instructions takes time quadratic in those of a block: of large ones none is done.
static llvm::CodeGenOptLevel effortFor(const llvm::Module &module) {
  constexpr size_t large = 2000;
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function)
      if (block.size() > large)
        return llvm::CodeGenOptLevel::None;
  return llvm::CodeGenOptLevel::Less;
}

llvm::Expected<EmulatedKernel> EmulatedKernel::compile(KernelModule kernel) {
  using namespace llvm::orc;
  if (kernel.mode() == CodeMode::Device)
    return makeError(DiagClass::Internal, "only a kernel lowered for emulation can be emulated");
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(kernel.ir(), &stream))
    return makeError(DiagClass::Internal, "malformed IR for {}: {}", kernel.entry, stream.str());

  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  auto asInternal = [&](llvm::Error error) {
    return makeError(DiagClass::Internal, "compiling {} for emulation: {}", kernel.entry,
                     llvm::toString(std::move(error)));
  };
  auto machine = JITTargetMachineBuilder::detectHost();
  if (!machine)
    return asInternal(machine.takeError());
  machine->setCodeGenOptLevel(effortFor(kernel.ir()));
  auto jit = LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
  if (!jit)
    return asInternal(jit.takeError());
  SymbolMap symbols;
  for (const RuntimeFunction &function : emulatorRuntime())
    symbols[(*jit)->mangleAndIntern(llvm::StringRef(function.name))] = {
        ExecutorAddr::fromPtr(function.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (auto error = (*jit)->getMainJITDylib().define(absoluteSymbols(std::move(symbols))))
    return asInternal(std::move(error));

  auto impl = std::make_unique<Impl>();
  impl->info = kernel;
  auto [context, module] = kernel.takeIr();
  module->setDataLayout((*jit)->getDataLayout());
  if (auto error = (*jit)->addIRModule(
          ThreadSafeModule(std::move(module), ThreadSafeContext(std::move(context)))))
    return asInternal(std::move(error));
  auto symbol = (*jit)->lookup(kernel.entry);
  if (!symbol)
    return asInternal(symbol.takeError());
  impl->entry = symbol->toPtr<EmulatedCta::Entry>();
  impl->jit = std::move(*jit);
  return EmulatedKernel(std::move(impl));
}

llvm::Expected<EmulationCounts> EmulatedKernel::run(std::span<const EmulatorBuffer> buffers,
                                                    const EmulationOptions &options) {
  if (buffers.size() != impl->info.parameters.size() + impl->info.workspaces.size())
    return makeError(DiagClass::Internal, "{} buffers given for {} parameters and {} workspaces",
                     buffers.size(), impl->info.parameters.size(), impl->info.workspaces.size());
  EmulatedCta cta(buffers, impl->info, impl->entry, options);
  auto ctaAt = [&](size_t i) {
    return options.ctas.empty() ? static_cast<int64_t>(i) : options.ctas[i];
  };
  size_t count =
      options.ctas.empty() ? static_cast<size_t>(impl->info.launch.grid) : options.ctas.size();
  auto together = static_cast<size_t>(impl->info.ctasTogether);
  uint64_t before = 0;
  for (size_t i = 0; i < count; ++i) {
    if (ctaAt(i) < 0 || ctaAt(i) >= impl->info.launch.grid)
      return makeError(DiagClass::Internal, "CTA {} of a grid of {}", ctaAt(i),
                       impl->info.launch.grid);
    if (i % together == 0)
      before = cta.remainingEvents();
    if (auto error = cta.run(ctaAt(i)))
      return error;
    if ((i + 1) % together != 0)
      continue;
    uint64_t used = before - cta.remainingEvents();
    if (options.stopWhenSpent && cta.remainingEvents() < used + used / 4)
      break;
  }
  return cta.counts();
}

} // namespace tilewright
