// Where the time goes by layer of the model's source, equal layers folded.
#pragma once

#include "tools/report/summary.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// A row for each kind of layer ("layer_*/attn", 12 layers), most time first, with what is outside
/// of any. `id` is unique in the page. Empty where fewer than two kinds have kernels.
std::string layerTable(const Model &model, const Summary &summary, std::string_view id);

} // namespace tilewright::report
