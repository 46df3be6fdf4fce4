// What tiles ought to be, by enumeration: the oracle of the tile tests.
#pragma once

#include "analysis/tiling/numeric_tile.h"

#include <algorithm>
#include <set>
#include <vector>

namespace tilewright::oracle {

/// All shapes without unit dims and with that many elements, each dim order for itself.
inline void shapesOf(int64_t count, std::vector<int64_t> &prefix,
                     std::vector<std::vector<int64_t>> &out) {
  if (count == 1) {
    if (!prefix.empty())
      out.push_back(prefix);
    return;
  }
  for (int64_t d = 2; d <= count; ++d)
    if (count % d == 0) {
      prefix.push_back(d);
      shapesOf(count / d, prefix, out);
      prefix.pop_back();
    }
}
inline std::vector<std::vector<int64_t>> shapesOf(int64_t count) {
  std::vector<int64_t> prefix;
  std::vector<std::vector<int64_t>> out;
  shapesOf(count, prefix, out);
  return out;
}

/// Row-major positions of a root tile: CTA `pid` of sizes `sizes` over `extents`.
inline std::vector<int64_t> rootElements(const std::vector<int64_t> &extents,
                                         const std::vector<int64_t> &sizes,
                                         const std::vector<int64_t> &pid) {
  std::vector<NumericDim> dims;
  for (size_t i = 0; i < extents.size(); ++i)
    dims.push_back({pid[i] * sizes[i], sizes[i], 1, 0, extents[i]});
  return elementsOf(dims, extents);
}

inline std::vector<int64_t> coordinates(int64_t position, const std::vector<int64_t> &extents) {
  std::vector<int64_t> index(extents.size());
  for (size_t i = extents.size(); i > 0; --i) {
    index[i - 1] = position % extents[i - 1];
    position /= extents[i - 1];
  }
  return index;
}

/// Is the set a product of arithmetic progressions? Gives the strides of the dims with more than
/// one index, 0 for the others.
inline bool isBox(const std::set<int64_t> &elements, const std::vector<int64_t> &extents,
                  std::vector<int64_t> &strides) {
  std::vector<std::set<int64_t>> seen(extents.size());
  for (int64_t e : elements) {
    std::vector<int64_t> index = coordinates(e, extents);
    for (size_t i = 0; i < index.size(); ++i)
      seen[i].insert(index[i]);
  }
  size_t volume = 1;
  strides.assign(extents.size(), 0);
  for (size_t i = 0; i < extents.size(); ++i) {
    volume *= seen[i].size();
    for (auto it = seen[i].begin(); it != seen[i].end() && std::next(it) != seen[i].end(); ++it) {
      int64_t step = *std::next(it) - *it;
      if (strides[i] != 0 && strides[i] != step)
        return false;
      strides[i] = step;
    }
  }
  return volume == elements.size();
}

/// Steps through all points of a grid, last dim fastest; false at the end.
inline bool advance(std::vector<int64_t> &point, const std::vector<int64_t> &extents) {
  for (size_t i = point.size(); i > 0; --i) {
    if (++point[i - 1] < extents[i - 1])
      return true;
    point[i - 1] = 0;
  }
  return false;
}

} // namespace tilewright::oracle
