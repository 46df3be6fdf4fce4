#include "analysis/program/threads_at_work.h"

#include "analysis/program/pending_reads.h"

#include <algorithm>

namespace tilewright::program {

namespace {

bool isAlone(const Op &op) {
  const auto *loop = op.as<ForOp>();
  return op.as<LoadOp>() || op.as<MapOp>() || op.as<FullOp>() || op.as<StoreOp>() ||
         (loop && loop->issue.empty());
}

} // namespace

ThreadsAtWork::ThreadsAtWork(const Program &program) : p(program) {
  if (!p.buffers.empty() || p.producerWarps || !p.roles.empty())
    return;
  bool areAlone = true, isFirst = true;
  forEachOp(p.body, [&](const Op &op, const LoopNest &) {
    areAlone = areAlone && isAlone(op);
    const auto *store = op.as<StoreOp>();
    if (!store || !areAlone)
      return;
    AxisSet box = p.axesOf(store->to);
    unite(box, p.axesOf(store->value));
    Layout held = heldAs(p, store->value, box, store->layout);
    areAlone = isFirst || (box == axes && held == stored);
    isFirst = false;
    axes = std::move(box);
    stored = std::move(held);
  });
  ends = areAlone && !isFirst;
}

/// Elements of an axis in vectors of a thread's.
static Expr vectorsAlong(const Program &p, const Layout &held, AxisId axis) {
  Expr vector = p.number(1);
  for (const Digit &digit : held.registers)
    if (digit.axis == axis && digit.stride.isConstant(1))
      vector = digit.extent;
  return p.resolved(p[axis].extent).ceilDiv(vector);
}

/// Of the threads along an axis those that have an element.
static Expr threadsWithElements(const Program &p, const Layout &held, AxisId axis) {
  Expr threads = p.number(1);
  for (const auto *digits : {&held.lanes, &held.warps})
    for (const Digit &digit : *digits)
      if (digit.axis == axis)
        threads = threads * digit.extent;
  return threads.min(vectorsAlong(p, held, axis));
}

Expr ThreadsAtWork::count() const {
  const Expr all = p.resolved(p.warps) * 32;
  if (!ends)
    return all;
  Expr vectors = p.number(1);
  for (AxisId axis : axes)
    vectors = vectors * vectorsAlong(p, stored, axis);
  return all.min(vectors.ceilDiv(32) * 32);
}

Expr ThreadsAtWork::threadsAlong(const Digit &copy) const {
  if (!ends)
    return copy.extent;
  if (copy.axis.isValid())
    return threadsWithElements(p, stored, copy.axis);
  Expr threads = p.number(1);
  for (AxisId axis : axes)
    threads = threads * threadsWithElements(p, stored, axis);
  return threads;
}

Expr ThreadsAtWork::copiesIn(const Layout &layout) const {
  Expr copies = p.number(1);
  std::vector<AxisId> counted; // all digits of an axis together
  for (const auto *digits : {&layout.lanes, &layout.warps})
    for (const Digit &digit : *digits) {
      if (!digit.isCopy())
        continue;
      if (ends && std::find(counted.begin(), counted.end(), digit.axis) != counted.end())
        continue;
      counted.push_back(digit.axis);
      copies = copies * threadsAlong(digit);
    }
  return copies;
}

} // namespace tilewright::program
