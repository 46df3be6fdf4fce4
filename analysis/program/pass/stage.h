// Transposed inputs through shared memory: both the load and what computes with it run along rows.
//
//   d = load a[j, i] @ flat(V)              d = load a[j, i] @ rows(VS, GS) of j,i
//   …                                  →    write S <- d
//                                           e = read S @ flat(V)
#pragma once

#include "analysis/program/substitute.h"

namespace tilewright::program {

/// Why a load that is not along memory stays as it is.
struct NotStaged {
  std::string load, reason;
};

struct StagedProgram {
  Program program;
  std::vector<std::string> staged; ///< loads, as they were
  std::vector<NotStaged> others;
};

/// `sizes`: those known already; a tile that is one element wide at them has nothing to turn.
/// Unsupported: there is nothing to stage, with the reason of each load that might be.
llvm::Expected<StagedProgram> stage(const Program &program, const SizeValues &sizes = {});

} // namespace tilewright::program
