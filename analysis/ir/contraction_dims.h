// Dims of scaled-dot and ragged-dot beyond DotDims.
#pragma once

#include "analysis/ir/op.h"

#include <optional>

namespace tilewright {

/// The number of elements that share a scale of a scaled-dot along a dim: element i is scaled by
/// scale i / block. The quotient of the extents if it is whole; else the last block is partial and
/// the size is the only power of two with that many blocks (formats with block scales use 16 and
/// 32). Empty if no block size fits.
std::optional<int64_t> scaleBlock(int64_t extent, int64_t scales);

/// The dim of a ragged-dot that its groups divide. Groups are consecutive, from 0 on, along the
/// ragged dim of the lhs; their sizes are an operand.
struct RaggedDims {
  enum class Mode : uint8_t {
    Free,        ///< rows: group g of the lhs's rows meets matrix g of the rhs
    Contracting, ///< result g is the product of group g of the contracted elements
    Batch,       ///< batches: a plain dot, whatever the sizes are
  };
  Mode mode = Mode::Free;
  int64_t ragged = 0; ///< dim of the lhs
  int64_t group = -1; ///< Free: the dim of the rhs that counts matrices
};

/// From the attributes `lhs_ragged_dims` and `rhs_group_dims`; empty if they are invalid. (Ranks
/// and extents are not checked.)
std::optional<RaggedDims> raggedDims(const Op &op);

} // namespace tilewright
