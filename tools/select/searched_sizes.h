// What searches at some sizes say of the best time at all of them.
//
// The best time does not fall when the size grows, but for what was seen: from each searched size s
// the best known time of a larger one may lie lower, where an instruction fits that did not before,
// and a search may have missed what another size's plan has. The largest such fall around s is
// taken off:
//
//   best(m) >= best(s) (1 - fall(s)),   s <= m searched
//
// Rows of odd lengths take other copies and instructions than multiples of 16 do, and neighbours
// may differ several times. So there are two such bounds: by the last searched size, whatever it
// is, and by the last one of m's kind, with falls to sizes of that kind alone: multiples of the
// same power of two (up to 16) and no larger one. Either holds; the higher one is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace tilewright {

class SearchedSizes {
public:
  /// Of `count` sizes from `from` on in steps of `step`.
  SearchedSizes(int64_t from, int64_t step, size_t count) : from(from), step(step), count(count) {}

  int64_t sizeOf(size_t index) const { return from + static_cast<int64_t>(index) * step; }
  size_t indexOf(int64_t size) const { return static_cast<size_t>((size - from) / step); }
  size_t searches() const { return times.size(); }

  /// Sizes to begin with: both ends, small ones, a geometric grid with powers of two and what
  /// follows them, its next multiples of 16, and of each smaller power the first multiple. All:
  /// every size.
  std::set<int64_t> firstPoints(bool all) const;

  /// The time of the best plan that a search at `size` found, infinite: there is none.
  void add(int64_t size, double timeNs);
  /// The time of the best plan that is known at a size that was searched; infinite at others.
  double timeAt(size_t index) const;
  /// The best time that is known of every size; what searches found is no faster.
  void setBest(const std::vector<double> &best);

  /// No plan that a search finds at this size takes less, by what was seen.
  double leastTime(size_t index) const;
  double largestFall() const;

  /// More sizes to search, about `most`: in gaps between searched ones where what is lost (by
  /// index, fractions of time) may be above `goal` that of the largest, and some around it. The gap
  /// of the largest comes first.
  std::set<int64_t> pointsWhere(const std::vector<double> &losses, double goal, size_t most) const;

private:
  static constexpr size_t powers = 5; ///< 1, 2, … 16
  struct Searched {
    double found = 0, best = 0; ///< by the search there, and by any plan that is known
  };
  using Falls = std::map<int64_t, double>; ///< around each of some searched sizes

  static size_t powerOf(int64_t size);
  /// The first size that is not below `size` and a multiple of a power of two; 0 for none.
  int64_t firstMultiple(int64_t size, size_t power) const;
  void addFall(Falls &falls, size_t index, double best) const;
  static void spread(Falls &falls);
  double leastTime(const Falls &falls, int64_t size) const;

  const int64_t from, step;
  const size_t count;
  std::map<int64_t, Searched> times;
  Falls toAny; ///< sizes
  std::vector<Falls> withinKinds = std::vector<Falls>(powers);
};

} // namespace tilewright
