// Asynchronous copies, and how rows of shared memory lie in its banks.
#pragma once

#include "analysis/program/substitute.h"

namespace tilewright::program {

/// Why a copy goes through registers.
struct NotAsync {
  std::string copy, reason;
};

struct AsyncProgram {
  Program program;
  std::vector<NotAsync> others;
};

/// Copies `via regs` of neighbours in memory that need no conversion go `via cp.async`, where rows
/// of the tensor and the place where they start are multiples of 4 bytes. Unsupported: none does,
/// with the reason of each.
llvm::Expected<AsyncProgram> copyAsync(const Program &program);

/// Buffers that dots read get a swizzle, or padding behind their rows, so that the lanes of a read
/// lie in different banks. What they read across rows only is laid the other way round: elements of
/// a byte of mma.sync, and contracted rows of fma. Which swizzle rows are whole panels of depends
/// on `sizes`; the program stays symbolic. Unsupported: no dot reads shared memory.
llvm::Expected<Program> spreadOverBanks(const Program &program, const SizeValues &sizes);

} // namespace tilewright::program
