// The shape of an op that is written without one, from its operands and attributes.
#pragma once

#include "analysis/ir/graph.h"

#include <optional>
#include <span>

namespace tilewright {

/// What `op` results in, where its operands (of these shapes) and typed attributes tell; called
/// computations are not looked at. Nothing for ops that may result in several shapes (reshape,
/// broadcast, convert, …), and for operands that don't fit: verify() says what is wrong with an op
/// whose shape is given.
std::optional<Shape> inferShape(const Op &op, std::span<const Shape *const> operands);

/// Positions of a window in an extent (XLA's shape inference of windows):
///   dilated(n, d) = n > 0 ? (n - 1) · d + 1 : 0
///   padded = dilated(extent, base dilation) + low + high
///   positions = padded ≥ dilated window ? (padded - dilated window) / stride + 1 : 0
/// Nothing on overflow. Precondition: size, stride and dilations are at least 1.
std::optional<int64_t> windowPositions(const WindowDim &dim, int64_t extent);

} // namespace tilewright
