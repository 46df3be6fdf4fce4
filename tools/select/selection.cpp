#include "tools/select/selection.h"

#include "analysis/support/diag.h"
#include "analysis/tiling/numeric_tile.h"
#include "tools/explore/parallel_for.h"
#include "tools/select/searched_sizes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>

namespace tilewright {

namespace {

constexpr double none = std::numeric_limits<double>::infinity();
constexpr int64_t maxRange = 1 << 16; ///< each has a price of every candidate in memory
constexpr unsigned maxRounds = 6;     ///< each prices its new candidates at every size

SelectedPlan selectedPlan(const KernelPlan &plan) {
  SelectedPlan selected{plan.instruction, {}};
  const std::vector<TileParameter> &parameters = plan.tiled->space.parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    selected.values[parameters[i].name] = plan.values[i];
  return selected;
}

/// The first error of several threads.
class FirstError {
public:
  void take(llvm::Error error) {
    std::lock_guard<std::mutex> lock(mutex);
    if (first)
      llvm::consumeError(std::move(error));
    else
      first.emplace(std::move(error));
    happened = true;
  }
  bool hasHappened() const { return happened; }
  llvm::Error get() {
    if (!first)
      return llvm::Error::success();
    llvm::Error error = std::move(*first);
    first.reset();
    return error;
  }

private:
  std::mutex mutex;
  std::optional<llvm::Error> first;
  std::atomic<bool> happened{false};
};

class SelectionMaker {
public:
  SelectionMaker(const PlansAt &plansAt, const SelectionOptions &options)
      : plansAt(plansAt), options(options),
        count(static_cast<size_t>((options.to - options.from) / options.step + 1)),
        searched(options.from, options.step, count) {}

  llvm::Expected<SelectionTable> make() {
    std::set<int64_t> points = searched.firstPoints(options.everySize);
    for (unsigned round = 0; round < maxRounds && !points.empty(); ++round) {
      const size_t priced = candidates.size();
      if (llvm::Error error = searchAt({points.begin(), points.end()}))
        return error;
      if (candidates.size() > priced)
        if (llvm::Error error = priceCandidates(priced))
          return error;
      choose();
      const size_t made = searched.searches();
      points = made < options.maxSearches
                   ? searched.pointsWhere(bounds(), options.boundGoal, options.maxSearches - made)
                   : std::set<int64_t>();
    }
    return finish();
  }

private:
  /// Searches at these sizes; their best plans become candidates, in the order of the sizes.
  llvm::Error searchAt(const std::vector<int64_t> &sizes) {
    std::vector<std::vector<RankedPlan>> found(sizes.size());
    FirstError errors;
    parallelFor(sizes.size(), options.jobs, [&](size_t i) {
      if (errors.hasHappened())
        return;
      PlanSearchOptions searching;
      searching.top = options.everySize ? 1 : options.top;
      searching.maxPriced = options.maxPriced;
      llvm::Expected<KernelPlans> plans = plansAt(sizes[i]);
      if (!plans)
        return errors.take(plans.takeError());
      llvm::Expected<PlanRanking> ranking = plans->search(searching);
      if (!ranking)
        return errors.take(ranking.takeError());
      found[i] = std::move(ranking->best);
    });
    if (llvm::Error error = errors.get())
      return error;
    for (size_t i = 0; i < sizes.size(); ++i) {
      searched.add(sizes[i], found[i].empty() ? none : found[i].front().estimate.timeNs);
      for (const RankedPlan &ranked : found[i])
        if (SelectedPlan plan = selectedPlan(ranked.plan); known.insert(plan).second)
          candidates.push_back(std::move(plan));
    }
    return llvm::Error::success();
  }

