// PendingReads: which parts of shared memory some warp may still be reading, so that a write needs
// a barrier in front of it.
//
// Barriers that an op makes in any case (behind a write, in the steps of a ring, in an exchange)
// end reads, too; what is left are writes that come round again: one exchange in a loop, a ring
// that a second loop fills. At the head of a loop reads of its own end are pending.
#pragma once

#include "codegen/emit/shared_plan.h"

#include <set>

namespace tilewright::emit {

class PendingReads {
public:
  PendingReads(const Program &program, const SharedPlan &plan) : p(&program), plan(&plan) {}

  void read(SharedRegion region) { regions.insert(region); }
  void barrier() { regions.clear(); }
  bool contains(SharedRegion region) const { return regions.count(region); }

  /// What is pending at the head of a loop's steps, where this is so in front of the loop.
  void enterLoop(const program::ForOp &loop);
  /// What is pending behind some ops.
  void pass(const program::Region &ops);
  void unite(const PendingReads &other) {
    regions.insert(other.regions.begin(), other.regions.end());
  }

private:
  void pass(const Op &op);
  void passStep(const program::ForOp &loop);
  void write(SharedRegion region) {
    if (contains(region))
      barrier();
  }

  const Program *p; ///< not null, as the next one
  const SharedPlan *plan;
  std::set<SharedRegion> regions;
};

} // namespace tilewright::emit
