// How the catalogue's layouts meet tiles of 128 x 128 elements in shared memory: 72 rows.
//
// A cell is free, stag(gered by lanes), conf(lict) with its degree, or "-": no access of that kind.
// `vector`: as wide as the layout's own vector, one bit of the lane staggered, as Mosaic GPU has
// them (150 of its cells are known, all of them here); `wide`: as wide as registers and memory
// allow, two bits.
#include "analysis/program/layout/access.h"
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/testing/random_layouts.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::layout;
using namespace tilewright::layout::testing;

namespace {

struct Row {
  std::string_view name;
  unsigned bits;
  bool isWide;
  /// Tiles with swizzles 128, 64, 32, none; plain rows; transposed tiles with the same swizzles.
  std::array<std::string_view, 4> tiled;
  std::string_view plain;
  std::array<std::string_view, 4> transposed;
};

// clang-format off
constexpr Row table[] = {
    {"wgmma", 4, false, {"free", "free", "free", "free"}, "conf4", {"-", "-", "-", "-"}},
    {"wgmma", 8, false, {"free", "free", "free", "free"}, "conf8", {"-", "-", "-", "-"}},
    {"wgmma", 16, false, {"free", "free", "free", "free"}, "conf8", {"-", "-", "-", "-"}},
    {"wgmma", 32, false, {"stag", "stag", "free", "conf2"}, "conf4", {"-", "-", "-", "-"}},
    {"tcgen05", 4, false, {"free", "free", "free", "free"}, "conf4", {"-", "-", "-", "-"}},
    {"tcgen05", 8, false, {"free", "free", "free", "free"}, "conf8", {"-", "-", "-", "-"}},
    {"tcgen05", 16, false, {"free", "free", "free", "free"}, "conf8", {"-", "-", "-", "-"}},
    {"tcgen05", 32, false, {"stag", "stag", "free", "conf2"}, "conf4", {"-", "-", "-", "-"}},
    {"m64_collective_32", 4, false, {"free", "free", "free", "free"}, "conf4", {"-", "-", "-", "-"}},
    {"m64_collective_32", 8, false, {"free", "free", "free", "free"}, "conf8", {"-", "-", "-", "-"}},
    {"m64_collective_32", 16, false, {"free", "free", "free", "free"}, "conf8", {"-", "-", "-", "-"}},
    {"m64_collective_32", 32, false, {"stag", "stag", "free", "conf2"}, "conf4", {"-", "-", "-", "-"}},
    {"wgmma_8bit", 4, false, {"free", "free", "free", "free"}, "conf4", {"-", "-", "-", "-"}},
    {"wgmma_8bit", 8, false, {"free", "free", "free", "free"}, "conf8", {"-", "-", "-", "-"}},
    {"wgmma_8bit", 16, false, {"stag", "stag", "free", "conf2"}, "conf4", {"-", "-", "-", "-"}},
    {"wgmma_8bit", 32, false, {"stag", "free", "conf2", "conf4"}, "stag", {"-", "-", "-", "-"}},
    {"upcast_2x", 4, false, {"free", "free", "free", "free"}, "conf4", {"-", "-", "-", "-"}},
    {"upcast_2x", 8, false, {"free", "free", "free", "free"}, "conf8", {"-", "-", "-", "-"}},
    {"upcast_2x", 16, false, {"stag", "stag", "free", "conf2"}, "conf4", {"-", "-", "-", "-"}},
    {"upcast_2x", 32, false, {"stag", "free", "conf2", "conf4"}, "stag", {"-", "-", "-", "-"}},
    {"upcast_4x", 4, false, {"free", "free", "free", "free"}, "conf4", {"-", "-", "-", "-"}},
    {"upcast_4x", 8, false, {"stag", "stag", "free", "conf2"}, "conf4", {"-", "-", "-", "-"}},
    {"upcast_4x", 16, false, {"stag", "free", "conf2", "conf4"}, "stag", {"-", "-", "-", "-"}},
    {"upcast_4x", 32, false, {"-", "-", "-", "-"}, "-", {"-", "-", "-", "-"}},
    {"tmem_native_2", 4, false, {"conf4", "conf4", "conf4", "conf4"}, "conf16", {"-", "-", "-", "-"}},
    {"tmem_native_2", 8, false, {"conf4", "conf4", "conf4", "conf4"}, "conf32", {"-", "-", "-", "-"}},
    {"tmem_native_2", 16, false, {"conf4", "conf4", "conf4", "conf4"}, "conf32", {"-", "-", "-", "-"}},
    {"tmem_native_2", 32, false, {"stag", "stag", "stag", "stag"}, "conf16", {"-", "-", "-", "-"}},
    {"wgmma_t", 4, false, {"-", "-", "-", "-"}, "-", {"-", "free", "free", "free"}},
    {"wgmma_t", 8, false, {"-", "-", "-", "-"}, "-", {"free", "free", "free", "free"}},
    {"wgmma_t", 16, false, {"-", "-", "-", "-"}, "-", {"free", "free", "free", "free"}},
    {"wgmma_t", 32, false, {"-", "-", "-", "-"}, "-", {"free", "free", "free", "free"}},
    {"tcgen05_t", 4, false, {"-", "-", "-", "-"}, "-", {"-", "free", "free", "free"}},
    {"tcgen05_t", 8, false, {"-", "-", "-", "-"}, "-", {"free", "free", "free", "free"}},
    {"tcgen05_t", 16, false, {"-", "-", "-", "-"}, "-", {"free", "free", "free", "free"}},
    {"tcgen05_t", 32, false, {"-", "-", "-", "-"}, "-", {"free", "free", "free", "free"}},
    {"wgmma", 4, true, {"free", "free", "free", "free"}, "stag", {"-", "-", "-", "-"}},
    {"wgmma", 8, true, {"free", "free", "free", "free"}, "conf8", {"free", "free", "free", "free"}},
    {"wgmma", 16, true, {"free", "free", "free", "free"}, "conf8", {"free", "free", "free", "free"}},
    {"wgmma", 32, true, {"stag", "stag", "free", "conf2"}, "stag", {"free", "stag", "stag", "stag"}},
    {"tcgen05", 4, true, {"free", "free", "free", "free"}, "stag", {"-", "-", "-", "-"}},
    {"tcgen05", 8, true, {"free", "free", "free", "free"}, "conf8", {"free", "free", "free", "free"}},
    {"tcgen05", 16, true, {"free", "free", "free", "free"}, "conf8", {"free", "free", "free", "free"}},
    {"tcgen05", 32, true, {"stag", "stag", "free", "conf2"}, "stag", {"free", "stag", "stag", "stag"}},
    {"m64_collective_32", 4, true, {"free", "free", "free", "free"}, "stag", {"-", "-", "-", "-"}},
    {"m64_collective_32", 8, true, {"free", "free", "free", "free"}, "conf8", {"free", "free", "free", "free"}},
    {"m64_collective_32", 16, true, {"free", "free", "free", "free"}, "conf8", {"free", "free", "free", "free"}},
    {"m64_collective_32", 32, true, {"stag", "stag", "free", "conf2"}, "stag", {"free", "stag", "stag", "stag"}},
    {"wgmma_8bit", 4, true, {"free", "free", "free", "free"}, "stag", {"-", "-", "-", "-"}},
    {"wgmma_8bit", 8, true, {"free", "free", "free", "free"}, "conf8", {"stag", "stag", "stag", "stag"}},
    {"wgmma_8bit", 16, true, {"stag", "stag", "free", "conf2"}, "stag", {"stag", "stag", "stag", "stag"}},
    {"wgmma_8bit", 32, true, {"stag", "free", "conf2", "conf4"}, "stag", {"stag", "stag", "stag", "stag"}},
    {"upcast_2x", 4, true, {"free", "free", "free", "free"}, "stag", {"-", "-", "-", "-"}},
    {"upcast_2x", 8, true, {"free", "free", "free", "free"}, "conf8", {"stag", "stag", "stag", "stag"}},
    {"upcast_2x", 16, true, {"stag", "stag", "free", "conf2"}, "stag", {"stag", "stag", "stag", "stag"}},
    {"upcast_2x", 32, true, {"stag", "free", "conf2", "conf4"}, "stag", {"stag", "stag", "stag", "stag"}},
    {"upcast_4x", 4, true, {"free", "free", "free", "free"}, "stag", {"-", "-", "-", "-"}},
    {"upcast_4x", 8, true, {"stag", "stag", "free", "conf2"}, "stag", {"stag", "stag", "stag", "stag"}},
    {"upcast_4x", 16, true, {"stag", "free", "conf2", "conf4"}, "stag", {"stag", "stag", "stag", "stag"}},
    {"upcast_4x", 32, true, {"free", "stag", "conf4", "conf4"}, "stag", {"stag", "stag", "stag", "conf8"}},
    {"tmem_native_2", 4, true, {"free", "free", "free", "free"}, "stag", {"-", "-", "-", "-"}},
    {"tmem_native_2", 8, true, {"free", "free", "free", "free"}, "conf8", {"free", "free", "free", "stag"}},
    {"tmem_native_2", 16, true, {"free", "free", "free", "free"}, "conf8", {"free", "free", "stag", "stag"}},
    {"tmem_native_2", 32, true, {"free", "free", "free", "free"}, "conf8", {"free", "stag", "stag", "conf8"}},
    {"wgmma_t", 4, true, {"-", "-", "-", "-"}, "-", {"-", "free", "free", "free"}},
    {"wgmma_t", 8, true, {"free", "free", "free", "free"}, "stag", {"free", "free", "free", "free"}},
    {"wgmma_t", 16, true, {"free", "free", "free", "free"}, "stag", {"free", "free", "free", "free"}},
    {"wgmma_t", 32, true, {"free", "stag", "stag", "stag"}, "stag", {"free", "free", "free", "free"}},
    {"tcgen05_t", 4, true, {"-", "-", "-", "-"}, "-", {"-", "free", "free", "free"}},
    {"tcgen05_t", 8, true, {"free", "free", "free", "free"}, "stag", {"free", "free", "free", "free"}},
    {"tcgen05_t", 16, true, {"free", "free", "free", "free"}, "stag", {"free", "free", "free", "free"}},
    {"tcgen05_t", 32, true, {"free", "stag", "stag", "stag"}, "stag", {"free", "free", "free", "free"}},
};
// clang-format on

int64_t vectorOf(std::string_view name) {
  return name == "upcast_4x" ? 8 : name == "wgmma_8bit" || name == "upcast_2x" ? 4 : 2;
}

std::string cellOf(const Row &row, int64_t swizzle, bool isTiled, bool isTransposed) {
  std::vector<int64_t> extents = {128, 128};
  const int64_t width = 8 * (swizzle ? swizzle : 16) / row.bits;
  if (!isTransposed && extents[1] % width != 0) // of 4 bits: a tile is 256 wide
    extents[1] = width;
  NestedTiling tiling = *findInCatalogue(row.name);
  if (row.name == "m64_collective_32") { // its tile is as wide as the array
    tiling.tiles[0][1] = extents[1];
    tiling.tiles[1][1] = extents[1] / 2;
  }
  llvm::Expected<SharedLayout> shared =
      isTiled ? SharedLayout::tiled(namedDims(extents), row.bits, swizzle, isTransposed)
              : SharedLayout::rows(namedDims(extents), row.bits, 0, swizzle);
  if (!shared) {
    llvm::consumeError(shared.takeError());
    return "-";
  }
  AccessChoices choices;
  choices.vector = row.isWide ? 0 : vectorOf(row.name);
  choices.mostStaggeredBits = row.isWide ? 2 : 1;
  llvm::Expected<SharedAccess> access =
      accessOf(valueOf(instantiate(tiling, namedDims(extents))), *shared, choices);
  if (!access) {
    llvm::consumeError(access.takeError());
    return "-";
  }
  if (access->kind == SharedAccess::Kind::Conflict)
    return fmt::format("conf{}", access->degree);
  return access->kind == SharedAccess::Kind::Free ? "free" : "stag";
}

} // namespace

TEST(BankTable, IsThatOfTheReference) {
  constexpr int64_t swizzles[] = {128, 64, 32, 0};
  for (const Row &row : table) {
    std::string what = fmt::format("{} {} bits {}", row.name, row.bits, row.isWide);
    for (size_t n = 0; n < 4; ++n) {
      EXPECT_EQ(cellOf(row, swizzles[n], true, false), row.tiled[n]) << what << " " << swizzles[n];
      EXPECT_EQ(cellOf(row, swizzles[n], true, true), row.transposed[n])
          << what << " transposed " << swizzles[n];
    }
    EXPECT_EQ(cellOf(row, 0, false, false), row.plain) << what;
  }
}
