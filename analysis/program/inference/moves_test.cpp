// Conversions: bounds below prices, passes by ranks equal to counting, shuffles of known pairs.
#include "analysis/program/inference/candidates.h"
#include "analysis/program/inference/moves.h"
#include "analysis/program/layout/access.h"
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/images.h"
#include "analysis/program/layout/testing/random_layouts.h"

using namespace tilewright;
using namespace tilewright::inference;
using tilewright::layout::Hardware;
using tilewright::layout::namedDims;
using tilewright::layout::TileDims;
using tilewright::layout::testing::Random;
using tilewright::layout::testing::valueOf;

namespace {

struct Pricer {
  LayoutTable table;
  LayoutPrices prices;
  MovePricer moves{table, prices};
  LayoutId named(const char *name, const TileDims &dims) {
    return table.intern(valueOf(layout::instantiate(name, dims)));
  }
};

TileDims dimsOf(std::vector<int64_t> extents) { return namedDims(extents); }

} // namespace

TEST(Moves, BoundsAreBelowPrices) {
  Random random(3);
  size_t warp = 0, block = 0, free = 0;
  for (const std::vector<int64_t> &extents :
       {std::vector<int64_t>{64, 64}, {16, 14}, {48, 56}, {4, 32, 32}, {128}}) {
    Pricer pricer;
    std::vector<LayoutId> ids;
    for (layout::TileLayout &layout : seedLayouts(dimsOf(extents), 16, 4)) {
      ids.push_back(pricer.table.intern(layout));
      if (extents.size() == 2) // copies along the columns
        ids.push_back(pricer.table.intern(std::move(layout)));
    }
    for (int n = 0; n < 150; ++n) {
      LayoutId from = random.oneOf(ids), to = random.oneOf(ids);
      const unsigned bits = random.chance(50) ? 16 : 32;
      const Cost bound = pricer.moves.bound(from, to, bits);
      const Move &move = pricer.moves.move(from, to, bits);
      EXPECT_LE(bound, move.cost) << pricer.table[from].text << " to " << pricer.table[to].text;
      EXPECT_LT(move.cost, impossible);
      EXPECT_EQ(pricer.moves.isFree(from, to),
                move.way == Move::Way::Free || move.way == Move::Way::None);
      free += move.way == Move::Way::Free ? 1 : 0;
      warp += move.way == Move::Way::Shuffles ? 1 : 0;
      block += move.way == Move::Way::Shared ? 1 : 0;
    }
  }
  EXPECT_GT(free, 3u);
  EXPECT_GT(warp, 20u);
  EXPECT_GT(block, 100u);
}

/// Blocked layouts have what lies in one piece in one digit: counting them with that digit first is
/// the same access.
TEST(Moves, PassesByRanksAreThoseCounted) {
  const TileDims dims = dimsOf({64, 64});
  size_t conflicts = 0, compared = 0;
  for (unsigned bits : {8u, 16u, 32u}) {
    Pricer pricer;
    constexpr size_t every = 3; // of the layouts
    const std::vector<layout::TileLayout> all = seedLayouts(dims, bits, 4);
    for (size_t n = 0; n < all.size(); n += every) {
      const layout::TileLayout &held = all[n];
      const LayoutId id = pricer.table.intern(held);
      for (FormId formId : pricer.table.formsOf(dims, bits)) {
        const SharedForm &form = pricer.table.form(formId);
        if (!form.isLinear || !pricer.table[id].view)
          continue;
        layout::Digits registers = held.digits(Hardware::Register);
        auto first =
            std::find_if(registers.begin(), registers.end(), [&](const layout::Digit &digit) {
              return digit.dim == static_cast<int32_t>(form.order.back()) && digit.stride == 1;
            });
        if (first != registers.end())
          std::rotate(registers.begin(), first, first + 1);
        layout::TileLayout ordered = valueOf(layout::TileLayout::make(
            dims, registers, held.digits(Hardware::Lane), held.digits(Hardware::Warp)));
        layout::AccessChoices choices;
        choices.mostStaggeredBits = 0;
        layout::SharedAccess counted = valueOf(
            layout::accessOf(layout::transposed(ordered, form.order), form.shared, choices));
        const FormAccess &ranked = pricer.moves.access(id, formId, bits, true);
        ASSERT_TRUE(ranked.isPossible);
        if (ranked.bytesPerLane != counted.bytesPerLane)
          continue;                                         // more digits than one make the vector
        const int64_t copies = pricer.table[id].warpCopies; // one of several holders stores
        EXPECT_EQ(ranked.passes, counted.passes / copies) << held.str() << " in " << form.text;
        EXPECT_EQ(ranked.degree, counted.degree) << held.str() << " in " << form.text;
        conflicts += counted.degree > 1 ? 1 : 0;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 400u);
  EXPECT_GT(conflicts, 100u);
}

/// By 32-bit register of a thread, as a study of these layouts has them.
TEST(Moves, ShufflesOfInstructionsLayouts) {
  struct Row {
    const char *from, *to;
    unsigned bits;
    double perRegister;
  };
  const TileDims dims = dimsOf({64, 64}), tall = dimsOf({128, 64});
  for (const Row &row : {Row{"wgmma", "wgmma_t", 32, 0.5},
                         {"wgmma", "wgmma_t", 16, 0.5},
                         {"tcgen05", "tcgen05_t", 32, 0.5},
                         {"upcast_2x", "wgmma", 16, 0.5},
                         {"upcast_2x", "wgmma", 8, 0.5},
                         {"upcast_4x", "wgmma", 4, 0.75},
                         {"wgmma", "wgmma_8bit", 8, 1.0}}) {
    Pricer pricer;
    const TileDims &of = std::string_view(row.from) == "tcgen05" ? tall : dims;
    const LayoutId from = pricer.named(row.from, of), to = pricer.named(row.to, of);
    const Move &move = pricer.moves.move(from, to, row.bits);
    ASSERT_EQ(move.way, Move::Way::Shuffles) << row.from << " to " << row.to;
    const double registers = double(pricer.table[to].registers * row.bits) / 32;
    EXPECT_EQ(double(move.shuffles), row.perRegister * registers)
        << row.from << " to " << row.to << " of " << row.bits;
  }
}

TEST(Moves, ValuesOfLessThanAWordArePackedAnew) {
  Pricer pricer;
  const TileDims dims = dimsOf({64, 64});
  auto blocked = [&](int64_t second) {
    return pricer.table.intern(valueOf(blockedLayout(dims, 4, {1, 8, 8, false, second})));
  };
  const LayoutId rows = blocked(1), pairs = blocked(2);
  EXPECT_FALSE(pricer.moves.isFree(rows, pairs));
  layout::TileLayout turned = pricer.table[pairs].layout;
  layout::Digits registers = turned.digits(Hardware::Register);
  std::rotate(registers.begin(), registers.begin() + 1, registers.end());
  const LayoutId other = pricer.table.intern(valueOf(layout::TileLayout::make(
      dims, registers, turned.digits(Hardware::Lane), turned.digits(Hardware::Warp))));
  const Move &move = pricer.moves.move(pairs, other, 16);
  EXPECT_EQ(move.way, Move::Way::Free);
  EXPECT_EQ(move.packs, 4 * 16); // 16 words of each warp
  EXPECT_EQ(pricer.moves.move(pairs, other, 32).cost, 0);
}
