// Images under ops against enumeration: each thread holds of the result what it had of the operand.
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/images.h"
#include "analysis/program/layout/testing/random_layouts.h"

using namespace tilewright;
using namespace tilewright::layout;
using namespace tilewright::layout::testing;

namespace {

using Coordinates = std::vector<int64_t>;

/// What each thread holds, along some dims of it: codes in ascending order, each once.
std::vector<std::vector<Code>> heldByThreads(const TileLayout &layout,
                                             const std::vector<size_t> &dims) {
  std::vector<std::vector<Code>> held(static_cast<size_t>(layout.threads()));
  std::vector<Code> table = tableOf(layout);
  for (size_t n = 0; n < table.size(); ++n) {
    Code code = 0;
    for (size_t d : dims)
      code = code * 65'536 + (table[n] >> 16 * (layout.rank() - 1 - d)) % 65'536;
    held[n / static_cast<size_t>(layout.registers())].push_back(code);
  }
  for (std::vector<Code> &each : held) {
    std::sort(each.begin(), each.end());
    each.erase(std::unique(each.begin(), each.end()), each.end());
  }
  return held;
}

std::vector<size_t> allDims(const TileLayout &layout) {
  std::vector<size_t> dims;
  for (size_t d = 0; d < layout.rank(); ++d)
    dims.push_back(d);
  return dims;
}

/// The extents of another tile with as many elements.
std::vector<int64_t> regrouped(Random &random, int64_t elements) {
  std::vector<int64_t> factors = primeFactors(elements), extents;
  random.shuffle(factors);
  while (!factors.empty()) {
    int64_t extent = 1;
    for (int64_t n = random.in(1, static_cast<int64_t>(factors.size())); n > 0; --n) {
      extent *= factors.back();
      factors.pop_back();
    }
    extents.push_back(extent);
  }
  if (random.chance(40) || extents.empty())
    extents.insert(extents.begin() + random.in(0, static_cast<int64_t>(extents.size())), 1);
  return extents;
}

/// Can digits produce these images of 0 … n-1, of which that of 0 is all zeros?
bool isByDigits(const std::vector<Coordinates> &images) {
  const size_t n = images.size(), rank = images[0].size();
  for (size_t i = 1; i < n;) {
    const Coordinates &step = images[i];
    auto isMultiple = [&](size_t of, const Coordinates &base, int64_t times) {
      for (size_t d = 0; d < rank; ++d)
        if (images[of][d] != base[d] + step[d] * times)
          return false;
      return true;
    };
    if (std::count_if(step.begin(), step.end(), [](int64_t s) { return s != 0; }) > 1)
      return false;
    size_t extent = 1;
    while (i * extent < n && isMultiple(i * extent, Coordinates(rank, 0), int64_t(extent)))
      ++extent;
    while (n % (i * extent) != 0)
      --extent;
    if (extent < 2)
      return false;
    for (size_t k = 0; k < i * extent; ++k)
      if (!isMultiple(k, images[k % i], static_cast<int64_t>(k / i)))
        return false;
    i *= extent;
  }
  return true;
}

/// Is the table, read as a tile of other extents, one of any digits at all?
bool hasDigits(const TileLayout &layout, const std::vector<int64_t> &extents) {
  std::vector<Coordinates> table;
  for (int64_t flat : flatTableOf(layout)) {
    Coordinates at(extents.size());
    for (size_t d = extents.size(); d-- > 0; flat /= extents[d])
      at[d] = flat % extents[d];
    table.push_back(std::move(at));
  }
  const auto regs = static_cast<size_t>(layout.registers());
  const auto lanes = static_cast<size_t>(layout.count(Hardware::Lane));
  const size_t warps = table.size() / regs / lanes;
  auto at = [&](size_t w, size_t l, size_t r) -> const Coordinates & {
    return table[(w * lanes + l) * regs + r];
  };
  std::array<std::vector<Coordinates>, 3> axes;
  for (size_t r = 0; r < regs; ++r)
    axes[0].push_back(at(0, 0, r));
  for (size_t l = 0; l < lanes; ++l)
    axes[1].push_back(at(0, l, 0));
  for (size_t w = 0; w < warps; ++w)
    axes[2].push_back(at(w, 0, 0));
  for (size_t w = 0; w < warps; ++w)
    for (size_t l = 0; l < lanes; ++l)
      for (size_t r = 0; r < regs; ++r)
        for (size_t d = 0; d < extents.size(); ++d)
          if (at(w, l, r)[d] != axes[0][r][d] + axes[1][l][d] + axes[2][w][d])
            return false;
  return isByDigits(axes[0]) && isByDigits(axes[1]) && isByDigits(axes[2]);
}

TileLayout named(std::string_view name, std::vector<int64_t> extents) {
  return valueOf(instantiate(name, namedDims(extents)));
}

/// The same digits, whatever the dims are called.
void expectSame(TileLayout a, const TileLayout &b) {
  for (Hardware axis : allHardware)
    EXPECT_EQ(a.digits(axis), b.digits(axis)) << a.str() << "\n" << b.str();
  ASSERT_EQ(a.rank(), b.rank());
  for (size_t d = 0; d < a.rank(); ++d)
    EXPECT_EQ(a.dims()[d].extent, b.dims()[d].extent);
}

} // namespace

