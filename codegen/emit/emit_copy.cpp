// Copies to shared memory by the warps that read them: cp.async, or through registers.
#include "codegen/emit/emission.h"

#include <algorithm>

namespace tilewright::emit {

namespace {

constexpr int64_t warpLanes = 32;

/// A copy in chunks of neighbours along the buffer's last axis, dealt out to all consumers.
class ChunkedCopy {
public:
  ChunkedCopy(Emission &e, const Op &op, const CopyOp &o)
      : e(e), op(op), o(o), buffer(e.p[o.buffer]), place(e.shared.buffers[o.buffer.index]),
        bits(bitWidth(buffer.type)) {}

  /// Whether some size of chunk lies in one piece in the tensor and in the buffer.
  bool choose() {
    for (int64_t bytes : {16, 8, 4}) {
      chunk = bytes * 8 / bits;
      int64_t extent = e.extent(buffer.order.back());
      if (chunk < 1 || chunk * bits != bytes * 8 || extent % chunk != 0 ||
          (place.swizzle == 0 && place.pitch % bytes != 0))
        continue;
      chunkBytes = bytes;
      perRow = extent / chunk;
      Expr item = e.p.context->freshVariable(VarKind::Step, "chunk");
      e.index.bind(item, Interval::ofExtent(place.rows * perRow), nullptr);
      std::vector<PlacedElement> lanes = elementsOf(item);
      if (isOnePiece(lanes))
        return true;
    }
    return false;
  }

  void emit() {
    int64_t total = place.rows * perRow, threads = e.threads();
    llvm::Value *slot = slotOffset(e, o.buffer, Expr());
    Expr first = e.index.simplify(e.warp * warpLanes + e.lane);
    bool isSameColumn = threads % perRow == 0;
    SlotAddress address = addressOf(first, slot);
    for (int64_t done = 0; done < total; done += threads) {
      Expr item = e.index.simplify(first + done);
      llvm::Value *exists = e.index.holds({item, Interval::ofExtent(total), 1, 0});
      llvm::Value *to =
          isSameColumn ? address.at(done / perRow, 0) : addressOf(item, slot).at(0, 0);
      auto copy = [&] {
        IndexEmitter::Scope scope(e.index);
        copyChunk(item, to);
      };
      if (exists)
        e.k.ifThen(exists, copy);
      else
        copy();
    }
  }

private:
  Expr rowOf(Expr item) const { return item.floorDiv(perRow); }

  LaneTable lanesOf(Expr item, int64_t lane) const {
    LaneTable lanes(e.p.axes.size());
    lanes[buffer.order.back().index] = e.index.simplify(item.mod(perRow) * chunk + lane);
    Expr rest = rowOf(item);
    for (size_t i = buffer.order.size() - 1; i-- > 0;) {
      AxisId axis = buffer.order[i];
      lanes[axis.index] = e.index.simplify(i == 0 ? rest : rest.mod(e.extent(axis)));
      rest = rest.floorDiv(e.extent(axis));
    }
    return lanes;
  }

  std::vector<PlacedElement> elementsOf(Expr item) const {
    std::vector<PlacedElement> result;
    for (int64_t lane = 0; lane < chunk; ++lane)
      result.push_back(placeElement(e, o.from, o.conditions, lanesOf(item, lane)));
    return result;
  }

  /// One behind the other, aligned, and counted alike or up to some lane.
  bool isOnePiece(const std::vector<PlacedElement> &lanes) {
    if (e.index.knownDivisor(lanes[0].offset) % chunk != 0)
      return false;
    for (size_t lane = 1; lane < lanes.size(); ++lane)
      if (!e.index.simplify(lanes[lane].offset - lanes[0].offset)
               .isConstant(static_cast<int64_t>(lane)))
        return false;
    alwaysHolds.clear();
    for (size_t c = 0; c < lanes[0].conditions.size(); ++c) {
      alwaysHolds.push_back(llvm::all_of(lanes, [&](const PlacedElement &element) {
        const MapConstraint &condition = element.conditions[c];
        return condition.range.contains(e.index.range(condition.expr));
      }));
      for (size_t lane = 1; lane < lanes.size() && !alwaysHolds[c]; ++lane)
        if (!isUpTo(lanes[0].conditions[c], lanes[lane].conditions[c], static_cast<int64_t>(lane)))
          return false;
    }
    return true;
  }

