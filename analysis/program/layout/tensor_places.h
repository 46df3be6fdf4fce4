// Where the elements of an access to a tensor lie, in one CTA and step.
#pragma once

#include "analysis/program/layout/banks.h"
#include "analysis/program/layout/tile_layout.h"
#include "analysis/program/program.h"

#include <functional>

namespace tilewright::layout {

/// What stands in an index that is read at run time.
enum class RunTimeIndices : uint8_t {
  Refused,
  Distinct, ///< elements of an index tile have indices of their own, one after the other
};

struct PlaceOptions {
  RunTimeIndices indices = RunTimeIndices::Refused;
  /// CTA and loop variables; null, and those that it has no number for: 0.
  const Assignment *where = nullptr;
};

class TensorPlaces {
public:
  /// Unsupported: an index without a number, or more elements than are looked at one by one.
  static llvm::Expected<TensorPlaces> of(const program::Program &program,
                                         const program::Access &access,
                                         const program::AxisSet &axes,
                                         const PlaceOptions &options = {});

  unsigned elementBits() const { return bits; }
  /// Elements from the tensor's start by row-major number in the tile; noAddress: does not count.
  const std::vector<int64_t> &all() const { return places; }
  int64_t at(std::span<const int64_t> lanes) const;
  /// Elements that count.
  int64_t count() const { return counted; }
  /// Of the elements that count, each once.
  const Sectors &least() const { return leastSectors; }
  /// Neighbours that a lane takes at once, up to 16 bytes: registers that lie one behind the other,
  /// aligned in all CTAs and steps, all of which count or none. `warps`: that are looked at.
  int64_t vectorOf(const TileLayout &layout, std::span<const int64_t> warps) const;
  /// What an instruction of each warp and vector touches: visit(sectors) for each.
  void forEachAccess(const TileLayout &layout, int64_t vector, std::span<const int64_t> warps,
                     const std::function<void(const Sectors &)> &visit) const;

private:
  class Held;

  unsigned bits = 8;
  int64_t counted = 0;
  int64_t alignment = 0; ///< elements, of other CTAs and steps; 0: any
  std::vector<int64_t> extents, places;
  Sectors leastSectors;
};

} // namespace tilewright::layout
