// What makes a program short again after ops were added or replaced.
#pragma once

#include "analysis/program/build/names.h"
#include "analysis/program/program.h"

namespace tilewright::program {

/// Pointwise expressions that are used once become part of what uses them; values that nothing uses
/// go; the others get names in order.
void mergeMaps(Program &program);
void removeUnused(Program &program);
void nameValues(Program &program, Names &names);
/// Sets the layouts of maps and stores that no operand decides.
void setLayouts(Program &program,
                const std::function<std::optional<LayoutSpec>(const AxisSet &)> &layoutOf);

} // namespace tilewright::program
