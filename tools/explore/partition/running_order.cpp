#include "tools/explore/partition/choice.h"

#include <algorithm>
#include <queue>

namespace tilewright {

std::optional<std::vector<size_t>> runningOrder(const ChoiceProblem &problem,
                                                std::span<const size_t> columns) {
  std::vector<bool> isStored(problem.reads.size());
  std::vector<size_t> missing(columns.size());
  std::vector<std::vector<size_t>> waiting(isStored.size()); // by value: positions in `columns`
  using Entry = std::pair<AtomId, size_t>;                   // the earliest in the graph first
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto isReady = [&](size_t at) { ready.push({problem.columns[columns[at]].results.back(), at}); };
  for (size_t at = 0; at < columns.size(); ++at) {
    const Column &column = problem.columns[columns[at]];
    missing[at] = column.inputs.size();
    for (AtomId input : column.inputs)
      waiting[input].push_back(at);
    if (missing[at] == 0)
      isReady(at);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t column = columns[ready.top().second];
    ready.pop();
    order.push_back(column);
    for (AtomId value : problem.columns[column].results) {
      if (isStored[value])
        continue;
      isStored[value] = true;
      for (size_t at : waiting[value])
        if (--missing[at] == 0)
          isReady(at);
    }
  }
  const bool isComplete = order.size() == columns.size() &&
                          std::all_of(problem.required.begin(), problem.required.end(),
                                      [&](AtomId value) { return isStored[value]; });
  return isComplete ? std::optional(std::move(order)) : std::nullopt;
}

} // namespace tilewright
