// What must come out of a kernel, so that a machine without the evaluator can check its numbers.
#pragma once

#include "codegen/kernel_spec.h"

namespace tilewright {

/// Elements of one output, made by the reference evaluator.
struct ExpectedOutput {
  unsigned output = 0;            ///< number among the outputs
  std::vector<int64_t> positions; ///< in memory, in elements, ascending
  std::vector<double> values;
  double scale = 0; ///< root mean square of the values; errors of smaller ones are relative to it
};

/// A problem: what kernels compute, whatever their plan.
struct KernelProblem {
  std::string hash; ///< 16 hexadecimal digits of the ops' text
  std::string hlo;
  std::vector<ExpectedOutput> outputs;
  std::string unchecked; ///< why nothing is expected, where nothing is
};

struct ExpectationOptions {
  uint64_t seed = 1;           ///< of the inputs
  unsigned elements = 128;     ///< of each output
  uint64_t maxWork = 1u << 22; ///< scalar operations; over it fewer elements are made
};

/// Elements at the ends and in between, the same for every plan, of as many as the work allows.
KernelProblem makeProblem(const KernelSpec &spec, const ExpectationOptions &options = {});

/// 16 hexadecimal digits of a text.
std::string hashOf(std::string_view text);

} // namespace tilewright
