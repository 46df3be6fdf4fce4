#include "analysis/solve/tile_system.h"

#include "analysis/support/diag.h"

namespace tilewright {

CandidatePlan CandidatePlan::standard() {
  auto list = [](std::vector<int64_t> sizes) {
    CandidateRule rule;
    rule.kind = CandidateRule::Kind::List;
    rule.list = std::move(sizes);
    return rule;
  };
  CandidatePlan plan;
  plan.byName["warps"] = list({1, 2, 4, 8, 16});
  plan.byName["stages"] = list({1, 2, 3, 4, 5});
  plan.byName["group_m"] = list({1, 2, 4, 8});
  return plan;
}

llvm::Error CandidatePlan::addRule(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos)
    return makeError(DiagClass::BadInput,
                     "\"{}\" is not of the form parameter=sizes, for example t0=16,32", text);
  auto rule = parseCandidateRule(text.substr(equals + 1));
  if (!rule)
    return rule.takeError();
  byName[std::string(text.substr(0, equals))] = std::move(*rule);
  return llvm::Error::success();
}

llvm::Expected<ConstraintSystem> makeSystem(const TileSpace &space,
                                            std::span<const Constraint> constraints,
                                            const CandidatePlan &plan) {
  ConstraintSystem system;
  std::string names;
  for (const TileParameter &parameter : space.parameters) {
    names += (names.empty() ? "" : ", ") + parameter.name;
    auto own = plan.byName.find(parameter.name);
    CandidateRule rule;
    if (own != plan.byName.end()) {
      rule = own->second;
    } else if (!parameter.tried.empty()) {
      rule.kind = CandidateRule::Kind::List;
      rule.list = parameter.tried;
    } else if (parameter.role != TileParameter::Role::Schedule)
      rule = plan.tiles;
    auto list = candidatesFor(rule, parameter.largest());
    if (!list) {
      Diag diag = takeDiag(list.takeError());
      diag.message = fmt::format("candidates of {}: {}", parameter.name, diag.message);
      return makeError(std::move(diag));
    }
    system.parameters.push_back({parameter.size.variable(), parameter.name, std::move(*list)});
  }
  for (const auto &[name, rule] : plan.byName) {
    bool isKnown = CandidatePlan::standard().byName.count(name) != 0;
    for (const TileParameter &parameter : space.parameters)
      isKnown |= parameter.name == name;
    if (!isKnown)
      return makeError(DiagClass::BadInput, "there is no parameter \"{}\", the kernel has {}", name,
                       names.empty() ? "none" : names);
  }
  system.constraints.assign(constraints.begin(), constraints.end());
  if (llvm::Error error = system.check())
    return error;
  return system;
}

} // namespace tilewright
