// SharedPlan: where a program's buffers, barriers and exchange slots lie in shared memory.
//
// Sizes are those of the folds (fold.h): buffers, mbarriers of the rings that a producer fills and
// of TMA copies outside of loops, exchange slots of reductions that go over warps. Not in the folds
// are 16 bytes for the count of sum.splits where no other memory is free by then.
#pragma once

#include "analysis/program/layout/permutation.h"
#include "analysis/program/pending_reads.h"
#include "codegen/emit/held_layout.h"
#include "codegen/emit/stage_ring.h"

namespace tilewright::emit {

using layout::Permutation;
using program::Buffer;
using program::BufferId;
using program::heldAs;
using program::isProduced;
using program::Op;
using program::PendingReads;
using program::Program;
using program::SharedRegion;

/// Where an element of a slot lies. Without swizzle: rows of `pitch` bytes. With one: panels of
/// `swizzle` bytes of each row, one behind the other, in which 16-byte chunks are permuted by row.
struct BufferPlace {
  int64_t offset = 0; ///< bytes
  int64_t stages = 1, slotBytes = 0;
  int64_t rows = 1, pitch = 0; ///< of all axes but the last; padding included
  int64_t swizzle = 0;
  /// Words are read across rows, too: chunks of neighbouring rows lie two apart, so that eight
  /// words of each of four rows meet no banks. What TMA fills is as it swizzles.
  bool isOfWords = false;
  unsigned elementBits = 8;
  Permutation permutation; ///< none: a span of 1
  int64_t panelBytes() const { return rows * swizzle; }
};

struct SharedPlan {
  std::vector<BufferPlace> buffers;        ///< by BufferId
  std::map<BufferId, StageRing> rings;     ///< mbarriers of those that a producer fills
  std::map<const Op *, int64_t> copies;    ///< mbarriers of TMA copies outside of loops
  std::map<const Op *, int64_t> exchanges; ///< slots of reductions
  std::optional<int64_t> arrivals;         ///< word that sum.splits broadcasts its count in
  int64_t bytes = 0;

  program::SharedRegions regions;
  SharedRegion regionOf(BufferId buffer) const { return regions.of(buffer); }
};

/// Errors: Unsupported where a buffer's rows are no whole bytes.
llvm::Expected<SharedPlan> planShared(const Program &program);

} // namespace tilewright::emit
