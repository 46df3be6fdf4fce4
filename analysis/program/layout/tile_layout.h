// TileLayout: which thread holds which element of a tile, with numbers for all sizes.
//
// The digits of program::Layout (layout.h there) at the numbers of one tile, whose dims stand in an
// order: h, a number of registers, lanes or warps, is read in mixed radix over the extents of that
// hardware axis' digits, fastest first; digit (extent, dim, stride) adds value·stride to the
// coordinate along its dim. Stride 0 holds copies. Digits cover a *box* that is at least the tile:
// what lies beyond a dim's extent is no element. Sizes need not be powers of two.
//
// Running example, the accumulator of wgmma, tile [i: 64, j: 16]:
//   registers 2:1@j 2:8@i 2:8@j | lanes 4:2@j 8:1@i | warps 4:16@i
//   i = 16·w + ⌊l/4⌋ + 8·(⌊r/2⌋ mod 2)      j = 2·(l mod 4) + r mod 2 + 8·⌊r/4⌋
//
// What is decided here is decided on the digits, in time linear in them, never by enumeration:
// - The *normal form* drops extents of 1 and joins neighbours of one dim where the second stride is
//   extent·stride of the first one. Two lists are one function iff their normal forms are equal:
//   the first digit of the normal form is the longest start on which the function is linear.
// - A layout *covers* its box iff along each dim the non-zero strides, ascending, are 1, e1, e1·e2,
// …
//   and their product is the box: element 1 needs a digit of stride 1, and what remains tiles the
//   multiples of its extent. Then each element has as many holders as there are copies.
#pragma once

#include "analysis/affine/index_map.h"
#include "analysis/program/layout.h"

#include "llvm/Support/Error.h"

#include <array>
#include <span>
#include <string>
#include <vector>

namespace tilewright::layout {

/// What counts the holders of elements.
enum class Hardware : uint8_t { Register, Lane, Warp };
constexpr std::array<Hardware, 3> allHardware = {Hardware::Register, Hardware::Lane,
                                                 Hardware::Warp};
std::string_view toString(Hardware axis); ///< "register", "lane", "warp"

struct Digit {
  static constexpr int32_t noDim = -1;
  int64_t extent;
  int32_t dim; ///< of copies: noDim
  int64_t stride;
  bool isCopy() const { return stride == 0; }
  auto operator<=>(const Digit &) const = default;
};
using Digits = std::vector<Digit>; ///< fastest first

/// A dim of a tile. `box`: what the digits cover.
struct TileDim {
  std::string name;
  int64_t extent, box;
  TileDim(std::string name, int64_t extent, int64_t box)
      : name(std::move(name)), extent(extent), box(box) {}
  TileDim(std::string name, int64_t extent) : TileDim(std::move(name), extent, extent) {}
  bool operator==(const TileDim &other) const = default;
};
using TileDims = std::vector<TileDim>;                ///< slowest first
TileDims namedDims(std::span<const int64_t> extents); ///< i, j, k, …

/// A thread's register.
struct Place {
  int64_t warp, lane, reg;
  auto operator<=>(const Place &) const = default;
};

class TileLayout {
public:
  /// The most that is looked at one by one: registers of all threads together, and elements.
  static constexpr int64_t maxPoints = int64_t(1) << 26;

  /// In normal form. BadInput: an extent below 1, a negative stride, a dim that is not there, a box
  /// smaller than its tile, or more points than maxPoints.
  static llvm::Expected<TileLayout> make(TileDims dims, Digits registers, Digits lanes,
                                         Digits warps);
  /// `axes`: those of the dims, in their order. Boxes are what the digits reach. Unsupported where
  /// a digit is no number.
  static llvm::Expected<TileLayout> of(const program::Layout &layout,
                                       std::span<const program::AxisId> axes, TileDims dims);
  /// The same digits for a tile program, over these axes.
  program::Layout toProgram(std::span<const program::AxisId> axes, ExprContext &context) const;

  const TileDims &dims() const { return tile; }
  size_t rank() const { return tile.size(); }
  const Digits &digits(Hardware axis) const { return lists[static_cast<size_t>(axis)]; }
  /// The product of an axis' extents: registers of a thread, lanes, warps.
  int64_t count(Hardware axis) const;
  int64_t registers() const { return count(Hardware::Register); }
  int64_t threads() const { return count(Hardware::Lane) * count(Hardware::Warp); }
  /// Holders of each element, where the layout covers its box.
  int64_t copies() const;
  /// Elements of the box.
  int64_t boxSize() const;
  bool isPadded() const;
  int64_t dimNamed(std::string_view name) const; ///< -1: none

  /// Why not every element of the box has a holder, or not all have equally many; empty where
  /// copies() says how many each has.
  std::string fault() const;
  bool isBijective() const { return copies() == 1 && fault().empty(); }
  /// Neighbours along a dim in consecutive registers, from an aligned start.
  int64_t vectorWidth(size_t dim) const;

  /// The coordinates that a place holds; `at` has one number a dim. May lie beyond the tile.
  void coordinates(Place place, std::span<int64_t> at) const;
  std::vector<int64_t> coordinates(Place place) const;
  /// The row-major number in the box.
  int64_t flatIndex(std::span<const int64_t> at) const;
  int64_t flatIndex(Place place) const;
  /// Who holds an element: warps, then lanes, then registers ascending.
  std::vector<Place> holders(std::span<const int64_t> at) const;

  /// (w, l, r) -> coordinates, for proofs and to compose with other maps.
  IndexMap toIndexMap(ExprContext &context) const;
  /// "[i: 64, j: 16] registers 2:1@j 2:8@i 2:8@j | lanes 4:2@j 8:1@i | warps 4:16@i".
  std::string str() const;

  bool operator==(const TileLayout &other) const = default;

private:
  TileDims tile;
  std::array<Digits, 3> lists;
};

/// TileLayout::coordinates() of many places: what each register, lane and warp adds is kept.
class CoordinateTable {
public:
  explicit CoordinateTable(const TileLayout &layout);
  void at(Place place, std::span<int64_t> into) const {
    const int64_t *ofRegister = parts[0].data() + static_cast<size_t>(place.reg) * rank;
    const int64_t *ofLane = parts[1].data() + static_cast<size_t>(place.lane) * rank;
    const int64_t *ofWarp = parts[2].data() + static_cast<size_t>(place.warp) * rank;
    for (size_t d = 0; d < rank; ++d)
      into[d] = ofRegister[d] + ofLane[d] + ofWarp[d];
  }

private:
  size_t rank;
  std::array<std::vector<int64_t>, 3> parts; ///< by Hardware: number · rank + dim
};

/// Digits of extent 1 dropped, neighbours joined.
Digits normalForm(const Digits &digits);
int64_t product(const Digits &digits);

} // namespace tilewright::layout
