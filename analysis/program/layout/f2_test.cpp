// F2: columns against places, classes of conversions against enumeration, ranks of general maps.
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/f2.h"
#include "analysis/program/layout/general_map.h"
#include "analysis/program/layout/testing/random_layouts.h"

#include <map>

using namespace tilewright;
using namespace tilewright::layout;
using namespace tilewright::layout::testing;

namespace {

/// Digits of 2, some of them in other places: free moves and moves within warps occur often.
TileLayout variant(const TileLayout &layout, Random &random) {
  std::array<Digits, 3> lists = inPieces(layout, random); // of powers of two: digits of 2
  const int64_t kind = random.in(0, 2);
  random.shuffle(lists[0]);
  if (kind >= 1)
    random.shuffle(lists[1]);
  if (kind == 2 && !lists[0].empty() && !lists[1].empty())
    std::swap(lists[0][0], lists[1][0]);
  return valueOf(TileLayout::make(layout.dims(), lists[0], lists[1], lists[2]));
}

} // namespace

TEST(F2, ColumnsGiveThePlaces) {
  Random random(6);
  for (int n = 0; n < 500; ++n) {
    TileLayout layout = randomLayoutOfPowers(random);
    std::optional<F2View> view = f2View(layout);
    ASSERT_TRUE(view);
    for (int k = 0; k < 20; ++k) {
      Place place{random.in(0, layout.count(Hardware::Warp) - 1),
                  random.in(0, layout.count(Hardware::Lane) - 1),
                  random.in(0, layout.registers() - 1)};
      uint64_t flat = 0;
      const int64_t numbers[] = {place.reg, place.lane, place.warp};
      for (size_t a = 0; a < 3; ++a)
        for (size_t b = 0; b < view->columns[a].size(); ++b)
          if (numbers[a] >> b & 1)
            flat ^= view->columns[a][b];
      EXPECT_EQ(static_cast<int64_t>(flat), layout.flatIndex(place)) << layout.str();
    }
  }
  EXPECT_FALSE(f2View(valueOf(TileLayout::make({TileDim("i", 6)}, {{6, 0, 1}}, {}, {}))));
}

TEST(F2, MoveClassesAreThoseOfEnumeration) {
  Random random(7);
  std::map<MoveClass, int> seen;
  for (int n = 0; n < 3'000; ++n) {
    TileLayout from = randomLayoutOfPowers(random);
    TileLayout to = random.chance(80) ? variant(from, random) : randomLayoutOfPowers(random);
    if (from.dims() != to.dims())
      continue;
    ASSERT_EQ(moveClass(from, to), moveClassByEnumeration(from, to)) << from.str() << "\n"
                                                                     << to.str();
    ++seen[moveClass(from, to)];
  }
  EXPECT_GT(seen[MoveClass::Free], 500);
  EXPECT_GT(seen[MoveClass::Warp], 500);
  EXPECT_GT(seen[MoveClass::Block], 0);
}

TEST(F2, MovesOfTheCatalogue) {
  auto layout = [](std::string_view name, std::vector<int64_t> extents) {
    return valueOf(instantiate(name, namedDims(extents)));
  };
  EXPECT_EQ(moveClass(layout("wgmma", {64, 32}), layout("wgmma_t", {64, 32})), MoveClass::Warp);
  EXPECT_EQ(moveClass(layout("upcast_2x", {64, 32}), layout("wgmma", {64, 32})), MoveClass::Warp);
  EXPECT_EQ(moveClass(layout("wgmma", {64, 32}), layout("mma_a_16", {64, 32})), MoveClass::Free);
  EXPECT_EQ(moveClass(layout("tcgen05", {128, 32}), layout("wgmma", {128, 32})), MoveClass::Block);
  // Odd sizes, and other threads.
  EXPECT_EQ(moveClass(layout("wgmma", {192, 24}), layout("wgmma_t", {192, 24})), MoveClass::Warp);
  EXPECT_EQ(moveClass(layout("wgmma", {64, 8}),
                      valueOf(strided(namedDims(std::vector<int64_t>{64, 8}), 64, 2))),
            MoveClass::Block);
}

TEST(GeneralMap, DigitsAreInjectiveIffBijective) {
  Random random(8);
  ExprContext context;
  int yes = 0, no = 0;
  for (int n = 0; n < 300; ++n) {
    TileLayout layout = randomLayout(random, random.chance(60));
    MapAnswer answer = isInjective(layout.toIndexMap(context));
    std::vector<Code> table = tableOf(layout);
    std::sort(table.begin(), table.end());
    bool isOnce = std::adjacent_find(table.begin(), table.end()) == table.end();
    EXPECT_EQ(answer.verdict, isOnce ? MapVerdict::Injective : MapVerdict::NotInjective);
    (isOnce ? yes : no) += 1;
    if (!isOnce) {
      EXPECT_EQ(layout.coordinates({answer.first[0], answer.first[1], answer.first[2]}),
                layout.coordinates({answer.second[0], answer.second[1], answer.second[2]}));
    }
  }
  EXPECT_GT(yes, 50);
  EXPECT_GT(no, 50);
}

// tilelang #2883: a fragment of 64 x 8192 elements over 128 threads, which its prover gave up on.
TEST(GeneralMap, OfHalfAMillionPointsInThreeWays) {
  std::vector<int64_t> extents = {64, 8192};
  TileLayout layout = valueOf(strided(namedDims(extents), 128, 8));
  EXPECT_TRUE(layout.isBijective());
  std::vector<uint64_t> columns;
  const std::optional<F2View> view = f2View(layout);
  for (const std::vector<uint64_t> &of : view->columns)
    columns.insert(columns.end(), of.begin(), of.end());
  EXPECT_EQ(rankOf(columns), 19);
  ExprContext context;
  Expr flat = context.dim(0) * 8192 + context.dim(1);
  IndexMap owner = IndexMap::overExtents(
      context, extents, {flat.floorDiv(8).mod(128), flat.floorDiv(1024) * 8 + flat.mod(8)});
  MapBudget onlyZ3;
  onlyZ3.maxPoints = 0;
  MapAnswer proved = isInjective(owner, onlyZ3);
  EXPECT_EQ(proved.verdict, MapVerdict::Injective) << proved.reason;
  IndexMap wrong =
      IndexMap::overExtents(context, extents, {flat.floorDiv(8).mod(128), flat.floorDiv(1024)});
  MapAnswer found = isInjective(wrong, onlyZ3);
  EXPECT_EQ(found.verdict, MapVerdict::NotInjective) << found.reason;
  MapBudget none;
  none.maxPoints = 0;
  none.rlimit = 1;
  EXPECT_EQ(isInjective(owner, none).verdict, MapVerdict::Unknown);
}
