// A producer warp: copies by TMA, run ahead of the warpgroups that multiply.
//
//   warps W                             warps W producer NP
//   for t < T                           for t < T
//     issue copy A <- a[i, k]   →         issue copy A <- a[i, k] via tma   (ring A … x stages)
//     acc += dot(A, B) over k wgmma       acc += dot(A, B) over k wgmma wait 1
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// Copies outside of loops are by TMA, too. The number of slots is a new size, `stages`. The
/// producer is one warp, or four where an even share of the registers is too small for the sums, so
/// that its warpgroup can give them away. Unsupported: nothing is copied, a copy is no box of a
/// tensor, or there are roles already.
llvm::Expected<Program> produce(const Program &program);

} // namespace tilewright::program
