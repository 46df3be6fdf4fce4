// The cheapest choices, by the same path search as the cheapest one, with several ways to each set
// of needed values.
#include "tools/explore/partition/needed_sets.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace tilewright {

namespace {

class BestChoices {
public:
  BestChoices(const ChoiceProblem &problem, size_t count, double upperBound, size_t maxWays,
              const Packing &packing)
      : sets(problem, upperBound, packing), count(count), upperBound(upperBound), maxWays(maxWays) {
  }

  std::vector<KernelChoice> run() {
    std::vector<KernelChoice> best;
    reach({sets.required(), 0, 0, none, none});
    while (!open.empty() && best.size() < count) {
      const auto [estimate, number] = open.top();
      open.pop();
      if (ways[number].isDropped)
        continue;
      const Way way = ways[number];
      if (way.needed.isEmpty()) {
        if (KernelChoice choice = choiceOf(number); !hasSpare(choice.columns))
          best.push_back(std::move(choice));
        continue;
      }
      if (ways.size() >= maxWays)
        break;
      sets.forEachLast(way.needed, [&](size_t c) {
        if (!makesSpare(number, c))
          reach({sets.before(way.needed, c), way.cost + sets.problem.columns[c].cost,
                 way.columnSet + hashOf(c), number, c});
      });
    }
    return best;
  }

private:
  static constexpr size_t none = ~size_t(0);

  /// From what is required to a set of needed values.
  struct Way {
    AtomSet needed;
    double cost = 0;
    uint64_t columnSet = 0; ///< the same for the same columns in another order
    size_t from = none, column = none;
    bool isDropped = false; ///< there are enough cheaper ones
  };
  struct Entry {
    double estimate;
    size_t way;
    /// The least estimate on top; of equal ones the way that was found first.
    bool operator<(const Entry &other) const {
      return estimate != other.estimate ? estimate > other.estimate : way > other.way;
    }
  };

  static uint64_t hashOf(size_t column) {
    uint64_t hash = (column + 1) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 29) * 0xff51afd7ed558ccd;
    return hash ^ hash >> 32;
  }

  KernelChoice choiceOf(size_t number) const {
    KernelChoice choice;
    choice.cost = choice.bound = ways[number].cost;
    choice.isOptimal = true;
    for (size_t at = number; ways[at].from != none; at = ways[at].from)
      choice.columns.push_back(ways[at].column);
    return choice;
  }

  /// Whether a column that is to run before those of a way leaves one of them without use: all that
  /// it was taken for is stored earlier.
  bool makesSpare(size_t number, size_t column) const {
    AtomSet earlier = sets.resultsOf(column);
    for (size_t at = number; ways[at].from != none; at = ways[at].from) {
      const AtomSet &needed = ways[ways[at].from].needed;
      const AtomSet &results = sets.resultsOf(ways[at].column);
      const AtomSet used = needed.without(needed.without(results));
      if (used.without(earlier).isEmpty())
        return true;
      earlier.add(results);
    }
    return false;
  }

  /// Whether the others could do without one of the columns.
  bool hasSpare(const std::vector<size_t> &columns) const {
    for (size_t i = 0; i < columns.size(); ++i) {
      std::vector<size_t> others = columns;
      others.erase(others.begin() + ptrdiff_t(i));
      if (runningOrder(sets.problem, others))
        return true;
    }
    return false;
  }

  /// Of each set of needed values the cheapest ways are kept.
  void reach(Way way) {
    const double estimate = way.cost + sets.remaining(way.needed);
    if (!(estimate < upperBound))
      return;
    std::vector<size_t> &known = waysTo[way.needed];
    auto isDearer = [&](double cost, size_t other) { return cost < ways[other].cost; };
    for (size_t other : known)
      if (ways[other].columnSet == way.columnSet)
        return; // the same costs, perhaps summed in another order
    // Some may turn out to have a spare column.
    if (known.size() == 2 * count) {
      if (!isDearer(way.cost, known.back()))
        return;
      ways[known.back()].isDropped = true;
      known.pop_back();
    }
    known.insert(std::upper_bound(known.begin(), known.end(), way.cost, isDearer), ways.size());
    open.push({estimate, ways.size()});
    ways.push_back(std::move(way));
  }

  const NeededSets sets;
  const size_t count;
  const double upperBound;
  const size_t maxWays;
  std::vector<Way> ways;
  std::unordered_map<AtomSet, std::vector<size_t>, AtomSet::Hash> waysTo; ///< cheapest first
  std::priority_queue<Entry> open;
};

} // namespace

std::vector<KernelChoice> chooseBest(const ChoiceProblem &problem, size_t count, double upperBound,
                                     size_t maxWays) {
  return BestChoices(problem, count, upperBound, maxWays, packingOf(problem, {})).run();
}

std::vector<KernelChoice> chooseBestPriced(const ChoiceProblem &problem, const AskCosts &ask,
                                           size_t count, double upperBound, size_t maxWays) {
  while (true) {
    std::vector<KernelChoice> best = chooseBest(problem, count, upperBound, maxWays);
    std::vector<size_t> estimates;
    for (const KernelChoice &choice : best)
      for (size_t c : estimatesIn(problem, choice))
        estimates.push_back(c);
    if (estimates.empty())
      return best;
    std::sort(estimates.begin(), estimates.end());
    estimates.erase(std::unique(estimates.begin(), estimates.end()), estimates.end());
    ask(estimates);
  }
}

} // namespace tilewright