  bool isUpTo(const MapConstraint &first, const MapConstraint &other, int64_t distance) const {
    Expr moved = e.index.simplify(other.expr - first.expr);
    return moved.isConstant(0) ||
           (moved.isConstant(distance) && first.range.lo <= e.index.range(first.expr).lo) ||
           (moved.isConstant(-distance) && first.range.lo == 1 && first.range.hi == INT64_MAX);
  }

  SlotAddress addressOf(Expr item, llvm::Value *slot) const {
    auto word = [&](Expr expr) { return e.b.CreateSExtOrTrunc(e.index.index(expr), e.k.i32); };
    return SlotAddress(e, place, slot,
                       {word(rowOf(item)), word(item.mod(perRow) * chunkBytes), UINT64_MAX,
                        UINT64_MAX, nullptr, 0});
  }

  void copyChunk(Expr item, llvm::Value *to) {
    std::vector<PlacedElement> lanes = elementsOf(item);
    std::vector<MapConstraint> all; // of the whole chunk
    llvm::Value *count = nullptr;   // of its elements
    auto number = [&](int64_t value) {
      return llvm::ConstantInt::getSigned(e.index.type(), value);
    };
    for (size_t c = 0; c < lanes[0].conditions.size(); ++c) {
      const MapConstraint &first = lanes[0].conditions[c];
      if (alwaysHolds[c])
        continue;
      if (isTogether(lanes, c)) {
        all.push_back(first);
        continue;
      }
      Expr left =
          first.range.hi == INT64_MAX ? first.expr : e.number(first.range.hi + 1) - first.expr;
      llvm::Value *here = e.index.index(left);
      here = e.k.intrinsic(llvm::Intrinsic::smax, {e.index.type()}, {here, number(0)});
      count = count ? e.k.intrinsic(llvm::Intrinsic::smin, {e.index.type()}, {count, here}) : here;
    }
    if (count)
      count = e.k.intrinsic(llvm::Intrinsic::smin, {e.index.type()}, {count, number(chunk)});
    llvm::Value *valid = holdAll(e, all), *bytes = nullptr;
    if (count)
      bytes = e.b.CreateLShr(e.b.CreateMul(e.b.CreateTrunc(count, e.k.i32), e.k.c32(bits)), 3);
    if (valid)
      bytes = e.b.CreateSelect(valid, bytes ? bytes : e.k.c32(chunkBytes), e.k.c32(0));
    ByteOffset at = byteOffset(e, lanes[0].offset, static_cast<unsigned>(bits));
    llvm::Value *from = e.b.CreateAdd(at.computed, e.k.c64(at.constant), "", false, true);
    if (bytes) // nothing is read there
      from = e.b.CreateSelect(e.b.CreateICmpEQ(bytes, e.k.c32(0)), e.k.c64(0), from);
    e.k.copyAsync(to, static_cast<unsigned>(o.from.tensor.index), from,
                  static_cast<unsigned>(chunkBytes), bytes);
  }

  /// All lanes of a chunk count, or none, as far as a condition goes.
  bool isTogether(const std::vector<PlacedElement> &lanes, size_t c) const {
    PlacedElement first = lanes[0];
    first.conditions = {lanes[0].conditions[c]};
    std::vector<PlacedElement> others(lanes.begin() + 1, lanes.end());
    for (PlacedElement &other : others)
      other.conditions = {other.conditions[c]};
    return areOneAccess(e, first, others);
  }

