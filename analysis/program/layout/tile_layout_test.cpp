// Decisions on digits against enumeration, on random layouts; normal form, equality, bijectivity.
#include "analysis/program/layout/testing/random_layouts.h"

using namespace tilewright;
using namespace tilewright::layout;
using namespace tilewright::layout::testing;

namespace {

/// Has every element of the box as many holders as there are copies?
bool coversByCounting(const TileLayout &layout) {
  std::vector<int64_t> holders(static_cast<size_t>(layout.boxSize()), 0);
  std::vector<int64_t> at(layout.rank());
  for (Code code : tableOf(layout)) {
    for (size_t d = layout.rank(); d-- > 0; code /= 65'536) {
      at[d] = code % 65'536;
      if (at[d] >= layout.dims()[d].box)
        return false;
    }
    ++holders[static_cast<size_t>(layout.flatIndex(at))];
  }
  return std::all_of(holders.begin(), holders.end(),
                     [&](int64_t count) { return count == layout.copies(); });
}

TileLayout accumulator() {
  return valueOf(TileLayout::make(namedDims(std::vector<int64_t>{64, 16}),
                                  {{2, 1, 1}, {2, 0, 8}, {2, 1, 8}}, {{4, 1, 2}, {8, 0, 1}},
                                  {{4, 0, 16}}));
}

} // namespace

TEST(TileLayout, OfTheAccumulator) {
  TileLayout layout = accumulator();
  EXPECT_EQ(layout.str(), "[i: 64, j: 16] registers 2:1@j 2:8@i 2:8@j | lanes 4:2@j 8:1@i | warps "
                          "4:16@i");
  EXPECT_EQ(layout.fault(), "");
  EXPECT_TRUE(layout.isBijective());
  EXPECT_EQ(layout.registers(), 8);
  EXPECT_EQ(layout.threads(), 128);
  EXPECT_EQ(layout.vectorWidth(1), 2);
  EXPECT_EQ(layout.vectorWidth(0), 1);
  for (int64_t w = 0; w < 4; ++w)
    for (int64_t l = 0; l < 32; ++l)
      for (int64_t r = 0; r < 8; ++r)
        EXPECT_EQ(layout.coordinates({w, l, r}),
                  (std::vector<int64_t>{16 * w + l / 4 + 8 * (r / 2 % 2),
                                        2 * (l % 4) + r % 2 + 8 * (r / 4)}));
  std::vector<int64_t> element = {37, 13};
  EXPECT_EQ(layout.holders(element), (std::vector<Place>{{2, 22, 5}}));
}

TEST(TileLayout, SaysWhichDigitIsWrong) {
  auto faultOf = [](Digits registers, Digits lanes) {
    return valueOf(TileLayout::make({TileDim("i", 8)}, std::move(registers), std::move(lanes), {}))
        .fault();
  };
  EXPECT_EQ(faultOf({{2, 0, 1}}, {{2, 0, 4}}),
            "i: a lane digit of 2 values has stride 4 where 2 is next: elements would have no "
            "holder");
  EXPECT_EQ(faultOf({{4, 0, 1}}, {{2, 0, 2}}),
            "i: a lane digit of 2 values has stride 2 where 4 is next: elements would have two "
            "holders");
  EXPECT_EQ(faultOf({{2, 0, 1}}, {{2, 0, 2}}), "i: digits cover 4 of 8 elements");
}

TEST(TileLayout, RefusesWhatIsNone) {
  auto errorOf = [](TileDims dims, Digits registers) {
    llvm::Expected<TileLayout> made =
        TileLayout::make(std::move(dims), std::move(registers), {}, {});
    return made ? std::string("fine") : llvm::toString(made.takeError());
  };
  EXPECT_NE(errorOf({TileDim("i", 0)}, {}).find("at least 1"), std::string::npos);
  EXPECT_NE(errorOf({TileDim("i", 4, 2)}, {}).find("cover 2 of the 4"), std::string::npos);
  EXPECT_NE(errorOf({TileDim("i", 4)}, {{0, 0, 1}}).find("0 values"), std::string::npos);
  EXPECT_NE(errorOf({TileDim("i", 4)}, {{2, 0, -1}}).find("-1 apart"), std::string::npos);
  EXPECT_NE(errorOf({TileDim("i", 4)}, {{2, 3, 1}}).find("dim 3 of 1"), std::string::npos);
  EXPECT_NE(errorOf({TileDim("i", 4)}, {{int64_t(1) << 40, 0, 1}}).find("more than"),
            std::string::npos);
  EXPECT_NE(
      errorOf({TileDim("i", int64_t(1) << 40), TileDim("j", int64_t(1) << 40)}, {}).find("at most"),
      std::string::npos);
}

