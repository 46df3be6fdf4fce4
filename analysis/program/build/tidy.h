// What makes a program short again after ops were added or replaced.
#pragma once

#include "analysis/program/build/names.h"
#include "analysis/program/program.h"

#include <map>

namespace tilewright::program {

/// The layout that an op names; null if it names none.
LayoutSpec *layoutOf(Op &op);
const LayoutSpec *layoutOf(const Op &op);

/// Calls visit on all values that an op and its regions read, those in indices too, but not those
/// whose layouts it has.
void forEachRead(const Program &program, const Op &op, const std::function<void(ValueId)> &visit);
/// Reads other values and buffers.
void replaceReads(Op &op, const std::map<ValueId, ValueId> &values,
                  const std::map<BufferId, BufferId> &buffers);

/// Pointwise expressions that are used once become part of what uses them; values that nothing uses
/// go; the others get names in order.
void mergeMaps(Program &program);
void removeUnused(Program &program);
void nameValues(Program &program, Names &names);
/// Sets the layouts of maps and stores that no operand decides.
void setLayouts(Program &program,
                const std::function<std::optional<LayoutSpec>(const AxisSet &)> &layoutOf);

} // namespace tilewright::program
