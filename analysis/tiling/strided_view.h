// Ops seen as strided views of a tensor in memory: what the tensor memory accelerator can copy.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/group.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// Is each element of the op one of its first operand's, known by the coordinates alone?
bool movesElements(const Graph &graph, const Op &op);

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

/// Why the tensor memory accelerator can't bring the operands of a dot of the group, and wgmma
/// can't therefore multiply them in the code that we make; nothing where it can, as far as that
/// does not depend on the tile. An operand that comes of another dot of the group is not copied.
///   - strided views of an input, the contracted dims as one;
///   - the first element, and strides but for one of a single element, at multiples of 16 bytes;
///   - that one is the contracted dim's, unless elements have 16 bits.
std::optional<std::string> whyNotCopied(const Graph &graph, const Group &group, OpId dot);

} // namespace tilewright
