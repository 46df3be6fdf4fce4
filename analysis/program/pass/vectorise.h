// Vectors: neighbours that a thread loads, holds and stores at once.
//
// Layouts that share a width (`let V` of flat(V), rows(V, G)) get the largest power of two, of at
// most 16 bytes, of which every access along memory shows that its vectors are aligned and whole:
// it divides the axis' tiles and its end, a row of the tensor, and where the access starts. In
// x[i, j] of f32[64,100] in tiles of t1 columns that is min(4, pow2divisor(t1)). What is not along
// memory is loaded element by element whatever the width.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// What keeps vectors from 16 bytes.
struct VectorLimit {
  std::string access; ///< "load x[i, j + 3]"
  std::string reason; ///< "starts 3 elements into a row"
  int64_t lanes;      ///< that it leaves
};

struct VectorisedProgram {
  Program program;
  std::vector<VectorLimit> limits;
};

/// `mostLanes`: more would not fit a thread's registers. Unsupported: no layout has a width of 1.
llvm::Expected<VectorisedProgram> vectorise(const Program &program, int64_t mostLanes = 128);

} // namespace tilewright::program
