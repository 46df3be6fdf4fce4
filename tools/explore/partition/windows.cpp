#include "tools/explore/partition/choice_internal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace tilewright {

namespace {

constexpr size_t minWindowAtoms = 5;
/// Sets that a search with estimates may need before it asks for prices.
constexpr size_t maxHopefulStates = 1000;

} // namespace

class ChoiceSearch::Impl {
public:
  Impl(const ChoiceProblem &problem, KernelChoice start, KnownWindows &known, AskCosts ask)
      : choice(std::move(start)), problem(problem), known(known), ask(std::move(ask)),
        isRequired(problem.reads.size()), numberOf(problem.reads.size(), outside),
        columnsFrom(problem.reads.size()), newFrom(problem.reads.size()),
        makersOf(problem.reads.size()), readersOf(problem.reads.size()) {
    for (AtomId value : problem.required)
      isRequired[value] = true;
    setCost();
    link();
  }

  bool improve(const WindowLimits &within) {
    constexpr int maxPasses = 20;
    limits = within;
    addNewColumns();
    const double before = choice.cost;
    for (int pass = 0; pass < maxPasses; ++pass) {
      bool isBetter = false;
      for (size_t seed : std::vector<size_t>(choice.columns))
        isBetter |= !isSettled(seed) && isChosen(seed) && improveAround(seed);
      if (!isBetter)
        break;
    }
    setCost();
    return choice.cost < before;
  }

  KernelChoice choice;

private:
  using ColumnsOf = std::vector<std::vector<size_t>>; ///< by atom
  /// A neighbourhood that holds nothing better.
  struct Settled {
    std::vector<AtomId> atoms;
    WindowLimits limits;
    bool isSearched = false; ///< not only parts of it
  };

  void setCost() {
    choice.cost = 0;
    for (size_t column : choice.columns)
      choice.cost += problem.columns[column].cost;
  }

  bool isChosen(size_t column) const {
    return std::find(choice.columns.begin(), choice.columns.end(), column) != choice.columns.end();
  }

  bool isSettled(size_t seed) const {
    auto at = settled.find(seed);
    return at != settled.end() && at->second.limits.atoms >= limits.atoms &&
           (at->second.isSearched || at->second.limits.states >= limits.states);
  }

