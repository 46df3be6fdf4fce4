#include "analysis/solve/constraint_system.h"

#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright {

std::string_view toString(Verdict verdict) {
  switch (verdict) {
  case Verdict::No:
    return "no";
  case Verdict::Yes:
    return "yes";
  case Verdict::Unknown:
    break;
  }
  return "unknown";
}

llvm::Error ConstraintSystem::check() const {
  if (parameters.size() > maxParameters)
    return makeError(DiagClass::Unsupported, "{} tile parameters are over the limit of {}",
                     parameters.size(), maxParameters);
  std::vector<VarId> seen;
  for (const SolveParameter &parameter : parameters) {
    if (std::find(seen.begin(), seen.end(), parameter.var) != seen.end())
      return makeError(DiagClass::Internal, "parameter {} stands twice in a constraint system",
                       parameter.name);
    seen.push_back(parameter.var);
    const std::vector<int64_t> &list = parameter.candidates;
    if (std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) != list.end())
      return makeError(DiagClass::Internal, "the candidates of {} are not ascending",
                       parameter.name);
  }
  return llvm::Error::success();
}

Assignment ConstraintSystem::assign(std::span<const int64_t> values) const {
  Assignment point;
  for (size_t i = 0; i < parameters.size() && i < values.size(); ++i)
    point.set(parameters[i].var, values[i]);
  return point;
}

ConstraintSystem ConstraintSystem::withConstraints(std::span<const size_t> indices) const {
  ConstraintSystem out{parameters, {}};
  for (size_t index : indices)
    out.constraints.push_back(constraints[index]);
  return out;
}

std::string ConstraintSystem::describePoint(std::span<const int64_t> values) const {
  std::string out;
  for (size_t i = 0; i < parameters.size() && i < values.size(); ++i)
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", parameters[i].name, values[i]);
  return out;
}

} // namespace tilewright
