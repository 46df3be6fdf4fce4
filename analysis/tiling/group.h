// Group: the ops that become one kernel.
#pragma once

#include "analysis/ir/graph.h"

#include <map>
#include <span>
#include <vector>

namespace tilewright {

/// A convex set of ops of one graph. Constants and iotas that the ops read belong to the group
/// (every kernel that needs one makes its own); parameters and other groups' results are inputs.
struct Group {
  std::vector<OpId> ops;    ///< ascending
  std::vector<OpId> roots;  ///< ops of the group whose value is used outside it or is the result
  std::vector<OpId> inputs; ///< values read from memory: ascending, not in `ops`
  /// Of roots that are windows of larger tensors, which are updated in place: the extents of the
  /// tensor by dim of the root. INT64_MAX where values say which places the elements take.
  std::map<OpId, std::vector<int64_t>> within;

  bool contains(OpId id) const;
};

/// Completes a set of ops to a Group: adds the constants and iotas that they read, finds roots
/// and inputs. Errors: an empty set, or one that is not convex (BadInput, names the ops).
llvm::Expected<Group> makeGroup(const Graph &graph, std::span<const OpId> ops);

/// The same with graph.users() from the caller, for making many groups of a large graph: takes time
/// proportional to the span from the group's first op to its last.
llvm::Expected<Group> makeGroup(const Graph &graph, std::span<const OpId> ops,
                                const std::vector<std::vector<OpId>> &users);

/// The same with given roots: users outside of the other ops recompute them. Ops that no root needs
/// are left out. Errors: a root that is not among the ops, an input that depends on a root.
llvm::Expected<Group> makeGroup(const Graph &graph, std::span<const OpId> ops,
                                std::span<const OpId> roots);

} // namespace tilewright
