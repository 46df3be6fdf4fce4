#include "tools/explore/chains.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tilewright {

namespace {

/// Largest number of kernels between two dots.
constexpr size_t maxKernels = 16;

class ChainFinder {
public:
  ChainFinder(const Graph &graph, std::span<const KernelGroup> kernels)
      : graph(graph), kernels(kernels) {
    std::map<OpId, size_t> writer;
    for (size_t k = 0; k < kernels.size(); ++k)
      writer[kernels[k].root] = k;
    std::vector<bool> isInKernel(graph.size());
    readers.resize(kernels.size());
    for (size_t k = 0; k < kernels.size(); ++k) {
      std::vector<OpId> ops = opsOf(kernels[k]);
      for (OpId id : ops) {
        isInKernel[id.index] = true;
        for (OpId operand : graph.op(id).operands)
          if (auto it = writer.find(operand); it != writer.end() && it->second != k)
            readers[it->second].insert(k);
      }
    }
    isReadOutside.assign(kernels.size(), false);
    auto readOutside = [&](OpId id) {
      if (auto it = writer.find(id); it != writer.end())
        isReadOutside[it->second] = true;
    };
    readOutside(graph.root());
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (!isInKernel[i])
        for (OpId operand : graph.op(OpId{i}).operands)
          readOutside(operand);
  }

  /// The chain that begins at a kernel's dot.
  std::optional<DotChain> from(size_t start) const {
    std::optional<OpId> first = dotOf(kernels[start]);
    if (!first)
      return std::nullopt;
    std::set<size_t> members{start}, work{start};
    std::optional<size_t> end;
    while (!work.empty()) {
      size_t k = *work.begin();
      work.erase(work.begin());
      if (isReadOutside[k] || readers[k].empty())
        return std::nullopt;
      for (size_t reader : readers[k]) {
        if (!members.insert(reader).second)
          continue;
        if (members.size() > maxKernels || kernels[reader].kind == KernelKind::Opaque)
          return std::nullopt;
        if (dotOf(kernels[reader])) {
          if (end)
            return std::nullopt; // two other kernels read the first dot's result
          end = reader;
        } else {
          work.insert(reader);
        }
      }
    }
    if (!end)
      return std::nullopt;
    DotChain chain;
    chain.kernels.assign(members.begin(), members.end());
    chain.first = *first;
    chain.second = *dotOf(kernels[*end]);
    chain.whole.kind = KernelKind::Dot;
    chain.whole.root = kernels[*end].root;
    std::set<OpId> counted, all;
    for (size_t k : chain.kernels) {
      counted.insert(kernels[k].ops.begin(), kernels[k].ops.end());
      chain.whole.notes.insert(chain.whole.notes.end(), kernels[k].notes.begin(),
                               kernels[k].notes.end());
      std::vector<OpId> ops = opsOf(kernels[k]);
      all.insert(ops.begin(), ops.end());
    }
    chain.whole.ops.assign(counted.begin(), counted.end());
    std::set_difference(all.begin(), all.end(), counted.begin(), counted.end(),
                        std::back_inserter(chain.whole.recomputed));
    if (chain.kernels.back() != *end || !feedsOneOperand(chain, all))
      return std::nullopt;
    return chain;
  }

private:
  static std::vector<OpId> opsOf(const KernelGroup &kernel) {
    std::vector<OpId> ops(kernel.ops);
    ops.insert(ops.end(), kernel.recomputed.begin(), kernel.recomputed.end());
    return ops;
  }

  std::optional<OpId> dotOf(const KernelGroup &kernel) const {
    if (kernel.kind == KernelKind::Dot)
      for (OpId id : kernel.ops)
        if (graph.op(id).opcode == Opcode::Dot)
          return id;
    return std::nullopt;
  }

  bool feedsOneOperand(const DotChain &chain, const std::set<OpId> &all) const {
    std::set<OpId> dependent{chain.first}; // on the first dot, except through the second
    std::set<OpId> whole{chain.first};     // nor through a reduction
    for (OpId id : all) {
      if (id == chain.second)
        continue;
      const std::vector<OpId> &operands = graph.op(id).operands;
      auto readsOf = [&](const std::set<OpId> &set) {
        return std::any_of(operands.begin(), operands.end(),
                           [&](OpId operand) { return set.count(operand) != 0; });
      };
      if (readsOf(dependent))
        dependent.insert(id);
      if (graph.op(id).opcode != Opcode::Reduce && readsOf(whole))
        whole.insert(id);
    }
    const std::vector<OpId> &operands = graph.op(chain.second).operands;
    return operands.size() == 2 && dependent.count(operands[0]) != dependent.count(operands[1]) &&
           !whole.count(chain.whole.root);
  }

  const Graph &graph;
  std::span<const KernelGroup> kernels;
  std::vector<std::set<size_t>> readers; ///< kernels that read a kernel's result
  std::vector<bool> isReadOutside;       ///< read by an op without a kernel, or the graph's result
};

} // namespace

std::vector<DotChain> dotChains(const Graph &graph, std::span<const KernelGroup> kernels) {
  ChainFinder finder(graph, kernels);
  std::vector<DotChain> chains;
  for (size_t k = 0; k < kernels.size(); ++k)
    if (std::optional<DotChain> chain = finder.from(k))
      chains.push_back(std::move(*chain));
  return chains;
}

// A chain goes from the kernel of its first dot to that of its second, and no kernel is the first
// of two chains: the kernels are a forest with the chains as edges from child to parent. Kernels
// between two dots are read by the second one's kernel, so chains share kernels only if they share
// a dot. The best choice is a maximum-weight matching, computed from the leaves up.
std::vector<size_t> chooseChains(std::span<const DotChain> chains, std::span<const double> gains) {
  struct Node {
    std::vector<size_t> chains; ///< that end here
    double apart = 0;           ///< saved below, if no chain that ends here is chosen
    double best = 0;            ///< saved below and here
    std::optional<size_t> taken;
  };
  std::map<size_t, Node> nodes; // by kernel; a chain's first kernel comes before its last
  for (size_t c = 0; c < chains.size(); ++c) {
    nodes[chains[c].kernels.back()].chains.push_back(c);
    nodes[chains[c].kernels.front()];
  }
  for (auto &[kernel, node] : nodes) {
    for (size_t c : node.chains)
      node.apart += nodes.at(chains[c].kernels.front()).best;
    node.best = node.apart;
    for (size_t c : node.chains) {
      const Node &child = nodes.at(chains[c].kernels.front());
      double saved = node.apart - child.best + child.apart + gains[c];
      if (gains[c] > 0 && saved > node.best) {
        node.best = saved;
        node.taken = c;
      }
    }
  }
  std::vector<size_t> chosen;
  std::set<size_t> isInChain; // kernels whose dot a chosen chain above contains
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node &node = it->second;
    if (!node.taken || isInChain.count(it->first))
      continue;
    chosen.push_back(*node.taken);
    isInChain.insert(chains[*node.taken].kernels.front());
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

} // namespace tilewright
