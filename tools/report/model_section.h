// One model's part of the page.
#pragma once

#include "tools/report/kernel_table.h"
#include "tools/report/roofline.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// How much of a long model is shown; the most expensive kernels come first.
struct ModelLimits {
  TableLimits table;
  size_t dots;  ///< in the roofline
  size_t graph; ///< kernels in the graph, in execution order
};

/// Facts, where the time goes, graph, roofline, kernels, what isn't in the total. `id` is unique in
/// the page and names the section.
std::string modelSection(const Exploration &exploration, const Model &model, ModelLimits limits,
                         std::string_view id);

/// "excludes 3 unsupported ops, 1 kernel without a prediction"; empty for a complete total.
std::string gapText(const Summary &summary);

/// Reasons with the ops that have them, most frequent first: ("parameter", {"Arg_0.1", …}).
std::vector<std::pair<std::string, std::vector<std::string>>>
byReason(const std::vector<OpNote> &notes);

} // namespace tilewright::report
