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

private:
  struct Step {
    VarId var;
    Expr count;
  };
  std::vector<Step> stepsAround(const Surroundings &around) const;
  Expr count(const Surroundings &around, const AxisSet &axes, bool &isExact);
  /// Whether the axis is tiled by that variable alone: origin = variable · extent, with a bound.
  bool isTiledBy(AxisId axis, VarId var);
  Expr covered(AxisId axis, Expr count);
  Expr lanesAt(AxisId axis);
  Expr sumOver(std::vector<SumOverSteps::Range> ranges, Expr summand);

  const Program &p;
  Folds &folds;
  Simplifier simplifier;
};

} // namespace tilewright::program
