#include "analysis/program/inference/candidates.h"

#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/images.h"

#include "llvm/Support/Error.h"

#include <algorithm>
#include <bit>

namespace tilewright::inference {

using layout::Digit;
using layout::Digits;
using layout::TileDims;
using layout::TileLayout;

namespace {

constexpr int64_t lanesOfWarp = 32;

int64_t nextPower(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}

/// Hands out the elements along each dim, fastest first.
class Blocks {
public:
  Blocks(const TileDims &dims, size_t fast) : dims(dims), done(dims.size(), 1) {
    order.push_back(fast);
    for (size_t d = dims.size(); d-- > 0;)
      if (d != fast)
        order.push_back(d);
  }
  int64_t left(size_t dim) const { return (dims[dim].extent + done[dim] - 1) / done[dim]; }
  void take(Digits &into, size_t dim, int64_t count) {
    if (count > 1)
      into.push_back({count, static_cast<int32_t>(dim), done[dim]});
    done[dim] *= count;
  }
  static void copies(Digits &into, int64_t count) {
    if (count > 1)
      into.push_back({count, Digit::noDim, 0});
  }
  /// Warps that a dim has work for: a power of two where all are, else a divisor.
  int64_t warpsAlong(size_t dim, int64_t warps) const {
    int64_t most = 1;
    if (std::has_single_bit(static_cast<uint64_t>(warps))) {
      while (most * 2 <= warps && done[dim] * most < dims[dim].extent)
        most *= 2;
      return most;
    }
    for (int64_t n = 1; n <= std::min(warps, left(dim)); ++n)
      if (warps % n == 0)
        most = n;
    return most;
  }

  const TileDims &dims;
  std::vector<int64_t> done;
  std::vector<size_t> order; ///< fast first
};

} // namespace

llvm::Expected<TileLayout> blockedLayout(const TileDims &dims, int64_t warps, const Blocked &how) {
  Blocks blocks(dims, how.fast);
  Digits registers, lanes, ofWarps;
  blocks.take(registers, how.fast, how.vector);
  if (how.second > 1)
    blocks.take(registers, blocks.order[1], how.second);
  blocks.take(lanes, how.fast, how.lanesAlong);
  int64_t left = lanesOfWarp / how.lanesAlong;
  for (size_t n = 1; n < blocks.order.size(); ++n) {
    const int64_t count = std::min(left, nextPower(blocks.left(blocks.order[n])));
    blocks.take(lanes, blocks.order[n], count);
    left /= count;
  }
  Blocks::copies(lanes, left);
  left = warps;
  std::vector<size_t> slowestFirst(blocks.order.rbegin(), blocks.order.rend());
  if (how.isWarpFast)
    slowestFirst.insert(slowestFirst.begin(), how.fast);
  for (size_t dim : slowestFirst) {
    const int64_t count = blocks.warpsAlong(dim, left);
    blocks.take(ofWarps, dim, count);
    left /= count;
  }
  Blocks::copies(ofWarps, left);
  for (size_t dim : blocks.order)
    blocks.take(registers, dim, blocks.left(dim));
  TileDims boxes = dims;
  for (size_t d = 0; d < dims.size(); ++d)
    boxes[d].box = std::max(dims[d].extent, blocks.done[d]);
  return TileLayout::make(std::move(boxes), std::move(registers), std::move(lanes),
                          std::move(ofWarps));
}

TileLayout scalarLayout(int64_t warps) {
  Digits lanes, ofWarps;
  Blocks::copies(lanes, lanesOfWarp);
  Blocks::copies(ofWarps, warps);
  return llvm::cantFail(TileLayout::make({}, {}, std::move(lanes), std::move(ofWarps)));
}

namespace {

constexpr int64_t vectorBits = 128, catalogueWarps = 4;

class Seeds {
public:
  Seeds(const TileDims &dims, unsigned bits, int64_t warps)
      : dims(dims), bits(bits), warps(warps) {}

  std::vector<TileLayout> run() {
    if (dims.empty())
      return {scalarLayout(warps)};
    addBlocked(dims);
    for (size_t d = 0; d + 1 < dims.size(); ++d)
      addBlocked(joined(d));
    if (warps == catalogueWarps)
      for (const layout::NestedTiling &tiling : layout::registerCatalogue())
        add(layout::instantiate(tiling, dims));
    return std::move(result);
  }

private:
  /// Dims d and d + 1 as one.
  TileDims joined(size_t d) const {
    TileDims one = dims;
    one[d] = layout::TileDim(dims[d].name, dims[d].extent * dims[d + 1].extent);
    one.erase(one.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    return one;
  }

  void addBlocked(const TileDims &of) {
    for (size_t fast = 0; fast < of.size(); ++fast) {
      const int64_t most = nextPower(of[fast].extent);
      for (int64_t vector = 1; vector <= most && (vector == 1 || vector * bits <= vectorBits);
           vector *= 2)
        for (int64_t lanes = 1; lanes <= lanesOfWarp && vector * lanes <= most; lanes *= 2)
          for (bool isWarpFast : {false, true}) {
            add(blockedLayout(of, warps, {fast, vector, lanes, isWarpFast, 1}));
            const int64_t packed = bits < 32 ? 32 / bits : 1;
            if (packed > 1 && of.size() > 1 && vector * bits == vectorBits && !isWarpFast)
              add(blockedLayout(of, warps, {fast, vector, lanes, isWarpFast, packed}));
          }
    }
  }

  void add(llvm::Expected<TileLayout> layout) {
    if (layout && layout->rank() != dims.size())
      layout = layout::reshaped(*layout, dims);
    if (!layout)
      return llvm::consumeError(layout.takeError());
    if (layout->fault().empty() && layout->count(layout::Hardware::Warp) == warps &&
        layout->count(layout::Hardware::Lane) == lanesOfWarp &&
        std::find(result.begin(), result.end(), *layout) == result.end())
      result.push_back(std::move(*layout));
  }

  const TileDims &dims;
  unsigned bits;
  int64_t warps;
  std::vector<TileLayout> result;
};

} // namespace

std::vector<TileLayout> seedLayouts(const TileDims &dims, unsigned bits, int64_t warps) {
  return Seeds(dims, bits, warps).run();
}

} // namespace tilewright::inference
