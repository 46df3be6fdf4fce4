#include "analysis/solve/compiled.h"

#include "analysis/solve/scan.h"
#include "analysis/solve/search.h"
#include "analysis/solve/search_plan.h"

#include <algorithm>

namespace tilewright {

using detail::Abstract;
using detail::Search;

CompiledSystem::CompiledSystem(std::unique_ptr<Plan> plan) : plan(std::move(plan)) {}
CompiledSystem::CompiledSystem(CompiledSystem &&) noexcept = default;
CompiledSystem &CompiledSystem::operator=(CompiledSystem &&) noexcept = default;
CompiledSystem::~CompiledSystem() = default;

llvm::Expected<CompiledSystem> CompiledSystem::compile(const ConstraintSystem &system,
                                                       SearchOrder order) {
  if (llvm::Error error = system.check())
    return error;
  auto plan = std::make_unique<Plan>(system);
  plan->build(system, order);
  return CompiledSystem(std::move(plan));
}

SearchResult CompiledSystem::enumerate(PointVisitor visit, const SearchLimits &limits,
                                       const SearchCosts *costs) const {
  return Search<Plan>(*plan, &visit, limits, costs).run();
}

SearchResult CompiledSystem::count(const SearchLimits &limits) const {
  return Search<Plan>(*plan, nullptr, limits, nullptr).run();
}

SearchResult CompiledSystem::countAll(const SearchLimits &limits) const {
  return detail::scanAll(plan->program, plan->truths, plan->lists, limits);
}

SearchResult CompiledSystem::findFirst(std::vector<int64_t> &point,
                                       const SearchLimits &limits) const {
  auto take = [&](std::span<const int64_t> values) {
    point.assign(values.begin(), values.end());
    return false;
  };
  return enumerate(take, limits);
}

bool CompiledSystem::canHold(std::span<const Interval> box) const {
  const std::vector<Abstract> values = plan->program.abstractly(box);
  return std::all_of(plan->truths.begin(), plan->truths.end(),
                     [&](detail::RegisterId truth) { return values[truth].canBeTrue(); });
}

std::vector<std::optional<bool>> CompiledSystem::evaluate(std::span<const int64_t> values) const {
  detail::ConcreteState state = plan->program.initialState();
  for (size_t i = 0; i < values.size() && i < plan->levels.size(); ++i) {
    state.value[i] = values[i];
    state.known[i] = true;
  }
  for (detail::RegisterId id = 0; id < plan->program.size(); ++id)
    plan->program.step(id, state);
  std::vector<std::optional<bool>> out;
  for (detail::RegisterId truth : plan->truths)
    out.push_back(state.known[truth] ? std::optional(state.value[truth] != 0) : std::nullopt);
  return out;
}

} // namespace tilewright
