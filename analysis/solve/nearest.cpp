#include "analysis/solve/explain.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright {

namespace {

/// List steps from a value to each candidate.
std::vector<uint32_t> stepsFrom(int64_t value, const std::vector<int64_t> &list) {
  size_t below = size_t(std::lower_bound(list.begin(), list.end(), value) - list.begin());
  bool isListed = below < list.size() && list[below] == value;
  std::vector<uint32_t> steps(list.size());
  for (size_t i = 0; i < list.size(); ++i)
    steps[i] = uint32_t(i < below ? below - i : i - below + (isListed ? 0 : 1));
  return steps;
}

} // namespace

llvm::Expected<Nearest> nearestFeasible(const ConstraintSystem &system, const Choice &choice,
                                        const SearchLimits &limits) {
  if (choice.size() != system.parameters.size())
    return makeError(DiagClass::BadInput, "{} values were chosen for {} parameters", choice.size(),
                     system.parameters.size());
  auto compiled = CompiledSystem::compile(system);
  if (!compiled)
    return compiled.takeError();
  SearchCosts costs;
  for (size_t p = 0; p < choice.size(); ++p) {
    const std::vector<int64_t> &list = system.parameters[p].candidates;
    costs.cost.push_back(choice[p] ? stepsFrom(*choice[p], list)
                                   : std::vector<uint32_t>(list.size()));
  }
  auto costOf = [&](std::span<const int64_t> values) {
    uint64_t sum = 0;
    for (size_t p = 0; p < values.size(); ++p) {
      const std::vector<int64_t> &list = system.parameters[p].candidates;
      size_t i = size_t(std::lower_bound(list.begin(), list.end(), values[p]) - list.begin());
      sum += costs.cost[p][i];
    }
    return sum;
  };

  // Any solution bounds the distance; an infeasible system is recognised at once.
  Nearest best;
  SearchResult any = compiled->findFirst(best.values, limits);
  best.found = any.verdict();
  if (best.found != Verdict::Yes)
    return best;
  best.steps = costOf(best.values);
  uint64_t nodes = any.nodes;
  // Balls of growing radius; inside one, each solution lowers the bound, and only strictly nearer
  // ones are taken, so that the first in lexicographic order stays.
  for (uint64_t radius = 0;; radius = std::max(radius + 1, radius + radius / 4)) {
    bool isLast = radius >= best.steps;
    costs.bound = isLast ? best.steps : radius;
    bool isFound = false;
    auto take = [&](std::span<const int64_t> values) {
      best.values.assign(values.begin(), values.end());
      best.steps = costOf(values);
      isFound = true;
      if (best.steps == 0)
        return false;
      costs.bound = best.steps - 1;
      return true;
    };
    SearchLimits rest{limits.maxNodes - std::min(nodes, limits.maxNodes)};
    SearchResult result = compiled->enumerate(take, rest, &costs);
    nodes += result.nodes;
    if (result.end == SearchResult::End::LimitReached)
      return best;
    if (isFound || isLast) {
      best.isNearest = true;
      return best;
    }
  }
}

} // namespace tilewright
