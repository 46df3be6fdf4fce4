// Layouts of powers of two as matrices over F2, the numbers 0 and 1 with xor as sum.
//
// Where all extents and strides are powers of two, the row-major number of a place's element is the
// xor of one column for each bit of the place: that is what swizzles, bank conflicts and
// conversions are decided on, by elimination on some twenty columns. The view is derived from the
// digits, never kept. Running example, [i: 64, j: 16] of tile_layout.h: the register bits have the
// columns 1, 128, 8, the lane bits 2, 4, 16, 32, 64, the warp bits 256, 512.
#pragma once

#include "analysis/program/layout/tile_layout.h"

#include <cstdint>
#include <optional>

namespace tilewright::layout {

/// A subspace by an echelon basis: each vector has a leading bit of its own.
class Span {
public:
  Span() = default;
  explicit Span(std::span<const uint64_t> vectors) { insert(vectors); }
  /// Is it no sum of what was inserted before?
  bool insert(uint64_t vector);
  void insert(std::span<const uint64_t> vectors);
  /// What is left of a vector: 0 iff the span has it.
  uint64_t residue(uint64_t vector) const;
  bool contains(uint64_t vector) const { return residue(vector) == 0; }
  int rank() const { return count; }

private:
  std::array<uint64_t, 64> basis{}; ///< by leading bit
  int count = 0;
};
int rankOf(std::span<const uint64_t> vectors);

/// A column for each bit of the registers', lanes' and warps' numbers, lowest first; 0 for copies.
struct F2View {
  std::array<std::vector<uint64_t>, 3> columns;
  const std::vector<uint64_t> &of(Hardware axis) const {
    return columns[static_cast<size_t>(axis)];
  }
};
/// Nothing where an extent, a stride or a box is no power of two, or where the layout does not
/// cover its box: sums of digits could then carry.
std::optional<F2View> f2View(const TileLayout &layout);

/// Where values have to go from one layout of a tile to another one.
enum class MoveClass : uint8_t {
  Free,  ///< registers are renamed
  Warp,  ///< lanes of a warp exchange
  Block, ///< warps exchange
};
std::string_view toString(MoveClass move); ///< "free", "within warps", "through shared memory"

/// By inclusion of spans: with R that of the source's register columns it is free iff R has the
/// destination's register columns and the differences of lane and warp columns; within warps iff
/// the same holds of registers and lanes together. Layouts that are no powers of two: by
/// enumeration. Both cover the same tile and have as many lanes and warps; else Block.
MoveClass moveClass(const TileLayout &from, const TileLayout &to);
/// The same of views of layouts with one box.
MoveClass moveClass(const F2View &from, const F2View &to);
/// The same by enumeration alone, up to the elements of one warp at a time.
MoveClass moveClassByEnumeration(const TileLayout &from, const TileLayout &to);

} // namespace tilewright::layout
