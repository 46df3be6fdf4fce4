// The graph of a model's kernels: what runs when, and what reads what.
#pragma once

#include "tools/report/kernel_links.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// The first `maxKernels` kernels in execution order, each a row with its time and share, an arc
/// for each result that is read. A long model is folded (graph_fold.h), and each folded node has a
/// graph of its own below. With scripts a node shows its neighbours. `id` is unique in the page.
/// Empty for a model without kernels.
std::string graphFigure(const Model &model, const Summary &summary, size_t maxKernels,
                        const KernelLinks &links, std::string_view id);

} // namespace tilewright::report
