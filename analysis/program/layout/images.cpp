#include "analysis/program/layout/images.h"

#include "analysis/support/diag.h"

#include <algorithm>
#include <cassert>

namespace tilewright::layout {

namespace {

/// Digits rewritten one by one; a digit that becomes none is dropped.
template <typename Rewrite>
std::array<Digits, 3> rewritten(const TileLayout &layout, const Rewrite &rewrite) {
  std::array<Digits, 3> lists;
  for (Hardware axis : allHardware)
    for (const Digit &digit : layout.digits(axis))
      if (std::optional<Digit> now = digit.isCopy() ? digit : rewrite(axis, digit))
        lists[static_cast<size_t>(axis)].push_back(*now);
  return lists;
}

TileLayout madeOf(TileDims dims, std::array<Digits, 3> lists) {
  llvm::Expected<TileLayout> made = TileLayout::make(std::move(dims), std::move(lists[0]),
                                                     std::move(lists[1]), std::move(lists[2]));
  assert(made && "an image has no more points than what it is of");
  return std::move(*made);
}

/// Along an axis that is gone: copies in threads, nothing in registers.
std::optional<Digit> shared(Hardware axis, const Digit &digit) {
  if (axis == Hardware::Register)
    return std::nullopt;
  return Digit{digit.extent, Digit::noDim, 0};
}

} // namespace

TileLayout transposed(const TileLayout &layout, std::span<const size_t> order) {
  TileDims dims;
  std::vector<int32_t> place(order.size());
  for (size_t n = 0; n < order.size(); ++n) {
    dims.push_back(layout.dims()[order[n]]);
    place[order[n]] = static_cast<int32_t>(n);
  }
  return madeOf(std::move(dims), rewritten(layout, [&](Hardware, const Digit &digit) {
                  return std::optional(Digit{digit.extent, place[digit.dim], digit.stride});
                }));
}

TileLayout reduced(const TileLayout &layout, std::span<const size_t> over, bool keepDims) {
  auto isOver = [&](size_t dim) { return std::find(over.begin(), over.end(), dim) != over.end(); };
  TileDims dims;
  std::vector<int32_t> place(layout.rank(), Digit::noDim);
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (isOver(d) && !keepDims)
      continue;
    place[d] = static_cast<int32_t>(dims.size());
    dims.push_back(isOver(d) ? TileDim(layout.dims()[d].name, 1) : layout.dims()[d]);
  }
  return madeOf(std::move(dims),
                rewritten(layout, [&](Hardware axis, const Digit &digit) -> std::optional<Digit> {
                  if (isOver(static_cast<size_t>(digit.dim)))
                    return shared(axis, digit);
                  return Digit{digit.extent, place[digit.dim], digit.stride};
                }));
}

TileLayout operandOfBroadcast(const TileLayout &layout, std::span<const size_t> ofResult,
                              std::span<const int64_t> extents) {
  TileDims dims;
  std::vector<int32_t> place(layout.rank(), Digit::noDim);
  for (size_t n = 0; n < ofResult.size(); ++n) {
    const TileDim &dim = layout.dims()[ofResult[n]];
    bool isStretched = extents[n] == 1 && dim.extent != 1;
    if (!isStretched)
      place[ofResult[n]] = static_cast<int32_t>(n);
    dims.push_back(isStretched ? TileDim(dim.name, 1) : dim);
  }
  std::array<Digits, 3> lists =
      rewritten(layout, [&](Hardware axis, const Digit &digit) -> std::optional<Digit> {
        if (place[digit.dim] == Digit::noDim)
          return shared(axis, digit);
        return Digit{digit.extent, place[digit.dim], digit.stride};
      });
  // A thread has a copy for each of its elements of the result; the operand needs one.
  std::erase_if(lists[0], [](const Digit &digit) { return digit.isCopy(); });
  return madeOf(std::move(dims), std::move(lists));
}

