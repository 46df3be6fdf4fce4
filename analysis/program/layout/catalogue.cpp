#include "analysis/program/layout/catalogue.h"

#include "analysis/program/layout/images.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::layout {

const std::vector<NestedTiling> &registerCatalogue() {
  auto d = [](int dim) { return TiledDim{dim, 0}; };
  auto copies = [](int64_t n) { return TiledDim{0, n}; };
  static const std::vector<NestedTiling> all = {
      {"wgmma",
       "accumulator of wgmma; its left operand of 16 bits",
       {{64, 8}, {16, 8}, {8, 8}, {2}},
       {d(-7)},
       {d(-3), d(-2)},
       -1},
      {"wgmma_8bit",
       "left operand of 8-bit wgmma",
       {{64, 16}, {16, 16}, {8, 16}, {4}},
       {d(-7)},
       {d(-3), d(-2)},
       -1},
      {"upcast_2x",
       "8-bit source of a 16-bit left operand",
       {{64, 16}, {16, 16}, {8, 16}, {8}, {4}},
       {d(-8)},
       {d(-4), d(-2), d(-3)},
       -1},
      {"upcast_4x",
       "4-bit source of a 16-bit left operand",
       {{64, 32}, {16, 32}, {8, 32}, {8}},
       {d(-7)},
       {d(-3), d(-2)},
       -1},
      {"wgmma_t",
       "accumulator with pairs along the rows, for transposed stores",
       {{64, 8}, {16, 8}, {8, 8}, {2, 2}, {2, 1}},
       {d(-10)},
       {d(-6), d(-3), d(-5)},
       -2},
      {"tcgen05",
       "tensor memory read in 16x256b atoms, four warps of 32 rows",
       {{128, 8}, {32, 8}, {8, 8}, {2}},
       {d(-7)},
       {d(-3), d(-2)},
       -1},
      {"tcgen05_t",
       "the same with pairs along the rows",
       {{128, 8}, {32, 8}, {8, 8}, {2, 2}, {2, 1}},
       {d(-10)},
       {d(-6), d(-3), d(-5)},
       -2},
      {"wgmma_row",
       "a value a row of wgmma",
       {{64}, {16}, {8}, {1}},
       {d(-4)},
       {d(-2), copies(4)},
       -1},
      {"tcgen05_row",
       "a value a row of tcgen05",
       {{128}, {32}, {8}, {1}},
       {d(-4)},
       {d(-2), copies(4)},
       -1},
      {"col",
       "a value a column of wgmma and tcgen05",
       {{8}, {2}},
       {copies(4)},
       {copies(8), d(-2)},
       -1},
      {"tmem_native_2",
       "tensor memory read in 32x32b atoms: a row a lane",
       {{128, 2}, {32, 2}},
       {d(-4)},
       {d(-2)},
       -1},
      {"m64_collective_32",
       "tcgen05 of two CTAs, 128 rows: 2 x 2 warps, of 32 columns",
       {{64, 32}, {32, 16}, {8, 8}, {2}},
       {d(-6), d(-7)},
       {d(-3), d(-2)},
       -1},
      {"tma_indices", "row numbers of a TMA gather", {{16}, {4}}, {d(-2)}, {copies(32)}, -1},
      {"tma_indices_4", "the same of four rows", {{4}}, {copies(4)}, {copies(32)}, -1},
      {"mma_c",
       "accumulator of mma.sync, four warps along the rows",
       {{64, 8}, {16, 8}, {8, 8}, {2}},
       {d(-7)},
       {d(-3), d(-2)},
       -1},
      {"mma_a_16",
       "left operand of 16-bit mma.sync",
       {{64, 16}, {16, 8}, {8, 8}, {2}},
       {d(-7)},
       {d(-3), d(-2)},
       -1},
      {"mma_b_16",
       "right operand of 16-bit mma.sync, K x N",
       {{16, 8}, {8, 8}, {2, 1}},
       {copies(4)},
       {d(-3), d(-4)},
       -2},
  };
  return all;
}

