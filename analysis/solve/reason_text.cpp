#include "analysis/solve/reason_text.h"

#include "analysis/solve/compiled.h"

#include <limits>

namespace tilewright {

namespace {

/// Assignments that a reason is worth, over all of its searches.
constexpr uint64_t maxReasonNodes = 2'000'000;

/// The point where an amount is nearest to its limit, or the farthest below it.
class NearestToLimit {
public:
  NearestToLimit(ConstraintSystem others, const Constraint &constraint)
      : system(std::move(others)), amount(constraint.formula.lhs()),
        limit(constraint.formula.rhs()) {
    own = system.constraints.size();
    system.constraints.push_back({Formula::constant(true), {}});
  }

  /// False: there is none.
  bool find() {
    if (!take(Formula::constant(true)))
      return false;
    // Doubled steps down, then halved ones; a point found is often far below what was asked for.
    int64_t step = 1;
    while (step < (int64_t(1) << 60) && isAnyBelow(step))
      step *= 2;
    for (; step > 0; step /= 2)
      while (isAnyBelow(step)) {
      }
    return true;
  }

  std::vector<int64_t> point;
  bool isNearest = true; ///< no point is nearer

private:
  bool isAnyBelow(int64_t step) {
    int64_t bound;
    if (__builtin_sub_overflow(excess, step, &bound))
      return false;
    return take(Formula::lessEqual(amount, limit + bound));
  }

  bool take(const Formula &formula) {
    system.constraints[own].formula = formula;
    llvm::Expected<CompiledSystem> compiled =
        CompiledSystem::compile(system, SearchOrder::Tightest);
    if (!compiled) {
      llvm::consumeError(compiled.takeError());
      return false;
    }
    std::vector<int64_t> found;
    const SearchResult result = compiled->findFirst(found, {.maxNodes = nodesLeft});
    nodesLeft -= std::min(nodesLeft, result.nodes);
    isNearest &= result.verdict() != Verdict::Unknown;
    if (result.verdict() != Verdict::Yes)
      return false;
    const Assignment at = system.assign(found);
    const std::optional<int64_t> a = evaluate(amount, at), b = evaluate(limit, at);
    if (!a || !b || __builtin_sub_overflow(*a, *b, &excess))
      return false;
    point = std::move(found);
    return true;
  }

  ConstraintSystem system;
  Expr amount, limit;
  size_t own;
  int64_t excess = 0; ///< of the amount over the limit, at the point
  uint64_t nodesLeft = maxReasonNodes;
};

/// What the lists of one decide.
Assignment decided(const ConstraintSystem &system) {
  Assignment point;
  for (const SolveParameter &parameter : system.parameters)
    if (parameter.candidates.size() == 1)
      point.set(parameter.var, parameter.candidates.front());
  return point;
}

} // namespace

std::string reasonText(const ConstraintSystem &system, std::span<const size_t> together,
                       size_t constraint) {
  const Constraint &of = system.constraints[constraint];
  const Assignment point = decided(system);
  if (of.formula.kind() != Formula::Kind::LessEqual || of.hasNumbers(point))
    return of.describe(point);
  std::vector<size_t> others(together.begin(), together.end());
  std::erase(others, constraint);
  for (bool isAlone : {false, true}) {
    if (isAlone)
      others.clear();
    NearestToLimit nearest(system.withConstraints(others), of);
    if (nearest.find())
      return of.describe(system.assign(nearest.point),
                         nearest.isNearest ? "at best " : "for example ");
  }
  return of.describe(point);
}

} // namespace tilewright
