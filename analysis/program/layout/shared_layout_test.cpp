// Shared layouts: each element has bits of its own, and the xor is sums and quotients.
#include "analysis/program/layout/general_map.h"
#include "analysis/program/layout/shared_layout.h"
#include "analysis/program/layout/testing/random_layouts.h"

using namespace tilewright;
using namespace tilewright::layout;
using namespace tilewright::layout::testing;

namespace {

TileDims tileOf(std::vector<int64_t> extents) { return namedDims(extents); }

/// Layouts of all kinds that a tile of these extents has.
std::vector<SharedLayout> allOf(const std::vector<int64_t> &extents, unsigned bits) {
  std::vector<SharedLayout> all;
  auto add = [&](llvm::Expected<SharedLayout> made) {
    if (made)
      all.push_back(std::move(*made));
    else
      llvm::consumeError(made.takeError());
  };
  for (int64_t swizzle : {0, 32, 64, 128}) {
    add(SharedLayout::rows(tileOf(extents), bits, 0, swizzle));
    for (bool flag : {false, true}) {
      add(SharedLayout::tiled(tileOf(extents), bits, swizzle, flag));
      add(SharedLayout::panels(tileOf(extents), bits, swizzle, flag));
    }
  }
  add(SharedLayout::rows(tileOf(extents), bits, 64 / bits));
  for (int64_t step : {1, 2, 4})
    add(SharedLayout::permuted(
        tileOf(extents), bits, 0,
        permutationOf(extents[extents.size() - 2], extents.back() * bits / 8, step)));
  return all;
}

} // namespace

TEST(SharedLayout, EachElementHasBitsOfItsOwn) {
  int looked = 0;
  for (unsigned bits : {4u, 8u, 16u, 32u})
    for (const std::vector<int64_t> &extents :
         {std::vector<int64_t>{64, 64}, {8, 256}, {48, 96}, {3, 16, 128}})
      for (const SharedLayout &layout : allOf(extents, bits)) {
        ++looked;
        auto overlap = layout.overlap();
        EXPECT_FALSE(overlap) << layout.str() << " " << bits << " bits: " << overlap->first << " "
                              << overlap->second;
      }
  EXPECT_GT(looked, 200);
}

TEST(SharedLayout, OfTheRunningExample) {
  SharedLayout layout = valueOf(SharedLayout::panels(tileOf({64, 64}), 16, 128));
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 0; j < 64; ++j) {
      std::vector<int64_t> at = {i, j};
      ASSERT_EQ(layout.byteAddress(at), (128 * i + 2 * j) ^ 16 * (i % 8));
    }
  EXPECT_EQ(layout.bytes(), 8192);
  EXPECT_EQ(layout.str(), "panels of 128 bytes, swizzle 128");
}

TEST(SharedLayout, XorIsSumsAndQuotients) {
  Random random(9);
  for (const std::vector<int64_t> &extents : {std::vector<int64_t>{64, 128}, {48, 96}})
    for (const SharedLayout &layout : allOf(extents, 16)) {
      ExprContext context;
      llvm::Expected<IndexMap> map = layout.toIndexMap(context);
      if (!map) {
        llvm::consumeError(map.takeError());
        continue;
      }
      for (int k = 0; k < 100; ++k) {
        std::vector<int64_t> at = {random.in(0, extents[0] - 1), random.in(0, extents[1] - 1)};
        Assignment point;
        point.set(context.dim(0), at[0]);
        point.set(context.dim(1), at[1]);
        EXPECT_EQ(map->evaluate(point), std::vector<int64_t>{layout.byteAddress(at)})
            << layout.str();
      }
    }
}

// The swizzle is a bijection on all addresses of 20 bits: proved, not counted.
TEST(SharedLayout, SwizzlesAreInjective) {
  for (int64_t swizzle : {32, 64, 128}) {
    ExprContext context;
    SharedLayout layout =
        valueOf(SharedLayout::rows(tileOf({8192, 128}), 8, 0, swizzle)); // 2^20 bytes
    IndexMap map = valueOf(layout.toIndexMap(context));
    MapBudget budget;
    budget.maxPoints = 0;
    MapAnswer answer = isInjective(map, budget);
    EXPECT_EQ(answer.verdict, MapVerdict::Injective) << swizzle << ": " << answer.reason;
  }
}

TEST(SharedLayout, RefusesWithAReason) {
  auto reasonOf = [](llvm::Expected<SharedLayout> made) {
    return made ? std::string("fine") : llvm::toString(made.takeError());
  };
  EXPECT_NE(reasonOf(SharedLayout::rows(tileOf({8, 64}), 16, 0, 48)).find("there are 32, 64"),
            std::string::npos);
  EXPECT_NE(reasonOf(SharedLayout::rows(tileOf({8, 40}), 16, 0, 64)).find("640 bits"),
            std::string::npos);
  EXPECT_NE(reasonOf(SharedLayout::tiled(tileOf({12, 64}), 16, 128)).find("8 x 64"),
            std::string::npos);
  EXPECT_NE(reasonOf(SharedLayout::rows(tileOf({8, 3}), 4)).find("12 bits"), std::string::npos);
  EXPECT_NE(reasonOf(SharedLayout::rows(tileOf({1 << 13, 1 << 13}), 32)).find("elements"),
            std::string::npos);
}
