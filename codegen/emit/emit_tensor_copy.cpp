// TMA: views of tensors, copies of their boxes, and what a producer runs of loops.
#include "analysis/support/checked.h"
#include "codegen/emit/produced_loop.h"

#include <algorithm>

namespace tilewright::emit {

namespace {

constexpr int64_t mostBox = 256; ///< elements along a dim

llvm::Error refuseCopy(const Program &p, const Op &op, std::string message) {
  return p.errorAt(op.where, std::move(message), DiagClass::Unsupported);
}

} // namespace

llvm::Expected<std::vector<TensorMap>> planMaps(const Program &p, const SharedPlan &shared,
                                                std::map<const Op *, PlannedMap> &maps) {
  std::vector<TensorMap> result;
  llvm::Error error = llvm::Error::success();
  forEachOp(p.body, [&](const Op &op, const program::LoopNest &) {
    const auto *o = op.as<CopyOp>();
    if (!o || o->way != CopyWay::Tma || error)
      return;
    llvm::Expected<std::vector<program::BoxDim>> box = boxOf(p, *o);
    if (!box) {
      error = refuseCopy(p, op, takeDiag(box.takeError()).message);
      return;
    }
    const Buffer &buffer = p[o->buffer];
    const BufferPlace &place = shared.buffers[o->buffer.index];
    const program::TensorInfo &tensor = p[o->from.tensor];
    int64_t elementBytes = bitWidth(tensor.type) / 8,
            inner = p[buffer.order.back()].extent.constant();
    PlannedMap planned;
    planned.number = static_cast<unsigned>(result.size());
    planned.panelElements = place.swizzle ? place.swizzle / elementBytes : inner;
    planned.panels = inner / planned.panelElements;
    planned.panelBytes = place.rows * planned.panelElements * elementBytes;
    // A swizzle repeats every eight rows, from addresses that are multiples of them.
    int64_t unit = place.swizzle ? place.swizzle * 8 : 128;
    if (place.offset % unit != 0 || place.slotBytes % unit != 0 ||
        (planned.panels > 1 && planned.panelBytes % unit != 0)) {
      error = refuseCopy(
          p, op, fmt::format("slots of {} do not lie at multiples of {} bytes", buffer.name, unit));
      return;
    }
    TensorMap map;
    map.parameter = o->from.tensor.index;
    map.dtype = tensor.type;
    map.swizzleBytes = place.swizzle;
    int64_t stride = elementBytes;
    for (size_t n = box->size(); n-- > 0;) {
      const program::BoxDim &dim = (*box)[n];
      int64_t extent = 1;
      for (size_t d = dim.first; d <= dim.last; ++d)
        extent *= tensor.dims[d].constant();
      if (!map.dims.empty())
        map.strides.push_back(stride);
      map.dims.push_back(extent);
      stride *= extent;
      int64_t size = dim.size.constant();
      if (n + 1 == box->size()) {
        size = planned.panelElements;
      } else if (size > mostBox && program::isCutInPieces(buffer, dim)) {
        while (size > mostBox || dim.size.constant() % size != 0)
          size = std::min(size, mostBox + program::boxPiece) - program::boxPiece;
        planned.pieces = dim.size.constant() / size;
        planned.pieceRows = size;
        planned.cutDim = n;
      }
      map.box.push_back(size);
    }
    planned.box = std::move(*box);
    maps[&op] = planned;
    result.push_back(std::move(map));
  });
  if (error)
    return error;
  return result;
}

int64_t tensorCopyBytes(const Emission &e, const Op &op) {
  const PlannedMap &map = e.maps.at(&op);
  return map.panels * map.panelBytes;
}

void emitTensorCopy(Emission &e, const Op &op, const CopyOp &o, llvm::Value *slot,
                    llvm::Value *barrier) {
  const PlannedMap &map = e.maps.at(&op);
  Values starts;
  for (size_t n = map.box.size(); n-- > 0;) {
    Expr start = e.now(map.box[n].start);
    if (AxisId axis = map.box[n].axis; axis.isValid())
      start = e.index.simplify(start + e.coordinate(axis, e.number(0)));
    starts.push_back(e.b.CreateSExtOrTrunc(e.index.index(start), e.k.i32));
  }
  const int64_t pieceBytes = map.panelBytes / map.pieces;
  for (int64_t panel = 0; panel < map.panels; ++panel)
    for (int64_t piece = 0; piece < map.pieces; ++piece) {
      Values at = starts;
      at[0] = e.b.CreateAdd(at[0], e.k.c32(panel * map.panelElements));
      llvm::Value *&cut = at[map.box.size() - 1 - map.cutDim];
      cut = e.b.CreateAdd(cut, e.k.c32(piece * map.pieceRows));
      llvm::Value *to = e.b.CreateAdd(slot, e.k.c32(panel * map.panelBytes + piece * pieceBytes));
      e.k.copyTensor(map.number, to, barrier, at);
    }
}

std::vector<BufferId> ringsWithin(const Program &p, const ForOp &loop) {
  std::vector<BufferId> result = producedIn(p, loop.body);
  if (isProduced(p, loop))
    for (BufferId ring : ringsOf(loop))
      result.push_back(ring);
  return result;
}

BufferId leaderOf(const Program &p, BufferId ring) {
  std::vector<const ForOp *> loops;
  forEachOp(p.body, [&](const Op &op, const program::LoopNest &) {
    if (const auto *loop = op.as<ForOp>(); loop && isProduced(p, *loop))
      loops.push_back(loop);
  });
  auto isFilled = [](const ForOp &loop, BufferId id) {
    std::vector<BufferId> rings = ringsOf(loop);
    return std::find(rings.begin(), rings.end(), id) != rings.end();
  };
  for (uint32_t other = 0; other < ring.index; ++other) {
    BufferId id{other};
    bool isAlike = p[id].stages == p[ring].stages, isProducedAtAll = false;
    for (const ForOp *loop : loops) {
      bool isMine = isFilled(*loop, ring), isTheirs = isFilled(*loop, id);
      isAlike = isAlike && isMine == isTheirs;
      isProducedAtAll = isProducedAtAll || isTheirs;
      if (isMine && isTheirs)
        isAlike = isAlike && usesOf(loop->body, ring) == usesOf(loop->body, id);
    }
    if (isAlike && isProducedAtAll)
      return id;
  }
  return ring;
}

void advance(Emission &e, const std::vector<BufferId> &rings) {
  std::map<std::pair<llvm::Value *, llvm::Value *>, std::pair<llvm::Value *, llvm::Value *>> moved;
  for (BufferId id : rings) {
    RingStep &ring = e.rings[id.index];
    auto [next, isNew] = moved.try_emplace({ring.stage, ring.parity});
    if (isNew)
      next->second = e.shared.rings.at(id).next(e.k, ring.stage, ring.parity);
    std::tie(ring.stage, ring.parity) = next->second;
  }
}

namespace {

/// One step of a producer: slots are filled when the consumers have given them back.
llvm::Error produceStep(Emission &e, const ForOp &loop) {
  std::map<BufferId, int64_t> bytes; // by leader
  for (const Op &copy : loop.issue) {
    const auto &o = *copy.as<CopyOp>();
    if (o.way != CopyWay::Tma)
      return e.unsupported(copy, "a producer copies via tma: there is no code for its cp.async");
    bytes[leaderOf(e.p, o.buffer)] += tensorCopyBytes(e, copy);
  }
  std::set<BufferId> begun;
  for (const Op &copy : loop.issue) {
    const auto &o = *copy.as<CopyOp>();
    BufferId leader = leaderOf(e.p, o.buffer);
    const StageRing &ring = e.shared.rings.at(leader);
    const RingStep &at = e.rings[leader.index];
    llvm::Value *full = ring.full(e.k, at.stage);
    if (begun.insert(leader).second) {
      e.k.waitBarrier(ring.empty(e.k, at.stage), at.parity);
      e.k.arriveExpecting(full, bytes[leader]);
    }
    emitTensorCopy(e, copy, o, slotOffset(e, o.buffer, Expr()), full);
  }
  return llvm::Error::success();
}

bool hasProducedLoop(const Program &p, const Op &op) {
  if (const auto *loop = op.as<ForOp>(); loop && isProduced(p, *loop))
    return true;
  for (const Region *region : regionsOf(op))
    for (const Op &inner : *region)
      if (hasProducedLoop(p, inner))
        return true;
  return false;
}

} // namespace

llvm::Error emitProducerRegion(Emission &e, const Region &region) {
  bool isBehindSplits = false;
  for (const Op &op : region) {
    isBehindSplits = isBehindSplits || op.as<SumSplitsOp>();
    if (!hasProducedLoop(e.p, op))
      continue;
    if (isBehindSplits)
      return e.unsupported(op, "a producer's loop behind sum.splits, where only some CTAs go on");
    const auto *loop = op.as<ForOp>();
    if (!loop)
      return e.unsupported(op, "a producer's loop in a condition");
    bool isProducing = isProduced(e.p, *loop);
    const std::vector<BufferId> rings = isProducing ? ringsOf(*loop) : std::vector<BufferId>();
    LoopRange range = rangeOf(e, *loop);
    Carried carried(e, {}, ringsWithin(e.p, *loop));
    llvm::Error error = llvm::Error::success();
    bool failed = false;
    Values last = e.k.forLoop(range.low, range.high, e.k.c32(1), carried.get(),
                              [&](llvm::Value *t, const Values &from) -> Values {
                                carried.set(from, {});
                                LoopStep step(e, *loop, range, t);
                                llvm::Error problem =
                                    isProducing ? produceStep(e, *loop) : llvm::Error::success();
                                if (!problem)
                                  problem = emitProducerRegion(e, loop->body);
                                if (problem) {
                                  failed = true;
                                  error = llvm::joinErrors(std::move(error), std::move(problem));
                                  return from;
                                }
                                advance(e, rings);
                                return carried.get();
                              });
    if (failed)
      return error;
    carried.set(last, {});
  }
  return llvm::Error::success();
}

} // namespace tilewright::emit
