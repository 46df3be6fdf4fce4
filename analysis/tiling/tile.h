// Tile: the part of a tensor that one CTA works on in one step.
//
// Per dim, a tile is the set  { offset + k·stride : 0 ≤ k < size } ∩ [lower, upper).
// Offsets and masks are expressions in program ids, steps and runtime variables; sizes are
// expressions in tile parameters only. Masks let one size serve all CTAs: the last tile of a
// dim of 100 in steps of 32 has offset 96, size 32 and upper 100, so 4 valid elements.
#pragma once

#include "analysis/affine/expr.h"
#include "analysis/ir/graph.h"

#include <string>
#include <vector>

namespace tilewright {

struct TileDim {
  Expr offset;
  Expr size;   ///< ≥ 1, in tile parameters
  Expr stride; ///< may be negative (reverse); 0 never
  Expr lower;  ///< first valid index
  Expr upper;  ///< first index past the valid ones
  bool operator==(const TileDim &) const = default;
};

struct Tile {
  std::vector<TileDim> dims;

  bool operator==(const Tile &) const = default;
  /// Elements including masked ones: the product of the sizes.
  Expr elementCount(ExprContext &context) const;
  /// "[pid0 * t0 : t0, step0 * k0 : k0]", strides and masks only where they say something:
  /// a stride other than 1 as ":s", masks other than [0, dim) as "in [l, u)".
  std::string str(std::span<const int64_t> extents) const;
};

/// How a propagated tile relates to the set of elements that is really needed.
enum class Exactness : uint8_t {
  Exact,
  OverApproximate, ///< a superset, at most `factor` times as large
  Unknown,
};

} // namespace tilewright
