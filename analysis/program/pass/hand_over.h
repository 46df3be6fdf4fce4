// Values that are held by other threads than what is computed of them go through shared memory.
//
//   c = map a + b        →    write H <- b; b2 = read H @ like a
//                             c = map a + b2
//
// Where rows of one reduction are columns of another, or of a result, no layout suits both.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// Unsupported: all values are held where they are needed, or one can't be in a buffer.
llvm::Expected<Program> handOver(const Program &program);

} // namespace tilewright::program
