#include "codegen/kernel_module.h"

#include "llvm/IR/LLVMContext.h"
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

std::pair<std::unique_ptr<llvm::LLVMContext>, std::unique_ptr<llvm::Module>>
KernelModule::takeIr() {
  return {std::move(context), std::move(module)};
}

} // namespace tilewright
