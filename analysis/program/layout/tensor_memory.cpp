#include "analysis/program/layout/tensor_memory.h"

#include "analysis/support/diag.h"

#include <bit>
#include <set>

namespace tilewright::layout {

llvm::Expected<TensorMemoryLayout> TensorMemoryLayout::make(Kind kind, std::string_view name,
                                                            const TileDims &dims, int64_t packing) {
  if (dims.size() != 2)
    return makeError(DiagClass::Unsupported, "tensor memory has two dims, the tile has {}",
                     dims.size());
  const int64_t rows = dims[0].extent, columns = dims[1].extent;
  const int64_t most = kind == Kind::Rows ? rowCount : rowCount / 2;
  const int64_t parts = kind == Kind::Rows ? 1 : 2; // of the columns
  if (rows > most)
    return makeError(DiagClass::Unsupported, "{} rows: {} has at most {}", rows, name, most);
  if (packing < 1 || columns % (parts * packing) != 0)
    return makeError(DiagClass::Unsupported, "{} columns are no multiple of {} x {} a cell",
                     columns, parts, packing);
  if (columns / parts / packing > columnCount)
    return makeError(DiagClass::Unsupported, "{} columns of cells: there are {}",
                     columns / parts / packing, columnCount);
  TensorMemoryLayout result;
  result.kind = kind;
  result.text = name;
  result.columns = columns / parts;
  result.elementsPerCell = packing;
  return result;
}

llvm::Expected<TensorMemoryLayout> TensorMemoryLayout::rows(const TileDims &dims, int64_t packing) {
  return make(Kind::Rows, "rows", dims, packing);
}
llvm::Expected<TensorMemoryLayout> TensorMemoryLayout::halfLane(const TileDims &dims,
                                                                int64_t packing) {
  return make(Kind::HalfLane, "half_lane", dims, packing);
}
llvm::Expected<TensorMemoryLayout> TensorMemoryLayout::m64Collective(const TileDims &dims,
                                                                     int64_t packing) {
  return make(Kind::M64Collective, "m64_collective", dims, packing);
}

TensorCell TensorMemoryLayout::cellOf(int64_t row, int64_t column) const {
  const int64_t half = column / columns, inHalf = column % columns;
  TensorCell cell{row, inHalf / elementsPerCell, inHalf % elementsPerCell};
  switch (kind) {
  case Kind::Rows:
    break;
  case Kind::HalfLane:
    cell.row = 32 * (row / 16) + 16 * half + row % 16;
    break;
  case Kind::M64Collective:
    cell.row = 64 * half + row;
    break;
  }
  return cell;
}

int64_t TensorMemoryLayout::allocatedColumns() const {
  constexpr uint64_t least = 32;
  return static_cast<int64_t>(
      std::bit_ceil(std::max(least, static_cast<uint64_t>(columns / elementsPerCell))));
}

namespace {

constexpr int64_t rowsOfWarp = 32;

/// The atom that one register of a warp's lanes is; empty: none.
std::string_view atomOf(std::span<const TensorCell> lanes) {
  const TensorCell first = lanes[0];
  bool isRowALane = first.row % rowsOfWarp == 0, isMatrix = first.row % 8 == 0;
  for (int64_t l = 0; l < static_cast<int64_t>(lanes.size()); ++l) {
    const TensorCell &cell = lanes[static_cast<size_t>(l)];
    isRowALane = isRowALane && cell.row == first.row + l && cell.column == first.column;
    isMatrix =
        isMatrix && cell.row == first.row + l / 4 && cell.column == first.column + 2 * (l % 4);
  }
  return isRowALane ? "32x32b" : isMatrix ? "16x256b" : "";
}

/// The cells of one warp's values.
class WarpCells {
public:
  WarpCells(const TileLayout &registers, const TensorMemoryLayout &memory, int64_t warp)
      : warp(warp) {
    for (int64_t r = 0; r < registers.registers(); ++r)
      for (int64_t l = 0; l < lanes; ++l) {
        std::vector<int64_t> at = registers.coordinates({warp, l, r});
        cells.push_back(memory.cellOf(at[0], at[1]));
      }
  }

  std::optional<int64_t> rowOutOfReach() const {
    for (const TensorCell &cell : cells)
      if (cell.row / rowsOfWarp != warp)
        return cell.row;
    return std::nullopt;
  }
  std::span<const TensorCell> lanesOf(int64_t r) const {
    return std::span(cells).subspan(static_cast<size_t>(r * lanes), lanes);
  }
  /// Is a value the part of its register's cell that its number says?
  bool isPacked(int64_t r, int64_t packing) const {
    std::span<const TensorCell> here = lanesOf(r), first = lanesOf(r - r % packing);
    for (size_t l = 0; l < lanes; ++l)
      if (here[l] != TensorCell{first[l].row, first[l].column, r % packing})
        return false;
    return true;
  }

private:
  static constexpr int64_t lanes = 32;
  int64_t warp;
  std::vector<TensorCell> cells; ///< by value, then lane
};

} // namespace

TensorMemoryAccess tensorMemoryAccess(const TileLayout &registers, const TensorMemoryLayout &memory,
                                      unsigned elementBits) {
  TensorMemoryAccess result;
  auto refuse = [&](std::string reason) {
    result.atoms.clear();
    result.reason = std::move(reason);
    return result;
  };
  const int64_t packing = memory.packing();
  if (packing * int64_t(elementBits) > TensorMemoryLayout::cellBits)
    return refuse(fmt::format("{} elements of {} bits do not fit a cell of {}", packing,
                              elementBits, TensorMemoryLayout::cellBits));
  if (packing > 1 && packing * int64_t(elementBits) != TensorMemoryLayout::cellBits)
    return refuse(fmt::format("{} elements of {} bits leave cells of {} part empty", packing,
                              elementBits, TensorMemoryLayout::cellBits));
  if (registers.rank() != 2 || registers.count(Hardware::Lane) != 32 ||
      registers.count(Hardware::Warp) != 4 || registers.isPadded())
    return refuse("tensor memory is read by the four warps of a warpgroup, in whole tiles of two "
                  "dims");
  if (registers.registers() % packing != 0)
    return refuse(fmt::format("{} elements a lane do not fill registers of {}",
                              registers.registers(), packing));
  std::set<std::string> atoms;
  for (int64_t w = 0; w < 4; ++w) {
    WarpCells warp(registers, memory, w);
    if (std::optional<int64_t> row = warp.rowOutOfReach())
      return refuse(fmt::format("warp {} holds row {} of tensor memory, it reaches {} to {}", w,
                                *row, rowsOfWarp * w, rowsOfWarp * w + rowsOfWarp - 1));
    for (int64_t r = 0; r < registers.registers(); ++r) {
      if (!warp.isPacked(r, packing))
        return refuse(fmt::format("register {} of warp {}: its {} elements are not those of one "
                                  "cell",
                                  r / packing, w, packing));
      std::string_view atom = atomOf(warp.lanesOf(r));
      if (atom.empty())
        return refuse(fmt::format("register {} of warp {}: its lanes are no atom", r / packing, w));
      atoms.emplace(atom);
    }
  }
  result.atoms.assign(atoms.begin(), atoms.end());
  return result;
}

} // namespace tilewright::layout
