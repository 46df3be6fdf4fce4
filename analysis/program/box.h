// Boxes of a tensor: what TMA copies.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// One dim of a box, which may be several neighbouring dims of the tensor as one: those that
/// k // n and k % n are coordinates of.
struct BoxDim {
  size_t first = 0, last = 0; ///< dims of the tensor
  AxisId axis;                ///< that goes along it; invalid: the box has one element there
  Expr start;                 ///< coordinate of the axis' 0, or of the one element
};

/// The dims of a copy's box, slowest first: all of the tensor's. Unsupported, with the reason: the
/// tile is no box with the axes in the order of the buffer, it is cut off elsewhere than where the
/// tensor ends (TMA fills with zeros there), or elements are no whole bytes. Where extents are no
/// numbers yet, what depends on them is taken to be so.
llvm::Expected<std::vector<BoxDim>> boxOf(const Program &program, const CopyOp &copy);

} // namespace tilewright::program
