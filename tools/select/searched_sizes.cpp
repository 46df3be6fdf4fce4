#include "tools/select/searched_sizes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

namespace tilewright {

namespace {

constexpr int64_t eachUpTo = 16; ///< every size is searched up to it
constexpr double gridFactor = 1.25;

/// The fraction by which a time is below another one; 0 where it is not.
double fallOf(double before, double after) {
  return std::isfinite(before) && before > 0 ? std::max(0.0, 1 - after / before) : 0;
}

} // namespace

size_t SearchedSizes::powerOf(int64_t size) {
  return std::min<size_t>(powers - 1,
                          static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(size))));
}

int64_t SearchedSizes::firstMultiple(int64_t size, size_t power) const {
  size += (step - (size - from) % step) % step;
  for (int64_t tried = 0; tried < int64_t(1) << powers; ++tried, size += step)
    if (powerOf(size) >= power)
      return size <= sizeOf(count - 1) ? size : 0;
  return 0;
}

std::set<int64_t> SearchedSizes::firstPoints(bool all) const {
  std::set<int64_t> points;
  const int64_t to = sizeOf(count - 1);
  auto add = [&](int64_t size, size_t power) {
    if (int64_t found = firstMultiple(size, power))
      points.insert(points.end(), found);
  };
  if (all) {
    for (size_t i = 0; i < count; ++i)
      points.insert(points.end(), sizeOf(i));
    return points;
  }
  add(to, 0);
  for (size_t power = 0; power < powers; ++power)
    add(from, power);
  for (int64_t i = 0; i <= eachUpTo; ++i)
    points.insert(std::min(to, from + i * step));
  for (double size = static_cast<double>(from); size < static_cast<double>(to); size *= gridFactor)
    for (size_t power : {size_t(0), powers - 1})
      add(static_cast<int64_t>(size), power);
  for (int64_t size = 1; size <= to; size *= 2)
    for (int64_t near : {size, size + 1})
      if (near >= from)
        add(near, 0);
  return points;
}

void SearchedSizes::add(int64_t size, double timeNs) { times[size] = {timeNs, timeNs}; }

double SearchedSizes::timeAt(size_t index) const {
  const auto found = times.find(sizeOf(index));
  return found == times.end() ? std::numeric_limits<double>::infinity() : found->second.best;
}

void SearchedSizes::setBest(const std::vector<double> &best) {
  toAny.clear();
  withinKinds.assign(powers, {});
  for (auto &[size, searched] : times) {
    searched.best = std::min(searched.best, best[indexOf(size)]);
    const double missed = fallOf(searched.found, searched.best);
    toAny[size] = missed;
    withinKinds[powerOf(size)][size] = missed;
  }
  for (size_t i = 0; i < count; ++i) {
    addFall(toAny, i, best[i]);
    addFall(withinKinds[powerOf(sizeOf(i))], i, best[i]);
  }
  spread(toAny);
  for (Falls &falls : withinKinds)
    spread(falls);
}

/// What a size's best time is below that of the last searched one before it.
void SearchedSizes::addFall(Falls &falls, size_t index, double best) const {
  const auto after = falls.lower_bound(sizeOf(index));
  if (after == falls.begin())
    return;
  auto &[size, fall] = *std::prev(after);
  fall = std::max(fall, fallOf(times.at(size).best, best));
}

/// Around each size is what lies between its half and twice the size.
void SearchedSizes::spread(Falls &falls) {
  Falls around;
  auto first = falls.begin();
  for (const auto &[size, own] : falls) {
    while (first->first * 2 < size)
      ++first;
    double &largest = around[size];
    for (auto near = first; near != falls.end() && near->first <= size * 2; ++near)
      largest = std::max(largest, near->second);
  }
  falls = std::move(around);
}

double SearchedSizes::leastTime(const Falls &falls, int64_t size) const {
  const auto after = falls.upper_bound(size);
  if (after == falls.begin())
    return 0;
  const auto &[before, fall] = *std::prev(after);
  return times.at(before).best * (before == size ? 1 : 1 - fall);
}

double SearchedSizes::leastTime(size_t index) const {
  const int64_t size = sizeOf(index);
  return std::max(leastTime(toAny, size), leastTime(withinKinds[powerOf(size)], size));
}

double SearchedSizes::largestFall() const {
  double largest = 0;
  for (const auto &[size, fall] : toAny)
    largest = std::max(largest, fall);
  return largest;
}

std::set<int64_t> SearchedSizes::pointsWhere(const std::vector<double> &losses, double goal,
                                             size_t most) const {
  struct Gap {
    double loss = 0;
    int64_t at = 0; ///< the size of the largest loss
  };
  std::map<std::pair<size_t, int64_t>, Gap> gaps; // by power, and searched size where they begin
  for (size_t i = 0; i < count; ++i) {
    const int64_t size = sizeOf(i);
    if (losses[i] <= goal || !std::isfinite(losses[i]) || times.count(size) > 0)
      continue;
    Gap &gap = gaps[{powerOf(size), std::prev(times.upper_bound(size))->first}];
    if (losses[i] > gap.loss)
      gap = {losses[i], size};
  }
  std::vector<std::pair<double, int64_t>> loosest;
  for (const auto &[key, gap] : gaps)
    loosest.emplace_back(-gap.loss, gap.at);
  std::sort(loosest.begin(), loosest.end());
  std::set<int64_t> points;
  for (const auto &[loss, at] : loosest) {
    if (points.size() >= most)
      break;
    points.insert(at);
    const auto end = times.upper_bound(at);
    const int64_t begin = std::prev(end)->first;
    for (int64_t part : {1, 3})
      if (const int64_t size = firstMultiple(begin + (end->first - begin) * part / 4, powerOf(at));
          size > begin && size < end->first)
        points.insert(size);
  }
  return points;
}

} // namespace tilewright
