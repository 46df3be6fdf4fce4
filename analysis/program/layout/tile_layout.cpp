#include "analysis/program/layout/tile_layout.h"

#include "analysis/support/checked.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::layout {

std::string_view toString(Hardware axis) {
  constexpr std::string_view names[] = {"register", "lane", "warp"};
  return names[static_cast<size_t>(axis)];
}

TileDims namedDims(std::span<const int64_t> extents) {
  TileDims dims;
  for (size_t i = 0; i < extents.size(); ++i)
    dims.emplace_back(i < 18 ? std::string(1, char('i' + i)) : fmt::format("d{}", i), extents[i]);
  return dims;
}

Digits normalForm(const Digits &digits) {
  Digits result;
  for (Digit digit : digits) {
    if (digit.extent == 1)
      continue;
    if (digit.isCopy())
      digit.dim = Digit::noDim;
    bool isNext = !result.empty() && result.back().dim == digit.dim &&
                  digit.stride == result.back().stride * result.back().extent;
    if (isNext)
      result.back().extent *= digit.extent;
    else
      result.push_back(digit);
  }
  return result;
}

int64_t product(const Digits &digits) {
  int64_t result = 1;
  for (const Digit &digit : digits)
    result *= digit.extent;
  return result;
}

namespace {

/// a·b, or nothing above the limit of what is looked at.
std::optional<int64_t> timesWithin(std::optional<int64_t> a, int64_t b) {
  if (!a || b < 1 || *a > TileLayout::maxPoints / b)
    return std::nullopt;
  return *a * b;
}

llvm::Error checkDims(const TileDims &dims) {
  std::optional<int64_t> elements = 1;
  for (const TileDim &dim : dims) {
    if (dim.extent < 1)
      return makeError(DiagClass::BadInput, "dim {} has {} elements: a tile has at least 1",
                       dim.name, dim.extent);
    if (dim.box < dim.extent)
      return makeError(DiagClass::BadInput, "digits cover {} of the {} elements along {}", dim.box,
                       dim.extent, dim.name);
    elements = timesWithin(elements, dim.box);
  }
  if (!elements)
    return makeError(DiagClass::BadInput, "a tile has at most {} elements", TileLayout::maxPoints);
  return llvm::Error::success();
}

llvm::Error checkDigits(const TileDims &dims, const std::array<Digits, 3> &lists) {
  std::optional<int64_t> points = 1;
  for (Hardware axis : allHardware)
    for (const Digit &digit : lists[static_cast<size_t>(axis)]) {
      if (digit.extent < 1 || digit.stride < 0 || digit.stride > TileLayout::maxPoints)
        return makeError(DiagClass::BadInput,
                         "a {} digit of {} values, {} apart: at least 1, at most {} apart",
                         toString(axis), digit.extent, digit.stride, TileLayout::maxPoints);
      bool isThere = digit.dim >= 0 && static_cast<size_t>(digit.dim) < dims.size();
      if (!digit.isCopy() && !isThere)
        return makeError(DiagClass::BadInput, "a {} digit goes along dim {} of {}", toString(axis),
                         digit.dim, dims.size());
      points = timesWithin(points, digit.extent);
    }
  if (!points)
    return makeError(DiagClass::BadInput, "threads hold more than {} values together",
                     TileLayout::maxPoints);
  return llvm::Error::success();
}

} // namespace

llvm::Expected<TileLayout> TileLayout::make(TileDims dims, Digits registers, Digits lanes,
                                            Digits warps) {
  TileLayout result;
  result.tile = std::move(dims);
  result.lists = {std::move(registers), std::move(lanes), std::move(warps)};
  if (llvm::Error error = checkDims(result.tile))
    return error;
  if (llvm::Error error = checkDigits(result.tile, result.lists))
    return error;
  for (Digits &digits : result.lists)
    digits = normalForm(digits);
  return result;
}

