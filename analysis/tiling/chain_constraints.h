// What two dots in one kernel need of its tiles, where one reads what is made of the other's
// result.
//
//     S = Q·Kᵀ,   P = f(S),   O = P·V
//
// The tile of S follows from that of P, which is rows of O by steps of the columns of P. S stays on
// chip and is made once for each step, so that
//   one-tile    all of f reads S at one tile: dims along which it reads it at several are whole
//   whole-row   columns of P that f reduces over are one step, unless the reductions can be carried
//               along (carried_state.h)
// The kernels that are generated, and therefore searched, need more, rule "search-chain":
//   - one contracted dim of P, and a contraction of Q and K that is one step: Q and K are staged
//     with all of it;
//   - f16 or bf16 operands of one type, and no split-K;
//   - rows that divide evenly among the warps, 16 at least each; the scores and sums of a thread
//     within `chainRegisters`.
#pragma once

#include "analysis/tiling/tiled_group.h"

#include <optional>

namespace tilewright {

/// The dots of such a group, and which operand of the second is P.
struct TwoDots {
  OpId first, second;
  size_t scoresSide = 0;
};

/// Nothing for groups that are no chain of two dots.
std::optional<TwoDots> twoDots(const Graph &graph, const Group &group);

/// Elements of a program's tiles: Q is batch x rows x depth, K batch x step x depth and V
/// batch x step x columns. `depth` is the whole contraction of the first dot.
struct ChainSizes {
  Expr batch, rows, columns, step, depth;
};
ChainSizes chainSizes(const Graph &graph, const TiledGroup &group, const TwoDots &dots);

/// 32-bit registers of S and O a thread: beside them stand fragments and addresses.
constexpr int64_t chainRegisters = 160;

/// Appends "one-tile" and "whole-row" to a group with two such dots; nothing to other groups.
void addChainConstraints(const Module &module, const Graph &graph, TiledGroup &group);

/// Appends "search-chain" to a group with two such dots; nothing to other groups.
void addChainSearchConstraints(const Module &module, const Graph &graph, TiledGroup &group);

} // namespace tilewright
