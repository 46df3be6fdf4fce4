#include "tools/report/graph_fold.h"

#include "tools/report/summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tilewright::report {

namespace {

constexpr size_t longestSequence = 200, leastFolded = 4;

/// Kernels with the same number do the same work.
std::vector<size_t> signatures(std::span<const Kernel> kernels) {
  std::map<std::tuple<std::string_view, std::string_view, size_t, double>, size_t> known;
  std::vector<size_t> result;
  for (const Kernel &kernel : kernels) {
    const auto key = std::tuple(std::string_view(kernel.kind), std::string_view(kernel.rootShape),
                                kernel.ops.size(), kernel.flops.value_or(0));
    result.push_back(known.emplace(key, known.size()).first->second);
  }
  return result;
}

/// How many kernels from `start` on are repetitions of the `period` kernels there.
size_t repeatedLength(const std::vector<size_t> &work, size_t start, size_t period) {
  size_t end = start + period;
  while (end < work.size() && work[end] == work[end - period])
    ++end;
  return (end - start) / period * period;
}

std::string_view prefixOf(std::string_view layer, size_t depth) {
  size_t end = 0;
  for (size_t i = 0; i < depth && end != std::string_view::npos; ++i)
    end = layer.find('/', end + (end > 0));
  return layer.substr(0, end);
}

/// The longest path that all kernels of the run are in, numbers aside.
std::string commonLayer(std::span<const Kernel> kernels, const GraphNode &node) {
  std::string common = layerPattern(kernels[node.first].layer);
  bool isSame = true;
  for (size_t k = node.first; k < node.first + node.count; ++k) {
    isSame &= kernels[k].layer == kernels[node.first].layer;
    const std::string other = layerPattern(kernels[k].layer);
    while (!common.empty() && other != common && !other.starts_with(common + "/")) {
      const size_t slash = common.rfind('/');
      common.resize(slash == std::string::npos ? 0 : slash);
    }
  }
  return isSame ? kernels[node.first].layer : common;
}

std::vector<GraphNode> foldRepeats(std::span<const Kernel> kernels) {
  const std::vector<size_t> work = signatures(kernels);
  std::vector<GraphNode> nodes;
  for (size_t at = 0; at < work.size();) {
    GraphNode node{at, 1, 1, {}};
    const size_t longest = std::min(longestSequence, (work.size() - at) / 2);
    for (size_t period = 1; period <= longest; ++period) {
      const size_t length = repeatedLength(work, at, period);
      if (length >= 2 * period && length >= leastFolded && length > node.count)
        node = {at, length, length / period, {}};
    }
    nodes.push_back(node);
    at += node.count;
  }
  return nodes;
}

/// Neighbours that `areOne` says belong together become one node.
template <typename Test>
std::vector<GraphNode> join(const std::vector<GraphNode> &nodes, Test areOne) {
  std::vector<GraphNode> joined;
  for (const GraphNode &node : nodes) {
    if (!joined.empty() && areOne(joined.back(), node)) {
      joined.back().count += node.count;
      joined.back().repeats = 1;
    } else {
      joined.push_back(node);
    }
  }
  return joined;
}

std::vector<GraphNode> joinLayers(std::span<const Kernel> kernels,
                                  const std::vector<GraphNode> &nodes, size_t depth) {
  return join(nodes, [&](const GraphNode &a, const GraphNode &b) {
    const std::string_view layer = prefixOf(kernels[a.first].layer, depth);
    return !layer.empty() && layer == prefixOf(kernels[b.first].layer, depth);
  });
}

double timeOf(std::span<const Kernel> kernels, const GraphNode &node) {
  double ns = 0;
  for (size_t k = node.first; k < node.first + node.count; ++k)
    ns += totalTimeNs(kernels[k]).value_or(0);
  return ns;
}

/// Those with the most time stay, as many as `most` allows; runs of others are a node each.
std::vector<GraphNode> joinCheap(std::span<const Kernel> kernels,
                                 const std::vector<GraphNode> &nodes, size_t most) {
  if (nodes.size() <= most)
    return nodes;
  std::vector<std::pair<double, size_t>> costly;
  for (const GraphNode &node : nodes)
    costly.emplace_back(-timeOf(kernels, node), node.first);
  std::sort(costly.begin(), costly.end());
  costly.resize(most);
  for (;; costly.pop_back()) {
    std::set<size_t> stay;
    for (const auto &[time, first] : costly)
      stay.insert(first);
    std::vector<GraphNode> joined = join(nodes, [&](const GraphNode &a, const GraphNode &b) {
      return !stay.contains(a.first) && !stay.contains(b.first);
    });
    if (joined.size() <= most || costly.empty())
      return joined;
  }
}

} // namespace

std::string layerPattern(std::string_view layer) {
  std::string pattern;
  for (char c : layer) {
    const bool isDigit = c >= '0' && c <= '9';
    if (!isDigit)
      pattern += c;
    else if (pattern.empty() || pattern.back() != '*')
      pattern += '*';
  }
  return pattern;
}

std::vector<GraphNode> foldKernels(std::span<const Kernel> kernels, size_t most) {
  std::vector<GraphNode> nodes;
  for (size_t k = 0; k < kernels.size(); ++k)
    nodes.push_back({k, 1, 1, {}});
  if (nodes.size() > most)
    nodes = foldRepeats(kernels);
  for (size_t depth = 4; depth > 0 && nodes.size() > most; --depth)
    nodes = joinLayers(kernels, nodes, depth);
  nodes = joinCheap(kernels, nodes, most);
  for (GraphNode &node : nodes)
    node.label = commonLayer(kernels, node);
  return nodes;
}

} // namespace tilewright::report