const NestedTiling *findInCatalogue(std::string_view name) {
  const std::vector<NestedTiling> &all = registerCatalogue();
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const NestedTiling &tiling) { return tiling.name == name; });
  return found == all.end() ? nullptr : &*found;
}

namespace {

/// The tile's dims split by each tile in turn, slowest first.
llvm::Expected<Digits> splitDims(const NestedTiling &tiling, const TileDims &dims) {
  Digits split;
  for (size_t d = 0; d < dims.size(); ++d)
    split.push_back({dims[d].box, static_cast<int32_t>(d), 1});
  for (const std::vector<int64_t> &tile : tiling.tiles) {
    Digits inner;
    const size_t first = split.size() - tile.size();
    for (size_t n = 0; n < tile.size(); ++n) {
      Digit &outer = split[first + n];
      if (outer.extent % tile[n] != 0)
        return makeError(DiagClass::Unsupported, "{}: tiles of {} do not divide the {} along {}",
                         tiling.name, tile[n], outer.extent, dims[outer.dim].name);
      inner.push_back({tile[n], outer.dim, outer.stride});
      outer.extent /= tile[n];
      outer.stride *= tile[n];
    }
    split.insert(split.end(), inner.begin(), inner.end());
  }
  return split;
}

} // namespace

llvm::Expected<TileLayout> instantiate(const NestedTiling &tiling, TileDims dims, bool mayPad) {
  const std::vector<int64_t> &base = tiling.tiles.front();
  if (dims.size() < base.size())
    return makeError(DiagClass::Unsupported, "{} is of {} dims, the tile has {}", tiling.name,
                     base.size(), dims.size());
  for (size_t n = 0; n < base.size() && mayPad; ++n) {
    TileDim &dim = dims[dims.size() - base.size() + n];
    dim.box = (dim.box + base[n] - 1) / base[n] * base[n];
  }
  llvm::Expected<Digits> split = splitDims(tiling, dims);
  if (!split)
    return split.takeError();
  std::vector<bool> isUsed(split->size(), false);
  auto take = [&](int fromEnd) {
    size_t n = split->size() - static_cast<size_t>(-fromEnd);
    isUsed[n] = true;
    return (*split)[n];
  };
  auto takeAll = [&](const std::vector<TiledDim> &of) {
    Digits digits;
    for (size_t n = of.size(); n-- > 0;)
      digits.push_back(of[n].copies ? Digit{of[n].copies, Digit::noDim, 0} : take(of[n].dim));
    return digits;
  };
  Digits lanes = takeAll(tiling.lanes), warps = takeAll(tiling.warps);
  Digits registers = {take(tiling.vector)};
  for (size_t n = split->size(); n-- > 0;)
    if (!isUsed[n])
      registers.push_back((*split)[n]);
  return TileLayout::make(std::move(dims), std::move(registers), std::move(lanes),
                          std::move(warps));
}

llvm::Expected<TileLayout> instantiate(std::string_view name, TileDims dims, bool mayPad) {
  if (const NestedTiling *tiling = findInCatalogue(name))
    return instantiate(*tiling, std::move(dims), mayPad);
  std::string names;
  for (const NestedTiling &tiling : registerCatalogue())
    names += (names.empty() ? "" : ", ") + tiling.name;
  return makeError(DiagClass::BadInput, "no layout is named '{}'; there are {}", name, names);
}

llvm::Expected<TileLayout> strided(TileDims dims, int64_t threads, int64_t vector) {
  int64_t elements = 1;
  for (const TileDim &dim : dims)
    elements *= dim.extent;
  if (threads < 1 || vector < 1 || elements % (vector * threads) != 0)
    return makeError(DiagClass::Unsupported, "{} elements are no multiple of {} x {} threads",
                     elements, vector, threads);
  const int64_t lanes = std::min<int64_t>(threads, 32);
  llvm::Expected<TileLayout> flat =
      TileLayout::make({TileDim("flat", elements)},
                       {{vector, 0, 1}, {elements / (vector * threads), 0, vector * threads}},
                       {{lanes, 0, vector}}, {{threads / lanes, 0, vector * lanes}});
  if (!flat)
    return flat;
  return reshaped(*flat, std::move(dims));
}

} // namespace tilewright::layout
