// Bytes that collectives move.
#pragma once

#include "analysis/ir/graph.h"

#include <cstdint>
#include <optional>

namespace tilewright {

/// Of one device, for one run of the op.
struct CollectiveTraffic {
  int64_t replicas = 0;     ///< of a group; 0: not given, where it does not matter
  int64_t bytesRead = 0;    ///< of its operands
  int64_t bytesWritten = 0; ///< of its results
  /// Sent by each device where the group is a ring of n (and received, too): of the larger side
  /// (n-1)/n for all-gather, reduce-scatter and all-to-all, twice that for all-reduce, which is a
  /// reduce-scatter and an all-gather (Patarasuk & Yuan 2009); all of it for collective-permute
  /// and collective-broadcast. Rounded up.
  int64_t linkBytes = 0;
};

/// Empty for other ops, for a -done (its -start has the traffic), if the number of replicas is
/// unknown (no replica_groups, no shapes that imply it, no counts in the module), and if a number
/// leaves 64 bits. Asynchronous ops count as the op that they start.
std::optional<CollectiveTraffic> collectiveTraffic(const Module &module, const Graph &graph,
                                                   OpId op);

} // namespace tilewright
