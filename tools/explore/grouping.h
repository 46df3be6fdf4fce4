// Grouping: partitions the ops of a graph into kernels.
//
// The simple grouping is sound and greedy. Walking from the results back to the parameters, an op
// joins the group of its users if all of them are in one group, so that nothing is computed twice
// and every group is convex by construction. Around one hero (a dot, or reduces that share their
// iteration space) it fuses:
//   - after the hero: elementwise ops, broadcasts, reshapes, transposes (the epilogue);
//   - before a reduce: the same ops (the prologue); before a dot only pure views of its operands,
//     which the dot's loads can address.
// Ops that are cheap to recompute (constants, iotas, broadcasts and reshapes of small values) are
// part of every group that reads them and counted in the first.
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
  OpId root;                    ///< the last op whose value leaves the kernel
  std::vector<OpId> roots;      ///< all of them, ascending; empty: the root alone
  std::shared_ptr<const PlacedKernel>
      placed;                     ///< what runs in place of the ops (in_place.h), or null
  std::vector<std::string> notes; ///< what a reader of its price should know

  std::vector<OpId> allOps() const; ///< both lists, ascending
};

/// Why an op is in no kernel.
struct OpReason {
  OpId op;
  std::string reason;
};

struct Grouping {
  std::vector<KernelGroup> kernels;  ///< in topological order
  std::vector<OpReason> unsupported; ///< does work that is not modelled
  std::vector<OpReason>
      noKernel; ///< need none: parameters, constants, tuples, empty results, dead ops
};

/// Why no kernel here does an op's work, whether the op stands in a fusion or by itself. Nothing
/// where one does, and for ops that need none.
std::optional<std::string> notModelled(const Graph &graph, OpId op);

/// Every op of the graph is in exactly one of: a kernel's `ops`, `unsupported`, `noKernel`.
/// Fusions become kernels of their own, as the compiler that made them decided.
Grouping groupSimply(const Graph &graph);

/// The same partition without fusion: every op is its own kernel. The fallback for a group that
/// can't be tiled as a whole.
Grouping groupSingly(const Graph &graph);

} // namespace tilewright
