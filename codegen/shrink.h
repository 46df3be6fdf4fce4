// Shrinking: the same graph over smaller tensors.
//
// A kernel over 4096 x 4096 elements can't be emulated whole, and sampled CTAs see no tails. So the
// graph is rebuilt, op for op, with smaller extents: same opcodes, types, ranks, layouts and
// attributes, other sizes. Dims that the index maps tie together shrink together:
//
//   equal        elementwise operands, broadcast and transposed dims, both sides of a dot
//   factors      reshapes: 768 = 12·64 becomes 3·5 = 15 where both sides are given 3 and 5
//   functions    concatenation (sum), pad, windows: the result's extent follows from the operand's
//   at most      slices, dynamic slices, updates and gathers stay inside what they read
//
// Extents keep their sizes where no consistent smaller choice is found; in the worst case all do.
// Starts of slices move in proportion. The result is verified.
#pragma once

#include "codegen/kernel_spec.h"

namespace tilewright {

struct ShrinkOptions {
  /// Requested dims of an op, granted if the graph allows it; earlier requests win.
  struct Wish {
    OpId op;
    unsigned dim = 0;
    int64_t extent = 1;
  };
  std::vector<Wish> wishes;
  /// Upper bound for other dims, aligned as the original (the same extent modulo 16) or odd.
  /// Aligned rows keep 16 bytes, and few equal parts of a row theirs: the bound then gives way.
  int64_t most = 16;
  bool odd = false;
  /// Rows keep 16 bytes, and few equal parts of a row theirs, though `most` be less: what is copied
  /// at a time stays so.
  bool keepsRows = false;
};

/// The entry of `module` shrunk, op ids as before; computations that it calls are copied.
/// Errors: those of verify(), as Internal: a bug of this file.
llvm::Expected<std::shared_ptr<const Module>> shrinkModule(const Module &module,
                                                           const ShrinkOptions &options);

enum class ShrunkSizes : uint8_t {
  Aligned, ///< divisible by what the original sizes are divisible by: the same code paths
  Odd,     ///< odd extents: every tile can be partial, nothing is aligned
};

/// The kernel over smaller tensors: about two tiles a dim and three steps of each sequential dim,
/// or less, so that the evaluator needs at most `maxWork` element operations where possible. Tile
/// sizes stay unless nothing else helps; then all are halved together.
llvm::Expected<KernelSpec> shrinkSpec(const KernelSpec &spec, ShrunkSizes sizes,
                                      uint64_t maxWork = uint64_t(1) << 22);

} // namespace tilewright
