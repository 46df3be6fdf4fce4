#include "tools/select/searched_sizes.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace tilewright {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

/// The best time at each size: grows with it, but for falls where an instruction fits, and is
/// several times longer where the size is a multiple of a small power of two alone.
std::vector<double> timesOf(int64_t from, int64_t step, size_t count, double ofRows,
                            double ofInstruction) {
  std::vector<double> times;
  for (size_t i = 0; i < count; ++i) {
    const int64_t size = from + static_cast<int64_t>(i) * step;
    const double power = std::min(4, std::countr_zero(static_cast<uint64_t>(size)));
    const double instruction = size >= 200 ? 1 - ofInstruction : 1;
    times.push_back((100 + static_cast<double>(size)) * instruction * (1 + ofRows * (4 - power)));
  }
  return times;
}

void search(SearchedSizes &sizes, const std::set<int64_t> &points,
            const std::vector<double> &times) {
  for (int64_t size : points)
    sizes.add(size, times[sizes.indexOf(size)]);
}

} // namespace

TEST(SearchedSizes, FirstPointsLieInTheRange) {
  for (int64_t from : {1, 7, 32, 1000})
    for (int64_t step : {1, 3, 8, 16})
      for (size_t count : {1u, 2u, 20u, 3000u}) {
        const SearchedSizes sizes(from, step, count);
        const std::set<int64_t> points = sizes.firstPoints(false);
        ASSERT_FALSE(points.empty());
        EXPECT_EQ(*points.begin(), from);
        EXPECT_EQ(*points.rbegin(), sizes.sizeOf(count - 1));
        for (int64_t size : points)
          EXPECT_EQ((size - from) % step, 0) << from << " " << step << " " << size;
        EXPECT_EQ(sizes.firstPoints(true).size(), count);
      }
}

// Where nothing falls but what is known of rows, no size is below its bound, and the bounds of
// multiples of 16 are not those of odd sizes, which take five times as long.
TEST(SearchedSizes, SizesAreComparedWithTheirKind) {
  constexpr size_t count = 2000;
  const std::vector<double> times = timesOf(1, 1, count, 1, 0);
  SearchedSizes sizes(1, 1, count);
  search(sizes, sizes.firstPoints(false), times);
  std::vector<double> best(count, none);
  for (int64_t size : sizes.firstPoints(false))
    best[sizes.indexOf(size)] = times[sizes.indexOf(size)];
  sizes.setBest(best);
  double loosest = 0;
  for (size_t i = 0; i < count; ++i) {
    EXPECT_LE(sizes.leastTime(i), times[i] * (1 + 1e-12)) << sizes.sizeOf(i);
    if (sizes.sizeOf(i) % 16 == 0)
      loosest = std::max(loosest, times[i] / sizes.leastTime(i) - 1);
  }
  EXPECT_LT(loosest, 0.3); // of the grid
}

// Searches go on where a bound is loose until none is, and what a fall hides is seen by candidates
// of other sizes.
TEST(SearchedSizes, PointsMakeBoundsTight) {
  constexpr size_t count = 1000;
  for (double ofRows : {0.0, 0.5})
    for (double ofInstruction : {0.0, 0.4}) {
      const std::vector<double> times = timesOf(5, 1, count, ofRows, ofInstruction);
      SearchedSizes sizes(5, 1, count);
      std::set<int64_t> points = sizes.firstPoints(false);
      const size_t first = points.size();
      std::vector<double> losses(count);
      for (int round = 0; round < 12 && !points.empty(); ++round) {
        search(sizes, points, times);
        sizes.setBest(times); // candidates that are best everywhere
        for (size_t i = 0; i < count; ++i) {
          ASSERT_LE(sizes.leastTime(i), times[i] * (1 + 1e-12)) << sizes.sizeOf(i);
          losses[i] = times[i] / sizes.leastTime(i) - 1;
        }
        points = sizes.pointsWhere(losses, 0.05, 1000);
        for (int64_t size : points)
          EXPECT_EQ(sizes.timeAt(sizes.indexOf(size)), none) << size << " was searched";
      }
      EXPECT_TRUE(points.empty()) << ofRows << " " << ofInstruction;
      for (double loss : losses)
        EXPECT_LE(loss, 0.05);
      EXPECT_LT(sizes.searches(), count / (ofInstruction > 0 ? 1 : 2)) << first;
    }
}

TEST(SearchedSizes, WhatASearchMissesCounts) {
  constexpr size_t count = 200;
  const std::vector<double> times = timesOf(1, 1, count, 0, 0);
  SearchedSizes sizes(1, 1, count);
  for (int64_t size : sizes.firstPoints(false)) // one finds a plan that takes a tenth longer
    sizes.add(size, times[sizes.indexOf(size)] * (size == 128 ? 1.1 : 1));
  EXPECT_EQ(sizes.largestFall(), 0);
  sizes.setBest(times);
  EXPECT_NEAR(sizes.largestFall(), 1 - 1 / 1.1, 1e-12);
  EXPECT_LT(sizes.leastTime(sizes.indexOf(120)), times[sizes.indexOf(110)]);
  EXPECT_EQ(sizes.leastTime(sizes.indexOf(128)), times[sizes.indexOf(128)]);
}

TEST(SearchedSizes, SizesWithoutAPlanBoundNothing) {
  SearchedSizes sizes(1, 1, 10);
  sizes.add(1, none);
  sizes.add(10, 5);
  sizes.setBest(std::vector<double>(10, none));
  EXPECT_EQ(sizes.leastTime(0), none);
  EXPECT_EQ(sizes.leastTime(9), 5);
  EXPECT_TRUE(sizes.pointsWhere(std::vector<double>(10, none), 0, 9).empty());
}

} // namespace tilewright
