// KernelModule: one lowered kernel, as LLVM IR, with what is needed to launch it.
#pragma once

#include "analysis/ir/shape.h"
#include "analysis/tiling/resources.h"
#include "codegen/target.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tilewright {

/// What the IR is generated for. One lowering makes all modes; only GPU-specific operations differ:
/// NVVM intrinsics for a device, calls into the emulator for emulation. Traced: emulation that also
/// reports every step and every value of an op, see locate.h.
enum class CodeMode { Device, Emulation, Traced };

/// Metadata kind on the instructions of a device kernel: the number of their step.
inline constexpr const char *stepMetadata = "tilewright.step";

/// A buffer that the kernel reads or writes: packed elements in the physical order of the shape.
struct KernelParameter {
  std::string name; ///< of the op in the group
  Shape shape;
  bool isOutput = false;
};

/// Memory that the CTAs of a kernel share beside its results.
struct KernelWorkspace {
  std::string name; ///< what it is for: "partial sums", …
  int64_t bytes = 0;
  /// It must hold zeros before the first launch, and does again after every launch; otherwise
  /// what it holds doesn't matter.
  bool isZeroed = false;
};

/// A view of a buffer that TMA copies boxes of: the arguments of
/// cuTensorMapEncodeTiled. Lists run from the innermost dim, whose elements are contiguous.
struct TensorMap {
  unsigned parameter = 0;  ///< index of the buffer parameter that it views
  int64_t offsetBytes = 0; ///< of the view in the buffer, a multiple of 16
  DType dtype = DType::F16;
  std::vector<int64_t> dims;    ///< elements, 1 to 5 dims
  std::vector<int64_t> strides; ///< bytes, of dims 1 and on, multiples of 16
  std::vector<int64_t> box;     ///< elements, at most 256 each
  int64_t swizzleBytes = 0;     ///< 0, 32, 64 or 128
};

/// What every element of a result must hold before a launch: atomics are added to it.
struct InitialValue {
  unsigned parameter = 0; ///< index of the buffer parameter
  double value = 0;
};

struct LaunchShape {
  int64_t grid = 1;        ///< CTAs along x
  int64_t threads = 32;    ///< a CTA, along x
  int64_t sharedBytes = 0; ///< dynamic shared memory a CTA
  bool operator==(const LaunchShape &) const = default;
};

/// All about a kernel but its code.
struct KernelInfo {
  std::string entry; ///< the kernel's symbol
  /// Inputs in order of the group's parameters, then outputs in order of its roots; each is one
  /// pointer argument, aligned to 256 bytes at least.
  std::vector<KernelParameter> parameters;
  /// One pointer argument each, after the parameters, aligned in the same way.
  std::vector<KernelWorkspace> workspaces;
  /// One CUtensorMap argument each, by value (128 bytes), after the workspaces.
  std::vector<TensorMap> tensorMaps;
  std::vector<InitialValue> initialValues;
  LaunchShape launch;
  /// Number n of CTAs that make one result together: CTAs n·i … n·(i + 1) - 1.
  int64_t ctasTogether = 1;
  /// The one target whose instructions it uses, "sm_90a"; empty: any.
  std::string target;
  /// The oldest architecture and version of PTX that have its instructions: 89 for sm_89; 0: any.
  int oldestArchitecture = 0;
  PtxVersion oldestPtx;
  std::string kind; ///< "elementwise", "reduction", "dot", "chain", "program"
  CodeChoice code;  ///< the lowering and the instruction of its dots
  /// Names of its steps (loads, copies, products, barriers …) in the order of the code; the numbers
  /// agree between CodeMode::Device and Traced. Empty for CodeMode::Emulation.
  std::vector<std::string> steps;
  /// What differs from the plan and why, in words: "fma in place of mma.sync: …".
  std::vector<std::string> notes;
};

class KernelModule : public KernelInfo {
public:
  KernelModule(std::unique_ptr<llvm::LLVMContext> context, std::unique_ptr<llvm::Module> module,
               CodeMode mode);
  KernelModule(KernelModule &&) noexcept;
  KernelModule &operator=(KernelModule &&) noexcept;
  ~KernelModule();

  CodeMode mode() const { return codeMode; }
  std::string llvmText() const; ///< the module as .ll text
  const llvm::Module &ir() const { return *module; }

  /// The CTAs that an SM must have room for (".minnctapersm"): with 1, ptxas gives threads the
  /// registers that they want instead of saving them for more CTAs.
  void setMinCtasPerSm(int ctas);

  /// Moves the IR out, for the JIT. The module is empty afterwards.
  std::pair<std::unique_ptr<llvm::LLVMContext>, std::unique_ptr<llvm::Module>> takeIr();

private:
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module; ///< after the context, so that it dies first
  CodeMode codeMode;
};

} // namespace tilewright
