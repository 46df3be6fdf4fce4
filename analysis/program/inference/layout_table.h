// Layouts and places in shared memory by number: each once, with what prices need of it.
#pragma once

#include "analysis/program/layout/f2.h"
#include "analysis/program/layout/shared_layout.h"
#include "analysis/program/layout/tile_layout.h"

#include <map>
#include <memory>

namespace tilewright::inference {

using layout::TileLayout;
using LayoutId = uint32_t;
using FormId = uint32_t;

/// A layout that covers its box, so that each element has a holder: along each dim a coordinate is
/// read in mixed radix over the strides.
struct LayoutEntry {
  struct Part {
    layout::Hardware of;
    int32_t dim;
    int64_t stride, extent, place; ///< place: what a value of the digit adds to the number
  };
  TileLayout layout;
  layout::CoordinateTable coordinates;
  std::optional<layout::F2View> view; ///< where the box is the tile
  std::string text;
  std::vector<Part> parts;                             ///< digits but copies
  std::vector<std::pair<int64_t, int64_t>> laneCopies; ///< extent, place
  int64_t registers, lanes, warps;
  int64_t elements; ///< of the tile
  int64_t registerCopies = 1, copiesOfLanes = 1, warpCopies = 1;

  /// The first holder of an element.
  layout::Place holderOf(std::span<const int64_t> at) const;
  bool isHeldBy(int64_t warp, std::span<const int64_t> at) const;
  bool isHeldBy(int64_t warp, int64_t lane, std::span<const int64_t> at) const;
  bool isInside(std::span<const int64_t> at) const;
};

/// A tile's place in shared memory.
struct SharedForm {
  std::vector<size_t> order; ///< of the tile's dims, slowest first
  layout::SharedLayout shared;
  std::string text;
  int64_t swizzle = 0, padElements = 0, permute = 0; ///< as of a program's buffer
  bool isLinear = false;
  /// Bit addresses of the elements whose row-major number is a power of two; where isLinear.
  std::vector<uint64_t> addressOfBit;
};

class LayoutTable {
public:
  LayoutId intern(TileLayout layout);
  const LayoutEntry &operator[](LayoutId id) const { return *entries[id]; }
  size_t size() const { return entries.size(); }

  /// Forms of a tile: rows in either order of the last two dims, with swizzles, padding, permuted
  /// chunks. In a fixed order.
  const std::vector<FormId> &formsOf(const layout::TileDims &dims, unsigned bits);
  /// A form of one's own, or the one of these that it is.
  FormId addForm(const layout::TileDims &dims, std::vector<size_t> order,
                 layout::SharedLayout shared, int64_t swizzle);
  const SharedForm &form(FormId id) const { return *forms[id]; }

private:
  std::vector<std::unique_ptr<LayoutEntry>> entries;
  std::map<std::string, LayoutId> byText;
  std::vector<std::unique_ptr<SharedForm>> forms;
  std::map<std::string, std::vector<FormId>> formsByTile;
};

} // namespace tilewright::inference
