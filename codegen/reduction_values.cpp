// What a reduction holds in registers from one pass over a row to the next.
#include "analysis/support/checked.h"
#include "codegen/reduction_lowering.h"

#include <algorithm>
#include <set>

namespace tilewright {

int64_t ReductionLowering::maxHeldRegisters() const {
  constexpr int64_t most = 128, registersOfSm = 65536;
  return std::min(most, registersOfSm / (2 * 32 * spec.schedule.warps));
}

/// Passes are the reductions in order, then the results. A pass reads its ops down to those that
/// an earlier one has made, which were held until then; those that a thread has one of for each
/// column count, others are a row's.
int64_t ReductionLowering::heldPerColumn() const {
  const Graph &graph = spec.graph();
  std::vector<std::vector<OpId>> passes;
  for (const Reduction &reduction : reductions)
    passes.push_back({reduction.input});
  passes.push_back(resultsOf(graph));
  std::vector<size_t> madeIn(graph.size(), passes.size()); ///< pass that makes an op first
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
      work.insert(work.end(), graph[id].operands.begin(), graph[id].operands.end());
    }
  }
  int64_t held = 1;
  for (size_t pass = 0; pass + 1 < passes.size(); ++pass) {
    int64_t here = 0; ///< between this pass and the next
    for (uint32_t i = 0; i < graph.size(); ++i) {
      const Op &op = graph[OpId{i}];
      bool isConstant = op.opcode == Opcode::Constant || op.opcode == Opcode::Iota;
      if (madeIn[i] <= pass && lastRead[i] > pass && !isConstant && !op.shape.isTuple &&
          op.shape.elementCount().value_or(0) >= reductions[0].length)
        here += std::max<int64_t>(ceilDiv(int64_t(bitWidth(op.shape.dtype)), int64_t(32)), 1);
    }
    held = std::max(held, here);
  }
  return held;
}

} // namespace tilewright
