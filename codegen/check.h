// Checks a kernel's numbers: runs its IR on the CPU emulator and compares with the reference
// evaluator.
#pragma once

#include "codegen/emulator.h"
#include "codegen/kernel_spec.h"

namespace tilewright {

struct CheckOptions {
  uint64_t seed = 1; ///< of the inputs, see fillArguments()
  /// Element operations that the reference may take. Where the whole result would take more, some
  /// of the elements that were written are compared, each made on its own.
  uint64_t maxReferenceWork = uint64_t(1) << 25;
  /// Memory operations and rendezvous that emulation may take; where the whole grid would take
  /// more, the first, the last and CTAs in between are run until it is spent.
  uint64_t maxEvents = uint64_t(1) << 25;
  /// Allowed relative error; 0: by the types of the results, see toleranceOf().
  double tolerance = 0;
  unsigned weakenWaits = 0; ///< see EmulationOptions
};

struct CheckOutcome {
  enum class Status : uint8_t { Pass, Fail, Skipped };
  Status status = Status::Pass;
  /// Largest |value - reference| / max(|reference|, root mean square of the references).
  double maxRelativeError = 0;
  double tolerance = 0;
  std::string reason; ///< why it failed or was skipped, or which part of the grid was run
  int64_t ctas = 0, ctasRun = 0;
  EmulationCounts counts;
  /// Of a kernel lowered with CodeMode::Traced, where the whole result is compared: values of ops
  /// that were compared, and the first op with a wrong one (see WrongValueFinder::describe()).
  int64_t valuesSeen = 0;
  std::string firstWrong;
};
std::string_view toString(CheckOutcome::Status status); ///< "pass", "fail", "skipped"

/// Relative error that rounding explains in code with this instruction for dots: a few units in the
/// last place of the narrowest float type that occurs in the graph, of TF32 where a dot lets f32 be
/// taken so and the instruction does; nothing for integers. What a dot asks for decides, whatever
/// the code does: code that is less exact is wrong.
double toleranceOf(const Graph &graph, Instruction instruction);

/// Lowers the spec for emulation, runs it on deterministic inputs and compares every element that
/// it writes. Elements that no CTA writes are a failure when the whole grid was run. After a
/// failure it is run once more, traced: the reason names the step, or the first op of which the
/// kernel has a wrong value (locate.h).
CheckOutcome checkKernel(const KernelSpec &spec, const CheckOptions &options = {});

/// The same for given IR, for example with a fault injected.
CheckOutcome checkKernel(const KernelSpec &spec, KernelModule kernel, const CheckOptions &options);

} // namespace tilewright
