#include "analysis/program/pipeline/order_search.h"

#include <algorithm>

namespace tilewright::pipeline {

int64_t mostStages(const PipelineLoop &loop, int64_t interval) {
  std::vector<int64_t> most(loop.ops.size(), 0);
  for (const Wait &wait : loop.waits)
    most[wait.from] =
        std::max(most[wait.from], (wait.delay + interval - 1) / interval + 1 - wait.distance);
  int64_t sum = 0;
  for (int64_t stages : most)
    sum += stages;
  return sum;
}

Gaps gapsOf(const PipelineLoop &loop, const LoopOp &a, const LoopOp &b) {
  Gaps gaps;
  auto keep = [&](int64_t ofA, int64_t ofB) {
    if (ofA > 0 && ofB > 0)
      gaps = {std::max(gaps.first, ofA), std::max(gaps.second, ofB)};
  };
  for (const LoopOp::Use &use : a.units)
    keep(a.busyOf(use.unit), b.busyOf(use.unit));
  if (a.role == b.role && !loop.orderedRoles.count(a.role))
    keep(a.issue, b.issue);
  return gaps;
}

namespace {

/// a / b, rounded down.
int64_t floorOf(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

class OrderSearch {
public:
  OrderSearch(const PipelineLoop &loop, int64_t interval)
      : loop(loop), interval(interval), count(loop.ops.size()),
        apart((mostStages(loop, interval) + 1) * interval) {
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t j = i + 1; j < count; ++j)
        if (const Gaps gaps = gapsOf(loop, loop.ops[i], loop.ops[j]); gaps.first > 0)
          pairs.push_back({i, j, gaps});
  }

  ScheduleAnswer run(std::vector<Place> &places) {
    // least[i·count + j]: start(j) - start(i) is no less.
    std::vector<int64_t> least(count * count, -apart);
    for (size_t i = 0; i < count; ++i)
      least[i * count + i] = 0;
    for (const Wait &wait : loop.waits)
      if (!add(least, wait.from, wait.to, wait.delay - wait.distance * interval))
        return ScheduleAnswer::No;
    const ScheduleAnswer answer = decide(least, pairs);
    if (answer == ScheduleAnswer::Yes)
      places = std::move(found);
    return answer;
  }

private:
  struct Pair {
    uint32_t first, second;
    Gaps gaps;
  };

  /// start(to) - start(from) ≥ distance, and what follows; false: nothing keeps it.
  bool add(std::vector<int64_t> &least, size_t from, size_t to, int64_t distance) {
    work += count * count;
    if (distance <= least[from * count + to])
      return true;
    if (distance + least[to * count + from] > 0)
      return false;
    for (size_t i = 0; i < count; ++i) {
      const int64_t before = least[i * count + from] + distance;
      for (size_t j = 0; j < count; ++j)
        least[i * count + j] = std::max(least[i * count + j], before + least[to * count + j]);
    }
    return true;
  }

  /// The steps by which the second of a pair may follow the first.
  std::pair<int64_t, int64_t> choices(const std::vector<int64_t> &least, const Pair &pair) const {
    const int64_t low = least[pair.first * count + pair.second];
    const int64_t high = -least[pair.second * count + pair.first];
    return {-floorOf(-(low + pair.gaps.second), interval) - 1,
            floorOf(high - pair.gaps.first, interval)};
  }

  ScheduleAnswer decide(const std::vector<int64_t> &least, std::vector<Pair> open) {
    work += open.size() + count;
    if (work > mostWork)
      return ScheduleAnswer::Unknown;
    size_t tightest = SIZE_MAX;
    std::pair<int64_t, int64_t> range;
    for (size_t p = 0; p < open.size(); ++p) {
      const auto [low, high] = choices(least, open[p]);
      if (high < low)
        return ScheduleAnswer::No;
      if (tightest != SIZE_MAX && high - low >= range.second - range.first)
        continue;
      tightest = p;
      range = {low, high};
    }
    if (tightest == SIZE_MAX)
      return read(least);
    const Pair pair = open[tightest];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(tightest));
    ScheduleAnswer answer = ScheduleAnswer::No;
    for (int64_t d = range.first; d <= range.second; ++d) {
      std::vector<int64_t> next = least;
      if (!add(next, pair.first, pair.second, d * interval + pair.gaps.first) ||
          !add(next, pair.second, pair.first, pair.gaps.second - (d + 1) * interval))
        continue;
      const ScheduleAnswer one = decide(next, open);
      if (one == ScheduleAnswer::Yes)
        return one;
      if (work > mostWork)
        return ScheduleAnswer::Unknown;
      if (one != ScheduleAnswer::No)
        answer = one;
    }
    return answer;
  }

  /// The earliest starts: those of the longest paths to each op.
  ScheduleAnswer read(const std::vector<int64_t> &least) {
    found.clear();
    for (size_t j = 0; j < count; ++j) {
      int64_t start = 0;
      for (size_t i = 0; i < count; ++i)
        start = std::max(start, least[i * count + j]);
      found.push_back({start / interval, start % interval});
    }
    return faultOf(loop, interval, found).empty() ? ScheduleAnswer::Yes : ScheduleAnswer::Unknown;
  }

  static constexpr uint64_t mostWork = 300'000'000; // a second at most
  const PipelineLoop &loop;
  int64_t interval;
  size_t count;
  int64_t apart; ///< starts need not lie further apart
  std::vector<Pair> pairs;
  std::vector<Place> found;
  uint64_t work = 0;
};

} // namespace

ScheduleAnswer searchOrders(const PipelineLoop &loop, int64_t interval,
                            std::vector<Place> &places) {
  for (const LoopOp &op : loop.ops)
    if (op.longestBusy() > interval || op.issue > interval)
      return ScheduleAnswer::No;
  return OrderSearch(loop, interval).run(places);
}

} // namespace tilewright::pipeline
