// Runs a concrete program on tensors, tile by tile and CTA by CTA, and counts what it does.
//
// CTAs come in an order that a seed shuffles. Asynchronous copies land as late as their ring
// allows, a producer runs ahead by as many steps as it may at random, and a slot that was given
// back holds NaN, so that a read that a ring does not cover shows in the results. Counting goes by
// what is executed, lane by lane, and not by the formulas of the folds.
#pragma once

#include "analysis/ir/tensor.h"
#include "analysis/program/count.h"
#include "analysis/program/program.h"

#include <span>

namespace tilewright::program {

struct RunOptions {
  uint64_t seed = 0;
  uint64_t maxWork = uint64_t{1} << 32; ///< elements computed before BudgetSpent
  /// Runs what the verifier refuses, too: padding that is no identity is not looked at.
  bool checksPadding = true;
};

struct RunResult {
  std::vector<Tensor> results; ///< in order of the results
  CountTable<int64_t> counts;
  std::vector<int64_t> tensorBytes; ///< by TensorId: read, copied, written
  int64_t shortestLoop = INT64_MAX; ///< fewest trips of any loop that was run
};

/// Precondition: the program has no free sizes. `inputs`: the parameters in order. BadInput: inputs
/// that do not fit, an element of a result that is not stored exactly once, padding that is no
/// identity (V7), an index without a value; each at its op. BudgetSpent: maxWork.
llvm::Expected<RunResult> interpret(const Program &program, std::span<const Tensor> inputs,
                                    const RunOptions &options = {});

} // namespace tilewright::program
