#include "tools/explore/partition/columns.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tilewright {

namespace {

/// More pieces are never faster as one kernel, and take long to price. Several dots are left to the
/// chains and what is around them: prices of other groups of them were never measured, and come out
/// below what their FLOPs take.
constexpr size_t maxAtoms = 24, maxDots = 1;
/// Of kernels that others are joined to. Hundreds of values are read by sums of the norms of all
/// gradients: making one more of them in place is never faster, and each has another price, since
/// it has another place in the sum.
constexpr size_t maxInputs = 64;

/// Of what a kernel that makes less takes, one that makes more takes so much at least: prices come
/// from short searches.
constexpr double shareOfLess = 0.97;

} // namespace

Columns::Columns(const Graph &graph, const AtomGraph &atoms, const GroupPricing &pricing)
    : atoms(atoms), graph(graph), pricing(pricing), estimated(atoms.size()), priced(atoms.size()) {
  for (AtomId a = 0; a < atoms.size(); ++a) {
    problem.reads.push_back(atoms[a].reads);
    if (atoms[a].isRequired)
      problem.required.push_back(a);
  }
}

size_t Columns::add(AtomGroup group, double timeNs) {
  Column column{group.atoms, group.results, atoms.inputsOf(group.atoms), timeNs, false, {}};
  auto [at, isNew] = known.try_emplace(std::move(group), problem.columns.size());
  if (isNew)
    problem.columns.push_back(std::move(column));
  else if (Column &old = problem.columns[at->second]; timeNs < old.cost)
    old.cost = timeNs;
  return at->second;
}

std::vector<AtomId> Columns::resultsOf(std::span<const AtomId> set) const {
  std::vector<AtomId> results;
  for (AtomId a : set) {
    const std::vector<AtomId> &readers = atoms[a].readers;
    if (atoms[a].isRequired || std::any_of(readers.begin(), readers.end(), [&](AtomId reader) {
          return !std::binary_search(set.begin(), set.end(), reader);
        }))
      results.push_back(a);
  }
  return results;
}

void Columns::addChain(const std::vector<AtomId> &set) {
  chains.emplace_back(set, productsOf(set).dots);
}

/// All the set's dots are those of one chain.
bool Columns::hasChain(std::span<const AtomId> set, size_t dots) const {
  return std::any_of(chains.begin(), chains.end(), [&](const auto &chain) {
    return chain.second == dots &&
           std::includes(set.begin(), set.end(), chain.first.begin(), chain.first.end());
  });
}

Columns::Products Columns::productsOf(std::span<const AtomId> set) const {
  Products products;
  for (AtomId a : set)
    for (OpId id : atoms[a].ops) {
      products.dots += graph.op(id).opcode == Opcode::Dot;
      products.convolutions += graph.op(id).opcode == Opcode::Convolution;
    }
  return products;
}

std::optional<size_t> Columns::findProposed(const AtomGroup &group) const {
  auto at = known.find(group);
  return at == known.end() ? std::nullopt : std::optional(at->second);
}

std::optional<size_t> Columns::find(const AtomGroup &group) const {
  const std::optional<size_t> column = findProposed(group);
  return column && isPriced(*column) ? column : std::nullopt;
}

bool Columns::isPriced(size_t column) const {
  return !problem.columns[column].isEstimate && std::isfinite(problem.columns[column].cost);
}

std::optional<std::string> Columns::refusalOf(const AtomGroup &group) const {
  if (auto at = refusals.find(group); at != refusals.end())
    return at->second;
  const std::optional<size_t> column = findProposed(group);
  if (!column || isPriced(*column))
    return std::nullopt;
  if (problem.columns[*column].isEstimate)
    return fmt::format("no tiling takes less than {:.1f} us", problem.columns[*column].cost / 1e3);
  // Perhaps another one of its kind was asked for: the reason has names.
  const unsigned all = std::numeric_limits<unsigned>::max();
  return pricing.price({{atoms.kernelOf(group.atoms, group.results), all}}).front().refusal;
}

std::string Columns::whyNoPlan(const AtomGroup &group) const {
  const std::string why = pricing.whyNoPlan(atoms.kernelOf(group.atoms, group.results));
  return why.empty() ? refusalOf(group).value_or("it has no price") : why;
}

std::string Columns::whyNoKernel(const AtomGroup &group) const {
  const std::vector<AtomId> &set = group.atoms;
  for (AtomId a : set)
    if (atoms[a].isFixed && set.size() > 1)
      return fmt::format("%{} is a kernel of its own", graph.op(atoms[a].result).name);
  const auto [dots, convolutions] = productsOf(set);
  if (set.size() > maxAtoms)
    return fmt::format("{} pieces are more than the {} that are tried", set.size(), maxAtoms);
  if (const size_t inputs = atoms.inputsOf(set).size(); set.size() > 1 && inputs > maxInputs)
    return fmt::format("it reads {} results of others: more than the {} that are tried", inputs,
                       maxInputs);
  if ((dots > maxDots && !hasChain(set, dots)) || convolutions > 1 || (convolutions && dots))
    return fmt::format(
        "{}{}{}: one is tried, and chains of two dots with what is around them",
        dots ? fmt::format("{} dot{}", dots, dots > 1 ? "s" : "") : "",
        dots && convolutions ? " and " : "",
        convolutions ? fmt::format("{} convolution{}", convolutions, convolutions > 1 ? "s" : "")
                     : "");
  if (!allows(set))
    return "--fuse or --split forbid it";
  for (AtomId a : set)
    for (AtomId from : atoms[a].readsStored)
      if (std::binary_search(set.begin(), set.end(), from))
        return fmt::format(
            "%{} reads %{} out of a tuple or from behind a barrier: it lies in memory",
            graph.op(atoms[a].result).name, graph.op(atoms[from].result).name);
  if (atoms.waitsForItself(set, group.results))
    return "a path leaves the group and returns";
  return {};
}

