// What other tile sizes would do to a kernel's best plan, as a table that is a heat map.
#pragma once

#include "tools/report/document.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// Times in one unit, coloured by how much slower than the map's best; a plan that a constraint
/// refuses shows the letter of that constraint, which is explained below the table, and its own
/// numbers when it is pointed at. Empty for a kernel without a map.
std::string tileMapTable(const Kernel &kernel, std::string_view id);

} // namespace tilewright::report
