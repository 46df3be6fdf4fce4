// Inferred layouts written into the program that they were inferred for.
//
//   a = load x[i, j]                   a = load x[i, j] @ digits(…)
//   m = reduce max a over j       →    m = reduce max a over j
//   store y[i, j] = a - m              v = map a - m @ digits(…)
//                                      store y[i, j] = v @ digits(…)
//
// What an op computes of several values by a scalar expression is a map of its own, as in the
// graph. Where an operand is held otherwise than its use needs it, it becomes a `relayout`, or goes
// through a buffer of its own, in the form that was priced.
#pragma once

#include "analysis/program/inference/infer_layouts.h"

namespace tilewright::inference {

/// `program`: the one that the problem is of. Unsupported: index tiles that are held otherwise than
/// they are needed, sums of dots that are held otherwise where they are added to, casts of the
/// user; what the verifier refuses then.
llvm::Expected<program::Program> withLayouts(const program::Program &program,
                                             LayoutProblem &problem,
                                             const InferredLayouts &layouts);

} // namespace tilewright::inference
