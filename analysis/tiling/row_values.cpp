#include "analysis/tiling/row_values.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <set>
#include <vector>

namespace tilewright {

int64_t heldPerColumn(const Graph &graph, std::span<const OpId> reductions,
                      std::span<const OpId> results, const std::function<bool(OpId)> &isInput) {
  std::vector<std::vector<OpId>> passes;
  for (OpId reduction : reductions)
    passes.push_back({graph[reduction].operands[0]});
  passes.emplace_back(results.begin(), results.end());
  std::vector<size_t> madeIn(graph.size(), passes.size()); ///< the first pass that computes an op
  std::vector<size_t> lastRead(graph.size());
  for (size_t pass = 0; pass < passes.size(); ++pass) {
    std::vector<OpId> work = passes[pass];
    std::set<OpId> seen;
    while (!work.empty()) {
      OpId id = work.back();
      work.pop_back();
      if (!seen.insert(id).second || graph[id].opcode == Opcode::Reduce)
        continue;
      if (madeIn[id.index] < pass) {
        lastRead[id.index] = pass;
        continue;
      }
      madeIn[id.index] = pass;
      if (!isInput(id))
        work.insert(work.end(), graph[id].operands.begin(), graph[id].operands.end());
    }
  }
  int64_t columns = 1;
  const Op &first = graph[reductions.front()];
  for (int64_t dim : first.attrs.dimensions)
    columns *= graph[first.operands[0]].shape.dims[static_cast<size_t>(dim)];
  int64_t held = 0;
  for (size_t pass = 0; pass + 1 < passes.size(); ++pass) {
    int64_t here = 0; ///< between this pass and the next
    for (uint32_t i = 0; i < graph.size(); ++i) {
      const Op &op = graph[OpId{i}];
      bool isConstant = op.opcode == Opcode::Constant || op.opcode == Opcode::Iota;
      if (madeIn[i] <= pass && lastRead[i] > pass && !isConstant && !op.shape.isTuple &&
          op.shape.elementCount().value_or(0) >= columns)
        here += std::max<int64_t>(ceilDiv(int64_t(bitWidth(op.shape.dtype)), int64_t(32)), 1);
    }
    held = std::max(held, here);
  }
  return held;
}

} // namespace tilewright
