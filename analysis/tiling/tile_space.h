// TileSpace: all parameters of one kernel.
//
// A root of shape [D0, D1] has parallel parameters t0 ∈ [1, D0] and t1 ∈ [1, D1]; CTA (pid0,
// pid1) makes the root tile [pid0·t0 : t0, pid1·t1 : t1]. A dot contracted over K has a sequential
// parameter k0 ∈ [1, K], stepped through inside the CTA. Schedule parameters (warps, stages, …) are
// in the same list, so that constraints can relate them to tile sizes.
//
// Every root dim has a parameter, also one of extent 1 (its only size is 1). A dim of extent 0
// has one too, with extent 0: its size is 1 and there are 0 tiles of it.
#pragma once

#include "analysis/affine/expr.h"
#include "analysis/ir/op.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct TileParameter {
  enum class Role : uint8_t {
    Parallel,   ///< a dim of the root
    Sequential, ///< a contracted or reduced dim of `op`
    Schedule,   ///< warps, stages, split_k, group_m
  };
  Role role;
  std::string name; ///< "t0", "k0" (contracted), "r0" (reduced), "warps" …; unique in the space
  Expr size;        ///< the TileParam variable
  Expr index;       ///< ProgramId (parallel) or Step (sequential) variable; null for schedule
  int64_t extent;   ///< of the dim; for schedule parameters the largest value allowed
  OpId op;          ///< the root, or the reducing op; invalid for schedule
  unsigned dim = 0; ///< root dim, or position among the op's reduction dims
  /// Values that a search tries unless it is told others; empty: those of all parameters of the
  /// name.
  std::vector<int64_t> tried = {};

  /// The largest size that makes sense: extent, but at least 1.
  int64_t largest() const { return extent > 1 ? extent : 1; }

  /// ⌈extent / size⌉: the number of tiles.
  Expr tileCount() const { return size.context().constant(extent).ceilDiv(size); }
};

class TileSpace {
public:
  std::vector<TileParameter> parameters; ///< parallel, then sequential, then schedule

  const TileParameter *find(std::string_view name) const;
  std::optional<size_t> indexOf(std::string_view name) const;
  /// Sizes in [1, extent] and indices in [0, extent - 1], for the simplifier.
  Bounds bounds() const;
  /// Values in parameter order, as an assignment.
  Assignment assign(std::span<const int64_t> values) const;
};

} // namespace tilewright
