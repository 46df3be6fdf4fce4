#include "tools/explore/partition/choice_internal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <queue>
#include <unordered_map>

namespace tilewright {

namespace {

/// A set of at most maxExactAtoms atoms.
struct AtomSet {
  static constexpr size_t words = maxExactAtoms / 64;
  std::array<uint64_t, words> bits{};

  bool operator==(const AtomSet &) const = default;
  void insert(AtomId a) { bits[a / 64] |= uint64_t(1) << a % 64; }
  bool contains(AtomId a) const { return bits[a / 64] >> a % 64 & 1; }
  bool isEmpty() const { return bits == decltype(bits){}; }
  AtomSet without(const AtomSet &other) const {
    AtomSet result;
    for (size_t w = 0; w < words; ++w)
      result.bits[w] = bits[w] & ~other.bits[w];
    return result;
  }
  void add(const AtomSet &other) {
    for (size_t w = 0; w < words; ++w)
      bits[w] |= other.bits[w];
  }
  bool meets(const AtomSet &other) const {
    for (size_t w = 0; w < words; ++w)
      if (bits[w] & other.bits[w])
        return true;
    return false;
  }
  /// From the largest down.
  template <class Visit> void forEach(const Visit &visit) const {
    for (size_t w = words; w-- > 0;)
      for (uint64_t rest = bits[w]; rest;) {
        const unsigned bit = 63 - unsigned(std::countl_zero(rest));
        rest &= ~(uint64_t(1) << bit);
        visit(AtomId(64 * w + bit));
      }
  }
  AtomId largest() const {
    for (size_t w = words; w-- > 0;)
      if (bits[w])
        return AtomId(64 * w + 63 - unsigned(std::countl_zero(bits[w])));
    return 0;
  }

  struct Hash {
    size_t operator()(const AtomSet &set) const {
      uint64_t hash = 0x9e3779b97f4a7c15;
      for (uint64_t word : set.bits) {
        hash = (hash ^ word) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };
};

AtomSet setOf(std::span<const AtomId> atoms) {
  AtomSet set;
  for (AtomId a : atoms)
    set.insert(a);
  return set;
}

class NeededSearch {
public:
  NeededSearch(const ChoiceProblem &problem, double upperBound, size_t maxStates,
               const Packing &packing)
      : problem(problem), upperBound(upperBound), maxStates(maxStates), packing(packing),
        makers(problem.reads.size()) {
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

  KernelChoice run() {
    KernelChoice choice;
    const AtomSet start = setOf(problem.required);
    reach(start, 0, 0, 0);
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
      expand(number, needed);
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

  /// What the columns still to come cost at least: the shares of what they must compute, and what
  /// atoms that are computed already have passed on to what is needed.
  double remaining(const AtomSet &needed) const {
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
    const double estimate = cost + remaining(needed);
    if (estimate < upperBound)
      open.push({estimate, known->second});
  }

  /// The column that runs last: one that makes the latest needed value. Only where that one stores
  /// something else that another column, of a needed value, may read, that other one may run later.
  void expand(size_t number, const AtomSet &needed) {
    const AtomId latest = needed.largest();
    bool mayBeRead = false;
    for (size_t c : makers[latest]) {
      take(number, needed, c);
      if (problem.columns[c].results.size() < 2)
        continue;
      AtomSet before;
      needed.without(results[c]).forEach([&](AtomId a) { before.add(ancestors[a]); });
      mayBeRead |= before.meets(results[c]);
    }
    if (!mayBeRead)
      return;
    needed.forEach([&](AtomId a) {
      if (a == latest)
        return;
      for (size_t c : makers[a])
        if (!results[c].contains(latest))
          take(number, needed, c);
    });
  }

  void take(size_t number, const AtomSet &needed, size_t c) {
    AtomSet rest = needed.without(results[c]);
    rest.add(inputs[c]);
    reach(rest, states[number].cost + problem.columns[c].cost, number, c);
  }

  const ChoiceProblem &problem;
  const double upperBound;
  const size_t maxStates;
  const Packing &packing;
  std::vector<std::vector<size_t>> makers;
  std::vector<AtomSet> results, inputs, ancestors;
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
