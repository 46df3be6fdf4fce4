// The epilogue of a product: what follows the sums, a part of the tile at a time.
//
//   acc += dot(A, B) over k wgmma            acc += dot(A, B) over k wgmma
//   b = load bias[j] @ wgmma(WR, WC)         b = load bias[j] @ flat(VX) of e,j
//   store c[i, j] = bf16(acc) + b      =>    write X <- bf16(acc)
//                                            for u < n
//                                              x = read X[e,j] @ flat(VX) of e,j
//                                              store c[e, j] = x + b
//
// A thread of a matrix instruction holds pairs of neighbours all over the tile: stored from there
// they are pieces of four or eight bytes, and the other operands of all of them would be in
// registers at once. X lies in the memory of the rings, which are over by then.
#pragma once

#include "analysis/program/pass/chunk.h"
#include "analysis/program/substitute.h"

namespace tilewright::program {

/// `size`: elements that a thread has at once. How X lies in the banks is chosen at these sizes.
/// Unsupported, with the reason: no product by a matrix instruction, or several; ops behind it that
/// need the whole tile; a tile that does not fit into the rings.
llvm::Expected<Program> epilogueThroughShared(const Program &program, const SizeValues &sizes,
                                              const ChunkSize &size);

} // namespace tilewright::program
