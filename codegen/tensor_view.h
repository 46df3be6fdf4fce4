// Ops seen as strided views of a buffer, and tiles of them as boxes for the tensor memory
// accelerator.
#pragma once

#include "codegen/value_emitter.h"

namespace tilewright {

/// An op that is a parameter seen through data movement: its element (i0, i1, …) is element
/// offset + Σ strides[d]·i_d of a buffer.
struct TensorView {
  unsigned buffer = 0;
  int64_t offset = 0;           ///< elements
  std::vector<int64_t> strides; ///< elements, by dim of the op; 0 for dims of extent 1
};

/// Errors: Unsupported, with the reason why it is no such view.
llvm::Expected<TensorView> tensorViewOf(ValueEmitter &emitter, OpId op);

/// One dim of a view as a copy sees it.
struct BoxDim {
  int64_t extent = 1; ///< elements
  int64_t stride = 1; ///< elements of the buffer
  int64_t box = 1;    ///< elements that are copied at once
  Expr start;         ///< of the first box, in the view
};

/// The tensor map for boxes of these dims, innermost first; dims of one element are left out.
/// Errors: Unsupported where cuTensorMapEncodeTiled would refuse it, with the reason: strides and
/// the offset must be multiples of 16 bytes, boxes at most 256 wide, at most five dims.
llvm::Expected<TensorMap> tensorMapOf(const TensorView &view, DType type,
                                      const std::vector<BoxDim> &dims, int64_t swizzleBytes);

} // namespace tilewright
