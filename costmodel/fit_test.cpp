#include "costmodel/dual.h"
#include "costmodel/fit.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tilewright {
namespace {

TEST(Dual, DerivativesMatchDifferences) {
  auto f = [](auto x, auto y) {
    using std::log;
    return powOf(x, y) / (x + 2.0 * y) - 3.0 / x + log(x * y) * smaller(x, y) + larger(x, y);
  };
  for (double x : {0.3, 1.7, 4.0})
    for (double y : {0.5, 2.25}) {
      Dual<2> a(x), b(y);
      a.d[0] = 1;
      b.d[1] = 1;
      Dual<2> r = f(a, b);
      EXPECT_NEAR(r.value, f(x, y), 1e-12);
      double h = 1e-6;
      EXPECT_NEAR(r.d[0], (f(x + h, y) - f(x - h, y)) / (2 * h), 1e-5);
      EXPECT_NEAR(r.d[1], (f(x, y + h) - f(x, y - h)) / (2 * h), 1e-5);
    }
}

/// y = a·exp(-b·t) + c at 60 places.
FitProblem decay(double a, double b, double c, double outlier) {
  FitProblem p;
  double inf = std::numeric_limits<double>::infinity();
  p.weights.assign(60, 1);
  p.start = {1, 1, 0};
  p.lower = {0.01, 0.01, -10};
  p.upper = {100, 10, 10};
  p.priorMean = {1, 1, 0};
  p.priorSigma = {inf, inf, inf};
  p.isFree = {true, true, true};
  p.maxIterations = 200;
  p.residual = [=](size_t i, std::span<const double> x, std::span<double> g) {
    double t = 0.1 * double(i), e = std::exp(-x[1] * t);
    g[0] = e;
    g[1] = -x[0] * t * e;
    g[2] = 1;
    double measured = a * std::exp(-b * t) + c + (i == 7 ? outlier : 0);
    return x[0] * e + x[2] - measured;
  };
  return p;
}

TEST(Fit, RecoversPlantedParameters) {
  FitResult r = fit(decay(3, 0.7, 0.4, 0), 60);
  EXPECT_TRUE(r.converged);
  EXPECT_NEAR(r.x[0], 3, 1e-4);
  EXPECT_NEAR(r.x[1], 0.7, 1e-4);
  EXPECT_NEAR(r.x[2], 0.4, 1e-4);
}

TEST(Fit, AnOutlierHardlyMoves) {
  FitResult r = fit(decay(3, 0.7, 0.4, 50), 60);
  EXPECT_NEAR(r.x[0], 3, 0.05);
  EXPECT_NEAR(r.x[1], 0.7, 0.02);
}

TEST(Fit, BoundsAndFixedParametersHold) {
  FitProblem p = decay(3, 0.7, 0.4, 0);
  p.upper[0] = 2;
  p.isFree[2] = false;
  FitResult r = fit(p, 60);
  EXPECT_DOUBLE_EQ(r.x[0], 2);
  EXPECT_EQ(r.x[2], 0);
  EXPECT_EQ(r.sigma[2], 0);
}

TEST(Fit, WhatTheDataDoNotSayStaysAtThePriorWithItsWidth) {
  FitProblem p = decay(3, 0.7, 0.4, 0);
  p.start.push_back(5);
  p.lower.push_back(-100);
  p.upper.push_back(100);
  p.priorMean.push_back(2);
  p.priorSigma.push_back(0.6);
  p.isFree.push_back(true);
  FitResult r = fit(p, 60);
  EXPECT_NEAR(r.x[3], 2, 1e-3);
  EXPECT_NEAR(r.sigma[3], 0.6, 1e-6);
  EXPECT_LT(r.sigma[0], 0.6);
}

TEST(Fit, NoRowsAndNothingFree) {
  FitProblem p = decay(3, 0.7, 0.4, 0);
  p.isFree = {false, false, false};
  EXPECT_EQ(fit(p, 60).x, p.start);
  p.isFree = {true, true, true};
  p.weights.clear();
  EXPECT_EQ(fit(p, 0).x, p.start);
}

} // namespace
} // namespace tilewright
