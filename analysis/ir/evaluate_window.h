// Windows of reduce-window, select-and-scatter and convolution. Inside of the evaluator.
#pragma once

#include "analysis/ir/evaluator_impl.h"

namespace tilewright::eval {

/// Of one dim: which input coordinate each window element meets at each window position.
class WindowTable {
public:
  WindowTable(const WindowDim &dim, int64_t inputExtent, int64_t positions);

  int64_t size() const { return windowSize; }
  /// The input coordinate, or -1 in padding and between the elements of a dilated base.
  int64_t at(int64_t position, int64_t element) const {
    return table[position * windowSize + element];
  }

private:
  int64_t windowSize;
  std::vector<int64_t> table;
};

/// Tables for all dims. `inputs` and `positions` are the extents of the operand and of the window
/// positions. Charges for what it makes.
llvm::Expected<std::vector<WindowTable>> windowTables(const OpRun &run,
                                                      const std::vector<WindowDim> &window,
                                                      const std::vector<int64_t> &inputs,
                                                      const std::vector<int64_t> &positions);

/// Calls body(input offset, window offset) for each window element that meets the input at
/// `position`, in row-major order of the window. `inputStrides` and `windowStrides` are by dim.
template <typename Body>
void walkWindow(const std::vector<WindowTable> &tables, const std::vector<int64_t> &position,
                const std::vector<int64_t> &inputStrides, const std::vector<int64_t> &windowStrides,
                Body &body, size_t dim = 0, int64_t input = 0, int64_t window = 0) {
  if (dim == tables.size()) {
    body(input, window);
    return;
  }
  for (int64_t k = 0; k < tables[dim].size(); ++k) {
    int64_t coordinate = tables[dim].at(position[dim], k);
    if (coordinate >= 0)
      walkWindow(tables, position, inputStrides, windowStrides, body, dim + 1,
                 input + coordinate * inputStrides[dim], window + k * windowStrides[dim]);
  }
}

/// Product of the window's sizes; nothing on overflow.
std::optional<int64_t> windowElements(const std::vector<WindowDim> &window);

} // namespace tilewright::eval
