// Tile constraints of back-to-back dots: the second consumes the first.
//
//     S = Q·Kᵀ,   P = f(S),   O = P·V
//
// The tile of S follows from that of P, which is rows of O by steps of the columns of P. S stays on
// chip and is made once for each step, so that
//   one-tile    all of f reads S at one tile; dims that it reads at several tiles must be whole
//   whole-row   columns of P that f reduces over are one step, unless the reductions can be carried
//               along (carried_state.h)
// Generated kernels, and therefore the search, have further constraints, rule "search-chain":
//   - one contracted dim of P, and one step over the contraction of Q and K, which are staged with
//   all of it;
//   - f16 or bf16 operands of one type, and no split-K;
//   - rows that divide evenly among the warps, 16 at least each; the scores and sums of a thread
//     within `chainRegisters`.
#pragma once

#include "analysis/tiling/tiled_group.h"

#include <optional>
#include <span>

namespace tilewright {

/// The dots of such a group, and the operand of the second that is P.
struct TwoDots {
  OpId first, second;
  size_t scoresSide = 0;
};

/// Empty unless these ops are a chain of two dots: of f16 or bf16 operands all alike, with sums of
/// that type or of f32, and reductions between them that may be carried; the second with columns.
std::optional<TwoDots> twoDots(const Graph &graph, std::span<const OpId> ops);
inline std::optional<TwoDots> twoDots(const Graph &graph, const Group &group) {
  return twoDots(graph, group.ops);
}

/// Does a chain's P have a free dim of several elements that no reduction goes over: rows for a
/// matrix instruction? False for groups that are no chain.
bool hasCommonRows(const Graph &graph, std::span<const OpId> ops);

/// Elements of a CTA's tiles: Q is batch x rows x depth, K batch x step x depth and V
/// batch x step x columns. `depth` is the whole contraction of the first dot.
struct ChainSizes {
  Expr batch, rows, columns, step, depth;
  int64_t allColumns = 1, allKeys = 1; ///< of the result, and of steps
};
ChainSizes chainSizes(const Graph &graph, const TiledGroup &group, const TwoDots &dots);

/// Limit on a thread's 32-bit registers for S and O, which leaves room for fragments and addresses.
constexpr int64_t chainRegisters = 160;

/// Appends "one-tile" and "whole-row" to a group with two such dots; does nothing for other groups.
void addChainConstraints(const Module &module, const Graph &graph, TiledGroup &group);

/// Appends "search-chain" to a group with two such dots; does nothing for other groups.
void addChainSearchConstraints(const Module &module, const Graph &graph, TiledGroup &group);

} // namespace tilewright
