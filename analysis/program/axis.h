// Ids of a tile program's parts, axes and sets of axes.
//
// A tile is a function on a box of axes. In `axis i < BM at p*BM of M` one CTA holds BM lanes of i;
// lane x has the coordinate p·BM + x and *counts* where that is below M (and not below a lower
// bound, where there is one). An axis whose origin names a loop's variable is moved by that loop;
// outside of the loop it is its lanes, all of which count.
#pragma once

#include "analysis/affine/expr.h"

#include <algorithm>
#include <compare>
#include <string>
#include <vector>

namespace tilewright::program {

/// Positions in the lists of a Program.
template <typename Tag> struct Id {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const Id &) const = default;
  bool isValid() const { return index != UINT32_MAX; }
};
using AxisId = Id<struct AxisTag>;
using ValueId = Id<struct ValueTag>;
using BufferId = Id<struct BufferTag>;
using TensorId = Id<struct TensorTag>;
using RoleId = Id<struct RoleTag>;
using SourceId = Id<struct SourceTag>;

struct Axis {
  std::string name;
  Expr var;            ///< its coordinate, in index expressions
  Expr extent, origin; ///< lanes of a CTA or a step; coordinate of lane 0
  Expr lower, bound;   ///< coordinates in [lower, bound) count; null: no such bound
  bool operator==(const Axis &) const = default;
};

/// Axes in the order of their declaration, each once.
using AxisSet = std::vector<AxisId>;

inline bool contains(const AxisSet &axes, AxisId axis) {
  return std::binary_search(axes.begin(), axes.end(), axis);
}
inline void insert(AxisSet &axes, AxisId axis) {
  auto at = std::lower_bound(axes.begin(), axes.end(), axis);
  if (at == axes.end() || *at != axis)
    axes.insert(at, axis);
}
inline void unite(AxisSet &axes, const AxisSet &others) {
  for (AxisId axis : others)
    insert(axes, axis);
}
inline AxisSet without(AxisSet axes, const AxisSet &others) {
  std::erase_if(axes, [&](AxisId axis) { return contains(others, axis); });
  return axes;
}

} // namespace tilewright::program
