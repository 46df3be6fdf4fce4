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
  /// How many paths there are; `paths` may be a sample of them.
  double pathCount = 0;
};

enum class PathKind {
  Pairs, ///< an op and one of its operands' operands: every pair that occurs
  Roots, ///< from every op that nobody reads to what reads nothing: all paths, or where a graph has
         ///< more than 256, so many of them, each as likely as any other
  Different, ///< the same, without a limit; paths along equal maps are one
};

/// Does a result use min or max, which MLIR's affine expressions don't have?
bool usesMinMax(const IndexMap &map);

/// Reads every model below datasets/models; exits with a message where one can't be read.
std::vector<Module> loadModels();

/// The same graphs give the same maps and paths. Of at least two maps each.
std::vector<GraphPaths> pathsOf(const std::vector<Module> &models, PathKind kind);

} // namespace tilewright::bench
