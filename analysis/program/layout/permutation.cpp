#include "analysis/program/layout/permutation.h"

#include <algorithm>

namespace tilewright::layout {

Permutation permutationOf(int64_t rows, int64_t pitch, int64_t step) {
  constexpr int64_t line = 128; // bytes: all banks
  Permutation result;
  while (pitch % result.chunk != 0)
    result.chunk /= 2;
  const int64_t chunks = pitch / result.chunk, inLine = line / result.chunk;
  result.step = step;
  if (inLine % chunks == 0 && rows * chunks % inLine == 0) { // several rows in a line
    result.span = inLine;
    result.step = std::max(step, inLine / chunks);
  } else {
    while (result.span < inLine && chunks % (result.span * 2) == 0)
      result.span *= 2;
  }
  const int64_t groups = rows / step;
  if (groups > 0 && groups < inLine && inLine % groups == 0)
    result.scale = inLine / groups;
  return result;
}

} // namespace tilewright::layout