/// Without atoms that no result needs.
AtomGroup Columns::withoutDead(AtomGroup group) const {
  std::vector<bool> isNeeded(group.atoms.size());
  auto need = [&](AtomId a) {
    const auto at = std::lower_bound(group.atoms.begin(), group.atoms.end(), a);
    if (at != group.atoms.end() && *at == a)
      isNeeded[size_t(at - group.atoms.begin())] = true;
  };
  for (AtomId a : group.results)
    need(a);
  for (size_t i = group.atoms.size(); i-- > 0;)
    if (isNeeded[i])
      for (AtomId from : atoms[group.atoms[i]].reads)
        need(from);
  size_t at = 0;
  std::erase_if(group.atoms, [&](AtomId) { return !isNeeded[at++]; });
  return group;
}

void Columns::propose(AtomGroup group) {
  group = withoutDead(std::move(group));
  if (group.atoms.empty() || group.results.empty() || known.count(group) || refusals.count(group))
    return;
  if (std::string why = whyNoKernel(group); !why.empty()) {
    refusals.emplace(std::move(group), std::move(why));
    return;
  }
  const auto [kind, leastNs, refusal] = estimateOf(group);
  if (!refusal.empty()) {
    refusals.emplace(std::move(group), refusal);
    return;
  }
  const size_t c = add(std::move(group), leastNs);
  problem.columns[c].isEstimate = true;
  problem.columns[c].kind = kind;
  Kind &same = kinds[kind];
  if (same.price)
    setPrice(c, *same.price);
  if (!problem.columns[c].isEstimate)
    return;
  same.columns.push_back(c);
  for (AtomId a : problem.columns[c].atoms)
    estimated[a].push_back(c);
  raiseByPriced(c);
}

/// Whether a kernel of `more` without some of its results is one of `less`.
bool Columns::makesMore(const Column &more, const Column &less) const {
  if (!std::includes(more.results.begin(), more.results.end(), less.results.begin(),
                     less.results.end()) ||
      !std::includes(more.atoms.begin(), more.atoms.end(), less.atoms.begin(), less.atoms.end()))
    return false;
  return withoutDead({more.atoms, less.results}).atoms == less.atoms;
}

void Columns::raiseEstimate(size_t column, const Column &less) {
  Column &more = problem.columns[column];
  more.cost = std::max(more.cost, shareOfLess * less.cost);
}

void Columns::raiseByPriced(size_t column) {
  for (AtomId value : problem.columns[column].results)
    for (size_t less : priced[value])
      if (makesMore(problem.columns[column], problem.columns[less]))
        raiseEstimate(column, problem.columns[less]);
}

void Columns::raiseThoseThatMakeMore(size_t of) {
  const Column &less = problem.columns[of];
  const auto fewest =
      std::min_element(less.atoms.begin(), less.atoms.end(), [&](AtomId a, AtomId b) {
        return estimated[a].size() < estimated[b].size();
      });
  std::vector<size_t> &near = estimated[*fewest];
  std::erase_if(near, [&](size_t c) { return !problem.columns[c].isEstimate; });
  for (size_t c : near)
    if (makesMore(problem.columns[c], less))
      raiseEstimate(c, less);
}

const GroupEstimate &Columns::estimateOf(const AtomGroup &group) {
  auto [at, isNew] = estimates.try_emplace(group);
  if (isNew)
    at->second = pricing.estimate(atoms.kernelOf(group.atoms, group.results));
  return at->second;
}

double Columns::boundNs(const AtomGroup &group) { return estimateOf(group).leastNs; }

void Columns::setPrice(size_t column, const GroupPrice &price) {
  Column &asked = problem.columns[column];
  if (price.isLeast) {
    asked.cost = std::max(asked.cost, price.timeNs);
    return;
  }
  asked.isEstimate = false;
  asked.cost = price.refusal.empty() ? price.timeNs : std::numeric_limits<double>::infinity();
  if (!price.refusal.empty())
    return;
  ++pricedColumns;
  priced[asked.results.front()].push_back(column);
  raiseThoseThatMakeMore(column);
}

void Columns::price(std::span<const size_t> wanted) {
  std::vector<PriceQuestion> questions;
  std::vector<Kind *> asked;
  for (size_t c : wanted) {
    const Column &column = problem.columns[c];
    Kind &kind = kinds.at(column.kind);
    if (!column.isEstimate || std::find(asked.begin(), asked.end(), &kind) != asked.end())
      continue;
    questions.push_back({atoms.kernelOf(column.atoms, column.results), kind.asked++});
    asked.push_back(&kind);
  }
  std::vector<GroupPrice> prices = pricing.price(questions);
  for (size_t i = 0; i < asked.size(); ++i) {
    for (size_t c : asked[i]->columns)
      setPrice(c, prices[i]);
    if (!prices[i].isLeast)
      asked[i]->columns.clear();
    asked[i]->price = std::move(prices[i]);
  }
}

void Columns::priceGroups(const std::vector<AtomGroup> &groups, double worthNs) {
  std::vector<size_t> wanted;
  for (const AtomGroup &group : groups) {
    propose(group);
    if (const std::optional<size_t> column = findProposed(group);
        column && problem.columns[*column].isEstimate && problem.columns[*column].cost < worthNs)
      wanted.push_back(*column);
  }
  while (!wanted.empty()) {
    price(wanted);
    std::erase_if(wanted, [&](size_t c) {
      return !problem.columns[c].isEstimate || problem.columns[c].cost >= worthNs;
    });
  }
}

} // namespace tilewright
