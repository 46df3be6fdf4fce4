// One model's part of the page.
#pragma once

#include "tools/report/kernel_table.h"
#include "tools/report/roofline.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// Limits for long models; the most expensive kernels come first.
struct ModelLimits {
  TableLimits table;
  size_t dots;  ///< in the roofline
  size_t graph; ///< kernels in the graph, in execution order
};

/// Facts, time by term, graph, roofline, kernels, and what the total excludes. `id` is unique in
/// the page and names the section.
std::string modelSection(const Exploration &exploration, const Model &model, ModelLimits limits,
                         std::string_view id);

/// "excludes 3 unsupported ops, 1 kernel without a prediction"; empty for a complete total.
std::string gapText(const Summary &summary);

/// Reasons with the ops that have them, most frequent first: ("parameter", {"Arg_0.1", …}).
std::vector<std::pair<std::string, std::vector<std::string>>>
byReason(const std::vector<OpNote> &notes);

} // namespace tilewright::report
