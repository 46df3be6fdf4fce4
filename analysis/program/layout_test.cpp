// Layouts against enumeration: each element of a tile has holders, and as many as its copies.
#include "analysis/program/program.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tilewright;
using namespace tilewright::program;

namespace {

struct Made {
  static inline ExprContext c; // layouts of one context can be compared
  std::vector<AxisExtent> axes;
  program::Layout layout;
  int64_t warps;

  Made(LayoutFamily family, std::vector<int64_t> arguments, std::vector<int64_t> extents,
       int64_t warps, unsigned bits = 32)
      : warps(warps) {
    LayoutSpec spec{family, {}, {}};
    for (int64_t argument : arguments)
      spec.arguments.push_back(c.constant(argument));
    for (uint32_t i = 0; i < extents.size(); ++i)
      axes.push_back({AxisId{i}, c.constant(extents[i])});
    layout = makeLayout(spec, axes, bits, c.constant(warps));
  }

  /// Elements by coordinates, with how often each is held; coordinates beyond the tile are left
  /// out.
  std::map<std::vector<int64_t>, int64_t> holders() const {
    std::map<std::vector<int64_t>, int64_t> result;
    auto size = [](const std::vector<Digit> &digits) {
      int64_t product = 1;
      for (const Digit &digit : digits)
        product *= digit.extent.constant();
      return product;
    };
    auto place = [](const std::vector<Digit> &digits, int64_t number, std::vector<int64_t> &at) {
      for (const Digit &digit : digits) {
        int64_t value = number % digit.extent.constant();
        number /= digit.extent.constant();
        if (!digit.isCopy())
          at[digit.axis.index] += value * digit.stride.constant();
      }
    };
    for (int64_t w = 0; w < size(layout.warps); ++w)
      for (int64_t l = 0; l < size(layout.lanes); ++l)
        for (int64_t r = 0; r < size(layout.registers); ++r) {
          std::vector<int64_t> at(axes.size());
          place(layout.warps, w, at);
          place(layout.lanes, l, at);
          place(layout.registers, r, at);
          bool isInside = true;
          for (size_t a = 0; a < at.size(); ++a)
            isInside = isInside && at[a] < axes[a].extent.constant();
          if (isInside)
            ++result[at];
        }
    return result;
  }

  void expectWhole(const std::string &what) const {
    auto number = [](const std::vector<Digit> &digits, bool copies) {
      int64_t product = 1;
      for (const Digit &digit : digits)
        if (!copies || digit.isCopy())
          product *= digit.extent.constant();
      return product;
    };
    EXPECT_EQ(number(layout.lanes, false), 32) << what;
    EXPECT_EQ(number(layout.warps, false), warps) << what;
    int64_t copies = number(layout.lanes, true) * number(layout.warps, true), elements = 1;
    for (const AxisExtent &axis : axes)
      elements *= axis.extent.constant();
    std::map<std::vector<int64_t>, int64_t> held = holders();
    EXPECT_EQ(static_cast<int64_t>(held.size()), elements) << what;
    for (const auto &[at, times] : held)
      ASSERT_EQ(times, copies) << what;
  }
};

} // namespace

TEST(Layouts, HoldEachElementOncePerCopy) {
  std::mt19937_64 random(7);
  auto in = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int n = 0; n < 400; ++n) {
    int64_t warps = int64_t{1} << in(0, 3), v = int64_t{1} << in(0, 3);
    std::vector<int64_t> extents;
    for (int64_t rank = in(1, 3); rank > 0; --rank)
      extents.push_back(in(1, 40));
    std::string what = fmt::format("run {} v {} warps {}", n, v, warps);
    int64_t anyWarps = in(1, 12); // need not be a power of two
    Made(LayoutFamily::Flat, {v}, extents, anyWarps).expectWhole("flat " + what);
    Made(LayoutFamily::Across, {v}, extents, anyWarps).expectWhole("across " + what);
    int64_t g = int64_t{1} << in(0, 5);
    if (g <= 32 * warps)
      Made(LayoutFamily::Rows, {v, g}, extents, warps).expectWhole("rows " + what);
    Made(LayoutFamily::Columns, {v, g}, {extents[0]}, warps).expectWhole("columns " + what);
  }
}

TEST(Layouts, OfFragmentsHoldEachElementOncePerCopy) {
  for (int64_t r : {1, 2})
    for (int64_t c : {1, 2, 4})
      for (int64_t blocks : {1, 3}) {
        Made(LayoutFamily::Mma, {r, c}, {16 * r * blocks, 8 * c * blocks}, r * c)
            .expectWhole("mma");
        Made(LayoutFamily::Wgmma, {r, c}, {64 * r * blocks, 8 * c * blocks}, 4 * r * c)
            .expectWhole("wgmma");
        for (unsigned bits : {8u, 16u, 32u}) {
          int64_t depth = 256 / bits * blocks;
          Made(LayoutFamily::MmaA, {r, c}, {16 * r * blocks, depth}, r * c, bits)
              .expectWhole("mma.a");
          Made(LayoutFamily::MmaB, {r, c}, {8 * c * blocks, depth}, r * c, bits)
              .expectWhole("mma.b");
          Made(LayoutFamily::WgmmaA, {r, c}, {64 * r * blocks, depth}, 4 * r * c, bits)
              .expectWhole("wgmma.a");
        }
      }
}

// P of an attention: accumulators of one product are the left operand of the next one.
TEST(Layouts, AccumulatorsAreLeftOperands) {
  Made accumulator(LayoutFamily::Wgmma, {2, 1}, {128, 64}, 8);
  Made operand(LayoutFamily::WgmmaA, {2, 1}, {128, 64}, 8, 16);
  EXPECT_EQ(accumulator.layout.normal(), operand.layout.normal());
  Made other(LayoutFamily::WgmmaA, {2, 1}, {128, 64}, 8, 8); // four neighbours a register
  EXPECT_NE(accumulator.layout.normal(), other.layout.normal());
}

// The result of a reduction is held like a tile without the axis: copies where its digits were.
TEST(Layouts, WithoutAnAxis) {
  Made rows(LayoutFamily::Rows, {4, 16}, {8, 100}, 4);
  Made row(LayoutFamily::Rows, {4, 16}, {8}, 4);
  EXPECT_EQ(rows.layout.withoutAxes({AxisId{1}}).normal(), row.layout.normal());
  Made tile(LayoutFamily::Mma, {2, 2}, {64, 32}, 4);
  Made row2(LayoutFamily::Mma, {2, 2}, {64}, 4);
  EXPECT_EQ(tile.layout.withoutAxes({AxisId{1}}).normal(), row2.layout.normal());
}
