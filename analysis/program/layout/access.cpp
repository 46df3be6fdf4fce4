#include "analysis/program/layout/access.h"

#include "analysis/support/diag.h"

#include <bit>

namespace tilewright::layout {

std::string_view toString(SharedAccess::Kind kind) {
  constexpr std::string_view names[] = {"free", "staggered", "conflict"};
  return names[static_cast<size_t>(kind)];
}

AddressTable::AddressTable(const TileLayout &layout, const SharedLayout &shared)
    : warpCount(layout.count(Hardware::Warp)), laneCount(layout.count(Hardware::Lane)),
      registerCount(layout.registers()) {
  bits.reserve(static_cast<size_t>(warpCount * laneCount * registerCount));
  const CoordinateTable coordinates(layout);
  std::vector<int64_t> at(layout.rank());
  for (int64_t w = 0; w < warpCount; ++w)
    for (int64_t l = 0; l < laneCount; ++l)
      for (int64_t r = 0; r < registerCount; ++r) {
        coordinates.at({w, l, r}, at);
        bool isInside = true;
        for (size_t d = 0; d < at.size(); ++d)
          isInside = isInside && at[d] < layout.dims()[d].extent;
        bits.push_back(isInside ? shared.bitAddress(at) : noAddress);
      }
}

namespace {

constexpr int64_t mostBits = 128; ///< that a lane takes at once

/// f(lane) of a staggered order.
struct LaneOrder {
  struct Part {
    int laneBit, orderBit;
  };
  std::vector<Part> parts;
  int64_t of(int64_t lane) const {
    int64_t result = 0;
    for (const Part &part : parts)
      result ^= (lane >> part.laneBit & 1) << part.orderBit;
    return result;
  }
};

/// Accesses of `vector` registers each.
class Accesses {
public:
  Accesses(const AddressTable &table, int64_t vector, unsigned bits)
      : table(table), vector(vector), width(vector * bits / 8) {}

  int64_t perLane() const { return table.registers() / vector; }

  BankConflicts one(int64_t warp, int64_t k, const LaneOrder &order) const {
    std::vector<int64_t> bytes(static_cast<size_t>(table.lanes()));
    for (int64_t l = 0; l < table.lanes(); ++l) {
      int64_t bit = table.at(warp, l, (k ^ order.of(l)) * vector);
      bytes[static_cast<size_t>(l)] = bit == noAddress ? noAddress : bit / 8;
    }
    return conflictsOf(bytes, width);
  }

  /// All accesses in the order of the registers.
  void count(SharedAccess &into) const {
    into.bytesPerLane = width;
    for (int64_t w = 0; w < table.warps(); ++w)
      for (int64_t k = 0; k < perLane(); ++k) {
        BankConflicts here = one(w, k, {});
        into.instructions += 1;
        into.passes += here.passes;
        into.leastPasses += here.leastPasses;
        if (here.degree <= into.degree)
          continue;
        into.degree = here.degree;
        into.witness = here.witness;
        into.bank = here.bank;
        into.witnessWarp = w;
        into.witnessRegister = k * vector;
      }
  }

  bool isFree(const LaneOrder &order) const {
    for (int64_t w = 0; w < table.warps(); ++w)
      for (int64_t k = 0; k < perLane(); ++k)
        if (one(w, k, order).degree > 1)
          return false;
    return true;
  }

  /// The first order without conflicts: of one bit of the lane, then of two.
  std::optional<LaneOrder> freeOrder(int mostBits) const {
    const auto count = static_cast<uint64_t>(perLane());
    if (!std::has_single_bit(count))
      return std::nullopt;
    const int orderBits = std::countr_zero(count), laneBits = 5;
    for (int l = 0; l < laneBits && mostBits >= 1; ++l)
      for (int k = 0; k < orderBits; ++k)
        if (LaneOrder order{{{l, k}}}; isFree(order))
          return order;
    for (int l = 0; l < laneBits && mostBits >= 2; ++l)
      for (int m = l + 1; m < laneBits; ++m)
        for (int k = 0; k < orderBits; ++k)
          for (int n = 0; n < orderBits; ++n)
            if (LaneOrder order{{{l, k}, {m, n}}}; k != n && isFree(order))
              return order;
    return std::nullopt;
  }

private:
  const AddressTable &table;
  int64_t vector, width;
};

/// Are all runs of `vector` registers consecutive and aligned?
bool isVector(const AddressTable &table, int64_t vector, int64_t bits) {
  if (table.registers() % vector != 0)
    return false;
  for (int64_t w = 0; w < table.warps(); ++w)
    for (int64_t l = 0; l < table.lanes(); ++l)
      for (int64_t r = 0; r < table.registers(); ++r) {
        int64_t first = table.at(w, l, r / vector * vector), here = table.at(w, l, r);
        bool isNext = first == noAddress
                          ? here == noAddress
                          : here == first + r % vector * bits && first % (vector * bits) == 0;
        if (!isNext)
          return false;
      }
  return true;
}

llvm::Expected<int64_t> vectorOf(const AddressTable &table, int64_t bits, int64_t wanted) {
  if (wanted * bits > mostBits)
    return makeError(DiagClass::Unsupported, "{} elements of {} bits are over {} bytes a lane",
                     wanted, bits, mostBits / 8);
  int64_t vector = 1;
  while (vector * 2 * bits <= mostBits && (wanted == 0 || vector * 2 <= wanted) &&
         isVector(table, vector * 2, bits))
    vector *= 2;
  if (vector < wanted)
    return makeError(DiagClass::Unsupported,
                     "the {} elements that a lane holds are not consecutive in shared memory",
                     wanted);
  if (vector * bits < 8)
    return makeError(DiagClass::Unsupported, "{} x {} bits are less than a byte", vector, bits);
  return vector;
}

} // namespace

llvm::Expected<SharedAccess> accessOf(const TileLayout &layout, const SharedLayout &shared,
                                      const AccessChoices &choices) {
  constexpr int64_t mostPlaces = int64_t(1) << 22; // threads together, copies included
  if (layout.threads() > mostPlaces / layout.registers())
    return makeError(DiagClass::BudgetSpent,
                     "{} threads hold {} values each: over {} are not looked at one by one",
                     layout.threads(), layout.registers(), mostPlaces);
  AddressTable table(layout, shared);
  const unsigned bits = shared.elementBits();
  llvm::Expected<int64_t> vector = vectorOf(table, bits, choices.vector);
  if (!vector)
    return vector.takeError();
  Accesses accesses(table, *vector, bits);
  SharedAccess result;
  accesses.count(result);
  if (result.degree <= 1)
    return result;
  result.kind = SharedAccess::Kind::Conflict;
  if (std::optional<LaneOrder> order = accesses.freeOrder(choices.mostStaggeredBits)) {
    result.kind = SharedAccess::Kind::Staggered;
    result.passes = result.leastPasses;
    result.selects = layout.registers() * bits / 32 * static_cast<int64_t>(order->parts.size());
  }
  return result;
}

} // namespace tilewright::layout
