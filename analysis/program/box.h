// Boxes of a tensor: what TMA copies.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// One dim of a box, which may be several neighbouring dims of the tensor as one: those that
/// k // n and k % n are coordinates of. An axis that starts at 0 may go along several dims, a digit
/// along each.
struct BoxDim {
  size_t first = 0, last = 0; ///< dims of the tensor
  AxisId axis;                ///< that goes along it; invalid: the box has one element there
  Expr start;                 ///< coordinate of the axis' 0, or of the one element
  Expr size;                  ///< elements
  Expr stride;                ///< of the axis: a digit of it goes along the dim; null: all of it
};

/// The dims of a copy's box, slowest first: all of the tensor's. Unsupported, with the reason: the
/// tile is no box with the axes in the order of the buffer, an axis that is summed over is cut off
/// elsewhere than where the tensor ends (TMA fills with zeros there), or elements are no whole
/// bytes. Where extents are no numbers yet, what depends on them is taken to be so.
llvm::Expected<std::vector<BoxDim>> boxOf(const Program &program, const CopyOp &copy);

/// A dim of more elements than a box has may be several boxes of multiples of so many: that of the
/// slowest axis of a buffer, where it has one dim.
constexpr int64_t boxPiece = 64;
bool isCutInPieces(const Buffer &buffer, const BoxDim &dim);

} // namespace tilewright::program