namespace {

/// Dims of both sides with the same product, in the smallest groups.
struct DimGroup {
  std::vector<size_t> from, to;
};

std::optional<std::vector<DimGroup>> groupsOf(const TileDims &from, const TileDims &to) {
  std::vector<DimGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    DimGroup group;
    int64_t left = 1, right = 1;
    auto takeLeft = [&] { group.from.push_back(i), left *= from[i++].extent; };
    auto takeRight = [&] { group.to.push_back(j), right *= to[j++].extent; };
    if (i < from.size())
      takeLeft();
    if (j < to.size())
      takeRight();
    while (left != right) {
      if (left < right ? i == from.size() : j == to.size())
        return std::nullopt;
      left < right ? takeLeft() : takeRight();
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

/// Digits on flat positions of groups, then on the new dims.
class Reshaper {
public:
  Reshaper(const TileLayout &layout, TileDims dims) : layout(layout), to(std::move(dims)) {}

  llvm::Expected<TileLayout> run() {
    std::optional<std::vector<DimGroup>> found = groupsOf(layout.dims(), to);
    if (!found)
      return makeError(DiagClass::BadInput, "{} elements are no tile of {}", size(layout.dims()),
                       size(to));
    groups = std::move(*found);
    if (llvm::Error error = placeGroups())
      return error;
    std::array<Digits, 3> lists;
    for (Hardware axis : allHardware)
      // Neighbours may join on the flat position, which spares needless refusals of the split.
      for (const Digit &digit : normalForm(flattened(layout.digits(axis))))
        if (llvm::Error error = split(digit, lists[static_cast<size_t>(axis)]))
          return error;
    return TileLayout::make(std::move(to), std::move(lists[0]), std::move(lists[1]),
                            std::move(lists[2]));
  }

private:
  static int64_t size(const TileDims &dims) {
    int64_t result = 1;
    for (const TileDim &dim : dims)
      result *= dim.extent;
    return result;
  }

  /// One dim with elements on both sides: it stays as it is, padding included.
  struct DimPlace {
    size_t group = 0;
    int64_t suffix = 1; ///< product of the group's dims behind it
    int32_t same = Digit::noDim;
  };

  llvm::Error placeGroups() {
    places.resize(layout.rank());
    for (size_t g = 0; g < groups.size(); ++g) {
      auto many = [](const TileDims &dims, const std::vector<size_t> &of) {
        std::vector<size_t> result;
        for (size_t d : of)
          if (dims[d].extent != 1)
            result.push_back(d);
        return result;
      };
      std::vector<size_t> from = many(layout.dims(), groups[g].from), into = many(to, groups[g].to);
      if (from.size() == 1 && into.size() == 1) {
        places[from[0]].same = static_cast<int32_t>(into[0]);
        to[into[0]].box = layout.dims()[from[0]].box;
        continue;
      }
      int64_t suffix = 1;
      for (size_t n = groups[g].from.size(); n-- > 0;) {
        const TileDim &dim = layout.dims()[groups[g].from[n]];
        if (dim.box != dim.extent)
          return makeError(DiagClass::Unsupported,
                           "{} of {} elements is padded to {}, and the reshape joins or splits it",
                           dim.name, dim.extent, dim.box);
        places[groups[g].from[n]].group = g;
        places[groups[g].from[n]].suffix = suffix;
        suffix *= dim.extent;
      }
    }
    return llvm::Error::success();
  }

  /// Dims of the result that stay have their number, groups come behind them.
  Digits flattened(const Digits &digits) const {
    Digits result;
    for (const Digit &digit : digits) {
      if (digit.isCopy()) {
        result.push_back(digit);
        continue;
      }
      const DimPlace &place = places[digit.dim];
      if (place.same != Digit::noDim)
        result.push_back({digit.extent, place.same, digit.stride});
      else
        result.push_back({digit.extent, static_cast<int32_t>(to.size() + place.group),
                          digit.stride * place.suffix});
    }
    return result;
  }

  llvm::Error split(Digit digit, Digits &into) const {
    if (digit.isCopy() || static_cast<size_t>(digit.dim) < to.size()) {
      into.push_back(digit);
      return llvm::Error::success();
    }
    const std::vector<size_t> &group = groups[digit.dim - to.size()].to;
    int64_t inner = 1; // elements of the group's dims behind the one at hand
    for (size_t n = group.size(); n-- > 0 && digit.extent > 1;) {
      const TileDim &dim = to[group[n]];
      if (digit.stride < inner * dim.extent) {
        int64_t stride = digit.stride / inner, room = dim.extent / stride;
        int64_t take = std::min(digit.extent, room);
        if (digit.stride % inner != 0 || dim.extent % stride != 0 || room % take != 0 ||
            digit.extent % take != 0)
          return makeError(DiagClass::Unsupported,
                           "{} elements, {} apart in the flat tile, straddle {} of {} elements",
                           digit.extent, digit.stride, dim.name, dim.extent);
        into.push_back({take, static_cast<int32_t>(group[n]), stride});
        digit.extent /= take;
        digit.stride = inner * dim.extent;
      }
      inner *= dim.extent;
    }
    if (digit.extent != 1)
      return makeError(DiagClass::Unsupported, "a digit of {} elements leaves the tile",
                       digit.extent);
    return llvm::Error::success();
  }

  const TileLayout &layout;
  TileDims to;
  std::vector<DimGroup> groups;
  std::vector<DimPlace> places;
};

} // namespace

llvm::Expected<TileLayout> reshaped(const TileLayout &layout, TileDims dims) {
  return Reshaper(layout, std::move(dims)).run();
}

llvm::Expected<TileLayout> sliced(const TileLayout &layout, size_t dim, int64_t start,
                                  int64_t size) {
  const TileDim &of = layout.dims()[dim];
  if (start < 0 || size < 1 || start > of.extent - size)
    return makeError(DiagClass::BadInput, "elements {} to {} of the {} along {}", start,
                     start + size - 1, of.extent, of.name);
  int64_t unit = 1; // what lanes and warps share
  for (Hardware axis : {Hardware::Lane, Hardware::Warp})
    for (const Digit &digit : layout.digits(axis))
      if (!digit.isCopy() && static_cast<size_t>(digit.dim) == dim)
        unit = std::max(unit, digit.stride * digit.extent);
  if (start % unit != 0 || size % unit != 0)
    return makeError(DiagClass::Unsupported,
                     "{}: elements {} to {} are not in whole units of {}, which lanes and warps "
                     "share: values have to move",
                     of.name, start, start + size - 1, unit);
  Digits registers;
  for (const Digit &digit : layout.digits(Hardware::Register)) {
    if (digit.isCopy() || static_cast<size_t>(digit.dim) != dim || digit.stride < unit ||
        size / digit.stride >= digit.extent) {
      registers.push_back(digit);
      continue;
    }
    if (size >= digit.stride && size % digit.stride != 0)
      return makeError(DiagClass::Unsupported,
                       "{}: {} elements are no multiple of a register digit's stride {}", of.name,
                       size, digit.stride);
    if (size >= digit.stride)
      registers.push_back({size / digit.stride, digit.dim, digit.stride});
  }
  TileDims dims = layout.dims();
  dims[dim] = TileDim(of.name, size);
  llvm::Expected<TileLayout> result =
      TileLayout::make(std::move(dims), std::move(registers), layout.digits(Hardware::Lane),
                       layout.digits(Hardware::Warp));
  if (result)
    if (std::string fault = result->fault(); !fault.empty())
      return makeError(DiagClass::Unsupported, "{}", fault);
  return result;
}

} // namespace tilewright::layout
