#include "tools/select/selection.h"

#include "analysis/support/diag.h"
#include "analysis/tiling/numeric_tile.h"
#include "tools/explore/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>

namespace tilewright {

namespace {

constexpr double none = std::numeric_limits<double>::infinity();
constexpr int64_t eachUpTo = 16; ///< every value is searched up to it
constexpr double gridFactor = 1.25;
constexpr int64_t maxRange = 1 << 16; ///< each has a price of every candidate in memory
constexpr unsigned maxRounds = 6;     ///< each prices its new candidates at every size
constexpr int64_t pointsInGap = 3;

SelectedPlan selectedPlan(const KernelPlan &plan) {
  SelectedPlan selected{plan.instruction, {}};
  const std::vector<TileParameter> &parameters = plan.tiled->space.parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    selected.values[parameters[i].name] = plan.values[i];
  return selected;
}

/// The first of the sizes that is not below `size`.
int64_t roundedUp(int64_t size, const SelectionOptions &options) {
  return size + (options.step - (size - options.from) % options.step) % options.step;
}

/// Its ends, small values, and a geometric grid with powers of two and what follows them.
std::set<int64_t> firstPoints(const SelectionOptions &options, int64_t to) {
  const int64_t from = options.from;
  std::set<int64_t> points = {from, to};
  for (int64_t i = 0; i <= eachUpTo; ++i)
    points.insert(std::min(to, from + i * options.step));
  for (double size = static_cast<double>(from); size < static_cast<double>(to); size *= gridFactor)
    points.insert(roundedUp(static_cast<int64_t>(size), options));
  for (int64_t size = 1; size <= to; size *= 2)
    for (int64_t near : {size, size + 1})
      if (near >= from && near <= to)
        points.insert(roundedUp(near, options));
  return points;
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
        count(static_cast<size_t>((options.to - options.from) / options.step + 1)) {}

  llvm::Expected<SelectionTable> make() {
    std::set<int64_t> points;
    if (options.everySize)
      for (size_t i = 0; i < count; ++i)
        points.insert(points.end(), sizeOf(i));
    else
      points = firstPoints(options, sizeOf(count - 1));
    for (unsigned round = 0; round < maxRounds && !points.empty(); ++round) {
      const size_t priced = candidates.size();
      if (llvm::Error error = searchAt({points.begin(), points.end()}))
        return error;
      if (candidates.size() > priced)
        if (llvm::Error error = priceCandidates(priced))
          return error;
      choose();
      points = loosePoints();
    }
    return finish();
  }

private:
  int64_t sizeOf(size_t index) const {
    return options.from + static_cast<int64_t>(index) * options.step;
  }

  size_t indexOf(int64_t size) const {
    return static_cast<size_t>((size - options.from) / options.step);
  }

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
      foundAt[sizes[i]] = searched[sizes[i]] =
          found[i].empty() ? none : found[i].front().estimate.timeNs;
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
    llvm::Expected<KernelPlans> plans = plansAt(sizeOf(index));
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

  double bestAt(size_t index) const {
    double best = none;
    if (const auto search = searched.find(sizeOf(index)); search != searched.end())
      best = search->second;
    for (const std::vector<double> &of : times)
      best = std::min(best, of[index]);
    return best;
  }

  /// From the left, the plan that stays within the tolerance the farthest; of equals the one that
  /// loses least.
  void choose() {
    best.resize(count);
    for (size_t i = 0; i < count; ++i)
      best[i] = bestAt(i);
    for (auto &[size, time] : searched) // a candidate from elsewhere may beat what was found there
      time = std::min(time, best[indexOf(size)]);
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

  /// The fraction by which one time is below another; 0 where it is not.
  static double fallOf(double from, double to) {
    return std::isfinite(from) && from > 0 ? std::max(0.0, 1 - to / from) : 0;
  }

  /// For each searched size, by what fraction the best time fell at most from a searched size to
  /// one up to the next, or from what a search found to what a candidate has, among those between
  /// half and twice the size.
  std::map<int64_t, double> localFalls() const {
    std::vector<std::pair<int64_t, double>> falls; // from each searched size on
    for (auto search = searched.begin(); search != searched.end(); ++search) {
      const auto &[size, time] = *search;
      const auto next = std::next(search);
      const size_t end = next == searched.end() ? count : indexOf(next->first) + 1;
      double largest = fallOf(foundAt.at(size), time);
      for (size_t i = indexOf(size) + 1; i < end; ++i)
        largest = std::max(largest, fallOf(time, best[i]));
      falls.emplace_back(size, largest);
    }
    std::map<int64_t, double> local;
    size_t first = 0;
    for (const auto &[size, own] : falls) {
      while (falls[first].first * 2 < size)
        ++first;
      double &largest = local[size];
      for (size_t i = first; i < falls.size() && falls[i].first <= size * 2; ++i)
        largest = std::max(largest, falls[i].second);
    }
    return local;
  }

  double timeAt(size_t index) const {
    return chosen[index] < candidates.size() ? times[chosen[index]][index] : none;
  }

  /// What the table can lose at a size on any plan of the search.
  double boundAt(size_t index, const std::map<int64_t, double> &falls) const {
    const auto after = searched.upper_bound(sizeOf(index));
    if (after == searched.begin())
      return none;
    const auto &[size, time] = *std::prev(after);
    const double fall = size == sizeOf(index) ? 0 : falls.at(size);
    const double least = std::min(time * (1 - fall), best[index]);
    return std::isfinite(time) && std::isfinite(timeAt(index))
               ? std::max(0.0, timeAt(index) / least - 1)
               : none;
  }

  /// Where more has to be searched: points in each gap in which the bound is loose, the loosest
  /// first, as far as searches are left.
  std::set<int64_t> loosePoints() const {
    const std::map<int64_t, double> falls = localFalls();
    std::map<int64_t, double> loosest; // by the size where a gap begins
    for (size_t i = 0; i < count; ++i) {
      const double bound = boundAt(i, falls);
      const auto after = searched.upper_bound(sizeOf(i));
      if (!std::isfinite(bound) || bound <= options.boundGoal || after == searched.begin() ||
          std::prev(after)->first == sizeOf(i))
        continue;
      double &gap = loosest[std::prev(after)->first];
      gap = std::max(gap, bound);
    }
    std::vector<std::pair<double, int64_t>> gaps;
    for (const auto &[begin, bound] : loosest)
      gaps.emplace_back(-bound, begin);
    std::sort(gaps.begin(), gaps.end());
    std::set<int64_t> points;
    for (const auto &[bound, begin] : gaps) {
      if (searched.size() + points.size() >= options.maxSearches)
        break;
      const int64_t end = searched.upper_bound(begin)->first;
      for (int64_t part = 1; part <= pointsInGap; ++part)
        if (const int64_t size =
                roundedUp(begin + (end - begin) * part / (pointsInGap + 1), options);
            size > begin && size < end)
          points.insert(size);
    }
    return points;
  }

  SelectionTable finish() const {
    SelectionTable table;
    table.from = options.from;
    table.to = sizeOf(count - 1);
    table.step = options.step;
    table.searches = searched.size();
    table.candidates = candidates.size();
    const std::map<int64_t, double> falls = localFalls();
    for (const auto &[size, fall] : falls)
      table.largestFall = std::max(table.largestFall, fall);
    size_t covered = 0;
    for (size_t i = 0; i < count; ++i) {
      table.timesNs.push_back(timeAt(i));
      if (chosen[i] == candidates.size())
        continue;
      if (table.ranges.empty() || table.ranges.back().to != sizeOf(i) - options.step ||
          table.ranges.back().plan != candidates[chosen[i]])
        table.ranges.push_back({sizeOf(i), sizeOf(i), candidates[chosen[i]], 0, 0, 0, sizeOf(i)});
      SelectionRange &range = table.ranges.back();
      const double loss = timeAt(i) / best[i] - 1, bound = boundAt(i, falls);
      range.to = sizeOf(i);
      range.meanLoss += loss;
      range.worstLoss = std::max(range.worstLoss, loss);
      if (bound > range.worstBound) {
        range.worstBound = bound;
        range.worstAt = sizeOf(i);
      }
      table.meanLoss += loss;
      table.meanBound += bound;
      table.worstLoss = std::max(table.worstLoss, loss);
      table.worstBound = std::max(table.worstBound, bound);
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
  const size_t count;                     ///< of sizes
  std::vector<double> best;               ///< the best time that is known at each size
  std::map<int64_t, double> searched;     ///< the best time at each size that was searched
  std::map<int64_t, double> foundAt;      ///< the same, of the search there alone
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
