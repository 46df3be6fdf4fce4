#include "analysis/tiling/separate_roots.h"

#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright {

namespace {

/// The roots and the group's ops that they need, including ops of other sets.
llvm::Expected<Group> partOf(const Graph &graph, const Group &group,
                             const std::vector<OpId> &roots) {
  std::vector<bool> isNeeded(graph.size());
  for (OpId root : roots)
    isNeeded[root.index] = true;
  std::vector<OpId> ops;
  for (auto it = group.ops.rbegin(); it != group.ops.rend(); ++it)
    if (isNeeded[it->index]) {
      ops.push_back(*it);
      for (OpId operand : graph[*it].operands)
        isNeeded[operand.index] = true;
    }
  std::reverse(ops.begin(), ops.end());
  return makeGroup(graph, ops, roots);
}

llvm::Expected<SeparateTiles> tilePart(const Graph &graph, const Group &group,
                                       const std::vector<OpId> &roots) {
  llvm::Expected<Group> part = partOf(graph, group, roots);
  if (!part)
    return part.takeError();
  SeparateTiles out{std::make_shared<ExprContext>(), {}};
  llvm::Expected<TiledGroup> tiled = tileGroup(graph, *part, *out.context);
  if (!tiled)
    return tiled.takeError();
  out.tiled = std::move(*tiled);
  return out;
}

} // namespace

llvm::Expected<std::vector<SeparateTiles>> tileHorizontalFusion(const Graph &graph,
                                                                const Group &group) {
  constexpr size_t maxRoots = 64;
  if (group.roots.size() > maxRoots)
    return makeError(DiagClass::BudgetSpent, "{} roots in one group are over the limit of {}",
                     group.roots.size(), maxRoots);
  std::vector<SeparateTiles> parts;
  std::vector<std::vector<OpId>> rootsOfParts;
  for (OpId root : group.roots) {
    bool isTaken = false;
    for (size_t p = 0; p < parts.size() && !isTaken; ++p) {
      std::vector<OpId> roots = rootsOfParts[p];
      roots.push_back(root);
      llvm::Expected<SeparateTiles> joined = tilePart(graph, group, roots);
      if (!joined) {
        llvm::consumeError(joined.takeError()); // not with these
        continue;
      }
      parts[p] = std::move(*joined);
      rootsOfParts[p] = std::move(roots);
      isTaken = true;
    }
    if (isTaken)
      continue;
    llvm::Expected<SeparateTiles> own = tilePart(graph, group, {root});
    if (!own)
      return own.takeError();
    parts.push_back(std::move(*own));
    rootsOfParts.push_back({root});
  }
  return parts;
}

} // namespace tilewright
