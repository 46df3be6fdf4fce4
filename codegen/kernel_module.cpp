#include "codegen/kernel_module.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright {

KernelModule::KernelModule(std::unique_ptr<llvm::LLVMContext> context,
                           std::unique_ptr<llvm::Module> module, CodeMode mode)
    : context(std::move(context)), module(std::move(module)), codeMode(mode) {}
KernelModule::KernelModule(KernelModule &&) noexcept = default;

KernelModule &KernelModule::operator=(KernelModule &&other) noexcept {
  KernelInfo::operator=(std::move(other));
  codeMode = other.codeMode;
  module = std::move(other.module); // frees the old module while its context still lives
  context = std::move(other.context);
  return *this;
}

KernelModule::~KernelModule() = default;

std::string KernelModule::llvmText() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

void KernelModule::setMinCtasPerSm(int ctas) {
  if (codeMode != CodeMode::Device)
    return;
  llvm::Function *function = module->getFunction(entry);
  // A function attribute from LLVM 21 on, metadata before.
  function->addFnAttr("nvvm.minctasm", std::to_string(ctas));
#if LLVM_VERSION_MAJOR < 21
  auto *count =
      llvm::ConstantInt::get(llvm::Type::getInt32Ty(*context), static_cast<unsigned>(ctas));
  module->getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(*context, {llvm::ValueAsMetadata::get(function),
                                                llvm::MDString::get(*context, "minctasm"),
                                                llvm::ConstantAsMetadata::get(count)}));
#endif
}

std::pair<std::unique_ptr<llvm::LLVMContext>, std::unique_ptr<llvm::Module>>
KernelModule::takeIr() {
  return {std::move(context), std::move(module)};
}

} // namespace tilewright
