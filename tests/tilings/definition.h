// What tilings are by definition, by walking elements: the oracle of definition_test.
//
// Sizes are a tiling of a group iff, for every CTA and every step of its loops,
//   - the elements of each tensor that are needed for the root's tile are a strided box (a product
//     of arithmetic progressions), with the same strides for all CTAs and steps;
//   - and each element of each root is written by just one CTA.
// Tiles that say that they only cover what is needed (of gathers, say) are held to that.
// What is needed follows from the ops' index maps (which tests of their own compare with what the
// reference evaluator reads): of a reducing op, a step needs only the operand elements in its range
// of the reduced dims. Nothing here looks at constraints or at tile rules; of the tiled group it
// takes which instances there are and which loops they run.
#pragma once

#include "analysis/indexing/indexing.h"
#include "analysis/tiling/tiled_group.h"

#include <functional>
#include <map>
#include <string>

namespace tilewright {

class Definition {
public:
  /// Unsupported: an op without exact maps for what it reads of the group; a tensor too large to
  /// walk.
  static llvm::Expected<Definition> of(const Graph &graph, const TiledGroup &group,
                                       ExprContext &context);

  /// Accepted sizes: what is wrong with the tiles, empty if they hold just what is needed (where
  /// they claim that, and at least that where they claim to be larger).
  std::string checkAccepted(std::span<const int64_t> values) const;
  /// Refused sizes: empty if they are no tiling by definition.
  std::string checkRefused(std::span<const int64_t> values) const;

  /// CTAs times steps.
  uint64_t runs(std::span<const int64_t> values) const;

private:
  /// What one element of an op's result reads of one operand, by range of its loops.
  struct Read {
    int64_t element;         ///< row-major, of the operand
    std::vector<int64_t> at; ///< coordinate in each loop of the op
  };
  struct Reads {
    std::vector<std::vector<Read>> byElement;
    bool isExact = true;
  };
  struct Needs {
    std::vector<std::vector<int64_t>> elements; ///< by instance: ascending, without repeats
  };

  Definition(const Graph &graph, const TiledGroup &group) : graph(graph), group(group) {}
  llvm::Error readMaps(ExprContext &context);
  llvm::Expected<Reads> readsOf(OpId id, unsigned operand, const OperandMaps &maps,
                                const std::vector<Expr> &loops) const;
  int64_t runtimeValue(uint32_t tensor, std::span<const int64_t> element) const;
  Assignment pointOf(std::span<const int64_t> values, const std::vector<int64_t> &ids) const;
  Needs needsOf(std::span<const int64_t> values, const std::vector<int64_t> &ids) const;
  bool forEachRun(std::span<const int64_t> values,
                  const std::function<bool(const std::vector<int64_t> &)> &visit) const;
  bool isExactAt(unsigned instance, const Assignment &point) const;

  const Graph &graph;
  const TiledGroup &group;
  std::map<std::pair<uint32_t, unsigned>, Reads> reads; ///< by op and operand
  unsigned mainRoot = 0;
};

} // namespace tilewright
