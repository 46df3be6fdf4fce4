// CPU emulation of generated kernels: the IR that would go to NVPTX, lowered with
// CodeMode::Emulation, is compiled for the host and run, one fiber a GPU thread.
//
// Stricter than a GPU, so that errors show which a GPU may hide:
//   - every access is checked against the buffers' bounds, alignment and direction;
//   - shared memory starts as NaNs, and reading bytes that nothing has written is an error;
//   - asynchronous copies land as late as the program allows (at its wait), and touching bytes
//     that one is still writing is an error: a missing or too weak wait is always found;
//   - two threads that touch the same shared bytes, one writing, without a barrier in between are
//     a race;
//   - a barrier or warp operation that not all threads reach is an error;
//   - what CTAs exchange through workspaces must be fenced and announced (emulator_workspace.h).
#pragma once

#include "analysis/support/diag.h"
#include "codegen/kernel_module.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace tilewright {

/// Memory of one kernel parameter. Exactly `bytes` may be touched; data is aligned to 256.
struct EmulatorBuffer {
  std::byte *data = nullptr;
  int64_t bytes = 0;
  bool isOutput = false; ///< may be written; inputs may not
  /// If given: one flag a byte, set when it is written.
  std::vector<bool> *written = nullptr;
  bool isWorkspace = false; ///< CTAs may read what others wrote and published there
};

/// What the kernel did, summed over the CTAs that were run.
struct EmulationCounts {
  int64_t globalReadBytes = 0, globalWrittenBytes = 0; ///< as requested by threads
  int64_t asyncCopyBytes = 0;
  int64_t sharedReadBytes = 0, sharedWrittenBytes = 0;
  int64_t tensorCopyBytes = 0;   ///< by TMA, without zero fill
  int64_t mmaInstructions = 0;   ///< a warp counts once
  int64_t warpgroupProducts = 0; ///< wgmma instructions, a warpgroup counts once
  int64_t matrixFlops = 0;       ///< of both: two for a product of elements and its sum
  int64_t matrixLoads = 0;       ///< 8x8 matrices loaded by ldmatrix
  int64_t matrixLoadWavefronts =
      0; ///< passes that they take; more than matrixLoads means bank conflicts
  /// With countBankConflicts: accesses to shared memory by warps (half and quarter warps for 8 and
  /// 16 bytes), and the passes that they take.
  int64_t sharedAccesses = 0, sharedWavefronts = 0;
  int64_t barriers = 0;
  int64_t atomics = 0;
  int64_t ctas = 0; ///< that were run
};

/// One value that a kernel lowered with CodeMode::Traced has, see KernelBuilder::traceValue().
struct TracedValue {
  int64_t number = 0, element = 0;
  uint64_t bits = 0; ///< a double where it is a float
  int64_t cta = 0;
  int thread = 0, step = -1; ///< the last step that the thread reached; -1: none
};

struct EmulationOptions {
  /// CTAs to run, in this order, with those that share a tile next to each other; empty: the whole
  /// grid.
  std::vector<int64_t> ctas;
  /// Memory operations and rendezvous before BudgetSpent.
  uint64_t maxEvents = uint64_t(1) << 34;
  /// After a CTA has ended, stop without an error if the remaining budget probably does not cover
  /// the next one.
  bool stopWhenSpent = false;
  /// Fault injection: waits leave that many more groups in flight.
  unsigned weakenWaits = 0;
  bool countBankConflicts = false;                   ///< of plain loads and stores, see BankCounter
  std::function<void(const TracedValue &)> observer; ///< of a traced kernel's values
};

class EmulatedKernel {
public:
  /// Compiles a kernel that was lowered with CodeMode::Emulation or Traced. Errors: Internal.
  static llvm::Expected<EmulatedKernel> compile(KernelModule kernel);
  EmulatedKernel(EmulatedKernel &&) noexcept;
  EmulatedKernel &operator=(EmulatedKernel &&) noexcept;
  ~EmulatedKernel();

  const std::vector<KernelParameter> &parameters() const;
  const std::vector<KernelWorkspace> &workspaces() const;
  int64_t ctasTogether() const; ///< see KernelModule
  const LaunchShape &launch() const;
  const std::vector<std::string> &steps() const; ///< see KernelInfo

  /// Runs CTAs over buffers, one a parameter and then one a workspace. Errors: Internal, naming
  /// CTA, thread, step (of a traced kernel) and what it did wrong.
  llvm::Expected<EmulationCounts> run(std::span<const EmulatorBuffer> buffers,
                                      const EmulationOptions &options = {});

private:
  struct Impl;
  explicit EmulatedKernel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
