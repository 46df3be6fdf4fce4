// The layouts of a program, for passes: which ops name one, and along which axis it is fastest.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// The layout that an op names; null if it names none.
LayoutSpec *layoutOf(Op &op);
const LayoutSpec *layoutOf(const Op &op);

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
