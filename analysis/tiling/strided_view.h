// Ops seen as strided views of a tensor in memory: what TMA can copy.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/group.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// True if each element of the op is an element of its first operand that depends on the
/// coordinates only.
bool movesElements(const Graph &graph, const Op &op);

/// An op that is another tensor seen through data movement: its element (i0, i1, …) is element
/// offset + Σ strides[d]·i_d of the source, in the source's physical order.
struct StridedView {
  OpId source;
  int64_t offset = 0;           ///< elements
  std::vector<int64_t> strides; ///< elements, by dim of the op; 0 for dims of extent 1
};

/// `isSource` tells which ops are in memory. Unsupported, with the reason, if the op is not such a
/// view.
llvm::Expected<StridedView> stridedViewOf(const Graph &graph, OpId op,
                                          const std::function<bool(OpId)> &isSource);

/// The dims merged into one: the stride of their row-major position, 1 if they have one element.
/// Unsupported if they are not contiguous as one dim.
llvm::Expected<int64_t> strideOfAll(const StridedView &view, const Shape &shape,
                                    const std::vector<int64_t> &dims);

/// How TMA copies an operand of a dot for wgmma, as far as that does not depend on the tile. It
/// copies
///   - strided views of an input, the contracted dims as one;
///   - the first element, and strides but for one of a single element, at multiples of 16 bytes;
///   - that one is the contracted dim's, unless elements have 16 bits.
/// An operand that another dot of the group computes is not copied.
struct TmaOperand {
  std::string whyNot; ///< why TMA can't copy it: our code can't use wgmma then
  /// Another dim than the contracted one is contiguous: an element of K is a line of a box, which
  /// has at most `mostTmaLines`.
  bool copiesLines = false;
  std::optional<size_t> contiguousDim; ///< of those with more than one element
};
TmaOperand tmaOperand(const Graph &graph, const Group &group, OpId dot, size_t number);
/// Why it can't copy one of the two operands; empty if it can copy both.
std::optional<std::string> tmaRefusal(const Graph &graph, const Group &group, OpId dot);

/// Largest extent of a box in any dim: PTX ISA, cuTensorMapEncodeTiled.
constexpr int64_t mostTmaLines = 256;

} // namespace tilewright
