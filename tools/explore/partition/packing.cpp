#include "tools/explore/partition/choice_internal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright {

std::vector<bool> atomsNeeded(const ChoiceProblem &problem) {
  std::vector<bool> needed(problem.reads.size());
  for (AtomId a : problem.required)
    needed[a] = true;
  for (size_t a = needed.size(); a-- > 0;)
    if (needed[a])
      for (AtomId from : problem.reads[a])
        needed[from] = true;
  return needed;
}

namespace {

/// A packing that is improved step by step.
class Packing {
public:
  Packing(const ChoiceProblem &problem, std::span<const size_t> goodChoice)
      : problem(problem), needed(atomsNeeded(problem)), columnsOf(problem.reads.size()),
        shares(problem.reads.size(), 0) {
    for (size_t c = 0; c < problem.columns.size(); ++c)
      for (AtomId a : problem.columns[c].atoms)
        columnsOf[a].push_back(c);
    std::vector<double> least(shares.size(), std::numeric_limits<double>::infinity());
    auto spread = [&](size_t c) {
      const Column &column = problem.columns[c];
      for (AtomId a : column.atoms)
        least[a] = std::min(least[a], column.cost / double(column.atoms.size()));
    };
    if (goodChoice.empty())
      for (size_t c = 0; c < problem.columns.size(); ++c)
        spread(c);
    for (size_t c : goodChoice)
      spread(c);
    for (size_t a = 0; a < shares.size(); ++a)
      shares[a] = needed[a] && std::isfinite(least[a]) ? least[a] : 0;
  }

  std::vector<double> run() {
    // Subgradient of Σ y + Σ min(0, price - y(column)), to which the packing's LP is dual.
    std::vector<double> best = feasible(shares);
    double bestSum = std::accumulate(best.begin(), best.end(), 0.0);
    const double scale = std::max(bestSum, 1.0) / double(std::max<size_t>(shares.size(), 1));
    constexpr int steps = 240;
    for (int step = 0; step < steps; ++step) {
      std::vector<double> slope(shares.size());
      for (size_t a = 0; a < shares.size(); ++a)
        slope[a] = needed[a] ? 1 : 0;
      for (const Column &column : problem.columns) {
        double sum = 0;
        for (AtomId a : column.atoms)
          sum += shares[a];
        if (sum > column.cost)
          for (AtomId a : column.atoms)
            slope[a] -= 1;
      }
      const double length = 0.5 * scale * std::pow(0.02, double(step) / steps);
      for (size_t a = 0; a < shares.size(); ++a)
        if (needed[a])
          shares[a] = std::max(0.0, shares[a] + length * slope[a]);
      if (step % 8 != 7)
        continue;
      std::vector<double> candidate = feasible(shares);
      const double sum = std::accumulate(candidate.begin(), candidate.end(), 0.0);
      if (sum > bestSum) {
        bestSum = sum;
        best = std::move(candidate);
      }
    }
    return best;
  }

private:
  double slackOf(const Column &column, const std::vector<double> &of) const {
    double slack = column.cost;
    for (AtomId a : column.atoms)
      slack -= of[a];
    return slack;
  }

  /// Lowers what breaks a column, raises what no column holds back.
  std::vector<double> feasible(std::vector<double> y) const {
    for (const Column &column : problem.columns) {
      double sum = 0;
      for (AtomId a : column.atoms)
        sum += y[a];
      if (sum > column.cost)
        for (AtomId a : column.atoms)
          y[a] *= std::max(column.cost, 0.0) / sum;
    }
    for (size_t a = 0; a < y.size(); ++a) {
      if (!needed[a] || columnsOf[a].empty())
        continue;
      double room = std::numeric_limits<double>::infinity();
      for (size_t c : columnsOf[a])
        room = std::min(room, slackOf(problem.columns[c], y));
      // A little less: sums in another order must not pass the price.
      y[a] += std::max(0.0, room * (1 - 1e-9));
    }
    return y;
  }

  const ChoiceProblem &problem;
  const std::vector<bool> needed;
  std::vector<std::vector<size_t>> columnsOf;
  std::vector<double> shares;
};

} // namespace

std::vector<double> packingOf(const ChoiceProblem &problem, std::span<const size_t> goodChoice) {
  return Packing(problem, goodChoice).run();
}

double packingBound(const ChoiceProblem &problem, std::span<const size_t> goodChoice) {
  const std::vector<double> shares = packingOf(problem, goodChoice);
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

} // namespace tilewright
