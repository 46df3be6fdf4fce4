#include "tools/explore/partition/needed_sets.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <unordered_map>

namespace tilewright {

NeededSets::NeededSets(const ChoiceProblem &problem, double upperBound, const Packing &packing)
    : problem(problem), packing(packing), makers(problem.reads.size()) {
  const double leastSum = std::accumulate(packing.shares.begin(), packing.shares.end(), 0.0);
  for (size_t c = 0; c < problem.columns.size(); ++c) {
    const Column &column = problem.columns[c];
    results.push_back(setOf(column.results));
    inputs.push_back(setOf(column.inputs));
    // A choice costs what all its columns are loaded with, and what each costs beyond that.
    if (leastSum + column.cost - loadOf(packing, column) < upperBound)
      for (AtomId a : column.results)
        makers[a].push_back(c);
  }
  for (size_t a = 0; a < problem.reads.size(); ++a) {
    AtomSet before;
    for (AtomId from : problem.reads[a]) {
      before.insert(from);
      before.add(ancestors[from]);
    }
    ancestors.push_back(before);
  }
}

double NeededSets::remaining(const AtomSet &needed) const {
  AtomSet all = needed;
  needed.forEach([&](AtomId a) { all.add(ancestors[a]); });
  double sum = 0;
  all.forEach([&](AtomId a) { sum += packing.shares[a]; });
  needed.forEach([&](AtomId value) {
    for (const auto &[from, paid] : packing.passedOn[value])
      if (!all.contains(from))
        sum += paid;
  });
  return sum;
}

namespace {

class NeededSearch {
public:
  NeededSearch(const ChoiceProblem &problem, double upperBound, size_t maxStates,
               const Packing &packing)
      : sets(problem, upperBound, packing), upperBound(upperBound), maxStates(maxStates) {}

  KernelChoice run() {
    KernelChoice choice;
    reach(sets.required(), 0, 0, 0);
    while (!open.empty()) {
      const auto [estimate, number] = open.top();
      open.pop();
      const AtomSet needed = states[number].needed;
      if (states[number].isClosed)
        continue;
      if (needed.isEmpty()) {
        choice.cost = choice.bound = states[number].cost;
        choice.isOptimal = true;
        choice.columns = pathTo(number); // the first to run is the last on the way back
        return choice;
      }
      choice.bound = std::max(choice.bound, estimate);
      if (states.size() >= maxStates) {
        choice.hoped = pathTo(number);
        return choice;
      }
      states[number].isClosed = true;
      sets.forEachLast(needed, [&](size_t c) {
        reach(sets.before(needed, c), states[number].cost + sets.problem.columns[c].cost, number,
              c);
      });
    }
    choice.bound = upperBound;
    return choice;
  }

private:
  struct State {
    AtomSet needed;
    double cost;
    size_t from, column;
    bool isClosed;
  };
  struct Entry {
    double estimate;
    size_t state;
    /// The least estimate on top; of equal ones the state that was reached first.
    bool operator<(const Entry &other) const {
      return estimate != other.estimate ? estimate > other.estimate : state > other.state;
    }
  };

  std::vector<size_t> pathTo(size_t number) const {
    std::vector<size_t> columns;
    for (size_t at = number; states[at].from != at; at = states[at].from)
      columns.push_back(states[at].column);
    return columns;
  }

  void reach(const AtomSet &needed, double cost, size_t from, size_t column) {
    auto [known, isNew] = numbers.try_emplace(needed, states.size());
    if (isNew)
      states.push_back({needed, cost, from, column, false});
    else if (State &state = states[known->second]; cost < state.cost) {
      state.isClosed = false; // the estimate may fall along a path
      state.cost = cost;
      state.from = from;
      state.column = column;
    } else {
      return;
    }
    const double estimate = cost + sets.remaining(needed);
    if (estimate < upperBound)
      open.push({estimate, known->second});
  }

  const NeededSets sets;
  const double upperBound;
  const size_t maxStates;
  std::vector<State> states;
  std::unordered_map<AtomSet, size_t, AtomSet::Hash> numbers;
  std::priority_queue<Entry> open;
};

} // namespace

std::vector<size_t> estimatesIn(const ChoiceProblem &problem, const KernelChoice &choice) {
  std::vector<size_t> estimates;
  for (size_t c : choice.hoped.empty() ? choice.columns : choice.hoped)
    if (problem.columns[c].isEstimate)
      estimates.push_back(c);
  return estimates;
}

KernelChoice chooseExactly(const ChoiceProblem &problem, double upperBound, size_t maxStates) {
  Packing packing;
  return chooseExactly(problem, upperBound, maxStates, packing);
}

KernelChoice chooseExactly(const ChoiceProblem &problem, double upperBound, size_t maxStates,
                           Packing &packing) {
  packing = packingOf(problem, {}, packing.shares.empty() ? nullptr : &packing);
  return NeededSearch(problem, upperBound, maxStates, packing).run();
}

KernelChoice choosePriced(const ChoiceProblem &problem, const AskCosts &ask, double upperBound,
                          size_t maxStates) {
  Packing packing;
  while (true) {
    KernelChoice choice = chooseExactly(problem, upperBound, maxStates, packing);
    const std::vector<size_t> estimates = estimatesIn(problem, choice);
    if (estimates.empty())
      return choice;
    ask(estimates);
  }
}

} // namespace tilewright
