#include "analysis/indexing/cumulative.h"

#include <algorithm>

namespace tilewright {

namespace {
constexpr int64_t shortestLine = 32;
}

bool isCumulative(const Op &op) {
  if (op.opcode != Opcode::ReduceWindow)
    return false;
  const Shape &result =
      op.shape.isTuple && !op.shape.elements.empty() ? op.shape.elements[0] : op.shape;
  if (result.isTuple || result.rank() != op.attrs.window.size())
    return false;
  int lines = 0;
  for (size_t d = 0; d < result.rank(); ++d) {
    const WindowDim &window = op.attrs.window[d];
    if (window == WindowDim{})
      continue;
    const bool isRunning = window.size == result.dims[d] && window.size >= shortestLine &&
                           window.padLow + window.padHigh == window.size - 1 &&
                           (window.padLow == 0 || window.padHigh == 0);
    if (!isRunning || window.stride != 1 || window.windowDilation != 1 || window.baseDilation != 1)
      return false;
    ++lines;
  }
  return lines == 1;
}

bool hasRunningSum(const Module &module, const Op &op) {
  if (op.opcode != Opcode::Fusion || op.called.empty())
    return isCumulative(op);
  const Graph &body = module.graph(op.called.front().graph);
  return std::any_of(body.all().begin(), body.all().end(), isCumulative);
}

} // namespace tilewright
