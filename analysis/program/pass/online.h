// Loops over the same axis become one: what a later one needs of an earlier one's reductions it
// takes as far as these are known, and is repaired.
//
//   for t: a = max(a, x)                  for t
//   m = reduce max a over j                 n = max(m, reduce max x over j); h = max(n, lowest)
//   for t: d = d + exp(x - m)        →      e = exp(x - h); f = exp(max(m, lowest) - h)
//   l = reduce add d over j                 l = l * f + reduce add e over j; acc = acc * f
//   for t: acc += dot(exp(x - m) / l, V)    acc += dot(e, V); m = n
//                                         acc = acc / l
//
// What dependence.h finds correctable is corrected; what is not keeps its loop. Shifts are
// max(e, lowest), or min(e, -lowest) of a minimum: exactly what e is wherever it is finite, so that
// exp(x - h) is 1 at x = e, and 0 for x = -inf even where nothing else was met so far. Rows of -inf
// alone come out as the ops say.
#pragma once

#include "analysis/program/program.h"

#include <string>
#include <vector>

namespace tilewright::program {

/// A loop that stays apart from an earlier one over the same axis.
struct NotFused {
  std::string loop;   ///< "for t < cdiv(64, k0)"
  std::string reason; ///< "'where(a < b, …)' depends on a reduction in a way that …"
};

struct FusedProgram {
  Program program;
  size_t fused = 0; ///< loops that became part of another
  std::vector<NotFused> others;
};

/// Unsupported: no loop became part of another, with the reasons.
llvm::Expected<FusedProgram> online(const Program &program);

} // namespace tilewright::program
