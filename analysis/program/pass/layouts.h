// The layouts of a program, for passes: which ops name one, and along which axis it is fastest.
#pragma once

#include "analysis/program/build/tidy.h"

namespace tilewright::program {

/// The axis whose neighbours a thread holds in a tile of these axes: invalid for layouts without
/// vectors, and where the tile lacks it.
AxisId fastestAxis(const LayoutSpec &spec, const AxisSet &axes);

/// The layout by which a value is held: named where it is made, or by the first operand with all of
/// its axes. Null for sums of dots and the like.
const LayoutSpec *layoutOf(const Program &program, ValueId value);

/// The coordinate that runs along memory: of the last dim that has several elements; null if none
/// has.
Expr contiguousIndex(const Program &program, const Access &access);

} // namespace tilewright::program
