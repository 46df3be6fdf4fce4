// PendingReads: which parts of shared memory some warp may still be reading, so that a write needs
// a barrier in front of it.
//
// Barriers that an op makes in any case (behind a write, in the steps of a ring, in an exchange)
// end reads, too; what is left are writes that come round again: one exchange in a loop, a ring
// that a second loop fills. At the head of a loop reads of its own end are pending.
//
// Folds count these barriers and the emission makes them. Whether a reduction goes over warps may
// depend on sizes, so that each read is pending under a condition, 0 or 1.
#pragma once

#include "analysis/program/program.h"

#include <map>
#include <optional>

namespace tilewright::program {

/// A part of shared memory that hazards are followed for.
using SharedRegion = uint32_t;

/// A reduction's slots in shared memory, through which its warps meet.
struct Exchange {
  SharedRegion region;
  Expr crosses;  ///< 1 where several warps share what is reduced, else 0
  Expr elements; ///< slots of one warp
  Expr warps;    ///< that share an element
};

struct SharedRegions {
  std::vector<SharedRegion> buffers; ///< by BufferId: those that share memory are one
  std::map<const Op *, Exchange> exchanges;
  /// Of the word in which sum.splits tells all threads of its count: a buffer whose memory is free
  /// by then, the first exchange, or memory of its own. Absent without sum.splits.
  struct Arrivals {
    SharedRegion region;
    BufferId buffer;              ///< invalid: not in a buffer
    const Op *exchange = nullptr; ///< null: not in an exchange
    Expr crosses;                 ///< 0 for a single warp, which shuffles
  };
  std::optional<Arrivals> arrivals;

  SharedRegion of(BufferId buffer) const { return buffers[buffer.index]; }
};

/// Of a program whose types are inferred; ops are known by address.
SharedRegions sharedRegionsOf(const Program &program);

/// Does a producer run this loop's copies?
bool isProduced(const Program &program, const ForOp &loop);

/// How a value that an op reads is held: its own layout, `spec`, or flat.
Layout heldAs(const Program &program, const ScalarExpr &scalar, const AxisSet &axes,
              const std::optional<LayoutSpec> &spec, RoleId role = {});

class PendingReads {
public:
  PendingReads(const Program &program, const SharedRegions &regions)
      : p(&program), regions(&regions) {}

  void read(SharedRegion region) { read(region, p->number(1)); }
  void read(SharedRegion region, Expr when);
  /// All reads are over.
  void barrier() { pending.clear(); }
  void barrier(Expr when);
  /// 1 where a write of that memory needs a barrier in front of it, else 0.
  Expr contains(SharedRegion region) const;

  /// What is pending at the head of a loop's steps, where this is so in front of the loop.
  void enterLoop(const ForOp &loop);
  /// What is pending behind some ops.
  void pass(const Region &ops);
  /// What is pending behind one op without regions.
  void pass(const Op &op);
  void unite(const PendingReads &other);
  /// The memory is written: if reads of it are pending, behind a barrier.
  void write(SharedRegion region) { barrier(contains(region)); }

private:
  void passStep(const ForOp &loop);

  const Program *p; ///< not null, as the next one
  const SharedRegions *regions;
  std::map<SharedRegion, Expr> pending;
};

} // namespace tilewright::program