TEST(TileLayout, DecidesAsEnumerationDoes) {
  Random random(1);
  int right = 0, wrong = 0, same = 0, different = 0;
  for (int n = 0; n < 10'000; ++n) {
    TileLayout layout = randomLayout(random, random.chance(60));
    const bool covers = coversByCounting(layout);
    ASSERT_EQ(layout.fault().empty(), covers) << layout.str() << "\n" << layout.fault();
    (covers ? right : wrong) += 1;
    std::vector<Code> table = tableOf(layout);
    for (int k = 0; k < 8; ++k) { // a place is where the table has it
      const int64_t at = random.in(0, static_cast<int64_t>(table.size()) - 1);
      const int64_t regs = layout.registers(), lanes = layout.count(Hardware::Lane);
      EXPECT_EQ(codeOf(layout.coordinates({at / regs / lanes, at / regs % lanes, at % regs})),
                table[static_cast<size_t>(at)]);
    }
    std::array<Digits, 3> pieces = inPieces(layout, random);
    ASSERT_EQ(valueOf(TileLayout::make(layout.dims(), pieces[0], pieces[1], pieces[2])), layout);
    for (Digits &digits : pieces)
      random.shuffle(digits);
    TileLayout other = valueOf(TileLayout::make(layout.dims(), pieces[0], pieces[1], pieces[2]));
    const bool isSame = tableOf(other) == table;
    ASSERT_EQ(other == layout, isSame) << layout.str() << "\n" << other.str();
    (isSame ? same : different) += 1;
  }
  // All outcomes occur often.
  EXPECT_GT(right, 5'000);
  EXPECT_GT(wrong, 2'000);
  EXPECT_GT(same, 500);
  EXPECT_GT(different, 2'000);
}

TEST(TileLayout, IsAnIndexMap) {
  Random random(2);
  ExprContext context;
  for (int n = 0; n < 200; ++n) {
    TileLayout layout = randomLayout(random);
    IndexMap map = layout.toIndexMap(context);
    for (int k = 0; k < 20; ++k) {
      Place place{random.in(0, layout.count(Hardware::Warp) - 1),
                  random.in(0, layout.count(Hardware::Lane) - 1),
                  random.in(0, layout.registers() - 1)};
      Assignment point;
      point.set(context.dim(0), place.warp);
      point.set(context.dim(1), place.lane);
      point.set(context.dim(2), place.reg);
      EXPECT_EQ(map.evaluate(point), layout.coordinates(place)) << layout.str();
    }
  }
}

// Of a tile program's digits no number is computed with before it is looked at.
TEST(TileLayout, DigitsOfAnyNumbersAreRefused) {
  ExprContext context;
  const std::vector<program::AxisId> axes = {program::AxisId{0}};
  const int64_t low = std::numeric_limits<int64_t>::min(), high = -(low + 1);
  for (int64_t extent : {low, int64_t(-1), int64_t(4), high})
    for (int64_t stride : {low, low / 2, int64_t(-3), int64_t(1), high / 2, high}) {
      if (extent == 4 && stride == 1)
        continue;
      program::Layout layout;
      layout.registers = {{axes[0], context.constant(extent), context.constant(stride)}};
      auto made = TileLayout::of(layout, axes, namedDims(std::vector<int64_t>{4}));
      EXPECT_FALSE(made) << extent << " " << stride;
      llvm::consumeError(made.takeError());
    }
}

// The digits of a tile program and these are the same ones.
TEST(TileLayout, OfATileProgramAndBack) {
  ExprContext context;
  std::vector<program::AxisId> axes = {program::AxisId{3}, program::AxisId{7}};
  for (auto [family, a, b] : {std::tuple(program::LayoutFamily::Wgmma, 1, 1),
                              std::tuple(program::LayoutFamily::Mma, 2, 2),
                              std::tuple(program::LayoutFamily::Rows, 4, 16)}) {
    std::vector<program::AxisExtent> extents = {{axes[0], context.constant(64)},
                                                {axes[1], context.constant(16)}};
    program::LayoutSpec spec{family, {context.constant(a), context.constant(b)}, {}};
    program::Layout made = program::makeLayout(spec, extents, 32, context.constant(4));
    TileLayout layout =
        valueOf(TileLayout::of(made, axes, namedDims(std::vector<int64_t>{64, 16})));
    EXPECT_EQ(layout.fault(), "");
    EXPECT_EQ(layout.toProgram(axes, context).normal(), made.normal());
    if (family == program::LayoutFamily::Wgmma) {
      EXPECT_EQ(layout, accumulator());
    }
  }
}
