// How often ops run over all CTAs, and how many elements their accesses touch. Internal.
#pragma once

#include "analysis/affine/simplify.h"
#include "analysis/program/fold.h"

namespace tilewright::program {

/// What stands around an op.
struct Surroundings {
  LoopNest loops;
  std::vector<Expr> conditions; ///< each 0 or 1
  bool isBehindSplits = false;  ///< the split variable counts once
};

class Executions {
public:
  Executions(const Program &program, Folds &folds);

  /// Executions of an op, all CTAs together.
  Expr times(const Surroundings &around);
  /// Elements of a box of axes that count, over all executions. Sets `isExact`.
  Expr elements(const Surroundings &around, const AxisSet &axes, bool &isExact);
  /// Sectors of runs along `contiguous`, an axis of `axes`, of elements of so many bits: exact
  /// where runs start at sectors.
  Expr sectors(const Surroundings &around, const AxisSet &axes, AxisId contiguous, int64_t bits);

private:
  struct Step {
    VarId var;
    Expr count;
  };
  std::vector<Step> stepsAround(const Surroundings &around) const;
  Expr count(const Surroundings &around, const AxisSet &axes, bool &isExact);
  /// Lanes, or along the contiguous axis the sectors that they take.
  Expr piecesOf(AxisId axis, Expr lanes) const;
  /// The digits of a bounded axis' tiles if all of them are steps around, and this variable is the
  /// innermost; else none.
  std::vector<TileDigit> tilesOf(AxisId axis, VarId innermost, const std::vector<Step> &steps);
  Expr covered(AxisId axis, const std::vector<TileDigit> &digits);
  Expr lanesAt(AxisId axis);
  Expr sumOver(std::vector<SumOverSteps::Range> ranges, Expr summand);

  const Program &p;
  Folds &folds;
  Simplifier simplifier;
  AxisId contiguous; ///< while sectors are counted
  int64_t elementBits = 0;
};

} // namespace tilewright::program
