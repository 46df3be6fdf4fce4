// Finds the op at which a wrong kernel first goes wrong.
//
// A kernel lowered with CodeMode::Traced reports every value that it computes for an element of an
// op, and its current step. Each is compared with the evaluator's value. The fault lies at the
// first op in graph order that has a wrong value while its operands are right; the step locates it
// in the kernel's steps (kernel_steps.h).
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

  /// Records one value of the kernel.
  void see(const TracedValue &value);

  int64_t seen() const; ///< values that were compared

  /// "%exp.3[0, 5] is 1.2, expected 2.4, in CTA 0, thread 37, after step 14 (exchange); …".
  /// Empty if all values seen are right. `steps` are those of KernelInfo.
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