llvm::Expected<TileLayout> TileLayout::of(const program::Layout &layout,
                                          std::span<const program::AxisId> axes, TileDims dims) {
  std::array<Digits, 3> lists;
  std::vector<int64_t> reach(dims.size(), 1);
  const std::vector<program::Digit> *from[] = {&layout.registers, &layout.lanes, &layout.warps};
  for (size_t n = 0; n < 3; ++n)
    for (const program::Digit &digit : *from[n]) {
      const bool isEmpty = digit.extent.isConstant() && digit.extent.constant() == 0;
      if (digit.extent.isPoison() || digit.stride.isPoison() || isEmpty)
        return makeError(DiagClass::BadInput,
                         "the layout's numbers are not ones that its warps can hold");
      if (!digit.extent.isConstant() || !digit.stride.isConstant())
        return makeError(DiagClass::Unsupported,
                         "a digit of the layout has no number: give one for each size");
      Digit number{digit.extent.constant(), Digit::noDim, digit.stride.constant()};
      if (!number.isCopy()) {
        auto at = std::find(axes.begin(), axes.end(), digit.axis);
        if (at == axes.end())
          return makeError(DiagClass::Internal, "a digit goes along an axis that its tile lacks");
        number.dim = static_cast<int32_t>(at - axes.begin());
        if (number.extent < 1 || number.extent > maxPoints || number.stride > maxPoints ||
            number.stride < -maxPoints)
          return makeError(DiagClass::BadInput, "a digit of {} values, {} apart, is too large",
                           number.extent, number.stride);
        reach[number.dim] += (number.extent - 1) * number.stride;
      }
      lists[n].push_back(number);
    }
  for (size_t d = 0; d < dims.size(); ++d)
    dims[d].box = std::max(dims[d].extent, reach[d]);
  return make(std::move(dims), std::move(lists[0]), std::move(lists[1]), std::move(lists[2]));
}

program::Layout TileLayout::toProgram(std::span<const program::AxisId> axes,
                                      ExprContext &context) const {
  program::Layout result;
  std::vector<program::Digit> *to[] = {&result.registers, &result.lanes, &result.warps};
  for (size_t n = 0; n < 3; ++n)
    for (const Digit &digit : lists[n])
      to[n]->push_back({digit.isCopy() ? program::AxisId{} : axes[digit.dim],
                        context.constant(digit.extent), context.constant(digit.stride)});
  return result;
}

int64_t TileLayout::count(Hardware axis) const { return product(digits(axis)); }

int64_t TileLayout::copies() const {
  int64_t result = 1;
  for (const Digits &digits : lists)
    for (const Digit &digit : digits)
      if (digit.isCopy())
        result *= digit.extent;
  return result;
}

int64_t TileLayout::boxSize() const {
  int64_t result = 1;
  for (const TileDim &dim : tile)
    result *= dim.box;
  return result;
}

bool TileLayout::isPadded() const {
  return std::any_of(tile.begin(), tile.end(),
                     [](const TileDim &dim) { return dim.box != dim.extent; });
}

int64_t TileLayout::dimNamed(std::string_view name) const {
  for (size_t d = 0; d < tile.size(); ++d)
    if (tile[d].name == name)
      return static_cast<int64_t>(d);
  return -1;
}

std::string TileLayout::fault() const {
  for (size_t d = 0; d < tile.size(); ++d) {
    std::vector<std::tuple<int64_t, int64_t, Hardware>> along; // stride, extent, of what
    for (Hardware axis : allHardware)
      for (const Digit &digit : digits(axis))
        if (!digit.isCopy() && static_cast<size_t>(digit.dim) == d)
          along.emplace_back(digit.stride, digit.extent, axis);
    std::sort(along.begin(), along.end());
    int64_t next = 1;
    for (auto [stride, extent, axis] : along) {
      if (stride != next)
        return fmt::format("{}: a {} digit of {} values has stride {} where {} is next: {}",
                           tile[d].name, toString(axis), extent, stride, next,
                           stride < next ? "elements would have two holders"
                                         : "elements would have no holder");
      next *= extent;
    }
    if (next != tile[d].box)
      return fmt::format("{}: digits cover {} of {} elements", tile[d].name, next, tile[d].box);
  }
  return "";
}

