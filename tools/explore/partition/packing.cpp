#include "tools/explore/partition/choice_internal.h"

#include <algorithm>
#include <cmath>
#include <map>
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

/// Shares and what is passed on of them, improved step by step: a subgradient of
///
///     Σ y + Σ over columns of min(0, price - load)
///
/// which is below every choice whatever y and u are, and concave.
class PackingAscent {
public:
  PackingAscent(const ChoiceProblem &problem, std::span<const size_t> goodChoice)
      : problem(problem), needed(atomsNeeded(problem)), columnsOf(problem.reads.size()),
        paymentsTo(problem.reads.size()) {
    now.shares.assign(problem.reads.size(), 0);
    addPayments();
    std::vector<double> least(now.shares.size(), std::numeric_limits<double>::infinity());
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
    for (size_t a = 0; a < now.shares.size(); ++a)
      now.shares[a] = needed[a] && std::isfinite(least[a]) ? least[a] : 0;
  }

  Packing run() {
    Point best = feasible(now);
    double bestSum = sumOf(best);
    const double scale = std::max(bestSum, 1.0) / double(std::max<size_t>(now.shares.size(), 1));
    const int steps = int(std::clamp<size_t>(10 * now.shares.size(), 240, 1000));
    for (int step = 0; step < steps; ++step) {
      ascend(0.5 * scale * std::pow(3.0 / steps, double(step) / steps));
      if (step % 8 != 7)
        continue;
      Point candidate = feasible(now);
      if (const double sum = sumOf(candidate); sum > bestSum) {
        bestSum = sum;
        best = std::move(candidate);
      }
    }
    Packing packing;
    packing.shares = std::move(best.shares);
    packing.passedOn.resize(packing.shares.size());
    for (size_t p = 0; p < payments.size(); ++p)
      if (best.paid[p] > 0)
        packing.passedOn[payments[p].to].push_back({payments[p].from, best.paid[p]});
    return packing;
  }

private:
  struct Payment {
    AtomId from, to; ///< an atom, and a value that a column with it reads
  };
  struct Point {
    std::vector<double> shares, paid; ///< by atom; by payment
  };

  /// Of each column's atoms the numbers of their payments to what the column reads.
  void addPayments() {
    std::map<std::pair<AtomId, AtomId>, size_t> known;
    for (size_t c = 0; c < problem.columns.size(); ++c) {
      const Column &column = problem.columns[c];
      std::vector<std::vector<size_t>> ofAtoms;
      for (AtomId a : column.atoms) {
        columnsOf[a].push_back(c);
        std::vector<size_t> &mine = ofAtoms.emplace_back();
        if (!needed[a])
          continue;
        for (AtomId value : column.inputs) {
          auto [at, isNew] = known.try_emplace({a, value}, payments.size());
          if (isNew) {
            paymentsTo[value].push_back(payments.size());
            payments.push_back({a, value});
          }
          mine.push_back(at->second);
        }
      }
      paymentsIn.push_back(std::move(ofAtoms));
    }
    now.paid.assign(payments.size(), 0);
  }

  /// What an atom has left for a column after it has paid for what the column reads; may be < 0.
  double leftOf(size_t c, size_t at, const Point &of) const {
    double left = of.shares[problem.columns[c].atoms[at]];
    for (size_t payment : paymentsIn[c][at])
      left -= of.paid[payment];
    return left;
  }

  double loadOf(size_t c, const Point &of) const {
    const Column &column = problem.columns[c];
    double load = 0;
    for (size_t at = 0; at < column.atoms.size(); ++at)
      load += std::max(0.0, leftOf(c, at, of));
    for (AtomId value : column.results)
      for (size_t payment : paymentsTo[value])
        load += of.paid[payment];
    return load;
  }

  void ascend(double length) {
    std::vector<double> slope(now.shares.size()), paidSlope(payments.size());
    for (size_t a = 0; a < slope.size(); ++a)
      slope[a] = needed[a] ? 1 : 0;
    for (size_t c = 0; c < problem.columns.size(); ++c) {
      const Column &column = problem.columns[c];
      if (loadOf(c, now) <= column.cost)
        continue;
      for (size_t at = 0; at < column.atoms.size(); ++at)
        if (leftOf(c, at, now) > 0) {
          slope[column.atoms[at]] -= 1;
          for (size_t payment : paymentsIn[c][at])
            paidSlope[payment] += 1;
        }
      for (AtomId value : column.results)
        for (size_t payment : paymentsTo[value])
          paidSlope[payment] -= 1;
    }
    for (size_t a = 0; a < slope.size(); ++a)
      if (needed[a])
        now.shares[a] = std::max(0.0, now.shares[a] + length * slope[a]);
    for (size_t p = 0; p < payments.size(); ++p)
      now.paid[p] = std::max(0.0, now.paid[p] + length * paidSlope[p]);
  }

  /// Lowers what breaks a column, raises what no column holds back.
  Point feasible(Point of) const {
    for (size_t c = 0; c < problem.columns.size(); ++c) {
      const Column &column = problem.columns[c];
      const double load = loadOf(c, of);
      if (load <= column.cost)
        continue;
      // With a payment the share falls as well, so that no other load rises.
      const double less = 1 - std::max(column.cost, 0.0) / load * (1 - 1e-12);
      for (size_t at = 0; at < column.atoms.size(); ++at)
        of.shares[column.atoms[at]] -= less * std::max(0.0, leftOf(c, at, of));
      for (AtomId value : column.results)
        for (size_t payment : paymentsTo[value]) {
          double &share = of.shares[payments[payment].from];
          share = std::max(0.0, share - less * of.paid[payment]);
          of.paid[payment] *= 1 - less;
        }
    }
    std::vector<double> slack;
    for (size_t c = 0; c < problem.columns.size(); ++c)
      slack.push_back(problem.columns[c].cost - loadOf(c, of));
    for (AtomId a = 0; a < of.shares.size(); ++a) {
      if (!needed[a] || columnsOf[a].empty())
        continue;
      std::vector<double> left;
      double room = std::numeric_limits<double>::infinity();
      for (size_t c : columnsOf[a]) {
        const std::vector<AtomId> &atoms = problem.columns[c].atoms;
        left.push_back(
            leftOf(c, size_t(std::lower_bound(atoms.begin(), atoms.end(), a) - atoms.begin()), of));
        room = std::min(room, slack[c] + std::max(0.0, -left.back()));
      }
      // A little less: sums in another order must not pass the price.
      room = std::max(0.0, room * (1 - 1e-9));
      of.shares[a] += room;
      for (size_t i = 0; i < left.size(); ++i)
        slack[columnsOf[a][i]] -= std::max(0.0, left[i] + room) - std::max(0.0, left[i]);
    }
    return of;
  }

  static double sumOf(const Point &of) {
    return std::accumulate(of.shares.begin(), of.shares.end(), 0.0);
  }

  const ChoiceProblem &problem;
  const std::vector<bool> needed;
  std::vector<std::vector<size_t>> columnsOf;
  std::vector<Payment> payments;
  std::vector<std::vector<size_t>> paymentsTo;              ///< by value
  std::vector<std::vector<std::vector<size_t>>> paymentsIn; ///< by column and place of the atom
  Point now;
};

} // namespace

Packing packingOf(const ChoiceProblem &problem, std::span<const size_t> goodChoice) {
  return PackingAscent(problem, goodChoice).run();
}

double packingBound(const ChoiceProblem &problem, std::span<const size_t> goodChoice) {
  const Packing packing = packingOf(problem, goodChoice);
  return std::accumulate(packing.shares.begin(), packing.shares.end(), 0.0);
}

} // namespace tilewright