TEST(Images, TransposedAndReduced) {
  Random random(3);
  int reductions = 0;
  for (int n = 0; n < 7'000; ++n) {
    TileLayout layout = randomLayout(random);
    std::vector<size_t> order = allDims(layout);
    random.shuffle(order);
    std::vector<Code> table = tableOf(layout), now = tableOf(transposed(layout, order));
    for (size_t k = 0; k < table.size(); ++k) {
      Code moved = 0;
      for (size_t d : order)
        moved = moved * 65'536 + (table[k] >> 16 * (layout.rank() - 1 - d)) % 65'536;
      ASSERT_EQ(now[k], moved) << layout.str();
    }
    std::vector<size_t> over, kept;
    for (size_t d = 0; d < layout.rank(); ++d)
      (random.chance(50) ? over : kept).push_back(d);
    if (over.empty() || kept.empty() || n % 2 != 0)
      continue;
    ++reductions;
    for (bool keepDims : {false, true}) {
      TileLayout sums = reduced(layout, over, keepDims);
      EXPECT_EQ(sums.fault(), "");
      std::vector<size_t> of = keepDims ? kept : allDims(sums);
      EXPECT_EQ(heldByThreads(sums, of), heldByThreads(layout, kept)) << layout.str();
      std::vector<size_t> dims = keepDims ? allDims(layout) : kept;
      std::vector<int64_t> extents;
      for (const TileDim &dim : sums.dims())
        extents.push_back(dim.extent);
      TileLayout operand = operandOfBroadcast(layout, dims, extents);
      EXPECT_EQ(heldByThreads(operand, of), heldByThreads(layout, kept)) << layout.str();
    }
  }
  EXPECT_GT(reductions, 1'000);
}

TEST(Images, Reshaped) {
  Random random(4);
  int fine = 0, refused = 0;
  for (int n = 0; n < 7'000; ++n) {
    TileLayout layout = randomLayout(random);
    std::vector<int64_t> extents = regrouped(random, layout.boxSize());
    llvm::Expected<TileLayout> now = reshaped(layout, namedDims(extents));
    if (now) {
      ++fine;
      ASSERT_EQ(flatTableOf(*now), flatTableOf(layout)) << layout.str() << "\n" << now->str();
      EXPECT_EQ(now->fault(), "");
      continue;
    }
    llvm::consumeError(now.takeError());
    if (layout.copies() == 1 && extents.size() > 1 && ++refused <= 400) {
      ASSERT_FALSE(hasDigits(layout, extents)) << "refused without need: " << layout.str();
    }
  }
  EXPECT_GT(fine, 4'000);
  EXPECT_GT(refused, 400);
}

TEST(Images, Sliced) {
  Random random(5);
  int fine = 0, refused = 0;
  for (int n = 0; n < 7'000; ++n) {
    TileLayout layout = randomLayout(random);
    auto dim = static_cast<size_t>(random.in(0, static_cast<int64_t>(layout.rank()) - 1));
    const int64_t extent = layout.dims()[dim].extent, size = random.in(1, extent),
                  start = random.in(0, extent - size);
    llvm::Expected<TileLayout> part = sliced(layout, dim, start, size);
    if (!part) {
      ++refused;
      llvm::consumeError(part.takeError());
      continue;
    }
    ++fine;
    EXPECT_EQ(part->fault(), "");
    std::vector<std::vector<Code>> had = heldByThreads(layout, allDims(layout)),
                                   has = heldByThreads(*part, allDims(layout));
    ASSERT_EQ(had.size(), has.size());
    const size_t shift = 16 * (layout.rank() - 1 - dim);
    for (size_t t = 0; t < had.size(); ++t) {
      std::vector<Code> wanted;
      for (Code code : had[t])
        if (const Code at = (code >> shift) % 65'536; at >= start && at < start + size)
          wanted.push_back(code - (start << shift));
      ASSERT_EQ(has[t], wanted) << layout.str() << " " << dim << " " << start << " " << size;
    }
  }
  EXPECT_GT(fine, 2'000);
  EXPECT_GT(refused, 2'000);
}

TEST(Images, RefuseWithAReason) {
  TileLayout tile = named("wgmma", {128, 128});
  auto reasonOf = [](llvm::Expected<TileLayout> made) {
    return made ? std::string("fine") : llvm::toString(made.takeError());
  };
  EXPECT_NE(reasonOf(sliced(tile, 1, 3, 64)).find("not in whole units of 8"), std::string::npos);
  EXPECT_NE(reasonOf(sliced(tile, 1, 0, 77)).find("not in whole units of 8"), std::string::npos);
  EXPECT_NE(reasonOf(sliced(tile, 1, 64, 65)).find("of the 128"), std::string::npos);
  EXPECT_NE(reasonOf(reshaped(tile, namedDims(std::vector<int64_t>{100, 100}))).find("no tile of"),
            std::string::npos);
  TileLayout padded = valueOf(instantiate("wgmma", namedDims(std::vector<int64_t>{60, 14}), true));
  EXPECT_NE(reasonOf(reshaped(padded, namedDims(std::vector<int64_t>{840}))).find("is padded to"),
            std::string::npos);
}

// Facts 4, 7, 8 and 43 of the reference on Mosaic GPU's layouts.
TEST(Images, OfTheCatalogue) {
  std::vector<size_t> first = {0}, second = {1};
  TileLayout tile = named("wgmma", {128, 128});
  expectSame(reduced(tile, second), named("wgmma_row", {128}));
  EXPECT_EQ(tableOf(reduced(tile, first)), tableOf(named("col", {128})));
  expectSame(reduced(named("tcgen05", {128, 64}), second), named("tcgen05_row", {128}));
  expectSame(reduced(named("wgmma", {3, 128, 128}), first), tile);
  expectSame(
      valueOf(reshaped(named("wgmma", {2, 128, 8}), namedDims(std::vector<int64_t>{256, 8}))),
      named("wgmma", {256, 8}));
  expectSame(valueOf(sliced(tile, 1, 64, 64)), named("wgmma", {128, 64}));
}
