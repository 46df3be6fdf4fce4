// The layouts of a tile program's values, and what its accesses to memory cost by them.
//
// The program's sizes are numbers. Accesses to shared memory are those of `read`, `write` and of
// dots that read fragments by ldmatrix; accesses to tensors are looked at in the first CTA and the
// first step.
#pragma once

#include "analysis/program/layout/access.h"
#include "analysis/program/layout/shared_layout.h"
#include "analysis/program/layout/tile_layout.h"
#include "analysis/program/program.h"

namespace tilewright::layout {

/// Of a tile: `axes` in the order of the dims.
llvm::Expected<TileLayout> tileLayoutOf(const program::Program &program,
                                        const program::Layout &layout,
                                        std::span<const program::AxisId> axes);

/// A slot of a buffer as code generation lays it out. Of f32 buffers without a producer the swizzle
/// is that of words.
llvm::Expected<SharedLayout> sharedLayoutOf(const program::Program &program,
                                            const program::Buffer &buffer);

struct ValueLayout {
  std::string name, tile; ///< "acc", "f32[i,j]"
  DType type = DType::F32;
  TileLayout layout;
};

/// Registers of a warp in shared memory, or matrices of ldmatrix.
struct SharedUse {
  std::string op, buffer, place; ///< place: "panels of 128 bytes, swizzle 128"
  std::string way;               ///< "read", "write", "ldmatrix", "ldmatrix.trans"
  std::optional<SharedAccess> access;
  std::string reason; ///< why there is no access, or why it is not by ldmatrix
};

struct GlobalUse {
  std::string op, tensor;
  int64_t bytesPerLane = 0, instructions = 0;
  int64_t sectors = 0, leastSectors = 0;
  std::string reason; ///< why nothing is said: "its index is read at run time"
};

struct CopyUse {
  std::string op, buffer, way;
  int64_t bytes = 0;                ///< of a piece of cp.async; 0 of others
  std::vector<std::string> reasons; ///< why no larger pieces, or why not by TMA
};

struct ProgramLayouts {
  std::vector<ValueLayout> values;
  std::vector<SharedUse> shared;
  std::vector<GlobalUse> global;
  std::vector<CopyUse> copies;
};

/// Unsupported: a size without a number. Types are inferred.
llvm::Expected<ProgramLayouts> layoutsOf(const program::Program &program);

} // namespace tilewright::layout
