// Loops that keep each lane's best value and its place, as an argmax in steps has them.
//
//   for t < T
//     c = load x[i, j]
//     at = map where(c > best & j < N, j, at)
//     best = map where(c > best & j < N, c, best)
//   e = reduce max best over j
//   f = reduce min where(best == e, at, 2147483647) over j
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// The best value of all and the lowest place that has it.
struct BestOfSteps {
  Monoid monoid = Monoid::ArgMax; ///< or ArgMin
  ValueId value, place;           ///< results of the two reductions behind the loop
};

/// What the loop at `at` of a program's body, which carries `carried`, and the two ops behind it
/// make; nothing where it is anything else.
std::optional<BestOfSteps> bestOfSteps(const Program &program, size_t at,
                                       const std::vector<ValueId> &carried);

} // namespace tilewright::program
