// Windows of convolutions and pools: how ONNX says where they stand.
#pragma once

#include "analysis/import/onnx/node.h"

namespace tilewright::onnx_format {

/// The window of each spatial dim. `sizes`: of the kernel. With `ceil_mode` the last window may end
/// behind the padding; how far is in `beyond`. False after an error.
bool windowOf(Node &n, const Dims &extents, const Dims &sizes, std::vector<WindowDim> &out,
              Dims *beyond = nullptr);

/// Attributes with one number for each spatial dim.
bool perDim(Node &n, std::string_view name, size_t count, int64_t least, Dims &out);

/// Windows of a whole tensor: batch and channels stand before the spatial dims.
std::vector<WindowDim> behindChannels(std::vector<WindowDim> spatial);

} // namespace tilewright::onnx_format
