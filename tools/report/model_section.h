// One model's part of the page.
#pragma once

#include "tools/report/kernel_table.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// Facts, where the time goes, roofline, kernels, what isn't in the total. `id` is unique in the
/// page and names the section.
std::string modelSection(const Exploration &exploration, const Model &model, TableLimits limits,
                         std::string_view id);

/// "excludes 3 unsupported ops, 1 kernel without a prediction"; empty for a complete total.
std::string gapText(const Summary &summary);

/// Reasons with the ops that have them, most frequent first: ("parameter", {"Arg_0.1", …}).
std::vector<std::pair<std::string, std::vector<std::string>>>
byReason(const std::vector<OpNote> &notes);

} // namespace tilewright::report
