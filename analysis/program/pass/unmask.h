// Steps that a mask leaves whole do not look at it.
//
//   e = map where(i >= l, d, -inf)   →   if ge(t1 * p - (k0 * t + k0 - 1), 0)
//                                          e = map d
//                                        else
//                                          e = map where(i >= l, d, -inf)
//
// A condition on coordinates holds in all lanes of a step where the least value of its affine form
// over the tile is 0 or more: each axis at one of its ends, by the sign of its coefficient.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// Unsupported: no loop has a choice by coordinates that some step could do without.
llvm::Expected<Program> unmask(const Program &program);

} // namespace tilewright::program
