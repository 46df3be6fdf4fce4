#include "tools/explore/variant_filter.h"

#include <algorithm>

namespace tilewright {

namespace {

/// A part of a condition: not 0, or 0.
struct ConditionPart {
  Expr expr;
  bool holds;
};

/// What `when` ≠ 0 means: all of these.
std::vector<ConditionPart> partsOf(Expr when) {
  std::vector<ConditionPart> parts;
  while (when.kind() == ExprKind::Select) {
    if (when.rhs().isConstant(0)) {
      parts.push_back({when.third(), true});
      when = when.lhs();
    } else if (when.lhs().isConstant(0)) {
      parts.push_back({when.third(), false});
      when = when.rhs();
    } else {
      break;
    }
  }
  parts.push_back({when, true});
  return parts;
}

} // namespace

VariantFilter::VariantFilter(ConstraintSystem given) : system(std::move(given)) {
  if (llvm::Expected<CompiledSystem> made = CompiledSystem::compile(system))
    compiled = std::move(*made);
  else
    llvm::consumeError(made.takeError());
}

bool VariantFilter::operator()(Expr when) {
  if (!compiled)
    return true;
  std::vector<std::vector<bool>> isLeft;
  for (const SolveParameter &parameter : system.parameters)
    isLeft.emplace_back(parameter.candidates.size(), true);
  for (const ConditionPart &part : partsOf(when)) {
    const std::vector<VarId> variables = variablesOf(part.expr);
    const auto of =
        std::find_if(system.parameters.begin(), system.parameters.end(),
                     [&](const SolveParameter &p) { return variables == std::vector{p.var}; });
    if (of == system.parameters.end())
      continue;
    const auto number = static_cast<size_t>(of - system.parameters.begin());
    const std::vector<bool> &keeps = keptBy(part.expr, part.holds, number);
    for (size_t i = 0; i < keeps.size(); ++i)
      isLeft[number][i] = isLeft[number][i] && keeps[i];
  }
  std::vector<Interval> box;
  for (size_t p = 0; p < isLeft.size(); ++p) {
    const std::vector<int64_t> &candidates = system.parameters[p].candidates;
    Interval range = Interval::empty();
    for (size_t i = 0; i < candidates.size(); ++i)
      if (isLeft[p][i])
        range =
            range.isEmpty() ? Interval::point(candidates[i]) : Interval{range.lo, candidates[i]};
    if (range.isEmpty())
      return false;
    box.push_back(range);
  }
  return compiled->canHold(box);
}

const std::vector<bool> &VariantFilter::keptBy(Expr part, bool holds, size_t parameter) {
  auto [at, isNew] = kept.try_emplace({part.id(), holds});
  if (!isNew)
    return at->second;
  const SolveParameter &of = system.parameters[parameter];
  Assignment point;
  for (int64_t candidate : of.candidates) {
    point.set(of.var, candidate);
    const std::optional<int64_t> value = evaluate(part, point);
    at->second.push_back(!value || (*value != 0) == holds);
  }
  return at->second;
}

} // namespace tilewright
