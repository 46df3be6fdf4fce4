#include "tools/tilewright/tilings.h"

#include <set>

namespace tilewright::cli {

namespace {

/// The best schedules of so many tilings are among so many plans times as many.
constexpr size_t plansATiling = 32;

} // namespace

llvm::Expected<PlanRanking> searchTilings(const KernelPlans &plans, PlanSearchOptions options) {
  const size_t top = options.top;
  options.top *= plansATiling;
  llvm::Expected<PlanRanking> ranking = plans.search(options);
  if (!ranking)
    return ranking.takeError();
  std::set<std::pair<Instruction, std::vector<int64_t>>> seen;
  std::erase_if(ranking->best, [&](const RankedPlan &each) {
    return seen.size() >= top ||
           !seen.insert({each.plan.instruction, tilingOf(each.plan.tiled->space, each.plan.values)})
                .second;
  });
  return ranking;
}

} // namespace tilewright::cli
