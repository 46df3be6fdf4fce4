#include "tools/report/chart.h"
#include "tools/report/summary.h"
#include "tools/report/term_chart.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tilewright::report;

TEST(LogAxis, MapsEndsAndKeepsOrder) {
  LogAxis axis(0.1, 1000, 100, 500);
  EXPECT_NEAR(axis.at(0.1), 100, 1e-9);
  EXPECT_NEAR(axis.at(1000), 500, 1e-9);
  EXPECT_NEAR(axis.at(10), 300, 1e-9);
  double before = axis.at(0.1);
  for (double value = 0.11; value < 1000; value *= 1.1) {
    EXPECT_GT(axis.at(value), before);
    before = axis.at(value);
  }
}

TEST(LogAxis, ValuesWithoutALogarithmStandAtTheEnds) {
  LogAxis axis(1, 10, 0, 100);
  EXPECT_EQ(axis.at(0), 0);
  EXPECT_EQ(axis.at(-5), 0);
  EXPECT_EQ(axis.at(std::nan("")), 0);
  EXPECT_EQ(axis.at(INFINITY), 100);
  EXPECT_EQ(axis.at(1e300), 100);
}

TEST(LogAxis, CoversItsValuesAndHasFewTicks) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> exponent(-11, 23);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> values = {0, -1, std::nan(""), INFINITY};
    for (int i = 0; i < round % 5; ++i)
      values.push_back(std::pow(10, exponent(random)));
    LogAxis axis = LogAxis::covering(values, 0.2, 3, 0, 100);
    EXPECT_GE(std::log10(axis.high() / axis.low()), 3 - 1e-9);
    for (double value : values)
      if (value > 0 && std::isfinite(value)) {
        EXPECT_LE(axis.low(), value);
        EXPECT_GE(axis.high(), value);
      }
    EXPECT_GE(axis.ticks().size(), 1u);
    EXPECT_LE(axis.ticks().size(), 9u);
    for (double tick : axis.ticks()) {
      EXPECT_GE(tick, axis.low() * (1 - 1e-6));
      EXPECT_LE(tick, axis.high() * (1 + 1e-6));
    }
  }
}

TEST(LabelPlacer, NeverOverlaps) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> place(-20, 220), size(5, 40);
  LabelPlacer placer({0, 0, 200, 200});
  std::vector<Box> placed = {{50, 50, 100, 100}};
  placer.addObstacle(placed[0]);
  size_t refused = 0;
  for (int i = 0; i < 500; ++i) {
    Box box{place(random), place(random), 0, 0};
    box.right = box.left + size(random);
    box.bottom = box.top + size(random);
    if (!placer.take(box)) {
      ++refused;
      continue;
    }
    EXPECT_TRUE(box.left >= 0 && box.top >= 0 && box.right <= 200 && box.bottom <= 200);
    for (const Box &other : placed)
      EXPECT_FALSE(box.left < other.right && other.left < box.right && box.top < other.bottom &&
                   other.top < box.bottom);
    placed.push_back(box);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(placed.size(), 5u);
}

TEST(Terms, AreKnownByTheirNames) {
  EXPECT_EQ(termOf("tensor"), Term::Tensor);
  EXPECT_EQ(termOf("shared memory"), Term::Shared);
  EXPECT_EQ(termOf("DRAM"), Term::Dram);
  EXPECT_EQ(termOf("L2"), Term::L2);
  EXPECT_EQ(termOf("waves and tail"), Term::Tail);
  EXPECT_EQ(termOf("moon phase"), Term::Other);
  EXPECT_EQ(termOf(""), Term::Other);
  // Each kind is found by the name that it is shown with.
  for (size_t i = 0; i + 1 < termCount; ++i)
    if (static_cast<Term>(i) != Term::Fma) {
      EXPECT_EQ(termOf(termName(static_cast<Term>(i))), static_cast<Term>(i));
    }
}

TEST(Terms, AreOrderedAndCleaned) {
  Kernel kernel;
  kernel.termsNs = {{"DRAM", 3}, {"L2", 0}, {"launch", 1}, {"tensor", 2}, {"tail", INFINITY}};
  auto terms = orderedTerms(kernel);
  ASSERT_EQ(terms.size(), 3u);
  EXPECT_EQ(terms[0].first, "tensor");
  EXPECT_EQ(terms[1].first, "DRAM");
  EXPECT_EQ(terms[2].first, "launch");
  EXPECT_EQ(termShares(kernel), "tensor 33.3 %, DRAM 50.0 %, launch 16.7 %");
}

TEST(Summary, ShareBudgetIsTheLargestLimitThatFits) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<size_t> parts(random() % 6);
    for (size_t &part : parts)
      part = random() % 30;
    size_t budget = random() % 80, floor = 1 + random() % 3;
    auto used = [&](size_t limit) {
      size_t sum = 0;
      for (size_t part : parts)
        sum += std::min(part, limit);
      return sum;
    };
    size_t limit = shareBudget(parts, budget, floor);
    EXPECT_GE(limit, floor);
    if (limit > floor) {
      EXPECT_LE(used(limit), budget);
    }
    // One more would not fit, unless the limit is already past every part.
    if (limit < budget) {
      EXPECT_GT(used(limit + 1), budget);
    }
  }
}

TEST(Summary, SharesGapsAndOrder) {
  Model model;
  model.kernels.resize(4);
  model.kernels[0].timeNs = 100;
  model.kernels[1].timeNs = 50;
  model.kernels[1].tripCount = 4;
  model.kernels[2].timeNs = 100;
  model.kernels[1].limiter = "DRAM";
  Summary summary = summarise(model);
  EXPECT_DOUBLE_EQ(summary.sumNs, 400);
  EXPECT_DOUBLE_EQ(summary.share(model.kernels[1]), 0.5);
  EXPECT_EQ(summary.byTime, (std::vector<size_t>{1, 0, 2, 3}));
  EXPECT_EQ(summary.gaps, (std::vector<std::string>{"1 kernel without a prediction"}));
  EXPECT_EQ(summary.limiterNs.size(), 2u);
  EXPECT_TRUE(summary.warnings.empty());

  model.totalNs = 300;
  EXPECT_EQ(summarise(model).warnings.size(), 1u);

  Model empty;
  EXPECT_FALSE(summarise(empty).totalNs);
  EXPECT_TRUE(summarise(empty).gaps.empty());
  empty.totalIsComplete = false;
  EXPECT_EQ(summarise(empty).gaps.size(), 1u);
}
