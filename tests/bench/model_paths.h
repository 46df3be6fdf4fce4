// The index maps of the bundled models, and the paths along which they are composed.
#pragma once

#include "analysis/indexing/indexing.h"

#include <memory>
#include <vector>

namespace tilewright::bench {

/// The maps of one graph, in a context of their own.
struct GraphPaths {
  std::unique_ptr<ExprContext> context;
  std::vector<IndexMap> maps;
  /// Maps by index: each reads what the next one starts from.
  std::vector<std::vector<uint32_t>> paths;
};

enum class PathKind {
  Pairs,  ///< an op and one of its operands' operands: every pair that occurs
  Chains, ///< from every op to a parameter along the operand with the longest way, cut at 64 ops
};

/// Reads every model below datasets/models; exits with a message where one can't be read.
std::vector<Module> loadModels();

/// The same graphs give the same maps and paths. Maps with min or max are left out: MLIR's affine
/// expressions have none.
std::vector<GraphPaths> pathsOf(const std::vector<Module> &models, PathKind kind);

} // namespace tilewright::bench
