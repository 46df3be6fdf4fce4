// Ops seen as strided views of a tensor in memory: what the tensor memory accelerator can copy.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/support/diag.h"

#include <functional>
#include <vector>

namespace tilewright {

/// An op that is another tensor seen through data movement: its element (i0, i1, …) is element
/// offset + Σ strides[d]·i_d of the source, in the physical order of that.
struct StridedView {
  OpId source;
  int64_t offset = 0;           ///< elements
  std::vector<int64_t> strides; ///< elements, by dim of the op; 0 for dims of extent 1
};

/// `isSource` says which ops lie in memory. Errors: Unsupported, with the reason why it is no such
/// view.
llvm::Expected<StridedView> stridedViewOf(const Graph &graph, OpId op,
                                          const std::function<bool(OpId)> &isSource);

/// The dims as one: the stride of their row-major position, 1 if they have one element. Errors:
/// Unsupported where they do not lie in memory as one.
llvm::Expected<int64_t> strideOfAll(const StridedView &view, const Shape &shape,
                                    const std::vector<int64_t> &dims);

} // namespace tilewright
