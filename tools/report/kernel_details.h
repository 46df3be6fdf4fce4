// What is folded below a kernel's row: its terms, facts, plans, tile map, program and ops.
#pragma once

#include "tools/report/document.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// Tile sizes, and below them the schedule, in a cell.
std::string planCell(const Plan &plan);
/// The limiting term with its colour.
std::string limiterCell(std::string_view limiter);
/// "dot bf16[4,8], 7 ops, 5 plans"
std::string captionOf(const Kernel &kernel);

/// `caption` that opens all of it. `id` is unique in the page.
std::string detailsOf(const Kernel &kernel, std::string_view caption, bool withMap,
                      std::string_view id);

} // namespace tilewright::report
