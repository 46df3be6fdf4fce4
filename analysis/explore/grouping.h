// Grouping: which ops of a graph become one kernel.
//
// The simple grouping is sound and greedy. Walking from the results back to the parameters, an op
// joins the group of its users when all of them lie in one group, so that nothing is computed twice
// and every group is convex by construction. Around one hero (a dot, or reduces that share their
// iteration space) it takes:
//   - after the hero: elementwise ops, broadcasts, reshapes, transposes (the epilogue);
//   - before a reduce: the same ops (the prologue); before a dot only pure views of its operands,
//     which the loads of the dot can follow.
// What costs nothing to repeat (constants, iotas, broadcasts and reshapes of small values) is taken
// into every group that reads it; it is counted in the first.
//
// Later groupings replace this one behind the same result type.
#pragma once

#include "analysis/ir/graph.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

enum class KernelKind : uint8_t { Elementwise, Reduce, Dot, Opaque };
std::string_view toString(KernelKind kind); ///< "elementwise", "reduce", "dot", "opaque"

struct PlacedKernel;

struct KernelGroup {
  KernelKind kind = KernelKind::Elementwise;
  std::vector<OpId> ops;        ///< computed here and counted here, ascending
  std::vector<OpId> recomputed; ///< cheap ops that another group counts, ascending
  OpId root;                    ///< the op whose value leaves the kernel
  std::shared_ptr<const PlacedKernel> placed; ///< what runs in place of the ops (in_place.h), or null
  std::vector<std::string> notes;             ///< what a reader of its price should know
};

/// Why an op is in no kernel.
struct OpReason {
  OpId op;
  std::string reason;
};

struct Grouping {
  std::vector<KernelGroup> kernels;  ///< in an order in which each follows what it reads
  std::vector<OpReason> unsupported; ///< does work that is not modelled
  std::vector<OpReason> noKernel;    ///< needs none: parameters, constants, tuples, empty results
};

/// Why no kernel here does an op's work, whether the op stands in a fusion or by itself. Nothing
/// where one does, and for ops that need none.
std::optional<std::string> notModelled(const Graph &graph, OpId op);

/// Every op of the graph is in exactly one of: a kernel's `ops`, `unsupported`, `noKernel`.
/// Fusions become kernels of their own, as the compiler that made them decided.
Grouping groupSimply(const Graph &graph);

/// The same partition rules without any fusion: every op its own kernel. What a group falls back
/// to when it can't be tiled as a whole.
Grouping groupSingly(const Graph &graph);

} // namespace tilewright
