// How often the ops of a kernel are evaluated. A value that several CTAs, steps of a loop or
// passes over a row need is computed again by each:
//
//   e = exponential(x)            CTAs of 128 columns of w: each element of e is evaluated
//   dot(e, w)                     cdiv(N, 128) times
//
// Counted from the tiles: over the CTAs and the steps of the loops in which an op's tile moves, the
// elements of the tile that lie inside the tensor.
#pragma once

#include "analysis/tiling/plan.h"

namespace tilewright {

/// An op with arithmetic.
struct OpEvaluations {
  OpId op;
  double perElement = 1; ///< of its result; of a sum or a product how often all of it is made
  double work = 0;       ///< operations, if each element is evaluated once
};

/// Ascending by op. Errors as featuresOf().
llvm::Expected<std::vector<OpEvaluations>> opEvaluations(const KernelPlan &plan);

/// Operations that are issued over those that are needed.
double recomputeFactor(const std::vector<OpEvaluations> &evaluations);

} // namespace tilewright