int64_t TileLayout::vectorWidth(size_t dim) const {
  const Digits &registers = digits(Hardware::Register);
  bool isAlong = !registers.empty() && !registers[0].isCopy() && registers[0].stride == 1 &&
                 static_cast<size_t>(registers[0].dim) == dim;
  return isAlong ? registers[0].extent : 1;
}

void TileLayout::coordinates(Place place, std::span<int64_t> at) const {
  std::fill(at.begin(), at.end(), 0);
  int64_t numbers[] = {place.reg, place.lane, place.warp};
  for (size_t n = 0; n < 3; ++n)
    for (const Digit &digit : lists[n]) {
      if (!digit.isCopy())
        at[digit.dim] += numbers[n] % digit.extent * digit.stride;
      numbers[n] /= digit.extent;
    }
}

std::vector<int64_t> TileLayout::coordinates(Place place) const {
  std::vector<int64_t> at(tile.size());
  coordinates(place, at);
  return at;
}

CoordinateTable::CoordinateTable(const TileLayout &layout) : rank(layout.rank()) {
  for (Hardware axis : allHardware) {
    std::vector<int64_t> &part = parts[static_cast<size_t>(axis)];
    const int64_t count = layout.count(axis);
    part.resize(static_cast<size_t>(count) * rank);
    for (int64_t n = 0; n < count; ++n) {
      Place place{0, 0, 0};
      (axis == Hardware::Register ? place.reg
       : axis == Hardware::Lane   ? place.lane
                                  : place.warp) = n;
      layout.coordinates(place, std::span(part).subspan(static_cast<size_t>(n) * rank, rank));
    }
  }
}

int64_t TileLayout::flatIndex(std::span<const int64_t> at) const {
  int64_t result = 0;
  for (size_t d = 0; d < tile.size(); ++d)
    result = result * tile[d].box + at[d];
  return result;
}

int64_t TileLayout::flatIndex(Place place) const { return flatIndex(coordinates(place)); }

std::vector<Place> TileLayout::holders(std::span<const int64_t> wanted) const {
  std::vector<Place> result;
  std::vector<int64_t> at(tile.size());
  for (int64_t w = 0; w < count(Hardware::Warp); ++w)
    for (int64_t l = 0; l < count(Hardware::Lane); ++l)
      for (int64_t r = 0; r < registers(); ++r) {
        coordinates({w, l, r}, at);
        if (std::equal(at.begin(), at.end(), wanted.begin(), wanted.end()))
          result.push_back({w, l, r});
      }
  return result;
}

IndexMap TileLayout::toIndexMap(ExprContext &context) const {
  const int64_t counts[] = {count(Hardware::Warp), count(Hardware::Lane), registers()};
  std::vector<Expr> at(tile.size(), context.constant(0));
  for (size_t n = 0; n < 3; ++n) {
    Expr number = context.dim(static_cast<unsigned>(2 - n));
    int64_t place = 1;
    for (const Digit &digit : lists[n]) {
      if (!digit.isCopy())
        at[digit.dim] = at[digit.dim] + number.floorDiv(place).mod(digit.extent) * digit.stride;
      place *= digit.extent;
    }
  }
  return IndexMap::overExtents(context, counts, std::move(at));
}

std::string TileLayout::str() const {
  std::string text = "[";
  for (const TileDim &dim : tile)
    text += fmt::format("{}{}: {}{}", text.size() > 1 ? ", " : "", dim.name, dim.extent,
                        dim.box == dim.extent ? "" : fmt::format(" in {}", dim.box));
  text += "]";
  for (Hardware axis : allHardware) {
    text += fmt::format("{} {}s", axis == Hardware::Register ? "" : " |", toString(axis));
    for (const Digit &digit : digits(axis))
      text += digit.isCopy()
                  ? fmt::format(" {}:copies", digit.extent)
                  : fmt::format(" {}:{}@{}", digit.extent, digit.stride, tile[digit.dim].name);
    if (digits(axis).empty())
      text += " -";
  }
  return text;
}

} // namespace tilewright::layout
