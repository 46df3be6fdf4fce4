// Layouts of register tiles: which thread holds which element.
//
// For each hardware axis (register, lane, warp) a list of digits, fastest first. A number of that
// axis is read in mixed radix over the extents; digit (extent, axis, stride) has the value d in
// [0, extent) and adds d·stride to the coordinate of its axis. Stride 0 holds copies. Digits cover
// a box that is at least the tile: what lies beyond an axis' extent is no element.
//
// Running example, an f32 accumulator of one warpgroup [i: 64, j: 16]:
//   registers 2:1@j 2:8@i 2:8@j     lanes 4:2@j 8:1@i     warps 4:16@i
//
// A family says how digits are made for the axes of a tile; the text names the family, the program
// has the digits. All extents and strides may be symbolic.
#pragma once

#include "analysis/program/axis.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <span>
#include <string_view>

namespace tilewright::program {

enum class LayoutFamily : uint8_t {
  Flat,    ///< flat(v): v neighbours of the last axis a thread, then lanes, then warps
  Across,  ///< across(v): the same with the axes in reverse order
  Rows,    ///< rows(v, g): g threads along the last axis, v neighbours each; others over rows
  Columns, ///< columns(v, g): what a tile of the last axis alone has of rows(v, g)
  Mma,     ///< mma(r, c): results of m16n8 in r x c warps
  MmaA,    ///< mma.a(r, c): left operand, last axis contracted
  MmaB,    ///< mma.b(r, c): right operand, last axis contracted
  Wgmma,   ///< wgmma(r, c): accumulators of r x c warpgroups
  WgmmaA,  ///< wgmma.a(r, c): left operand from registers
  Like,    ///< like x: as the value x, without the axes that it has more
  Digits,  ///< digits(…, …, …): the digits themselves, of registers, lanes and warps
};

std::string_view toString(LayoutFamily family); ///< "mma.a"
std::optional<LayoutFamily> parseLayoutFamily(std::string_view name);
/// Numbers that a family takes in parentheses: 1 or 2, of Like and Digits none.
size_t argumentCount(LayoutFamily family);

struct Digit {
  AxisId axis; ///< of copies the axis that is missing, or invalid
  Expr extent, stride;
  bool isCopy() const { return stride.isConstant(0); }
  bool operator==(const Digit &) const = default;
};

struct Layout {
  std::vector<Digit> registers, lanes, warps; ///< fastest first

  /// Registers of a thread: the product of the register digits' extents.
  Expr registerCount(ExprContext &context) const;
  /// Digits of extent 1 are dropped, neighbours joined: equal layouts are equal digits.
  Layout normal() const;
  /// Without some axes: register digits go, those of lanes and warps become copies.
  Layout withoutAxes(const AxisSet &axes) const;
  bool operator==(const Layout &) const = default;
};

struct LayoutSpec {
  LayoutFamily family = LayoutFamily::Flat;
  std::vector<Expr> arguments;
  ValueId value; ///< Like
  /// `flat(4) of i,j`: as a tile of these axes, in this order, without those that the tile at hand
  /// lacks. None: the tile's own axes.
  std::vector<AxisId> of = {};
  Layout digits = {}; ///< Digits
  bool operator==(const LayoutSpec &) const = default;
};

/// How much of an axis a layout is made for.
struct AxisExtent {
  AxisId axis;
  Expr extent;
};

/// The digits of a family other than Like and Digits. `axes`: those of the tile, in order of
/// declaration; `elementBits` counts only for operand fragments, whose registers hold 32 bits;
/// `warps`: of the role that holds it.
Layout makeLayout(const LayoutSpec &spec, std::span<const AxisExtent> axes, unsigned elementBits,
                  Expr warps);

/// The fragment of an operand of a dot in r x c warps (isGroup: warpgroups), of which `rows` is the
/// axis of the result and `contracted` the other one.
struct FragmentShape {
  AxisExtent rows, contracted;
  Expr r, c;
  bool isLeft = true, isGroup = false;
};
Layout operandFragment(const FragmentShape &shape, unsigned elementBits);

} // namespace tilewright::program
