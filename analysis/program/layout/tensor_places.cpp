#include "analysis/program/layout/tensor_places.h"

#include "analysis/support/diag.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tilewright::layout {

using program::Access;
using program::AxisId;
using program::AxisSet;
using program::Program;

namespace {

/// Evaluates an access, with CTA and loop variables at 0 but for those that are set.
class PlaceReader {
public:
  PlaceReader(const Program &program, const Access &access, const AxisSet &axes)
      : p(program), access(access), axes(axes) {
    for (uint32_t v = 0; v < p.context->variableCount(); ++v)
      numbers.set(VarId{v}, 0);
  }
  void set(VarId var, int64_t value) { numbers.set(var, value); }
  void countIndexTiles(std::vector<program::ValueId> values) { tiles = std::move(values); }

  /// The element's number; noAddress: it does not count; nothing: no number.
  std::optional<int64_t> at(std::span<const int64_t> lanes, bool withBounds = true) {
    for (size_t d = 0; d < axes.size(); ++d) {
      const program::Axis &axis = p[axes[d]];
      std::optional<int64_t> origin = evaluate(axis.origin, numbers);
      if (!origin)
        return std::nullopt;
      numbers.set(axis.var, *origin + lanes[d]);
      if (withBounds && !counts(axis, *origin + lanes[d]))
        return noAddress;
    }
    for (program::ValueId value : tiles) {
      int64_t number = 0;
      for (size_t d = 0; d < axes.size(); ++d)
        if (contains(p[value].tile.axes, axes[d]))
          number = number * extentOf(axes[d]) + lanes[d];
      numbers.set(p[value].var, number);
    }
    int64_t position = 0;
    const program::TensorInfo &tensor = p[access.tensor];
    for (size_t d = 0; d < access.index.size(); ++d) {
      std::optional<int64_t> index = evaluate(access.index[d], numbers);
      std::optional<int64_t> size = evaluate(tensor.dims[d], numbers);
      if (!index || !size)
        return std::nullopt;
      if (withBounds && tiles.empty() && (*index < 0 || *index >= *size))
        return noAddress;
      position = position * *size + *index;
    }
    return position;
  }

  int64_t extentOf(AxisId axis) const {
    Expr extent = p.resolved(p[axis].extent);
    return extent.isConstant() ? extent.constant() : 0;
  }

private:
  bool counts(const program::Axis &axis, int64_t coordinate) {
    std::optional<int64_t> bound = axis.bound ? evaluate(axis.bound, numbers) : std::nullopt;
    std::optional<int64_t> lower = axis.lower ? evaluate(axis.lower, numbers) : std::nullopt;
    return !(bound && coordinate >= *bound) && !(lower && coordinate < *lower);
  }

  const Program &p;
  const Access &access;
  const AxisSet &axes;
  std::vector<program::ValueId> tiles;
  Assignment numbers;
};

/// CTA and loop variables that move an access.
std::vector<VarId> moversOf(const Program &program, const Access &access, const AxisSet &axes) {
  std::vector<VarId> result;
  auto addAll = [&](Expr expr) {
    for (VarId var : variablesOf(expr))
      if (!program.axisOf(var).isValid() && !program.valueOf(var).isValid() &&
          std::find(result.begin(), result.end(), var) == result.end())
        result.push_back(var);
  };
  for (Expr index : access.index)
    addAll(index);
  for (AxisId axis : axes)
    addAll(program[axis].origin);
  return result;
}

/// Of elements, each once.
Sectors sectorsOfAll(const std::vector<int64_t> &places, unsigned bits) {
  std::vector<int64_t> bytes;
  for (int64_t place : places)
    if (place != noAddress)
      bytes.push_back(place * bits / 8);
  std::sort(bytes.begin(), bytes.end());
  bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
  return sectorsOf(bytes, std::max<int64_t>(1, bits / 8));
}

} // namespace

llvm::Expected<TensorPlaces> TensorPlaces::of(const Program &program, const Access &access,
                                              const AxisSet &axes, const PlaceOptions &options) {
  constexpr int64_t mostElements = int64_t(1) << 20;
  TensorPlaces result;
  result.bits = bitWidth(program[access.tensor].type);
  PlaceReader reader(program, access, axes);
  std::vector<program::ValueId> tiles;
  for (Expr index : access.index)
    for (VarId var : variablesOf(index))
      if (program::ValueId value = program.valueOf(var); value.isValid())
        tiles.push_back(value);
  if (!tiles.empty() && options.indices == RunTimeIndices::Refused)
    return makeError(DiagClass::Unsupported, "its index is read at run time");
  reader.countIndexTiles(std::move(tiles));
  int64_t elements = 1;
  for (AxisId axis : axes) {
    result.extents.push_back(reader.extentOf(axis));
    if (result.extents.back() < 1)
      return makeError(DiagClass::Unsupported, "its index has no number");
    if (elements > mostElements / result.extents.back())
      return makeError(DiagClass::Unsupported, "it has too many elements to look at one by one");
    elements *= result.extents.back();
  }
  std::vector<int64_t> lanes(axes.size(), 0);
  const std::vector<VarId> movers = moversOf(program, access, axes);
  for (VarId var : movers) {
    constexpr int64_t steps[] = {1, 2, 3, 0};
    for (int64_t step : steps) {
      reader.set(var, step);
      std::optional<int64_t> place = reader.at(lanes, false);
      result.alignment = std::gcd(result.alignment, place.value_or(1));
    }
    reader.set(var, 0);
  }
  for (VarId var : movers)
    if (std::optional<int64_t> number = options.where ? options.where->get(var) : std::nullopt)
      reader.set(var, *number);
  result.places.reserve(static_cast<size_t>(elements));
  for (int64_t n = 0; n < elements; ++n) {
    std::optional<int64_t> place = reader.at(lanes);
    if (!place)
      return makeError(DiagClass::Unsupported, "its index has no number");
    result.places.push_back(*place);
    result.counted += *place != noAddress ? 1 : 0;
    for (size_t d = lanes.size(); d-- > 0 && ++lanes[d] == result.extents[d];)
      lanes[d] = 0;
  }
  result.leastSectors = sectorsOfAll(result.places, result.bits);
  return result;
}

