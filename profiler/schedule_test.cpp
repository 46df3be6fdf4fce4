#include "profiler/schedule.h"

#include <gtest/gtest.h>
#include <map>

namespace tilewright::profile {

namespace {

/// What a simulated run wrote.
struct Row {
  bool isIncumbent;
  size_t kernel;
  unsigned attempt, regime;
  std::optional<double> time;
};

void note(Schedule &schedule, const Row &row) {
  if (row.isIncumbent)
    schedule.noteIncumbent(row.time);
  else
    schedule.noteMeasured(row.kernel, row.attempt, row.regime, row.time);
}

/// Runs until done or until `most` rows were written; `clock` gives the slow-down of row i.
std::vector<Row> simulate(Schedule &schedule, const ScheduleOptions &options,
                          const std::function<std::optional<double>(const Row &, size_t)> &time,
                          std::vector<Row> rows = {}, size_t most = 10000) {
  for (;;) {
    Step step = schedule.next();
    if (step.kind == Step::Kind::Done)
      return rows;
    bool isIncumbent = step.kind == Step::Kind::Incumbent;
    for (unsigned regime = 0; regime < (isIncumbent ? 1 : options.regimes); ++regime) {
      if (!isIncumbent && !schedule.isOpen(step.kernel, step.attempt, regime))
        continue;
      if (rows.size() >= most)
        return rows;
      Row row{isIncumbent, step.kernel, step.attempt, regime, {}};
      row.time = time(row, rows.size());
      note(schedule, row);
      rows.push_back(row);
    }
  }
}

std::map<std::tuple<size_t, unsigned, unsigned>, int> countRows(const std::vector<Row> &rows) {
  std::map<std::tuple<size_t, unsigned, unsigned>, int> counts;
  for (const Row &row : rows)
    if (!row.isIncumbent)
      ++counts[{row.kernel, row.attempt, row.regime}];
  return counts;
}

auto steady = [](const Row &row, size_t) { return std::optional<double>(1000.0 + row.kernel); };

} // namespace

TEST(Schedule, EveryKernelOnceInASeededOrder) {
  ScheduleOptions options;
  std::vector<size_t> orders[3];
  const uint64_t seeds[] = {1, 1, 2};
  for (int i = 0; i < 3; ++i) {
    options.seed = seeds[i];
    Schedule schedule(50, options);
    std::vector<Row> rows = simulate(schedule, options, steady);
    for (const auto &[key, count] : countRows(rows))
      EXPECT_EQ(count, 1);
    EXPECT_EQ(countRows(rows).size(), 100u);
    for (const Row &row : rows)
      if (!row.isIncumbent && row.regime == 0)
        orders[i].push_back(row.kernel);
    EXPECT_EQ(schedule.driftedBlocks(), 0u);
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
  EXPECT_FALSE(std::is_sorted(orders[0].begin(), orders[0].end()));
}

TEST(Schedule, TheIncumbentIsLookedAtAfterEachBlockAndAtTheEnd) {
  ScheduleOptions options;
  options.blockSize = 4;
  Schedule schedule(11, options);
  std::vector<Row> rows = simulate(schedule, options, steady);
  std::vector<size_t> between{0};
  for (const Row &row : rows)
    if (row.isIncumbent)
      between.push_back(0);
    else
      between.back() += row.regime == 0;
  // The first kernel becomes the incumbent and is looked at right away.
  EXPECT_EQ(between, (std::vector<size_t>{1, 4, 4, 2, 0}));
  EXPECT_TRUE(rows.back().isIncumbent);
}

TEST(Schedule, ABlockInWhichTheClockMovedIsMeasuredAgain) {
  ScheduleOptions options;
  options.blockSize = 4;
  Schedule schedule(13, options);
  // From row 12 on everything takes a tenth longer.
  std::vector<Row> rows = simulate(schedule, options, [](const Row &row, size_t i) {
    return std::optional<double>((1000.0 + row.kernel) * (i >= 12 ? 1.1 : 1.0));
  });
  EXPECT_EQ(schedule.driftedBlocks(), 1u);
  std::set<size_t> again;
  for (const Row &row : rows)
    if (!row.isIncumbent && row.attempt == 2)
      again.insert(row.kernel);
  EXPECT_EQ(again.size(), 4u);
  for (const auto &[key, count] : countRows(rows))
    EXPECT_EQ(count, 1);
}

TEST(Schedule, ARunThatNeverSettlesEnds) {
  ScheduleOptions options;
  options.blockSize = 2;
  Schedule schedule(20, options);
  std::vector<Row> rows = simulate(schedule, options, [](const Row &, size_t i) {
    return std::optional<double>(1000.0 * (1 + i % 7));
  });
  EXPECT_LT(rows.size(), 150u);
  for (const auto &[key, count] : countRows(rows))
    EXPECT_EQ(count, 1);
  // Also where nothing works at all, or the incumbent stops working.
  Schedule broken(20, options);
  rows = simulate(broken, options, [](const Row &, size_t) { return std::optional<double>(); });
  EXPECT_EQ(rows.size(), 40u);
  Schedule fickle(20, options);
  rows = simulate(fickle, options, [](const Row &row, size_t) {
    return row.isIncumbent ? std::nullopt : std::optional<double>(1000.0);
  });
  EXPECT_EQ(countRows(rows).size(), 40u);
}

TEST(Schedule, ReplayingAnyPrefixGoesOnInTheSameWay) {
  ScheduleOptions options;
  options.blockSize = 3;
  auto time = [](const Row &row, size_t i) {
    // A failure here and there, and a clock that moves twice.
    if (row.kernel % 5 == 2)
      return std::optional<double>();
    return std::optional<double>((1000.0 + row.kernel) * (i > 10 && i < 22 ? 1.2 : 1.0));
  };
  Schedule straight(17, options);
  const std::vector<Row> whole = simulate(straight, options, time);
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    Schedule resumed(17, options);
    std::vector<Row> rows(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
    for (const Row &row : rows)
      note(resumed, row);
    rows = simulate(resumed, options, time, rows);
    ASSERT_EQ(rows.size(), whole.size()) << "cut at " << cut;
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].kernel, whole[i].kernel);
      EXPECT_EQ(rows[i].attempt, whole[i].attempt);
      EXPECT_EQ(rows[i].isIncumbent, whole[i].isIncumbent);
    }
  }
}

} // namespace tilewright::profile
