// Software pipelining by the same warps: rings of several slots, and copies that run ahead of what
// reads them.
//
//   for t < T                       for t < T ahead stages - 1
//     issue copy A <- a[i, k]   →     issue copy A <- a[i, k]      (ring A … x stages)
//     acc += dot(A, B) over k         acc += dot(A, B) over k
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// The number of slots is a new size, `stages`. Unsupported: no loop copies what it reads, one does
/// so ahead already, or another role copies.
llvm::Expected<Program> pipeline(const Program &program);

} // namespace tilewright::program
