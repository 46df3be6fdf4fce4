#include "costmodel/feature_extractor.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

/// Trips to L2 of a CTA that has left its partial sums in a workspace: they are there for all, it
/// is counted.
constexpr double fenceAndCount = 2;
/// Slots of sums of rows that the last CTA has on their way together: as many as these registers
/// hold of a thread's sums.
constexpr double mostSlots = 8, slotRegisters = 16;

/// Bytes of an element of all results of an op.
double resultWidth(const Op &op) {
  double bits = op.shape.isTuple ? 0 : bitWidth(op.shape.dtype);
  for (const Shape &shape : op.shape.elements)
    bits += bitWidth(shape.dtype);
  return bits / 8;
}

} // namespace

template <class Q> void FeatureExtractor<Q>::addOutputs() {
  const bool split = schedule.splitK > 1;
  for (unsigned root : plan.tiled->roots) {
    const InstanceView &v = view.instances[root];
    const double width = resultWidth(graph.op(v.instance->op));
    f.outputElements += f.matrix ? v.elements : Q(0);
    if (split && plan.style.splitSums == SplitSums::Atomics)
      addAtomics(v);
    else if (split)
      addPartialSums(v, width);
    else
      addStores(v, width);
  }
}

/// A split-K that adds each element to the result: sums are kept in the accumulation type.
template <class Q> void FeatureExtractor<Q>::addAtomics(const InstanceView &v) {
  f.writeBytes += double(v.op->shape.elementCount().value_or(0)) * sumBytes(v);
  f.atomicsPerThread += v.elements * (1.0 / (32.0 * f.warps)) * v.valid;
}

template <class Q> double FeatureExtractor<Q>::sumBytes(const InstanceView &v) {
  return std::max(4.0, bitWidth(v.op->shape.dtype) / 8.0);
}

/// A split-K whose CTAs leave their sums in a workspace. Each passes a fence and counts itself,
/// the last of a tile reads those of all, split by split, and writes the result.
template <class Q> void FeatureExtractor<Q>::addPartialSums(const InstanceView &v, double width) {
  const Q sums = f.matrix ? v.elements * sumBytes(v) : facts.rowSumBytes;
  const Q share = 1.0 / schedule.splitK;
  const double counters = f.matrix ? double(dots.dots.size()) : 1;
  Q together = 1;
  if (!f.matrix)
    together = larger(Q(1), smaller(Q(mostSlots), slotRegisters * 4 * 32 * f.warps / sums));
  f.workspaceBytes += f.ctas * sums;
  f.outsideLoadBytes += sums;
  f.lastLoadBytes += (schedule.splitK - 1.0) * sums;
  f.counterAtomics += counters;
  f.lastRoundTrips += counters * (fenceAndCount + schedule.splitK / together);
  f.writeBytes += double(v.op->shape.elementCount().value_or(0)) * width;
  f.storeBytes += sums + v.elements * width * v.valid * share;
  f.epilogueSharedBytes += f.matrix ? 2 * v.elements * width * share : Q(0);
  noteSegment(v, width);
}

template <class Q> void FeatureExtractor<Q>::addStores(const InstanceView &v, double width) {
  f.writeBytes += double(v.op->shape.elementCount().value_or(0)) * width;
  f.storeBytes += v.elements * width * v.valid;
  noteSegment(v, width);
  if (f.matrix)
    f.epilogueSharedBytes += 2 * v.elements * width;
  else if (isTransposed(v))
    addTransposition(v, width);
}

template <class Q> void FeatureExtractor<Q>::noteSegment(const InstanceView &v, double width) {
  if (v.isOneRow())
    return;
  const Q run = v.contiguousElements() * width;
  f.writeSegment = smaller(f.writeSegment, !f.matrix ? run : smaller(run, Q(lineBytes)));
  if (run < sectorBytes && !f.matrix) {
    f.partialSectors += v.elements * width / run * v.valid;
    f.partialBytes += v.elements * width * v.valid;
  }
}

/// The result's fastest dim is not the fastest one of what is read: the tile is transposed in
/// shared memory.
template <class Q> bool FeatureExtractor<Q>::isTransposed(const InstanceView &root) const {
  int minor = root.minorDim();
  if (minor < 0 || root.sizes[minor] < 2)
    return false;
  const auto &wanted = root.dimParameters[minor];
  const auto &parameters = plan.tiled->space.parameters;
  for (const InstanceView &v : view.instances) {
    int dim = v.isInput ? v.minorDim() : -1;
    if (dim < 0 || v.sizes[dim] < 2 || v.elements < root.elements)
      continue;
    const auto &movers = v.dimParameters[dim];
    bool parallel = std::any_of(movers.begin(), movers.end(), [&](unsigned p) {
      return parameters[p].role == TileParameter::Role::Parallel;
    });
    bool same = std::any_of(movers.begin(), movers.end(), [&](unsigned p) {
      return std::find(wanted.begin(), wanted.end(), p) != wanted.end();
    });
    if (parallel && !same)
      return true;
  }
  return false;
}

template <class Q> void FeatureExtractor<Q>::addTransposition(const InstanceView &v, double width) {
  f.exchanges += 1;
  f.epilogueSharedBytes += 2 * v.elements * width;
  f.sharedPerCta = larger(f.sharedPerCta, v.elements * width);
}

template void FeatureExtractor<double>::addOutputs();
template void FeatureExtractor<Traced>::addOutputs();

} // namespace tilewright