  Emission &e;
  const Op &op;
  const CopyOp &o;
  const Buffer &buffer;
  const BufferPlace &place;
  int64_t bits, chunk = 1, chunkBytes = 4, perRow = 1;
  /// Of the conditions: whether it holds for every element of the buffer, which is more than is
  /// known of the items of a round whose last ones don't exist.
  std::vector<bool> alwaysHolds;
};

/// Through registers: neighbours of the buffer's last axis in a thread.
llvm::Error copyThroughRegisters(Emission &e, const Op &op, const CopyOp &o) {
  const Buffer &buffer = e.p[o.buffer];
  AxisSet axes = axesOfBuffer(buffer);
  DType type = e.p[o.from.tensor].type;
  int64_t widest = std::max(bitWidth(type), bitWidth(buffer.type)), run = 1;
  AxisId last = buffer.order.back();
  while (run * 2 * widest <= 128 && e.extent(last) % (run * 2) == 0)
    run *= 2;
  bool isFirst = last == axes.front() && axes.size() > 1;
  program::LayoutSpec spec{isFirst ? program::LayoutFamily::Across : program::LayoutFamily::Flat,
                           {e.number(isFirst || last == axes.back() ? run : 1)},
                           {}};
  llvm::Expected<HeldLayout> held = e.held(op, e.p.layoutFor(spec, axes, buffer.type));
  if (!held)
    return held.takeError();
  LoadOp load{o.from, o.conditions, 0, spec};
  llvm::Expected<Values> values = loadTile(e, op, load, axes, *held);
  if (!values)
    return values.takeError();
  for (llvm::Value *&value : *values)
    value = e.ops.convert(type, buffer.type, value);
  return writeSlot(e, op, o.buffer, *values, *held);
}

llvm::Error copyByConsumers(Emission &e, const Op &op, const CopyOp &o) {
  if (o.way == CopyWay::Tma)
    return e.unsupported(op, "tma copies in a loop are those of a producer: give it one, or copy "
                             "via cp.async");
  if (o.way == CopyWay::CpAsync) {
    ChunkedCopy copy(e, op, o);
    if (copy.choose()) {
      copy.emit();
      return llvm::Error::success();
    }
  }
  return copyThroughRegisters(e, op, o);
}

} // namespace

llvm::Error emitIssue(Emission &e, const ForOp &loop) {
  for (const Op &copy : loop.issue)
    if (llvm::Error error = copyByConsumers(e, copy, *copy.as<CopyOp>()))
      return error;
  return llvm::Error::success();
}

llvm::Error emitOp(Emission &e, const Op &op, const CopyOp &o) {
  e.beforeWrite(e.shared.regionOf(o.buffer));
  e.open.push_back({&op, o.buffer});
  if (o.way != CopyWay::Tma) {
    llvm::Error error = copyByConsumers(e, op, o);
    e.k.copyAsyncCommit();
    return error;
  }
  auto copy = e.shared.copies.find(&op);
  if (copy == e.shared.copies.end())
    return e.unsupported(op, "a tma copy inside a loop or a condition, outside of issue blocks");
  e.k.ifThen(e.b.CreateICmpEQ(e.k.threadId(), e.k.c32(0)), [&] {
    IndexEmitter::Scope scope(e.index);
    llvm::Value *barrier = e.k.c32(copy->second);
    e.k.arriveExpecting(barrier, tensorCopyBytes(e, op));
    emitTensorCopy(e, op, o, slotOffset(e, o.buffer, Expr()), barrier);
  });
  return llvm::Error::success();
}

void waitForCopies(Emission &e, const Op &op) {
  bool isAsync = false;
  std::erase_if(e.open, [&](const OpenCopy &copy) {
    if (!readsBuffer(op, copy.buffer))
      return false;
    if (copy.op->as<CopyOp>()->way == CopyWay::Tma)
      e.k.waitBarrier(e.k.c32(e.shared.copies.at(copy.op)), e.k.c32(0));
    else
      isAsync = true;
    return true;
  });
  if (!isAsync)
    return;
  e.k.copyAsyncWait(0);
  e.barrier();
}

} // namespace tilewright::emit
