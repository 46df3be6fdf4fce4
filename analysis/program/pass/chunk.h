// Tiles of more elements than a thread keeps in flight: a part at a time.
//
//   axis i < t0 at p * t0 of M              let Ci = …
//                                           axis i < Ci at (p * cdiv(t0, Ci) + u) * Ci of M
//   a = load x[i]                      →    for u < cdiv(t0, Ci)
//   store y[i] = 2 * a                        a = load x[i]
//                                             store y[i] = 2 * a
//
// Parts are as large as each other, up to one element or vector; where that is no divisor of the
// tile, a CTA makes up to a part's rest more than the tile. What reduces over other axes is made
// for as many rows at a time as the threads that do not share one.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

struct ChunkSize {
  int64_t elements = 1; ///< of each value that a thread holds at once; a multiple of `vector`
  int64_t vector = 1;   ///< parts along the fastest axis are multiples of so many lanes
};

/// Unsupported: an op takes the whole tile, or keeps one in shared memory, or there are no tiles.
llvm::Expected<Program> chunk(const Program &program, const ChunkSize &size);

} // namespace tilewright::program
