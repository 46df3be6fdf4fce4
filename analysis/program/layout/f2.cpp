#include "analysis/program/layout/f2.h"

#include <algorithm>
#include <bit>

namespace tilewright::layout {

bool Span::insert(uint64_t vector) {
  vector = residue(vector);
  if (vector == 0)
    return false;
  basis[std::bit_width(vector) - 1] = vector;
  ++count;
  return true;
}

void Span::insert(std::span<const uint64_t> vectors) {
  for (uint64_t vector : vectors)
    insert(vector);
}

uint64_t Span::residue(uint64_t vector) const {
  while (vector != 0) {
    uint64_t with = basis[std::bit_width(vector) - 1];
    if (with == 0)
      break;
    vector ^= with;
  }
  return vector;
}

int rankOf(std::span<const uint64_t> vectors) { return Span(vectors).rank(); }

std::optional<F2View> f2View(const TileLayout &layout) {
  auto isPower = [](int64_t n) { return std::has_single_bit(static_cast<uint64_t>(n)); };
  std::vector<int64_t> inner(layout.rank(), 1);
  int64_t size = 1;
  for (size_t d = layout.rank(); d-- > 0;) {
    if (!isPower(layout.dims()[d].box))
      return std::nullopt;
    inner[d] = size;
    size *= layout.dims()[d].box;
  }
  F2View view;
  for (Hardware axis : allHardware)
    for (const Digit &digit : layout.digits(axis)) {
      if (!isPower(digit.extent) || (!digit.isCopy() && !isPower(digit.stride)))
        return std::nullopt;
      for (int64_t bit = 1; bit < digit.extent; bit *= 2)
        view.columns[static_cast<size_t>(axis)].push_back(
            digit.isCopy() ? 0 : static_cast<uint64_t>(bit * digit.stride * inner[digit.dim]));
    }
  if (!layout.fault().empty())
    return std::nullopt;
  return view;
}

std::string_view toString(MoveClass move) {
  constexpr std::string_view names[] = {"free", "within warps", "through shared memory"};
  return names[static_cast<size_t>(move)];
}

namespace {

bool includes(const Span &span, std::span<const uint64_t> vectors) {
  return std::all_of(vectors.begin(), vectors.end(),
                     [&](uint64_t vector) { return span.contains(vector); });
}

bool includesDifferences(const Span &span, std::span<const uint64_t> a,
                         std::span<const uint64_t> b) {
  for (size_t n = 0; n < a.size(); ++n)
    if (!span.contains(a[n] ^ b[n]))
      return false;
  return true;
}

bool haveSameThreads(const TileLayout &a, const TileLayout &b) {
  return a.count(Hardware::Lane) == b.count(Hardware::Lane) &&
         a.count(Hardware::Warp) == b.count(Hardware::Warp);
}

bool coverSameBox(const TileLayout &a, const TileLayout &b) {
  return std::equal(
      a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end(),
      [](const TileDim &x, const TileDim &y) { return x.extent == y.extent && x.box == y.box; });
}

/// Row-major numbers in the tile of what a lane holds, ascending; none beyond the tile.
std::vector<int64_t> heldBy(const TileLayout &layout, int64_t warp, int64_t lane) {
  std::vector<int64_t> result, at(layout.rank());
  for (int64_t r = 0; r < layout.registers(); ++r) {
    layout.coordinates({warp, lane, r}, at);
    int64_t number = 0;
    bool isInside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      isInside = isInside && at[d] < layout.dims()[d].extent;
      number = number * layout.dims()[d].extent + at[d];
    }
    if (isInside)
      result.push_back(number);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

} // namespace

MoveClass moveClass(const F2View &from, const F2View &to) {
  const auto &lanes = from.of(Hardware::Lane), &warps = from.of(Hardware::Warp);
  Span reach(from.of(Hardware::Register));
  if (includes(reach, to.of(Hardware::Register)) &&
      includesDifferences(reach, lanes, to.of(Hardware::Lane)) &&
      includesDifferences(reach, warps, to.of(Hardware::Warp)))
    return MoveClass::Free;
  reach.insert(lanes);
  bool isInWarp = includes(reach, to.of(Hardware::Register)) &&
                  includes(reach, to.of(Hardware::Lane)) &&
                  includesDifferences(reach, warps, to.of(Hardware::Warp));
  return isInWarp ? MoveClass::Warp : MoveClass::Block;
}

MoveClass moveClassByEnumeration(const TileLayout &from, const TileLayout &to) {
  if (!haveSameThreads(from, to))
    return MoveClass::Block;
  MoveClass result = MoveClass::Free;
  const int64_t lanes = from.count(Hardware::Lane);
  for (int64_t w = 0; w < from.count(Hardware::Warp); ++w) {
    std::vector<int64_t> ofWarp;
    std::vector<std::vector<int64_t>> needed;
    for (int64_t l = 0; l < lanes; ++l) {
      std::vector<int64_t> has = heldBy(from, w, l);
      needed.push_back(heldBy(to, w, l));
      if (result == MoveClass::Free &&
          !std::includes(has.begin(), has.end(), needed.back().begin(), needed.back().end()))
        result = MoveClass::Warp;
      ofWarp.insert(ofWarp.end(), has.begin(), has.end());
    }
    std::sort(ofWarp.begin(), ofWarp.end());
    for (const std::vector<int64_t> &need : needed)
      if (!std::includes(ofWarp.begin(), ofWarp.end(), need.begin(), need.end()))
        return MoveClass::Block;
  }
  return result;
}

MoveClass moveClass(const TileLayout &from, const TileLayout &to) {
  if (!haveSameThreads(from, to))
    return MoveClass::Block;
  if (coverSameBox(from, to))
    if (std::optional<F2View> a = f2View(from), b = f2View(to); a && b)
      return moveClass(*a, *b);
  return moveClassByEnumeration(from, to);
}

} // namespace tilewright::layout