  void addNewColumns() {
    for (std::vector<size_t> &columns : newFrom)
      columns.clear();
    for (size_t c = indexed; c < problem.columns.size(); ++c)
      newFrom[problem.columns[c].atoms.front()].push_back(c);
    indexed = problem.columns.size();
    // In an order that equal windows have in common.
    auto isBefore = [&](size_t a, size_t b) {
      const Column &first = problem.columns[a], &second = problem.columns[b];
      return std::tie(first.atoms, first.results) < std::tie(second.atoms, second.results);
    };
    for (AtomId a = 0; a < newFrom.size(); ++a) {
      if (newFrom[a].empty())
        continue;
      columnsFrom[a].insert(columnsFrom[a].end(), newFrom[a].begin(), newFrom[a].end());
      std::sort(columnsFrom[a].begin(), columnsFrom[a].end(), isBefore);
    }
    std::erase_if(settled, [&](const auto &each) {
      const std::vector<AtomId> &atoms = each.second.atoms;
      return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) {
        return std::any_of(newFrom[a].begin(), newFrom[a].end(), [&](size_t c) {
          const std::vector<AtomId> &own = problem.columns[c].atoms;
          return std::includes(atoms.begin(), atoms.end(), own.begin(), own.end());
        });
      });
    });
  }

  /// Searches the neighbourhood of a chosen column.
  bool improveAround(size_t seed) {
    Settled now{{}, limits, true};
    for (size_t most = limits.atoms; most >= minWindowAtoms; most /= 2) {
      const std::vector<size_t> window = windowAround(seed, most);
      const std::vector<AtomId> atoms = atomsOf(window);
      if (now.atoms.empty())
        now.atoms = atoms;
      isGivenUp = false;
      if (improve(window, atoms)) {
        unsettle(window, atoms);
        link();
        return true;
      }
      if (!isGivenUp)
        break;
      now.isSearched = false;
    }
    settled.insert_or_assign(seed, std::move(now));
    return false;
  }

  /// What lies around a neighbourhood that has changed.
  void unsettle(const std::vector<size_t> &window, const std::vector<AtomId> &atoms) {
    for (size_t column : window)
      settled.erase(column);
    for (AtomId value : atoms)
      for (size_t reader : readersOf[value])
        settled.erase(reader);
  }

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

  std::vector<AtomId> atomsOf(const std::vector<size_t> &window) const {
    std::set<AtomId> atoms;
    for (size_t c : window)
      atoms.insert(problem.columns[c].atoms.begin(), problem.columns[c].atoms.end());
    return {atoms.begin(), atoms.end()};
  }

  /// A window as a problem of its own.
  struct Local {
    ChoiceProblem problem;
    std::vector<size_t> columns; ///< of the whole problem, by those of this one
  };

  /// Searches the window exactly; takes what is cheaper.
  bool improve(const std::vector<size_t> &window, const std::vector<AtomId> &atoms) {
    if ((window.size() == 1 && atoms.size() == 1) || atoms.size() > maxExactAtoms)
      return false; // nothing to choose, or one kernel of so many pieces
    const std::set<size_t> inWindow(window.begin(), window.end());
    Local local = localProblem(inWindow, atoms);
    double cost = 0; // in an order that equal windows have in common: sums are rounded
    for (size_t c : local.columns)
      cost += inWindow.count(c) ? problem.columns[c].cost : 0;
    const KnownWindows::Answer *answer = known.find(keyOf(local, cost, false));
    if (!answer)
      answer = known.find(keyOf(local, cost, true));
    if (!answer) {
      const KnownWindows::Answer found = searched(local, cost);
      // What ended early may get to its end when more is known than now.
      answer = &known.add(keyOf(local, cost, !found.isSearched), found);
    }
    isGivenUp = !answer->isSearched;
    if (answer->columns.empty() && !(answer->isCheaper && local.problem.required.empty()))
      return false;
    std::vector<size_t> instead;
    for (size_t c : answer->columns)
      instead.push_back(local.columns[c]);
    auto hasEstimate = [&](size_t c) { return problem.columns[c].isEstimate; };
    while (std::any_of(instead.begin(), instead.end(), hasEstimate)) {
      std::vector<size_t> estimates;
      std::copy_if(instead.begin(), instead.end(), std::back_inserter(estimates), hasEstimate);
      ask(estimates);
    }
    return replace(inWindow, instead);
  }

  KnownWindows::Answer searched(Local &local, double cost) const {
    const double wanted = cost * (1 - 1e-9) - 1e-6;
    Packing packing;
    size_t states = std::min(limits.states, maxHopefulStates);
    while (true) {
      if (!hasEstimates(local.problem))
        states = limits.states;
      KernelChoice found = chooseExactly(local.problem, wanted, states, packing);
      const std::vector<size_t> estimates = estimatesIn(local.problem, found);
      if (!estimates.empty()) {
        askFor(estimates, local);
        continue;
      }
      const bool isGivenUp = !found.isOptimal && found.bound < wanted;
      if (isGivenUp && states < limits.states) {
        states = limits.states;
        continue;
      }
      return {std::move(found.columns), found.isOptimal, !isGivenUp};
    }
  }

  static bool hasEstimates(const ChoiceProblem &local) {
    return std::any_of(local.columns.begin(), local.columns.end(),
                       [](const Column &column) { return column.isEstimate; });
  }

  void askFor(const std::vector<size_t> &estimates, Local &local) const {
    std::vector<size_t> columns;
    for (size_t c : estimates)
      columns.push_back(local.columns[c]);
    ask(columns);
    for (size_t i = 0; i < local.columns.size(); ++i) {
      const Column &from = problem.columns[local.columns[i]];
      local.problem.columns[i].cost = from.cost;
      local.problem.columns[i].isEstimate = from.isEstimate;
    }
  }

  /// All that a search depends on; what columns of a kind cost is not known everywhere at once.
  /// `withCosts`: and what is known of it.
  StructureKey keyOf(const Local &local, double cost, bool withCosts) const {
    KeyHash hash;
    hash.add(limits.states);
    hash.add(std::bit_cast<uint64_t>(cost));
    auto add = [&](const std::vector<AtomId> &list) {
      hash.add(list.size());
      for (AtomId a : list)
        hash.add(a);
    };
    hash.add(local.problem.reads.size());
    for (const std::vector<AtomId> &reads : local.problem.reads)
      add(reads);
    add(local.problem.required);
    for (size_t i = 0; i < local.columns.size(); ++i) {
      const Column &column = local.problem.columns[i];
      add(column.atoms);
      add(column.results);
      add(column.inputs);
      const bool hasKind = column.kind != StructureKey{};
      hash.add(column.kind);
      if (!hasKind && column.isEstimate) // nobody says that another one costs the same
        hash.add(local.columns[i]);
      if (withCosts || !hasKind) {
        hash.add(std::bit_cast<uint64_t>(column.cost));
        hash.add(column.isEstimate);
      }
    }
    return hash.get();
  }

  bool replace(const std::set<size_t> &old, const std::vector<size_t> &instead) {
    std::vector<size_t> changed = instead;
    for (size_t c : choice.columns)
      if (!old.count(c))
        changed.push_back(c);
    std::optional<std::vector<size_t>> order = runningOrder(problem, changed);
    if (!order)
      return false;
    choice.columns = std::move(*order);
    return true;
  }

  Local localProblem(const std::set<size_t> &inWindow, const std::vector<AtomId> &atoms) {
    auto isAmong = [&](const ColumnsOf &of, AtomId value) {
      return std::any_of(of[value].begin(), of[value].end(),
                         [&](size_t c) { return !inWindow.count(c); });
    };
    for (size_t i = 0; i < atoms.size(); ++i)
      numberOf[atoms[i]] = AtomId(i);
    Local local;
    for (AtomId a : atoms) {
      std::vector<AtomId> reads;
      for (AtomId from : problem.reads[a])
        if (numberOf[from] != outside)
          reads.push_back(numberOf[from]);
      if ((isRequired[a] || isAmong(readersOf, a)) && !isAmong(makersOf, a))
        local.problem.required.push_back(AtomId(local.problem.reads.size()));
      local.problem.reads.push_back(std::move(reads));
      for (size_t c : columnsFrom[a])
        if (isWithin(problem.columns[c], isAmong)) {
          local.problem.columns.push_back(localColumn(problem.columns[c]));
          local.columns.push_back(c);
        }
    }
    for (AtomId a : atoms)
      numberOf[a] = outside;
    return local;
  }

  /// Of the window's atoms alone, and of what it makes or others have made.
  template <class IsAmong> bool isWithin(const Column &column, const IsAmong &isAmong) const {
    auto isInside = [&](AtomId a) { return numberOf[a] != outside; };
    return std::isfinite(column.cost) &&
           std::all_of(column.atoms.rbegin(), column.atoms.rend(), isInside) &&
           std::all_of(column.inputs.begin(), column.inputs.end(),
                       [&](AtomId a) { return isInside(a) || isAmong(makersOf, a); });
  }

  /// A column over the window's atoms.
  Column localColumn(const Column &from) const {
    Column column;
    column.cost = from.cost;
    column.isEstimate = from.isEstimate;
    column.kind = from.kind;
    for (AtomId a : from.atoms)
      column.atoms.push_back(numberOf[a]);
    for (AtomId a : from.results)
      column.results.push_back(numberOf[a]);
    for (AtomId a : from.inputs)
      if (numberOf[a] != outside)
        column.inputs.push_back(numberOf[a]);
    return column;
  }

  const ChoiceProblem &problem;
  KnownWindows &known;
  const AskCosts ask;
  WindowLimits limits;
  size_t indexed = 0; ///< columns that are known
  std::vector<bool> isRequired;
  static constexpr AtomId outside = std::numeric_limits<AtomId>::max();
  std::vector<AtomId> numberOf;      ///< of atoms in the window that is made
  ColumnsOf columnsFrom, newFrom;    ///< by first atom; those that the last call has brought
  ColumnsOf makersOf, readersOf;     ///< chosen ones
  std::map<size_t, Settled> settled; ///< by chosen column
  bool isGivenUp = false;            ///< the last window was too large to be searched
};

ChoiceSearch::ChoiceSearch(const ChoiceProblem &problem, KernelChoice start, KnownWindows &known,
                           AskCosts ask)
    : impl(std::make_unique<Impl>(problem, std::move(start), known, std::move(ask))) {}
ChoiceSearch::ChoiceSearch(ChoiceSearch &&) noexcept = default;
ChoiceSearch &ChoiceSearch::operator=(ChoiceSearch &&) noexcept = default;
ChoiceSearch::~ChoiceSearch() = default;
bool ChoiceSearch::improve(const WindowLimits &limits) { return impl->improve(limits); }
const KernelChoice &ChoiceSearch::choice() const { return impl->choice; }

} // namespace tilewright
