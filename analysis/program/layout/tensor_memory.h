// Tensor memory: 128 rows of 512 cells of 32 bits, and which registers can be read from it.
//
// A layout takes an element to (row, column, part): a cell holds `packing` elements. Which register
// layouts are read from which of tensor memory is no table: warp w of four reaches rows 32w to
// 32w + 31 only, and tcgen05.ld and tcgen05.st work in *atoms* (PTX ISA, tcgen05 data movement
// shapes), of which one register of a warp is
//   32x32b    lane l has row l, column c
//   16x256b   lane l has row ⌊l/4⌋ + 8h, column c + 2·(l mod 4) + i; h and i by register
// A pair is legal iff each register of each warp is one atom. The atoms 16x64b and 16x128b are not
// known here.
#pragma once

#include "analysis/program/layout/tile_layout.h"

namespace tilewright::layout {

struct TensorCell {
  int64_t row, column, part;
  auto operator<=>(const TensorCell &) const = default;
};

class TensorMemoryLayout {
public:
  static constexpr int64_t rowCount = 128, columnCount = 512, cellBits = 32;

  /// Row i lies in row i. All: of two dims, `packing` neighbours of a row in a cell. Unsupported:
  /// more rows or columns than there are, sizes that halves or packing do not divide.
  static llvm::Expected<TensorMemoryLayout> rows(const TileDims &dims, int64_t packing = 1);
  /// 64 rows, the halves of whose columns lie in rows 0–15 and 16–31 of each warp's.
  static llvm::Expected<TensorMemoryLayout> halfLane(const TileDims &dims, int64_t packing = 1);
  /// 64 rows, the second half of whose columns lies in rows 64 to 127.
  static llvm::Expected<TensorMemoryLayout> m64Collective(const TileDims &dims,
                                                          int64_t packing = 1);

  TensorCell cellOf(int64_t row, int64_t column) const;
  int64_t packing() const { return elementsPerCell; }
  /// Columns that an allocation takes: the next power of two, at least 32.
  int64_t allocatedColumns() const;
  std::string_view name() const { return text; }

private:
  enum class Kind : uint8_t { Rows, HalfLane, M64Collective };
  static llvm::Expected<TensorMemoryLayout> make(Kind kind, std::string_view name,
                                                 const TileDims &dims, int64_t packing);
  Kind kind = Kind::Rows;
  std::string_view text;
  int64_t columns = 0, elementsPerCell = 1;
};

struct TensorMemoryAccess {
  std::vector<std::string> atoms; ///< "32x32b"; in order of the alphabet; none: not legal
  std::string reason;             ///< why not
  bool isLegal() const { return reason.empty(); }
};
TensorMemoryAccess tensorMemoryAccess(const TileLayout &registers, const TensorMemoryLayout &memory,
                                      unsigned elementBits);

} // namespace tilewright::layout
