// The arithmetic of an op, for its whole output.
#pragma once

#include "analysis/ir/graph.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// Counted for one run of the op:
///   flops            additions, multiplications, divisions, comparisons, selections, logic and
///                    rounding, one each, of integers too; complex ones are counted as one
///   transcendentals  exp, log, tanh, sqrt, rsqrt, power, sin, … one each
/// Moving and converting elements costs none. A dot is 2·K per output element, a convolution
/// 2·channels for each kernel element that meets the input (padding and the holes of dilations are
/// not counted), a reduction its computation once for each element but the first, and so for each
/// window of a reduce-window that meets anything. A ragged-dot counts as if its groups took
/// all rows, a loop as often as it runs where that is known (trip_count.h), a conditional as its
/// costliest branch, a library call as its product (library_call.h). The traffic of collectives is
/// in collective_traffic.h; the arithmetic of reducing ones is not counted.
struct OpCost {
  int64_t flops = 0;
  int64_t transcendentals = 0;
  bool isCounted = true; ///< false: unknown, with the reason; the numbers are then 0
  std::string reason;
};

/// Works on the ops of verified modules; calls and fusions count what they call. Sizes that leave
/// 64 bits are not counted.
OpCost opCost(const Module &module, const Graph &graph, OpId op);

/// Of some ops of a graph together: their useful work. Ops that are not counted are named in
/// `uncounted`, with the reason.
struct WorkOfOps {
  int64_t flops = 0, transcendentals = 0;
  std::vector<std::string> uncounted;
};
WorkOfOps workOf(const Module &module, const Graph &graph, std::span<const OpId> ops);

/// Of one element that an op makes or, of a reduction, takes in: what a kernel issues for each
/// element of a tile. Products of dots and convolutions are counted by their tiles; here they are
/// 0.
OpCost workPerElement(const Module &module, const Op &op);

} // namespace tilewright
