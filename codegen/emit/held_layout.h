// HeldLayout: a layout with numbers, as emission asks for it: what a register and a thread add to
// the lane along an axis.
#pragma once

#include "analysis/program/program.h"

#include <map>

namespace tilewright::emit {

using program::AxisId;
using program::AxisSet;
using program::Layout;

/// A digit of a hardware number: (number / place) mod extent.
struct PlacedDigit {
  AxisId axis;
  int64_t extent, stride; ///< stride 0: copies
  int64_t place;
  bool isCopy() const { return stride == 0; }
};

class HeldLayout {
public:
  /// Nothing where a digit is no number, or where the digits do not cover exactly the lanes of a
  /// warp and `warps` warps.
  static std::optional<HeldLayout> of(const Layout &layout, int64_t warps);

  const Layout &layout() const { return source; }
  int64_t registers() const { return count; }
  const std::vector<PlacedDigit> &registerDigits() const { return inRegisters; }
  const std::vector<PlacedDigit> &laneDigits() const { return inLanes; }
  const std::vector<PlacedDigit> &warpDigits() const { return inWarps; }

  /// The lane of an axis that all holders have, for an axis that the layout lacks.
  void fix(AxisId axis, int64_t lane) { fixed[axis] = {lane, Expr(), 0}; }
  /// The same for a lane that is known at run time: `from` + `lane`, where `from` is at most
  /// `most`.
  void fix(AxisId axis, int64_t lane, Expr from, int64_t most) { fixed[axis] = {lane, from, most}; }

  /// What a tile of these axes alone has of it: digits of others go, or become copies.
  HeldLayout restrictedTo(const AxisSet &axes) const;

  /// What register r adds to the lane along an axis.
  int64_t registerPart(AxisId axis, int64_t r) const;
  /// The same along several axes: a name for r among the registers of one thread.
  std::vector<int64_t> parts(const AxisSet &axes, int64_t r) const;
  /// What a thread adds, as an expression of its lane and warp.
  Expr threadPart(AxisId axis, Expr lane, Expr warp) const;
  /// Bits that threadPart() may set; all where a digit is no power of two.
  uint64_t threadBits(AxisId axis) const;
  /// Lanes along an axis that registers and threads reach, from 0 on.
  int64_t reach(AxisId axis) const;
  /// Neighbours along the fastest register digit: their axis, and how many; 1 where there are none.
  std::pair<AxisId, int64_t> run() const;

private:
  Layout source;
  int64_t count = 1;
  std::vector<PlacedDigit> inRegisters, inLanes, inWarps;
  struct Fixed {
    int64_t lane;
    Expr from; ///< null: 0
    int64_t most;
  };
  std::map<AxisId, Fixed> fixed;
};

/// The value of a digit of a number.
Expr digitOf(const PlacedDigit &digit, Expr number);

} // namespace tilewright::emit
