// What ldmatrix, stmatrix, cp.async and TMA take, with the reason in words where they don't.
//
// An empty text means legal. Sources: PTX ISA 9.0, ldmatrix/stmatrix (fragments of 8x8 matrices,
// rows of 16 aligned bytes), cp.async (4, 8, 16 aligned bytes), cp.async.bulk.tensor and CUDA
// driver API, cuTensorMapEncodeTiled (ranks, boxes, strides, swizzles).
#pragma once

#include "analysis/program/layout/access.h"

namespace tilewright::layout {

struct MatrixAccess {
  bool isTransposed = false; ///< .trans
  bool isStore = false;      ///< stmatrix: from sm_90 on
  int computeCapability = 90;
};
/// Is each 32-bit register of each warp one 8x8 matrix of 16-bit elements?
std::string matrixAccessFault(const TileLayout &registers, const SharedLayout &shared,
                              const MatrixAccess &access = {});
/// The passes of the matrices' rows: eight of 16 bytes at a time, one where they meet no banks.
/// Unsupported, with the reason, where it is no such access.
llvm::Expected<SharedAccess> matrixAccessOf(const TileLayout &registers, const SharedLayout &shared,
                                            const MatrixAccess &access = {});

/// A tensor in global memory that a copy goes from or to.
struct GlobalRows {
  int64_t elementBits = 8;
  int64_t baseAlignment = 16;       ///< bytes
  std::vector<int64_t> strideBytes; ///< of the dims in front of the last, slowest first
  int64_t innerStride = 1;          ///< elements
};

/// cp.async in pieces of 4, 8 or 16 bytes along the last dim: the largest that is legal, and why
/// the larger ones are not.
struct AsyncCopyPieces {
  int64_t bytes = 0; ///< 0: none is legal
  std::vector<std::string> reasons;
};
AsyncCopyPieces asyncCopyPieces(const SharedLayout &shared, const GlobalRows &global);

/// A copy of a box by TMA, dims slowest first. All reasons why it is not one copy.
struct TensorCopy {
  GlobalRows global;
  std::vector<int64_t> box;
  int64_t swizzle = 0;
};
std::vector<std::string> tensorCopyFaults(const TensorCopy &copy);

} // namespace tilewright::layout
