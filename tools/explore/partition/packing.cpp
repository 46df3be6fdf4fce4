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
  PackingAscent(const ChoiceProblem &problem, std::span<const size_t> goodChoice,
                const Packing *known)
      : problem(problem), needed(atomsNeeded(problem)), columnsOf(problem.reads.size()),
        paymentsTo(problem.reads.size()), steps(stepsFor(problem)) {
    now.shares.assign(problem.reads.size(), 0);
    addPayments();
    if (known) {
      startFrom(*known);
      steps /= 8;
      return;
    }
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
    for (int step = 0; step < steps; ++step) {
      if (step % 8 == 0)
        findActive();
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
  /// Each goes over all columns: fewer where there are many.
  static int stepsFor(const ChoiceProblem &problem) {
    constexpr size_t most = 1000, manyColumns = 5000;
    const size_t columns = std::max<size_t>(problem.columns.size(), 1);
    return int(std::max<size_t>(std::min(10 * problem.reads.size(), most) * manyColumns /
                                    std::max(columns, manyColumns),
                                240));
  }

  struct Payment {
    AtomId from, to; ///< an atom, and a value that a column with it reads
  };
  struct Point {
    std::vector<double> shares, paid; ///< by atom; by payment
  };

  void startFrom(const Packing &known) {
    now.shares = known.shares;
    for (size_t p = 0; p < payments.size(); ++p)
      for (const auto &[from, paid] : known.passedOn[payments[p].to])
        if (from == payments[p].from)
          now.paid[p] = paid;
  }

  /// Places of the columns' atoms one after the other, with the numbers of their payments to what
  /// the column reads; and the payments to what it stores.
  void addPayments() {
    std::map<std::pair<AtomId, AtomId>, uint32_t> known;
    for (size_t c = 0; c < problem.columns.size(); ++c) {
      const Column &column = problem.columns[c];
      firstPlace.push_back(atomAt.size());
      for (AtomId a : column.atoms) {
        columnsOf[a].push_back({c, atomAt.size()});
        atomAt.push_back(a);
        firstPayment.push_back(paidAt.size());
        if (!needed[a])
          continue;
        for (AtomId value : column.inputs) {
          auto [at, isNew] = known.try_emplace({a, value}, uint32_t(payments.size()));
          if (isNew) {
            paymentsTo[value].push_back(at->second);
            payments.push_back({a, value});
          }
          paidAt.push_back(at->second);
        }
      }
    }
    firstPlace.push_back(atomAt.size());
    firstPayment.push_back(paidAt.size());
    for (const Column &column : problem.columns) {
      firstReceived.push_back(receivedAt.size());
      for (AtomId value : column.results)
        receivedAt.insert(receivedAt.end(), paymentsTo[value].begin(), paymentsTo[value].end());
    }
    firstReceived.push_back(receivedAt.size());
    now.paid.assign(payments.size(), 0);
  }

  /// What an atom has left for a column after it has paid for what the column reads; may be < 0.
  double leftAt(size_t place, const Point &of) const {
    double left = of.shares[atomAt[place]];
    for (size_t p = firstPayment[place]; p < firstPayment[place + 1]; ++p)
      left -= of.paid[paidAt[p]];
    return left;
  }

  double loadOf(size_t c, const Point &of) const {
    double load = 0;
    for (size_t place = firstPlace[c]; place < firstPlace[c + 1]; ++place)
      load += std::max(0.0, leftAt(place, of));
    for (size_t p = firstReceived[c]; p < firstReceived[c + 1]; ++p)
      load += of.paid[receivedAt[p]];
    return load;
  }

  /// Those columns that a few steps may break.
  void findActive() {
    constexpr double near = 0.7;
    active.clear();
    for (size_t c = 0; c < problem.columns.size(); ++c)
      if (loadOf(c, now) > near * problem.columns[c].cost)
        active.push_back(c);
  }

  void ascend(double length) {
    slope.assign(now.shares.size(), 0);
    paidSlope.assign(payments.size(), 0);
    for (size_t a = 0; a < slope.size(); ++a)
      slope[a] = needed[a] ? 1 : 0;
    for (size_t c : active) {
      if (loadOf(c, now) <= problem.columns[c].cost)
        continue;
      for (size_t place = firstPlace[c]; place < firstPlace[c + 1]; ++place)
        if (leftAt(place, now) > 0) {
          slope[atomAt[place]] -= 1;
          for (size_t p = firstPayment[place]; p < firstPayment[place + 1]; ++p)
            paidSlope[paidAt[p]] += 1;
        }
      for (size_t p = firstReceived[c]; p < firstReceived[c + 1]; ++p)
        paidSlope[receivedAt[p]] -= 1;
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
      for (size_t place = firstPlace[c]; place < firstPlace[c + 1]; ++place)
        of.shares[atomAt[place]] -= less * std::max(0.0, leftAt(place, of));
      for (size_t p = firstReceived[c]; p < firstReceived[c + 1]; ++p) {
        double &share = of.shares[payments[receivedAt[p]].from];
        share = std::max(0.0, share - less * of.paid[receivedAt[p]]);
        of.paid[receivedAt[p]] *= 1 - less;
      }
    }
    std::vector<double> slack;
    for (size_t c = 0; c < problem.columns.size(); ++c)
      slack.push_back(problem.columns[c].cost - loadOf(c, of));
    std::vector<double> left;
    for (AtomId a = 0; a < of.shares.size(); ++a) {
      if (!needed[a] || columnsOf[a].empty())
        continue;
      left.clear();
      double room = std::numeric_limits<double>::infinity();
      for (const auto &[c, place] : columnsOf[a]) {
        left.push_back(leftAt(place, of));
        room = std::min(room, slack[c] + std::max(0.0, -left.back()));
      }
      // A little less: sums in another order must not pass the price.
      room = std::max(0.0, room * (1 - 1e-9));
      of.shares[a] += room;
      for (size_t i = 0; i < left.size(); ++i)
        slack[columnsOf[a][i].column] -= std::max(0.0, left[i] + room) - std::max(0.0, left[i]);
    }
    return of;
  }

  static double sumOf(const Point &of) {
    return std::accumulate(of.shares.begin(), of.shares.end(), 0.0);
  }

  const ChoiceProblem &problem;
  const std::vector<bool> needed;
  struct InColumn {
    size_t column, place;
  };
  std::vector<std::vector<InColumn>> columnsOf; ///< by atom
  std::vector<Payment> payments;
  std::vector<std::vector<uint32_t>> paymentsTo; ///< by value
  // One after the other: atoms of columns, payments of places, payments to what columns store.
  std::vector<size_t> firstPlace, firstPayment, firstReceived;
  std::vector<AtomId> atomAt;
  std::vector<uint32_t> paidAt, receivedAt;
  std::vector<size_t> active;
  std::vector<double> slope, paidSlope;
  int steps;
  Point now;
};

} // namespace

Packing packingOf(const ChoiceProblem &problem, std::span<const size_t> goodChoice,
                  const Packing *known) {
  return PackingAscent(problem, goodChoice, known).run();
}

double loadOf(const Packing &packing, const Column &column) {
  std::vector<double> left;
  for (AtomId a : column.atoms)
    left.push_back(packing.shares[a]);
  for (AtomId value : column.inputs)
    for (const auto &[from, paid] : packing.passedOn[value])
      if (auto at = std::lower_bound(column.atoms.begin(), column.atoms.end(), from);
          at != column.atoms.end() && *at == from)
        left[size_t(at - column.atoms.begin())] -= paid;
  double load = 0;
  for (double each : left)
    load += std::max(0.0, each);
  for (AtomId value : column.results)
    for (const auto &[from, paid] : packing.passedOn[value])
      load += paid;
  return load;
}

double packingBound(const ChoiceProblem &problem, std::span<const size_t> goodChoice) {
  const Packing packing = packingOf(problem, goodChoice);
  return std::accumulate(packing.shares.begin(), packing.shares.end(), 0.0);
}

} // namespace tilewright
