// Tiles of strided views as boxes for TMA.
#pragma once

#include "analysis/tiling/strided_view.h"
#include "codegen/value_emitter.h"

namespace tilewright {

/// One dim of a view, as TMA copies it.
struct BoxDim {
  int64_t extent = 1; ///< elements
  int64_t stride = 1; ///< elements of the buffer
  int64_t box = 1;    ///< elements of one copy
  Expr start;         ///< of the first box, in the view
};

/// The tensor map of buffer number `buffer` for boxes of these dims, innermost first; dims of one
/// element are left out. Errors: Unsupported where cuTensorMapEncodeTiled would refuse it, with the
/// reason: strides and the offset must be multiples of 16 bytes, boxes at most 256 wide, at most
/// five dims.
llvm::Expected<TensorMap> tensorMapOf(const StridedView &view, unsigned buffer, DType type,
                                      const std::vector<BoxDim> &dims, int64_t swizzleBytes);

} // namespace tilewright
