// The grid's part in a kernel: sums that several CTAs share, and the order of the CTAs.
//
//   grid p < …                         grid p < …, s < split_k
//   for t < T                      →   for t < T split s/split_k
//     acc += dot(A, B) over k            acc += dot(A, B) over k
//   …                                  acc = sum.splits acc over s
//                                      …
//
// Of a loop whose lanes are reduced behind it, the reduced ones are added up:
//
//     acc = map max(acc, x)              acc = map max(acc, x)
//   r = reduce max acc over j          r = reduce max acc over j
//                                      r = sum.splits max r over s
//
// Of an argmax the best of all and its place become one pair: `r, at = sum.splits argmax r, at`.
//
// Of an argmax the best of all and where it is are shared as a pair (`sum.splits argmax r, at`).
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// The number of CTAs of a sum is a new size, `split_k`; those of a tile are consecutive.
/// Unsupported: no single loop at the top does nothing but sum up dots, or one value that is
/// reduced behind it, or a best value with its place, or it is split already.
llvm::Expected<Program> split(const Program &program);

/// Rows of tiles are walked `group_m` (a new size) together, so that what a wave of CTAs reads
/// stays in L2. Unsupported: the grid has no rows and columns, or an order already.
llvm::Expected<Program> groupRows(const Program &program);

} // namespace tilewright::program