int64_t TensorPlaces::at(std::span<const int64_t> lanes) const {
  int64_t number = 0;
  for (size_t d = 0; d < lanes.size(); ++d) {
    if (lanes[d] >= extents[d])
      return noAddress;
    number = number * extents[d] + lanes[d];
  }
  return places[static_cast<size_t>(number)];
}

/// Where a holder's element lies. Where the layout goes no farther than the tile, row-major numbers
/// are sums over the parts of a place as coordinates are, so that one look-up is all.
class TensorPlaces::Held {
public:
  Held(const TensorPlaces &places, const TileLayout &layout)
      : places(places), coordinates(layout), lanes(layout.rank()), farthest(layout.rank(), 0) {
    addNumbers(ofRegister, layout.registers(), [](int64_t n) { return Place{0, 0, n}; });
    addNumbers(ofLane, layout.count(Hardware::Lane), [](int64_t n) { return Place{0, n, 0}; });
    addNumbers(ofWarp, layout.count(Hardware::Warp), [](int64_t n) { return Place{n, 0, 0}; });
    for (size_t d = 0; d < lanes.size(); ++d)
      isInside = isInside && farthest[d] < places.extents[d];
  }

  int64_t at(Place place) {
    if (isInside)
      return places.places[static_cast<size_t>(ofRegister[static_cast<size_t>(place.reg)] +
                                               ofLane[static_cast<size_t>(place.lane)] +
                                               ofWarp[static_cast<size_t>(place.warp)])];
    coordinates.at(place, lanes);
    return places.at(lanes);
  }

private:
  template <typename PlaceOf>
  void addNumbers(std::vector<int64_t> &numbers, int64_t count, const PlaceOf &placeOf) {
    std::vector<int64_t> most(lanes.size(), 0);
    for (int64_t n = 0; n < count; ++n) {
      coordinates.at(placeOf(n), lanes);
      int64_t number = 0;
      for (size_t d = 0; d < lanes.size(); ++d) {
        number = number * places.extents[d] + lanes[d];
        most[d] = std::max(most[d], lanes[d]);
      }
      numbers.push_back(number);
    }
    for (size_t d = 0; d < lanes.size(); ++d)
      farthest[d] += most[d];
  }

  const TensorPlaces &places;
  const CoordinateTable coordinates;
  std::vector<int64_t> lanes, farthest;
  std::vector<int64_t> ofRegister, ofLane, ofWarp;
  bool isInside = true;
};

int64_t TensorPlaces::vectorOf(const TileLayout &layout, std::span<const int64_t> warps) const {
  constexpr int64_t mostBits = 128;
  const Digits &registers = layout.digits(Hardware::Register);
  if (registers.empty() || registers[0].isCopy())
    return 1;
  const int64_t run = registers[0].extent;
  Held held(*this, layout);
  auto isVector = [&](int64_t vector) {
    for (int64_t w : warps)
      for (int64_t l = 0; l < layout.count(Hardware::Lane); ++l)
        for (int64_t r = 0; r < layout.registers(); r += vector) {
          const int64_t first = held.at({w, l, r});
          if (first != noAddress && first % vector != 0)
            return false;
          for (int64_t k = 1; k < vector; ++k)
            if (held.at({w, l, r + k}) != (first == noAddress ? noAddress : first + k))
              return false;
        }
    return true;
  };
  int64_t vector = 1;
  while (vector * 2 * bits <= mostBits && run % (vector * 2) == 0 &&
         alignment % (vector * 2) == 0 && isVector(vector * 2))
    vector *= 2;
  return vector;
}

void TensorPlaces::forEachAccess(const TileLayout &layout, int64_t vector,
                                 std::span<const int64_t> warps,
                                 const std::function<void(const Sectors &)> &visit) const {
  const int64_t width = std::max<int64_t>(1, vector * bits / 8);
  Held held(*this, layout);
  std::vector<int64_t> bytes;
  for (int64_t w : warps)
    for (int64_t r = 0; r < layout.registers(); r += vector) {
      bytes.clear();
      for (int64_t l = 0; l < layout.count(Hardware::Lane); ++l) {
        const int64_t place = held.at({w, l, r});
        bytes.push_back(place == noAddress ? noAddress : place * bits / 8);
      }
      visit(sectorsOf(bytes, width));
    }
}

} // namespace tilewright::layout
