#include "tools/explore/partition/choice_internal.h"

#include <algorithm>
#include <bit>
#include <map>
#include <queue>
#include <set>

namespace tilewright {

std::optional<std::vector<size_t>> runningOrder(const ChoiceProblem &problem,
                                                std::span<const size_t> columns) {
  std::vector<bool> isStored(problem.reads.size());
  std::vector<size_t> missing(columns.size());
  std::vector<std::vector<size_t>> waiting(isStored.size()); // by value: positions in `columns`
  using Entry = std::pair<AtomId, size_t>;                   // the earliest in the graph first
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto isReady = [&](size_t at) { ready.push({problem.columns[columns[at]].results.back(), at}); };
  for (size_t at = 0; at < columns.size(); ++at) {
    const Column &column = problem.columns[columns[at]];
    missing[at] = column.inputs.size();
    for (AtomId input : column.inputs)
      waiting[input].push_back(at);
    if (missing[at] == 0)
      isReady(at);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t column = columns[ready.top().second];
    ready.pop();
    order.push_back(column);
    for (AtomId value : problem.columns[column].results) {
      if (isStored[value])
        continue;
      isStored[value] = true;
      for (size_t at : waiting[value])
        if (--missing[at] == 0)
          isReady(at);
    }
  }
  const bool isComplete = order.size() == columns.size() &&
                          std::all_of(problem.required.begin(), problem.required.end(),
                                      [&](AtomId value) { return isStored[value]; });
  return isComplete ? std::optional(std::move(order)) : std::nullopt;
}

namespace {

constexpr size_t maxWindowAtoms = 40, minWindowAtoms = 5;

class WindowSearch {
public:
  WindowSearch(const ChoiceProblem &problem, KernelChoice start, ExactChoices &known,
               size_t maxStates)
      : problem(problem), choice(std::move(start)), known(known), maxStates(maxStates),
        columnsFrom(problem.reads.size()), makersOf(problem.reads.size()),
        readersOf(problem.reads.size()) {
    isRequired.resize(problem.reads.size());
    for (AtomId value : problem.required)
      isRequired[value] = true;
    for (size_t c = 0; c < problem.columns.size(); ++c)
      columnsFrom[problem.columns[c].atoms.front()].push_back(c);
  }

  KernelChoice run() {
    constexpr int maxPasses = 20;
    std::set<size_t> settled; // columns whose neighbourhoods hold nothing better
    for (int pass = 0; pass < maxPasses; ++pass) {
      bool isBetter = false;
      link();
      for (size_t seed : std::vector<size_t>(choice.columns)) {
        if (settled.count(seed) ||
            std::find(choice.columns.begin(), choice.columns.end(), seed) == choice.columns.end())
          continue;
        std::vector<size_t> window;
        bool isImproved = false;
        isGivenUp = true;
        for (size_t atoms = maxWindowAtoms; isGivenUp && atoms >= minWindowAtoms; atoms /= 2) {
          window = windowAround(seed, atoms);
          isImproved = improve(window);
        }
        if (isImproved) {
          isBetter = true;
          for (size_t column : window)
            settled.erase(column);
          for (AtomId value : touched)
            for (size_t reader : readersOf[value])
              settled.erase(reader);
          link();
        } else {
          settled.insert(seed);
        }
      }
      if (!isBetter)
        break;
    }
    choice.cost = 0;
    for (size_t column : choice.columns)
      choice.cost += problem.columns[column].cost;
    return std::move(choice);
  }

private:
  using ColumnsOf = std::vector<std::vector<size_t>>; ///< chosen ones, by atom

  void link() {
    for (auto *of : {&makersOf, &readersOf})
      for (std::vector<size_t> &columns : *of)
        columns.clear();
    for (size_t c : choice.columns) {
      for (AtomId value : problem.columns[c].results)
        makersOf[value].push_back(c);
      for (AtomId value : problem.columns[c].inputs)
        readersOf[value].push_back(c);
    }
  }

  /// Chosen columns near one: those that make what it reads, read what it makes or read the same.
  std::vector<size_t> windowAround(size_t seed, size_t maxAtoms) const {
    std::vector<size_t> window{seed}, next;
    std::set<AtomId> atoms(problem.columns[seed].atoms.begin(), problem.columns[seed].atoms.end());
    std::set<size_t> seen{seed};
    for (size_t at = 0; at < window.size(); ++at) {
      const Column &column = problem.columns[window[at]];
      next.clear();
      auto add = [&](const ColumnsOf &of, AtomId value) {
        next.insert(next.end(), of[value].begin(), of[value].end());
      };
      for (AtomId value : column.results)
        add(readersOf, value);
      for (AtomId value : column.inputs)
        add(makersOf, value);
      for (AtomId value : column.inputs)
        if (readersOf[value].size() < 8)
          add(readersOf, value);
      for (size_t c : next) {
        const Column &other = problem.columns[c];
        if (seen.count(c) || atoms.size() + other.atoms.size() > maxAtoms)
          continue;
        seen.insert(c);
        window.push_back(c);
        atoms.insert(other.atoms.begin(), other.atoms.end());
      }
    }
    return window;
  }