  /// Prices the candidates from `first` on at every size where they are feasible.
  llvm::Error priceCandidates(size_t first) {
    times.resize(candidates.size());
    for (size_t c = first; c < candidates.size(); ++c)
      times[c].assign(count, none);
    FirstError errors;
    std::mutex progressMutex;
    size_t done = 0;
    parallelFor(count, options.jobs, [&](size_t index) {
      if (errors.hasHappened())
        return;
      if (llvm::Error error = priceAt(index, first))
        return errors.take(std::move(error));
      if (!options.progress)
        return;
      std::lock_guard<std::mutex> lock(progressMutex);
      options.progress(++done, count);
    });
    return errors.get();
  }

  llvm::Error priceAt(size_t index, size_t first) {
    llvm::Expected<KernelPlans> plans = plansAt(searched.sizeOf(index));
    if (!plans)
      return plans.takeError();
    for (const KernelPlan &space : plans->spaces()) {
      const std::unique_ptr<PlanScorer> scorer = plans->scorer(space);
      std::vector<size_t> added;
      for (size_t c = first; c < candidates.size(); ++c) {
        if (candidates[c].instruction != space.instruction)
          continue;
        llvm::Expected<bool> isAdded = addTo(*scorer, space, candidates[c]);
        if (!isAdded)
          return isAdded.takeError();
        if (*isAdded)
          added.push_back(c);
      }
      llvm::Expected<std::vector<double>> scores = scorer->score();
      if (!scores)
        return scores.takeError();
      for (size_t i = 0; i < added.size(); ++i)
        times[added[i]][index] = (*scores)[i];
    }
    return llvm::Error::success();
  }

  static llvm::Expected<bool> addTo(PlanScorer &scorer, const KernelPlan &space,
                                    const SelectedPlan &candidate) {
    const std::optional<std::vector<int64_t>> values = valuesIn(space.tiled->space, candidate);
    if (!values || isFeasible(*space.tiled, *values) != true)
      return false;
    KernelPlan plan = space;
    plan.values = *values;
    if (llvm::Error error = scorer.add(plan)) {
      Diag diag = takeDiag(std::move(error));
      if (diag.cls == DiagClass::Internal)
        return makeError(std::move(diag));
      return false; // it has no price there
    }
    return true;
  }

  /// From the left, the plan that stays within the tolerance the farthest; of equals the one that
  /// loses least.
  void choose() {
    best.resize(count);
    for (size_t i = 0; i < count; ++i) {
      best[i] = searched.timeAt(i);
      for (const std::vector<double> &of : times)
        best[i] = std::min(best[i], of[i]);
    }
    searched.setBest(best);
    chosen.assign(count, candidates.size());
    for (size_t from = 0; from < count;) {
      size_t end = from, plan = candidates.size();
      double least = none;
      for (size_t c = 0; c < candidates.size(); ++c) {
        size_t to = from;
        double lost = 0;
        for (; to < count && times[c][to] <= best[to] * (1 + options.tolerance) &&
               std::isfinite(times[c][to]);
             ++to)
          lost += times[c][to] / best[to] - 1;
        if (to > end || (to == end && to > from && lost < least)) {
          end = to;
          plan = c;
          least = lost;
        }
      }
      if (end == from) { // the best of this size alone, if there is any
        plan = bestCandidate(from);
        end = from + 1;
      }
      std::fill(chosen.begin() + static_cast<std::ptrdiff_t>(from),
                chosen.begin() + static_cast<std::ptrdiff_t>(end), plan);
      from = end;
    }
  }

  size_t bestCandidate(size_t index) const {
    size_t best = candidates.size();
    for (size_t c = 0; c < candidates.size(); ++c)
      if (std::isfinite(times[c][index]) &&
          (best == candidates.size() || times[c][index] < times[best][index]))
        best = c;
    return best;
  }

  double timeAt(size_t index) const {
    return chosen[index] < candidates.size() ? times[chosen[index]][index] : none;
  }

