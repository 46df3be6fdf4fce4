// sum.splits: every CTA of a tile leaves its partial sums in a workspace and counts itself; the
// last to arrive adds them in the order of the splits and goes on. The counter is back at 0 then.
#include "codegen/emit/emission.h"

namespace tilewright::emit {

namespace {

/// How the registers of the values lie in a CTA's slot: vectors of 16 bytes a thread, then what is
/// left in smaller ones.
struct Piece {
  size_t value, first, count; ///< registers of a value
  int64_t offset, bytes;      ///< in the slot, of thread 0; each thread's lies `bytes` further
};

struct SlotShape {
  std::vector<Piece> pieces;
  int64_t bytes = 0;
};

int64_t registerBytes(DType type) { return std::max<int64_t>(bitWidth(type), 32) / 8; }

SlotShape slotShape(const Emission &e, const SumSplitsOp &o) {
  SlotShape shape;
  for (size_t v = 0; v < o.values.size(); ++v) {
    int64_t width = registerBytes(e.p[o.values[v]].tile.type);
    size_t count = e.values[o.values[v].index].size();
    for (size_t first = 0; first < count;) {
      size_t taken = static_cast<size_t>(16 / width);
      while (first + taken > count)
        taken /= 2;
      int64_t bytes = static_cast<int64_t>(taken) * width;
      shape.pieces.push_back({v, first, taken, shape.bytes, bytes});
      shape.bytes += bytes * e.threads();
      first += taken;
    }
  }
  return shape;
}

/// In registers of at least 32 bits: sums are kept unrounded there.
llvm::Value *asSum(Emission &e, DType type, llvm::Value *value) {
  return isFloat(type) || bitWidth(type) >= 32 ? value : e.ops.convert(type, DType::S32, value);
}

llvm::Value *fromSum(Emission &e, DType type, llvm::Value *value) {
  return isFloat(type) || bitWidth(type) >= 32 ? e.ops.round(type, value)
                                               : e.ops.convert(DType::S32, type, value);
}

class Splits {
public:
  Splits(Emission &e, const SumSplitsOp &o, int64_t splits)
      : e(e), b(e.b), o(o), splits(splits), shape(slotShape(e, o)) {}

  void leave() {
    for (const Piece &piece : shape.pieces) {
      ValueId value = o.values[piece.value];
      const Tile &tile = e.p[value].tile;
      llvm::Value *vector = nullptr;
      for (size_t i = 0; i < piece.count; ++i) {
        llvm::Value *sum = asSum(e, tile.type, e.values[value.index][piece.first + i]);
        if (piece.count == 1) {
          vector = sum;
          break;
        }
        if (!vector)
          vector = llvm::PoisonValue::get(
              llvm::FixedVectorType::get(sum->getType(), static_cast<unsigned>(piece.count)));
        vector = b.CreateInsertElement(vector, sum, i);
      }
      e.k.storeGlobal(vector, *e.partials, addressOf(e.splitNumber, piece),
                      static_cast<unsigned>(piece.bytes));
    }
  }

  /// An i1: this CTA is the last of its tile.
  llvm::Value *arrive() {
    e.k.fenceGlobal();
    e.barrier();
    isFirst = b.CreateICmpEQ(e.k.threadId(), e.k.c32(0));
    counter = b.CreateMul(b.CreateZExt(e.tileNumber, e.k.i64), e.k.c64(4));
    if (!e.shared.arrivals) { // one warp: its first lane tells the others
      llvm::Value *before = e.k.choose(
          isFirst, [&] { return Values{e.k.atomicAdd(*e.counters, counter, e.k.c32(1))}; },
          [&] { return Values{e.k.c32(0)}; })[0];
      before = e.k.shuffleIndex(before, e.k.c32(0));
      e.barrier();
      return b.CreateICmpEQ(before, e.k.c32(splits - 1));
    }
    llvm::Value *word = e.k.c32(*e.shared.arrivals);
    e.k.ifThen(isFirst, [&] {
      llvm::Value *before = e.k.atomicAdd(*e.counters, counter, e.k.c32(1));
      e.k.storeShared(before, word, 4);
    });
    e.barrier();
    llvm::Value *before = e.k.loadShared(e.k.i32, word, 4);
    e.pending.read(e.shared.regions.arrivals->region);
    return b.CreateICmpEQ(before, e.k.c32(splits - 1));
  }

  /// The sums of all CTAs, by value.
  std::vector<Values> total() {
    e.k.fenceGlobal();
    const Values identities = this->identities();
    const int64_t together = slotsAtOnce(identities.size());
    Values sums = e.k.forLoop(e.k.c32(0), e.k.c32(splits), e.k.c32(together), identities,
                              [&](llvm::Value *split, const Values &before) {
                                std::vector<Values> slots;
                                for (int64_t i = 0; i < together; ++i)
                                  slots.push_back(slotOf(b.CreateAdd(split, e.k.c32(i))));
                                Values next = before;
                                for (const Values &slot : slots)
                                  add(slot, next);
                                return next;
                              });
    e.k.ifThen(isFirst, [&] { e.k.storeGlobal(e.k.c32(0), *e.counters, counter, 4); });
    std::vector<Values> result;
    auto next = sums.begin();
    for (ValueId value : o.values) {
      result.emplace_back();
      for (size_t i = 0; i < e.values[value.index].size(); ++i)
        result.back().push_back(fromSum(e, e.p[value].tile.type, *next++));
    }
    return result;
  }

private:
  bool isOfPairs() const { return program::resultCount(o.monoid) == 2; }

