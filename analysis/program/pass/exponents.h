// Exponentials of what is shifted by a maximum go to the special function unit, and the factor of
// the scores goes with them.
//
//   e = map where(i >= l, d * 0.7, -inf)           e = map where(i >= l, d, -inf)
//   g = map max(b, f); h = map max(g, lowest)  →   …
//   n = map exp(e - h)                             n = map exp2((e - h) * 1.0099)
//
// exp2 is one instruction, of a relative error of |x|·2^-24 and without subnormal results, where
// exp takes about ten. Sums of such exponentials have a term 1, beside which that is nothing. At e
// = h it is exactly 1, which exp2(e·c - h·c) by a multiply-add is not: c·h is rounded.
//
// A positive factor commutes with maxima and choices, with -inf, and with lowest as far as exp2
// sees: 2^((lowest - h)·c) and 2^(lowest - h·c) are 0, or 1 at h = lowest. So scores go without it
// where all of them have it and nothing but such exponentials looks at them.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// After online(). Unsupported: no exponential is shifted by a maximum that a loop carries.
llvm::Expected<Program> quickExponents(const Program &program);

} // namespace tilewright::program
