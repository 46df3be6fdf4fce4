#include "tools/explore/kernel_links.h"

#include <map>
#include <set>

namespace tilewright {

void linkKernels(const Graph &graph, std::span<ExploredKernel> kernels, size_t firstIndex) {
  std::map<std::string_view, OpId> ids;
  for (uint32_t i = 0; i < graph.size(); ++i)
    ids.emplace(graph.op(OpId{i}).name, OpId{i});
  std::vector<std::vector<size_t>> writers(graph.size()); // several of a fusion in parts
  auto opsOf = [&](const ExploredKernel &kernel) {
    std::set<OpId> ops;
    for (const std::vector<std::string> *names : {&kernel.ops, &kernel.recomputed})
      for (const std::string &name : *names)
        ops.insert(ids.at(name));
    if (!kernel.partOf.empty())
      ops.insert(ids.at(kernel.partOf));
    return ops;
  };
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (const std::string &name : kernels[k].results)
      writers[ids.at(name).index].push_back(k);
    if (!kernels[k].partOf.empty())
      writers[ids.at(kernels[k].partOf).index].push_back(k);
  }
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::set<OpId> own = opsOf(kernels[k]), seen;
    std::set<size_t> reads;
    std::vector<OpId> work;
    for (OpId id : own)
      for (OpId operand : graph.op(id).operands)
        if (!own.count(operand))
          work.push_back(operand);
    while (!work.empty()) {
      OpId id = work.back();
      work.pop_back();
      if (!seen.insert(id).second)
        continue;
      if (!writers[id.index].empty()) {
        for (size_t writer : writers[id.index])
          reads.insert(firstIndex + writer);
        continue;
      }
      const std::vector<OpId> &operands = graph.op(id).operands;
      work.insert(work.end(), operands.begin(), operands.end());
    }
    reads.erase(firstIndex + k);
    kernels[k].reads.assign(reads.begin(), reads.end());
  }
}

} // namespace tilewright
