// How many CTAs and threads a compiled op is launched with: from its configuration where it has
// one (Triton), else by the rules that XLA's emitters follow.
#pragma once

#include "analysis/compiled/fusion_work.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

enum class LaunchKind : uint8_t {
  Loop,        ///< a few elements a thread
  Concatenate, ///< a thread writes its element of every operand
  Transpose,   ///< tiles through shared memory
  ColumnReduce,
  RowReduce,
  Scatter,     ///< a thread an update
  Tile,        ///< Triton without a dot
  TileDot,     ///< Triton with one
  Product,     ///< of cuBLAS
  Convolution, ///< of cuDNN
  Copy,        ///< by the device's memory engine
  Other,       ///< nothing is known of it
};
std::string_view toString(LaunchKind kind); ///< "loop", "row reduce", "Triton dot"

/// `block_level_fusion_config` of a fusion, or a `triton_gemm_config`.
struct TileConfig {
  std::vector<std::vector<int64_t>> outputTiles; ///< by result, by dim of its shape
  std::vector<int64_t> contracted;               ///< tiles of contracted dims, of all dots in order
  int64_t warps = 4, stages = 1, splitK = 1;
};

/// How a fusion's kernel runs.
struct LaunchDims {
  LaunchKind kind = LaunchKind::Other;
  double ctas = 1, threads = 128; ///< threads of a CTA
};

/// Of a fusion by a tile compiler; nothing for others, and where the configuration isn't
/// understood.
std::optional<TileConfig> tileConfigOf(const Module &module, const Op &op);

/// A tile as it is held: each dim filled up to a power of two, and with the whole of what is
/// reduced.
struct HeldTile {
  double elements = 1; ///< of the largest value
  double padded = 1;   ///< the same, filled up
  /// Rows of the tile that are not neighbours: a dim of one element lies between two of several.
  bool isSplit = false;
};
/// Of a fusion without a dot.
HeldTile heldTile(const Module &module, const Op &op, const TileConfig &config);

/// What kind of kernel an op of the entry is launched as.
LaunchKind launchKindOf(const Module &module, const Op &op);

/// Of a fusion of any kind but library calls; smCount: of the device that it was compiled for.
LaunchDims launchDimsOf(const Module &module, const Op &op, LaunchKind kind, const FusionWork &work,
                        double smCount);

} // namespace tilewright
