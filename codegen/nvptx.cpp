#include "codegen/nvptx.h"

#include "codegen/kernel_module.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tilewright {

namespace {

constexpr const char *tripleText = "nvptx64-nvidia-cuda";
#if LLVM_VERSION_MAJOR >= 21
llvm::Triple nvptxTriple() { return llvm::Triple(tripleText); }
#else
std::string nvptxTriple() { return tripleText; }
#endif

std::unique_ptr<llvm::TargetMachine> makeMachine(const std::string &cpu,
                                                 const std::string &features) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(nvptxTriple(), error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // Contraction to fma, where the IR's flags allow it, is decided by the lowering.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(nvptxTriple(), cpu, features, options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Collects LLVM's errors instead of printing them.
struct ErrorCollector : llvm::DiagnosticHandler {
  std::string &first;
  explicit ErrorCollector(std::string &first) : first(first) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error && first.empty()) {
      llvm::raw_string_ostream stream(first);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }
};

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning; // the lowering decides on unrolling and vector widths
  tuning.LoopUnrolling = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

} // namespace

std::string llvmVersion() { return "LLVM " LLVM_VERSION_STRING; }

bool llvmKnowsProcessor(const std::string &cpu) {
  static const auto machine = makeMachine("sm_80", "");
  return machine && machine->getMCSubtargetInfo()->isCPUStringValid(cpu);
}

std::vector<std::string> llvmFeatures() {
  static const auto machine = makeMachine("sm_80", "");
  std::vector<std::string> names;
  if (machine)
    for (const auto &feature : machine->getMCSubtargetInfo()->getAllProcessorFeatures())
      names.push_back(feature.Key);
  return names;
}

llvm::Expected<std::string> emitPtx(const KernelModule &kernel, const Target &target,
                                    PtxVersion version, std::string *optimised) {
  auto machine = makeMachine(target.name, "+" + version.feature());
  if (!machine)
    return makeError(DiagClass::Unsupported, "{} was built without the NVPTX backend",
                     llvmVersion());
  std::unique_ptr<llvm::Module> module = llvm::CloneModule(kernel.ir());
  module->setTargetTriple(nvptxTriple());
  module->setDataLayout(machine->createDataLayout());
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream))
    return makeError(DiagClass::Internal, "malformed IR for {}: {}", kernel.entry, stream.str());

  llvm::LLVMContext &context = module->getContext();
  std::string firstError;
  auto previous = context.getDiagnosticHandler();
  context.setDiagnosticHandler(std::make_unique<ErrorCollector>(firstError));
  optimize(*module, *machine);
  if (optimised) {
    llvm::raw_string_ostream(*optimised) << *module;
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  bool refused =
      machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile);
  if (!refused)
    passes.run(*module);
  context.setDiagnosticHandler(std::move(previous));
  if (refused)
    return makeError(DiagClass::Internal, "LLVM can't write PTX for {}", target.name);
  if (!firstError.empty())
    return makeError(DiagClass::Internal, "LLVM refused {} for {}: {}", kernel.entry, target.name,
                     firstError);
  return std::string(text);
}

} // namespace tilewright
