// Loops of dots take the steps that have an effect in their CTA.
//
//   for t < cdiv(2048, k0)   →   for t < min((t1 * p + t1 - 1) // k0 + 1, cdiv(2048, k0))
//
// Which these are the tiling knows (analysis/tiling/loop_range.h), so that prices and code agree:
// in causal attention the keys of a tile end at its last row. With windows the first step is
// another one than 0, and the axis starts there: `at k0 * (first + t)`. Where later rows take more
// steps the last ones come first, so that no CTA with a long loop starts late.
//
// A loop is clipped where it is alone in going over its axis. Then what it knows of its maxima is
// no -inf in a shift (online.h), and a step of -inf alone adds zeros. Two loops, of which one
// shifts by the other's maximum, would make NaN of rows without a score, but only in steps that
// they take.
#pragma once

#include "analysis/program/program.h"
#include "analysis/tiling/tiled_group.h"

namespace tilewright::program {

/// A loop that takes all of its steps.
struct NotClipped {
  std::string loop, reason;
};

struct ClippedProgram {
  Program program;
  std::vector<NotClipped> others; ///< of loops of which some steps have no effect
};

/// `group`: whose program it is, of the variant of these parameter values. Unsupported: no loop
/// takes fewer steps.
llvm::Expected<ClippedProgram> clip(const Program &program, const TiledGroup &group,
                                    std::span<const int64_t> values);

} // namespace tilewright::program
