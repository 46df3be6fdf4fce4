#include "tools/explore/partition/partition.h"

#include "tools/explore/partition/columns.h"
#include "tools/explore/partition/fusion_reasons.h"

#include <algorithm>
#include <ranges>

namespace tilewright {

namespace {

constexpr size_t maxRounds = 16, maxConvexGroups = 64, maxAtomsOfAll = 24;
constexpr size_t maxExactStates = 60'000;
/// Of graphs of more, windows stay small: whole networks are their layers, again and again. Rounds
/// that gain less than this share of the cost are the last of their sort there.
constexpr size_t maxAtomsOfWide = 600;
constexpr double leastGainOfLarge = 1e-3;
/// Choices that are compared as they run one kernel after the other, and how much dearer than the
/// best one they are at most.
constexpr size_t maxAlternatives = 8;
constexpr double alternativesWithin = 1.1;
constexpr WindowLimits wideWindows{.states = 20'000}, smallWindows{.atoms = 24};

AtomGroup groupOf(const Column &column) { return {column.atoms, column.results}; }

class Partitioner {
public:
  Partitioner(const Graph &graph, const AtomGraph &atoms, std::span<const GivenKernel> given,
              const GroupPricing &pricing)
      : graph(graph), atoms(atoms), given(given), pricing(pricing), columns(graph, atoms, pricing) {
  }

  llvm::Expected<Partition> run(const ForcedFusions &forced) {
    if (llvm::Error error = force(forced))
      return error;
    addGiven();
    addFixed();
    if (forced.isAny())
      if (llvm::Error error = startForced())
        return error;
    if (atoms.size() <= maxAtomsOfAll)
      proposeAll(columns, choice.columns, maxConvexGroups);
    const KernelChoice start = choice;
    choice = searched(start);
    prove();
    if (pricing.pick)
      pickAlternative();
    std::optional<std::vector<size_t>> order = runningOrder(columns.problem, choice.columns);
    if (!order)
      return makeError(DiagClass::Internal, "the chosen kernels can't run one after the other");
    choice.columns = std::move(*order);
    return result();
  }

private:
  AskCosts ask() {
    return [this](std::span<const size_t> which) { columns.price(which); };
  }

  /// What is near is proposed and searched until nothing new is cheaper.
  KernelChoice searched(const KernelChoice &start) {
    ChoiceSearch search(columns.problem, start, windows, ask());
    std::set<std::pair<size_t, size_t>> seen, seenFiner;
    const bool isLarge = atoms.size() > maxAtomsOfWide;
    const WindowLimits limits = isLarge ? smallWindows : WindowLimits();
    search.improve(limits);
    auto improveWith = [&](Neighbourhood which, std::set<std::pair<size_t, size_t>> &known) {
      proposeNeighbours(columns, search.choice().columns, which, known);
      const double before = search.choice().cost;
      return search.improve(limits) &&
             before - search.choice().cost > (isLarge ? leastGainOfLarge * before : 0);
    };
    // Kernels on the way to larger ones are not worth splitting.
    for (size_t round = 0; round < maxRounds; ++round)
      if (!improveWith(Neighbourhood::Larger, seen) &&
          !improveWith(Neighbourhood::Finer, seenFiner) &&
          (isLarge || !improveWidely(search, start)))
        break;
    return search.choice();
  }

  /// Looks at larger neighbourhoods, of the first choice as well: the way that the choice has come
  /// did not know all columns. False if nothing is cheaper.
  bool improveWidely(ChoiceSearch &search, const KernelChoice &start) {
    bool isBetter = search.improve(wideWindows);
    ChoiceSearch other(columns.problem, start, windows, ask());
    other.improve(wideWindows);
    if (other.choice().cost < search.choice().cost) {
      search = std::move(other);
      isBetter = true;
    }
    return isBetter;
  }

  /// The greedy kernels are the first choice.
  void addGiven() {
    for (size_t k = 0; k < given.size(); ++k) {
      AtomGroup group;
      for (size_t kernel : given[k].kernels) {
        std::vector<AtomId> all;
        const std::vector<AtomId> &more = atoms.ofKernel(kernel);
        std::set_union(group.atoms.begin(), group.atoms.end(), more.begin(), more.end(),
                       std::back_inserter(all));
        group.atoms = std::move(all);
      }
      if (group.atoms.empty())
        continue;
      group.results = given[k].results;
      if (!columns.allows(group.atoms))
        continue;
      if (given[k].kernels.size() > 1)
        columns.addChain(group.atoms);
      const size_t column = columns.add(std::move(group), given[k].timeNs);
      givenOf.try_emplace(column, k);
      if (given[k].kernels.size() == 1)
        choice.columns.push_back(column);
    }
  }

  /// The atom of a named op.
  llvm::Expected<AtomId> atomOf(OpId id) const {
    if (std::optional<AtomId> atom = atoms.atomOf(id))
      return *atom;
    return makeError(DiagClass::BadInput,
                     "%{} is in no kernel of its own: it is an argument, or part of what reads it",
                     graph.op(id).name);
  }

  llvm::Error force(const ForcedFusions &forced) {
    for (const std::vector<OpId> &ops : forced.fused) {
      std::vector<AtomId> set;
      for (OpId id : ops) {
        llvm::Expected<AtomId> atom = atomOf(id);
        if (!atom)
          return atom.takeError();
        set.push_back(*atom);
      }
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
      if (std::string why = columns.whyNoKernel({set, columns.resultsOf(set)}); !why.empty())
        return makeError(DiagClass::BadInput, "--fuse {}: {}", namesOf(set), why);
      for (const std::vector<AtomId> &other : fused)
        for (AtomId a : set)
          if (std::binary_search(other.begin(), other.end(), a))
            return makeError(DiagClass::BadInput, "--fuse: %{} can't be in two kernels",
                             graph.op(atoms[a].result).name);
      fused.push_back(std::move(set));
    }
    for (OpId id : forced.split) {
      llvm::Expected<AtomId> atom = atomOf(id);
      if (!atom)
        return atom.takeError();
      split.push_back(*atom);
      for (const std::vector<AtomId> &set : fused)
        if (!isSplit(set))
          return makeError(DiagClass::BadInput, "--split {} contradicts --fuse {}",
                           graph.op(id).name, namesOf(set));
    }
    if (forced.isAny())
      columns.allowOnly([this](std::span<const AtomId> set) {
        return isSplit(set) && std::all_of(fused.begin(), fused.end(), [&](const auto &whole) {
                 return std::ranges::equal(whole, set) ||
                        std::none_of(whole.begin(), whole.end(), [&](AtomId a) {
                          return std::binary_search(set.begin(), set.end(), a);
                        });
               });
      });
    return llvm::Error::success();
  }

  /// No atom to split after stands with a reader.
  bool isSplit(std::span<const AtomId> set) const {
    return std::none_of(split.begin(), split.end(), [&](AtomId a) {
      const std::vector<AtomId> &readers = atoms[a].readers;
      return std::binary_search(set.begin(), set.end(), a) &&
             std::any_of(readers.begin(), readers.end(), [&](AtomId reader) {
               return std::binary_search(set.begin(), set.end(), reader);
             });
    });
  }

  std::string namesOf(std::span<const AtomId> set) const {
    std::string names;
    for (AtomId a : set)
      names += (names.empty() ? "" : ",") + graph.op(atoms[a].result).name;
    return names;
  }

  /// What is forced, and atoms alone in place of the greedy kernels that it breaks up.
  llvm::Error startForced() {
    std::vector<bool> isMade(atoms.size());
    for (size_t c : choice.columns)
      for (AtomId a : columns.problem.columns[c].atoms)
        isMade[a] = true;
    std::vector<AtomGroup> groups;
    for (const std::vector<AtomId> &set : fused)
      groups.push_back({set, columns.resultsOf(set)});
    for (AtomId a = 0; a < atoms.size(); ++a)
      if (!isMade[a] && std::none_of(fused.begin(), fused.end(), [&](const auto &set) {
            return std::binary_search(set.begin(), set.end(), a);
          }))
        groups.push_back({{a}, {a}});
    for (const AtomGroup &group : groups)
      columns.priceGroups({group}, std::numeric_limits<double>::infinity());
    for (const AtomGroup &group : groups) {
      const std::optional<size_t> column = columns.find(group);
      if (!column)
        return makeError(DiagClass::Unsupported, "{} as one kernel: {}", namesOf(group.atoms),
                         columns.whyNoPlan(group));
      choice.columns.push_back(*column);
    }
    return llvm::Error::success();
  }

  /// What runs without a kernel of ours is in every choice.
  void addFixed() {
    std::vector<bool> isMade(atoms.size());
    for (size_t c : choice.columns)
      for (AtomId a : columns.problem.columns[c].atoms)
        isMade[a] = true;
    for (AtomId a = 0; a < atoms.size(); ++a)
      if (atoms[a].isFixed && !isMade[a])
        choice.columns.push_back(columns.add({{a}, {a}}, 0));
  }

  void prove() {
    if (atoms.size() <= maxExactAtoms) {
      KernelChoice best = choosePriced(columns.problem, ask(), choice.cost, maxExactStates);
      choice.bound = best.bound;
      if (best.isOptimal)
        choice = std::move(best);
      // Nothing is cheaper, or the search ended early.
      choice.bound = std::min(choice.cost, choice.bound);
    }
    choice.isOptimal = choice.bound >= choice.cost;
    if (!choice.isOptimal)
      boundByPriced();
  }

  /// Of a choice among those columns that have a price.
  void boundByPriced() {
    ChoiceProblem priced = columns.problem;
    std::vector<size_t> numbers(priced.columns.size()), chosen;
    size_t count = 0;
    for (size_t c = 0; c < numbers.size(); ++c)
      if (numbers[c] = count; columns.isPriced(c))
        priced.columns[count++] = columns.problem.columns[c];
    priced.columns.resize(count);
    for (size_t c : choice.columns)
      chosen.push_back(numbers[c]);
    choice.bound = std::min(choice.cost, std::max(choice.bound, packingBound(priced, chosen)));
    choice.isOptimal = choice.bound >= choice.cost;
  }

  /// Takes what is best in the order that kernels run, of the best choices.
  void pickAlternative() {
    if (!choice.isOptimal || atoms.size() > maxExactAtoms)
      return;
    std::vector<KernelChoice> best = chooseBestPriced(
        columns.problem, ask(), maxAlternatives, alternativesWithin * choice.cost, maxExactStates);
    if (best.size() < 2)
      return;
    std::vector<std::vector<PartitionKernel>> alternatives;
    for (KernelChoice &each : best) {
      each.columns = runningOrder(columns.problem, each.columns).value();
      alternatives.push_back(kernelsOf(each));
    }
    const size_t picked = pricing.pick(alternatives);
    choice.columns = std::move(best[picked].columns);
    choice.cost = best[picked].cost;
  }

  std::vector<PartitionKernel> kernelsOf(const KernelChoice &of) const {
    std::vector<PartitionKernel> kernels;
    for (size_t c : of.columns) {
      const Column &column = columns.problem.columns[c];
      const auto known = givenOf.find(c);
      if (known == givenOf.end() && atoms[column.atoms.front()].isFixed)
        continue; // no kernel
      PartitionKernel kernel;
      if (known != givenOf.end())
        kernel.given = known->second;
      else
        kernel.group = atoms.kernelOf(column.atoms, column.results);
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

  Partition result() {
    Partition partition;
    partition.timeNs = choice.cost;
    partition.boundNs = choice.bound;
    partition.isOptimal = choice.isOptimal;
    partition.columns = columns.pricedCount();
    partition.kernels = kernelsOf(choice);
    partition.fusions = fusionReasons(columns, choice.columns);
    return partition;
  }

  const Graph &graph;
  const AtomGraph &atoms;
  std::span<const GivenKernel> given;
  const GroupPricing &pricing;
  Columns columns;
  KernelChoice choice;
  KnownWindows windows;
  std::map<size_t, size_t> givenOf;       ///< by column
  std::vector<std::vector<AtomId>> fused; ///< forced
  std::vector<AtomId> split;              ///< forced
};

} // namespace

llvm::Expected<Partition> partitionGraph(const Graph &graph, const AtomGraph &atoms,
                                         std::span<const GivenKernel> given,
                                         const GroupPricing &pricing, const ForcedFusions &forced) {
  return Partitioner(graph, atoms, given, pricing).run(forced);
}

} // namespace tilewright