  /// Searches the window exactly; takes what is cheaper.
  bool improve(const std::vector<size_t> &window) {
    std::set<AtomId> atomSet;
    double cost = 0;
    for (size_t c : window) {
      atomSet.insert(problem.columns[c].atoms.begin(), problem.columns[c].atoms.end());
      cost += problem.columns[c].cost;
    }
    isGivenUp = false;
    if (window.size() == 1 && atomSet.size() == 1)
      return false;
    const std::vector<AtomId> atoms(atomSet.begin(), atomSet.end());
    auto numberOf = [&](AtomId a) -> std::optional<AtomId> {
      auto at = std::lower_bound(atoms.begin(), atoms.end(), a);
      return at != atoms.end() && *at == a ? std::optional(AtomId(at - atoms.begin()))
                                           : std::nullopt;
    };
    const std::set<size_t> inWindow(window.begin(), window.end());
    auto isAmong = [&](const ColumnsOf &of, AtomId value) {
      return std::any_of(of[value].begin(), of[value].end(),
                         [&](size_t c) { return !inWindow.count(c); });
    };
    ChoiceProblem local;
    std::vector<size_t> given;
    for (AtomId a : atoms) {
      std::vector<AtomId> reads;
      for (AtomId from : problem.reads[a])
        if (auto number = numberOf(from))
          reads.push_back(*number);
      if ((isRequired[a] || isAmong(readersOf, a)) && !isAmong(makersOf, a))
        local.required.push_back(AtomId(local.reads.size()));
      local.reads.push_back(std::move(reads));
      for (size_t c : columnsFrom[a])
        if (std::optional<Column> column = localColumn(c, numberOf, isAmong)) {
          local.columns.push_back(std::move(*column));
          given.push_back(c);
        }
    }
    const double wanted = cost * (1 - 1e-9) - 1e-6;
    const KernelChoice &found = known.of(local, wanted, maxStates);
    isGivenUp = !found.isOptimal && found.bound < wanted;
    if (found.columns.empty() && !(found.isOptimal && local.required.empty()))
      return false;
    std::vector<size_t> changed;
    for (size_t c : choice.columns)
      if (!inWindow.count(c))
        changed.push_back(c);
    for (size_t c : found.columns)
      changed.push_back(given[c]);
    std::optional<std::vector<size_t>> order = runningOrder(problem, changed);
    if (!order)
      return false;
    choice.columns = std::move(*order);
    touched = atoms;
    return true;
  }

  /// A column over the window's atoms; nothing where it has others or reads what is not made.
  template <class NumberOf, class IsAmong>
  std::optional<Column> localColumn(size_t c, const NumberOf &numberOf,
                                    const IsAmong &isAmong) const {
    const Column &from = problem.columns[c];
    Column column;
    column.cost = from.cost;
    for (AtomId a : from.atoms) {
      auto number = numberOf(a);
      if (!number)
        return std::nullopt;
      column.atoms.push_back(*number);
    }
    for (AtomId a : from.results)
      column.results.push_back(*numberOf(a));
    for (AtomId a : from.inputs) {
      if (auto number = numberOf(a))
        column.inputs.push_back(*number);
      else if (!isAmong(makersOf, a))
        return std::nullopt;
    }
    return column;
  }

  const ChoiceProblem &problem;
  KernelChoice choice;
  ExactChoices &known;
  const size_t maxStates;
  std::vector<bool> isRequired;
  std::vector<std::vector<size_t>> columnsFrom; ///< by first atom
  ColumnsOf makersOf, readersOf;
  std::vector<AtomId> touched; ///< of the window that was improved last
  bool isGivenUp = false;      ///< the last window was too large to be searched
};

} // namespace

const KernelChoice &ExactChoices::of(const ChoiceProblem &problem, double upperBound,
                                     size_t maxStates) {
  std::vector<uint64_t> key{std::bit_cast<uint64_t>(upperBound), maxStates};
  auto add = [&](const std::vector<AtomId> &list) {
    key.push_back(list.size());
    key.insert(key.end(), list.begin(), list.end());
  };
  key.push_back(problem.reads.size());
  for (const std::vector<AtomId> &reads : problem.reads)
    add(reads);
  add(problem.required);
  for (const Column &column : problem.columns) {
    add(column.atoms);
    add(column.results);
    add(column.inputs);
    key.push_back(std::bit_cast<uint64_t>(column.cost));
  }
  auto [at, isNew] = known.try_emplace(std::move(key));
  if (isNew)
    at->second = chooseExactly(problem, upperBound, maxStates);
  return at->second;
}

KernelChoice improveChoice(const ChoiceProblem &problem, KernelChoice start, ExactChoices &known,
                           size_t maxStates) {
  return WindowSearch(problem, std::move(start), known, maxStates).run();
}

} // namespace tilewright
