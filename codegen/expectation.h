// Expected results of a kernel, for checking its numbers on a machine without the evaluator.
#pragma once

#include "codegen/kernel_spec.h"

namespace tilewright {

/// Elements of one output, made by the reference evaluator.
struct ExpectedOutput {
  unsigned output = 0;            ///< number among the outputs
  std::vector<int64_t> positions; ///< in memory, in elements, ascending
  std::vector<double> values;
  double scale =
      0; ///< root mean square of the values; errors of values below it are relative to it
};

/// A problem: what a kernel computes, independent of its plan.
struct KernelProblem {
  std::string hash; ///< 16 hexadecimal digits of the ops' text
  std::string hlo;
  std::vector<ExpectedOutput> outputs;
  std::string unchecked; ///< why there are no expected values; empty if there are
};

struct ExpectationOptions {
  uint64_t seed = 1;           ///< of the inputs
  unsigned elements = 128;     ///< of each output
  uint64_t maxWork = 1u << 22; ///< scalar operations; beyond it fewer elements are computed
};

/// Elements at the ends and in between, the same for every plan, of as many as the work allows.
KernelProblem makeProblem(const KernelSpec &spec, const ExpectationOptions &options = {});

/// Coordinates of an element by its row-major number.
std::vector<int64_t> coordinatesOf(const Shape &shape, int64_t element);

/// 16 hexadecimal digits of a text.
std::string hashOf(std::string_view text);

} // namespace tilewright