  /// What the table can lose at each size on any plan of the search.
  std::vector<double> bounds() const {
    std::vector<double> result(count, none);
    for (size_t i = 0; i < count; ++i)
      if (const double least = std::min(searched.leastTime(i), best[i]);
          std::isfinite(least) && least > 0 && std::isfinite(timeAt(i)))
        result[i] = std::max(0.0, timeAt(i) / least - 1);
    return result;
  }

  SelectionTable finish() const {
    SelectionTable table;
    table.from = options.from;
    table.to = searched.sizeOf(count - 1);
    table.step = options.step;
    table.searches = searched.searches();
    table.candidates = candidates.size();
    table.largestFall = searched.largestFall();
    const std::vector<double> bound = bounds();
    size_t covered = 0;
    for (size_t i = 0; i < count; ++i) {
      table.timesNs.push_back(timeAt(i));
      if (chosen[i] == candidates.size())
        continue;
      const int64_t size = searched.sizeOf(i);
      if (table.ranges.empty() || table.ranges.back().to != size - options.step ||
          table.ranges.back().plan != candidates[chosen[i]])
        table.ranges.push_back({size, size, candidates[chosen[i]], 0, 0, 0, size});
      SelectionRange &range = table.ranges.back();
      const double loss = timeAt(i) / best[i] - 1;
      range.to = size;
      range.meanLoss += loss;
      range.worstLoss = std::max(range.worstLoss, loss);
      if (bound[i] > range.worstBound) {
        range.worstBound = bound[i];
        range.worstAt = size;
      }
      table.meanLoss += loss;
      table.meanBound += bound[i];
      table.worstLoss = std::max(table.worstLoss, loss);
      table.worstBound = std::max(table.worstBound, bound[i]);
      ++covered;
    }
    for (SelectionRange &range : table.ranges)
      range.meanLoss /= static_cast<double>((range.to - range.from) / options.step + 1);
    if (covered > 0) {
      table.meanLoss /= static_cast<double>(covered);
      table.meanBound /= static_cast<double>(covered);
    }
    return table;
  }

  const PlansAt &plansAt;
  const SelectionOptions &options;
  const size_t count; ///< of sizes
  SearchedSizes searched;
  std::vector<double> best;               ///< the best time that is known at each size
  std::set<SelectedPlan> known;           ///< the candidates
  std::vector<SelectedPlan> candidates;   ///< in the order they were found
  std::vector<std::vector<double>> times; ///< by candidate and size; infinite: not feasible
  std::vector<size_t> chosen;             ///< of each size; as many as candidates: none
};

} // namespace

std::optional<std::vector<int64_t>> valuesIn(const TileSpace &space, const SelectedPlan &plan) {
  std::vector<int64_t> values;
  size_t used = 0;
  for (const TileParameter &parameter : space.parameters) {
    const auto value = plan.values.find(parameter.name);
    used += value != plan.values.end();
    values.push_back(value == plan.values.end() ? 1 : std::min(value->second, parameter.largest()));
  }
  if (used < plan.values.size())
    for (const auto &[name, value] : plan.values)
      if (value > 1 && !space.find(name))
        return std::nullopt;
  return values;
}

const SelectionRange *SelectionTable::at(int64_t size) const {
  const auto range = std::partition_point(ranges.begin(), ranges.end(),
                                          [&](const auto &one) { return one.to < size; });
  const bool isIn =
      range != ranges.end() && range->from <= size && (size - range->from) % step == 0;
  return isIn ? &*range : nullptr;
}

llvm::Expected<SelectionTable> makeSelection(const PlansAt &plansAt,
                                             const SelectionOptions &options) {
  if (options.from < 1 || options.to < options.from || options.step < 1 ||
      (options.to - options.from) / options.step >= maxRange)
    return makeError(
        DiagClass::BadInput,
        "{}..{} in steps of {} is no range of sizes: from at least 1 up, at most {} of them",
        options.from, options.to, options.step, maxRange);
  return SelectionMaker(plansAt, options).make();
}

} // namespace tilewright