  Values identities() const {
    Values result;
    for (size_t v = 0; v < o.values.size(); ++v) {
      const DType type = e.p[o.values[v]].tile.type;
      llvm::Value *identity = isOfPairs() && v == 1 ? e.k.c32(INT32_MAX) // behind all others
                                                    : identityValue(e, o.monoid, type);
      result.insert(result.end(), e.values[o.values[v].index].size(), asSum(e, type, identity));
    }
    return result;
  }

  /// Adds a slot to the sums so far.
  void add(const Values &slot, Values &sums) {
    if (!isOfPairs()) {
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] = combine(e, o.monoid, typeOf(i), sums[i], slot[i]);
      return;
    }
    const size_t pairs = sums.size() / 2;
    for (size_t i = 0; i < pairs; ++i) {
      const Placed better =
          betterOf(e, o.monoid, typeOf(i), {sums[i], sums[pairs + i]}, {slot[i], slot[pairs + i]});
      sums[i] = better.value;
      sums[pairs + i] = better.place;
    }
  }

  llvm::Value *addressOf(llvm::Value *split, const Piece &piece) {
    auto wide = [&](llvm::Value *value) { return b.CreateZExt(value, e.k.i64); };
    llvm::Value *slot = b.CreateAdd(b.CreateMul(wide(e.tileNumber), e.k.c64(splits)), wide(split));
    llvm::Value *mine = b.CreateMul(wide(e.k.threadId()), e.k.c64(piece.bytes));
    return b.CreateAdd(b.CreateAdd(b.CreateMul(slot, e.k.c64(shape.bytes)), mine),
                       e.k.c64(piece.offset));
  }

  /// Slots that are on their way together, so that the last CTA does not wait for each.
  int64_t slotsAtOnce(size_t registers) const {
    constexpr int64_t mostSlots = 8, mostRegisters = 16;
    int64_t together = 1;
    while (together < mostSlots && splits % (together * 2) == 0 &&
           static_cast<int64_t>(registers) * together * 2 <= mostRegisters)
      together *= 2;
    return together;
  }

  /// The type in which a register of the sums is added up.
  DType typeOf(size_t at) const {
    size_t value = 0;
    while (at >= e.values[o.values[value].index].size())
      at -= e.values[o.values[value++].index].size();
    DType type = e.p[o.values[value]].tile.type;
    return isFloat(type) || bitWidth(type) >= 32 ? type : DType::S32;
  }

  /// What a CTA has left, by register.
  Values slotOf(llvm::Value *split) {
    std::vector<size_t> starts{0};
    for (ValueId value : o.values)
      starts.push_back(starts.back() + e.values[value.index].size());
    Values result(starts.back());
    for (const Piece &piece : shape.pieces) {
      const size_t start = starts[piece.value] + piece.first;
      llvm::Type *element = asSum(e, e.p[o.values[piece.value]].tile.type,
                                  e.values[o.values[piece.value].index][piece.first])
                                ->getType();
      auto count = static_cast<unsigned>(piece.count);
      llvm::Type *held = count == 1 ? element : llvm::FixedVectorType::get(element, count);
      llvm::Value *vector = e.k.loadGlobal(held, *e.partials, addressOf(split, piece),
                                           static_cast<unsigned>(piece.bytes));
      for (unsigned i = 0; i < count; ++i)
        result[start + i] = count == 1 ? vector : b.CreateExtractElement(vector, i);
    }
    return result;
  }

  Emission &e;
  llvm::IRBuilder<> &b;
  const SumSplitsOp &o;
  int64_t splits;
  SlotShape shape;
  llvm::Value *isFirst = nullptr, *counter = nullptr;
};

} // namespace

llvm::Error emitSplits(Emission &e, const Op &op, const SumSplitsOp &o,
                       const std::function<llvm::Error()> &rest) {
  int64_t splits = e.p.gridVariableOf(o.splitVar.variable())->count.constant();
  if (splits == 1) {
    for (size_t i = 0; i < o.values.size(); ++i)
      e.define(op.results[i], e.values[o.values[i].index]);
    return rest();
  }
  Splits sum(e, o, splits);
  sum.leave();
  llvm::Value *isLast = sum.arrive();
  llvm::Error error = llvm::Error::success();
  PendingReads before = e.pending;
  e.k.ifThen(isLast, [&] {
    IndexEmitter::Scope scope(e.index);
    std::vector<Values> totals = sum.total();
    for (size_t i = 0; i < o.values.size(); ++i)
      e.define(op.results[i], std::move(totals[i]));
    error = rest();
  });
  e.pending.unite(before);
  return error;
}

} // namespace tilewright::emit
