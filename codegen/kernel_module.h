// KernelModule: one lowered kernel, as LLVM IR, with what is needed to launch it.
#pragma once

#include "analysis/ir/shape.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tilewright {

/// What the generated IR is for. Both kinds come from the same lowering; only the operations that
/// are special to the GPU differ: NVVM intrinsics there, calls into the emulator here.
enum class CodeMode { Device, Emulation };

/// A buffer that the kernel reads or writes: packed elements in the physical order of the shape.
struct KernelParameter {
  std::string name; ///< of the op in the group
  Shape shape;
  bool isOutput = false;
};

struct LaunchShape {
  int64_t grid = 1;        ///< blocks along x
  int64_t threads = 32;    ///< a block, along x
  int64_t sharedBytes = 0; ///< dynamic shared memory a block
  bool operator==(const LaunchShape &) const = default;
};

class KernelModule {
public:
  KernelModule(std::unique_ptr<llvm::LLVMContext> context, std::unique_ptr<llvm::Module> module,
               CodeMode mode);
  KernelModule(KernelModule &&) noexcept;
  KernelModule &operator=(KernelModule &&) noexcept;
  ~KernelModule();

  std::string entry; ///< the kernel's symbol
  /// Inputs in order of the group's parameters, then outputs in order of its roots; each is one
  /// pointer argument, aligned to 256 bytes at least.
  std::vector<KernelParameter> parameters;
  LaunchShape launch;
  std::string kind; ///< "elementwise", "reduction", "dot"

  CodeMode mode() const { return codeMode; }
  std::string llvmText() const; ///< the module as .ll text
  const llvm::Module &ir() const { return *module; }

  /// Gives the IR away, for the JIT. The module is empty afterwards.
  std::pair<std::unique_ptr<llvm::LLVMContext>, std::unique_ptr<llvm::Module>> takeIr();

private:
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module; ///< after the context, so that it dies first
  CodeMode codeMode;
};

} // namespace tilewright
