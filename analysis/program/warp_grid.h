// How the warps of a matrix instruction lie over its results.
#pragma once

#include "analysis/program/layout.h"

namespace tilewright::program {

/// Rows and columns of warps (isGroup: of warpgroups).
struct WarpGrid {
  Expr r, c;
};

/// From an accumulator's digits, as makeLayout() has them; nothing if it is none of that
/// instruction.
std::optional<WarpGrid> warpGridOf(const Layout &layout, bool isGroup);

} // namespace tilewright::program
