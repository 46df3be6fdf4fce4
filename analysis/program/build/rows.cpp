// Threads that share a row which is reduced, and how much of it they take at a time.
#include "analysis/program/build/builder.h"
#include "analysis/tiling/row_values.h"

#include <algorithm>

namespace tilewright::program {

/// The extent of an axis of steps: a `let` that makeRowSteps() gives its value.
Expr Builder::rowStep(unsigned parameter, const Axis &axis) {
  std::string name = names.take("K" + axis.name);
  Expr var = context.variable(VarKind::TileParam, name);
  rowSteps[parameter] = {name, var, axis.extent};
  return var;
}

/// `let G`: threads that share a row; `let Ki`: lanes of a step along axis i.
void Builder::makeRowSizes() {
  if (!frame.isAlongRows && rowSteps.empty())
    return;
  Expr sharing = context.variable(VarKind::TileParam, "G"), rows = p.number(1);
  for (AxisId axis : rowAxes)
    rows = rows * p[axis].extent;
  p.lets.push_back(
      {"G", sharing, frame.isAlongRows ? threadsAlongRow(rows) : threadsAcrossRows(rows)});
  if (frame.isAlongRows)
    threads = sharing;
  if (!rowSteps.empty())
    makeRowSteps(sharing);
}

/// As many threads as a row has vectors, but beyond a warp only while there are more threads than
/// rows.
Expr Builder::threadsAlongRow(Expr rows) const {
  Expr all = p.warps * 32, longest;
  for (AxisId axis : columnAxes) {
    bool isStep = std::any_of(rowSteps.begin(), rowSteps.end(),
                              [&](const auto &step) { return step.second.var == p[axis].extent; });
    Expr extent = isStep ? p[axis].bound : p[axis].extent;
    longest = longest ? longest.max(extent) : extent;
  }
  Expr most = rows.isConstant(1)
                  ? all.pow2Divisor()
                  : (all.floorDiv(rows).floorDiv(2) + 1).pow2Ceil().max(32).min(all.pow2Divisor());
  if (!longest) // what is reduced are dims of one element, which are no axes
    return p.number(1);
  return longest.ceilDiv(vector).pow2Ceil().min(most);
}

/// Those that have no rows of their own.
Expr Builder::threadsAcrossRows(Expr rows) const {
  Expr all = p.warps * 32;
  return all.floorDiv(all.pow2Divisor().min(rows.pow2Ceil()));
}

/// A step is a whole number of vectors of each thread that shares the row, so that none is idle, as
/// near to the plan's as a thread takes values at once, and all steps as large as each other.
void Builder::makeRowSteps(Expr sharing) {
  Expr unit = sharing * vector, most = p.number(maxPassingValues).floorDiv(vector).max(1);
  std::vector<std::pair<AxisId, unsigned>> reduced;
  for (unsigned parameter : frame.reduced)
    if (axisOf[parameter])
      reduced.push_back({*axisOf[parameter], parameter});
  std::sort(reduced.rbegin(), reduced.rend()); // the fastest first
  for (auto [axis, parameter] : reduced) {
    Expr taken = p[axis].extent.ceilDiv(unit);
    if (auto step = rowSteps.find(parameter); step != rowSteps.end()) {
      Expr length = p[axis].bound.ceilDiv(unit);
      taken = step->second.value.ceilDiv(unit).min(length.ceilDiv(length.ceilDiv(most)));
      step->second.value = taken * unit;
      p.lets.push_back(step->second);
    }
    most = most.floorDiv(taken).max(1);
    unit = p.number(1);
  }
}

} // namespace tilewright::program
