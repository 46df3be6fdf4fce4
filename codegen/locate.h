// Where a wrong kernel first goes wrong.
//
// A kernel that was lowered with CodeMode::Traced shows every value that it has of an op's element,
// and says which step it is at. Each value is compared with the evaluator's, of the same element of
// the same op. The first op of the graph with a wrong value, whose operands were right, is where to
// look; the step says where in the kernel's steps (kernel_steps.h).
#pragma once

#include "analysis/ir/tensor.h"
#include "codegen/emulator.h"
#include "codegen/kernel_spec.h"

#include <map>

namespace tilewright {

class WrongValueFinder {
public:
  /// Evaluates all ops of the entry. A value is wrong where |value - reference| is more than
  /// `tolerance` times max(|reference|, root mean square of the op's references). Errors: those of
  /// evaluate().
  static llvm::Expected<WrongValueFinder> make(const KernelSpec &spec,
                                               std::span<const Tensor> arguments, double tolerance);

  /// Takes one value of the kernel.
  void see(const TracedValue &value);

  int64_t seen() const; ///< values that were compared

  /// "%exp.3[0, 5] is 1.2, expected 2.4, in block 0, thread 37, after step 14 (exchange); …".
  /// Empty where all values seen are right. `steps` are those of KernelInfo.
  std::string describe(const std::vector<std::string> &steps) const;

private:
  struct OpValues {
    Tensor reference;
    double scale = 0; ///< root mean square of the finite elements
    int64_t seen = 0, wrong = 0;
    TracedValue first; ///< of the wrong ones
    double got = 0;
  };
  WrongValueFinder(const KernelSpec &spec, double tolerance) : spec(&spec), tolerance(tolerance) {}
  std::string operandsOf(OpId op) const;

  const KernelSpec *spec;
  double tolerance;
  std::map<uint32_t, OpValues> ops; ///< by OpId
};

} // namespace tilewright
