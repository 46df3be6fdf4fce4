#include "codegen/emit/pending_reads.h"

namespace tilewright::emit {

using program::CopyOp;
using program::CopyWay;
using program::ForOp;
using program::Region;

void PendingReads::passStep(const ForOp &loop) {
  bool isSynchronous = !loop.issue.empty() && !isProduced(*p, loop);
  if (isSynchronous)
    barrier();
  for (const Op &op : loop.body)
    pass(op);
}

void PendingReads::enterLoop(const ForOp &loop) {
  constexpr int rounds = 2; // what is pending grows once at most for each nested head
  for (int round = 0; round < rounds; ++round) {
    PendingReads end = *this;
    end.passStep(loop);
    unite(end);
  }
}

void PendingReads::pass(const Region &ops) {
  for (const Op &op : ops)
    pass(op);
}

void PendingReads::pass(const Op &op) {
  if (const auto *o = op.as<ForOp>()) {
    PendingReads before = *this; // no step may be made
    if (!o->issue.empty() && !isProduced(*p, *o))
      for (const Op &copy : o->issue)
        if (const auto *c = copy.as<CopyOp>())
          write(plan->regionOf(c->buffer));
    enterLoop(*o);
    passStep(*o);
    unite(before);
    return;
  }
  if (const auto *o = op.as<program::IfOp>()) {
    PendingReads other = *this;
    pass(o->then);
    other.pass(o->otherwise);
    unite(other);
    return;
  }
  for (const program::SlotRead &slot : slotReadsOf(op))
    read(plan->regionOf(slot.buffer));
  if (const auto *o = op.as<CopyOp>())
    write(plan->regionOf(o->buffer));
  if (op.as<program::WriteOp>() || op.as<program::BarrierOp>() || op.as<program::SumSplitsOp>())
    barrier();
  if (op.as<program::SumSplitsOp>() && plan->arrivals)
    read(plan->arrivalsRegion);
  if (auto exchange = plan->exchanges.find(&op); exchange != plan->exchanges.end()) {
    barrier();
    read(exchange->second.region);
  }
}

} // namespace tilewright::emit
