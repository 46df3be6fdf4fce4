// The catalogue: who holds which element, by hand and by enumeration of all instances.
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/testing/random_layouts.h"

using namespace tilewright;
using namespace tilewright::layout;
using namespace tilewright::layout::testing;

namespace {

TileLayout entry(std::string_view name, std::vector<int64_t> extents) {
  return valueOf(instantiate(name, namedDims(extents)));
}

std::vector<Place> holdersOf(std::string_view name, std::vector<int64_t> extents,
                             std::vector<int64_t> element) {
  return entry(name, std::move(extents)).holders(element);
}

} // namespace

// Facts 29 to 31 of the reference on Mosaic GPU's layouts.
TEST(Catalogue, HoldersAreThoseOfTheReference) {
  auto first = [](std::string_view name, std::vector<int64_t> extents,
                  std::vector<int64_t> element) {
    return holdersOf(name, std::move(extents), std::move(element)).at(0);
  };
  EXPECT_EQ(first("wgmma", {64, 16}, {37, 13}), (Place{2, 22, 5}));
  EXPECT_EQ(first("wgmma", {64, 16}, {16, 0}).warp, 1);
  EXPECT_EQ(first("wgmma", {64, 16}, {8, 0}), (Place{0, 0, 2}));
  EXPECT_EQ(first("wgmma_t", {64, 16}, {0, 1}).lane, 4);
  EXPECT_EQ(first("wgmma_t", {64, 16}, {0, 1}).reg % 2, 0);
  EXPECT_EQ(first("wgmma_t", {64, 16}, {1, 0}).lane, 0);
  EXPECT_EQ(first("wgmma_t", {64, 16}, {1, 0}).reg % 2, 1);
  EXPECT_EQ(first("tcgen05", {128, 16}, {37, 13}).warp, 1);
  EXPECT_EQ(first("tcgen05", {128, 16}, {37, 13}).lane, 22);
  EXPECT_EQ(first("tmem_native_2", {128, 16}, {37, 13}), (Place{1, 5, 13}));
  EXPECT_EQ(first("upcast_2x", {64, 16}, {0, 4}).lane, 2);
  EXPECT_EQ(first("upcast_2x", {64, 16}, {0, 8}).lane, 1);
  EXPECT_EQ(first("upcast_4x", {64, 32}, {0, 8}).lane, 1);
  EXPECT_EQ(first("wgmma_8bit", {64, 16}, {0, 4}).lane, 1);
  std::vector<int64_t> lanes;
  for (const Place &place : holdersOf("wgmma_row", {64}, {37})) {
    EXPECT_EQ(place.warp, 2);
    lanes.push_back(place.lane);
  }
  EXPECT_EQ(lanes, (std::vector<int64_t>{20, 21, 22, 23}));
  EXPECT_EQ(holdersOf("col", {16}, {13}).size(), 32u); // four warps, lanes 2, 6, …, 30
  for (const Place &place : holdersOf("col", {16}, {13}))
    EXPECT_EQ(place.lane % 4, 2);
}

TEST(Catalogue, RegistersAndVectors) {
  struct Case {
    std::string_view name;
    std::vector<int64_t> extents;
    int64_t registers, vector;
  };
  for (const Case &c :
       {Case{"wgmma", {64, 16}, 8, 2}, Case{"wgmma_8bit", {64, 32}, 16, 4},
        Case{"upcast_4x", {64, 64}, 32, 8}, Case{"tcgen05", {128, 16}, 16, 2},
        Case{"tmem_native_2", {128, 8}, 8, 8}, Case{"m64_collective_32", {64, 32}, 16, 2},
        Case{"mma_a_16", {64, 16}, 8, 2}, Case{"mma_c", {64, 8}, 4, 2}}) {
    TileLayout layout = entry(c.name, c.extents);
    EXPECT_EQ(layout.registers(), c.registers) << c.name;
    EXPECT_EQ(layout.vectorWidth(1), c.vector) << c.name;
  }
  EXPECT_EQ(entry("mma_b_16", {16, 8}).vectorWidth(0), 2);
  EXPECT_EQ(entry("mma_b_16", {16, 8}).registers(), 4);
}

TEST(Catalogue, AllInstancesCoverTheirTiles) {
  int instances = 0;
  for (const NestedTiling &tiling : registerCatalogue()) {
    const std::vector<int64_t> &base = tiling.tiles.front();
    std::vector<std::vector<int64_t>> shapes = {{}};
    for (int64_t size : base) {
      std::vector<std::vector<int64_t>> longer;
      for (const std::vector<int64_t> &shape : shapes)
        for (int64_t times : {1, 2, 3, 5}) {
          longer.push_back(shape);
          longer.back().push_back(size * times);
        }
      shapes = std::move(longer);
    }
    for (const std::vector<int64_t> &lead : {std::vector<int64_t>{}, {3}, {1, 2}})
      for (std::vector<int64_t> shape : shapes) {
        shape.insert(shape.begin(), lead.begin(), lead.end());
        TileLayout layout = entry(tiling.name, shape);
        ++instances;
        EXPECT_EQ(layout.fault(), "") << layout.str();
        std::vector<int64_t> held(static_cast<size_t>(layout.boxSize()), 0);
        for (int64_t flat : flatTableOf(layout))
          ++held[static_cast<size_t>(flat)];
        for (int64_t count : held)
          ASSERT_EQ(count, layout.copies()) << layout.str();
      }
  }
  EXPECT_EQ(instances, 636);
}

TEST(Catalogue, RefusesWithAReason) {
  auto reasonOf = [](llvm::Expected<TileLayout> made) {
    return made ? std::string("fine") : llvm::toString(made.takeError());
  };
  EXPECT_NE(reasonOf(instantiate("wgmna", namedDims(std::vector<int64_t>{64, 8})))
                .find("no layout is named 'wgmna'; there are wgmma"),
            std::string::npos);
  EXPECT_NE(reasonOf(instantiate("wgmma", namedDims(std::vector<int64_t>{60, 8})))
                .find("tiles of 64 do not divide the 60 along i"),
            std::string::npos);
  EXPECT_NE(reasonOf(instantiate("wgmma", namedDims(std::vector<int64_t>{64})))
                .find("of 2 dims, the tile has 1"),
            std::string::npos);
  TileLayout padded = valueOf(instantiate("wgmma", namedDims(std::vector<int64_t>{60, 14}), true));
  EXPECT_EQ(padded.str(), "[i: 60 in 64, j: 14 in 16] registers 2:1@j 2:8@i 2:8@j | lanes 4:2@j "
                          "8:1@i | warps 4:16@i");
}
