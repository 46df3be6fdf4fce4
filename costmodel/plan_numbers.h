// A plan as numbers, and expressions of its group at them. Q: double for one plan, Traced to record
// the arithmetic (trace.h). Internal to the cost model.
#pragma once

#include "analysis/affine/scratch_table.h"
#include "analysis/tiling/plan.h"
#include "costmodel/trace.h"

#include <optional>
#include <type_traits>
#include <vector>

namespace tilewright {

/// Of one plan, beside its group.
template <class Q> struct PlanNumbers {
  std::vector<Q> values; ///< of the parameters, in order; at least 1
  /// Steps of the loops where masks shorten them (loop_range.h): mean and maximum over the CTAs.
  /// Empty: all CTAs take all steps of every loop.
  std::vector<Q> meanSteps, maxSteps;
};

/// True if steps must be counted for plans of the group.
bool hasUnevenLoops(const TiledGroup &group);
/// Internal errors for values that do not fit the space.
llvm::Expected<PlanNumbers<double>> numbersOf(const KernelPlan &plan);

/// Expressions at a point. Values of one plan stay integers of 64 bits.
class Evaluator {
public:
  void setLargest(VarId, int64_t) {}
  void set(VarId var, double value) { point.set(var, static_cast<int64_t>(value)); }
  /// Empty for an expression that has no value.
  std::optional<double> operator()(Expr expr) const {
    std::optional<int64_t> value = evaluate(expr, point);
    return value ? std::optional(double(*value)) : std::nullopt;
  }

private:
  Assignment point;
};

/// Recorded in floating point, which is exact for sizes and positions below 2^53, and without
/// branches: comparisons are sums, a select is one of two products. What expressions have in common
/// is evaluated and recorded once.
class TracingEvaluator {
public:
  /// No power of two above `most` is looked for in a number.
  void setLargest(VarId var, int64_t most) { bounds.set(var, Interval{1, most}); }
  void set(VarId var, const Traced &value);
  /// Empty for an expression that has no recorded form.
  std::optional<Traced> operator()(Expr expr);

private:
  std::optional<Traced> operation(Expr expr);
  std::optional<Traced> smallPower(Expr expr);

  std::vector<std::optional<Traced>> values;
  detail::ScratchTable<Traced> known; ///< at these values, by Expr::id()
  Bounds bounds;
};

template <class Q>
using EvaluatorOf = std::conditional_t<std::is_same_v<Q, Traced>, TracingEvaluator, Evaluator>;

/// At the plan's sizes and the least of what run-time values may be. Indices of tiles have no
/// value.
template <class Q>
EvaluatorOf<Q> evaluatorAt(const TiledGroup &group, const PlanNumbers<Q> &numbers);

} // namespace tilewright
