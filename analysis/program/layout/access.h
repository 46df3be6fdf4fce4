// How the registers of a tile meet shared memory: width, passes, conflicts, staggered order.
//
// A lane takes as many consecutive registers at once as lie one behind the other, aligned, in
// shared memory, up to 16 bytes. Where that has conflicts, lanes may go through their accesses in
// another order, k xor f(lane) with f linear: each bit of the lane that f looks at costs one select
// a register.
#pragma once

#include "analysis/program/layout/banks.h"
#include "analysis/program/layout/shared_layout.h"
#include "analysis/program/layout/tile_layout.h"

#include <vector>

namespace tilewright::layout {

/// Bit addresses of all places, warps slowest, registers fastest; noAddress beyond the tile.
class AddressTable {
public:
  AddressTable(const TileLayout &layout, const SharedLayout &shared);
  int64_t at(int64_t warp, int64_t lane, int64_t reg) const {
    return bits[static_cast<size_t>((warp * laneCount + lane) * registerCount + reg)];
  }
  int64_t warps() const { return warpCount; }
  int64_t lanes() const { return laneCount; }
  int64_t registers() const { return registerCount; }

private:
  int64_t warpCount, laneCount, registerCount;
  std::vector<int64_t> bits;
};

struct AccessChoices {
  /// Registers a lane takes at once, no more and no less; 0: as many as lie one behind the other.
  int64_t vector = 0;
  /// Bits of the lane that a staggered order may look at: 0 to 2.
  int mostStaggeredBits = 2;
};

struct SharedAccess {
  enum class Kind : uint8_t { Free, Staggered, Conflict };
  Kind kind = Kind::Free;
  int64_t bytesPerLane = 0;
  int64_t instructions = 0;            ///< of all warps
  int64_t passes = 0, leastPasses = 0; ///< staggered: with the staggered order
  int64_t degree = 1;                  ///< of the plain order's worst access
  int64_t selects = 0;                 ///< a thread, of the staggered order
  /// Lanes of the plain order's worst access that want different words of a bank.
  std::optional<std::pair<int, int>> witness;
  int64_t witnessWarp = 0, witnessRegister = 0;
  int bank = 0;
};
std::string_view toString(SharedAccess::Kind kind); ///< "free", "staggered", "conflict"

/// Unsupported: less than a byte a lane, or a vector that is not consecutive in shared memory.
/// Both have the same dims and warps of 32 lanes.
llvm::Expected<SharedAccess> accessOf(const TileLayout &layout, const SharedLayout &shared,
                                      const AccessChoices &choices = {});

} // namespace tilewright::layout
