// Which lowering makes the code of a group: decided here, for constraints, prices and the code
// itself alike. Ops and shapes decide, whatever the tile.
#pragma once

#include "analysis/indexing/indexing.h"
#include "analysis/ir/graph.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// The lowering that makes the code of a group.
enum class CodeKind : uint8_t {
  Elementwise, ///< each element separately, also by loops
  Reduction,
  Dot, ///< or a convolution as one
  Chain,
  Fused, ///< dots beside other dots or reductions, or reductions of several rows, in any order
};
std::string_view toString(CodeKind kind); ///< "elementwise", "reduction", "dot", "chain", "fused"

/// May it have products of tiles?
inline bool hasProducts(CodeKind kind) {
  return kind == CodeKind::Dot || kind == CodeKind::Chain || kind == CodeKind::Fused;
}

struct KindOfCode {
  CodeKind kind = CodeKind::Elementwise;
  /// Elementwise only: why its dot is made by loops instead of products of tiles, or its reductions
  /// instead of by threads that share rows. Empty if it has neither.
  std::string why;
};

/// The kind for the code of these ops. `results`: those that are stored; the first is the one whose
/// dims are tiled. Ops of the graph that are not among `ops` are read from memory.
KindOfCode kindOfCode(const Graph &graph, std::span<const OpId> ops, std::span<const OpId> results);

/// The side of a dot, or of a convolution as one, that a dim belongs to.
enum class DotSide : uint8_t { Batch, Rows, Columns };

/// The side that each dim of the result of a dot or of a convolution belongs to. A convolution's
/// rows are its batch and spatial dims, its columns the output features; it has no batch in this
/// sense.
std::vector<DotSide> sidesOfResult(const Graph &graph, OpId dot);

/// The variables that a convolution sums over, window elements and input features, each with the
/// sub-range that lies in the image for every element of the result. Empty where the maps of image
/// and kernel differ in them, or one has no elements: then it is no product of matrices.
std::optional<std::vector<MapVariable>> windowSum(const OpIndexing &maps);

/// True if `input`, which is reduced, reads each element of `id` once, one to one: through
/// elementwise ops, reshapes and transposes.
bool isReadOneToOne(const Graph &graph, OpId input, OpId id);

} // namespace tilewright
