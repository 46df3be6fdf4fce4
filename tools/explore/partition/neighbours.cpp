#include "tools/explore/partition/columns.h"

#include <algorithm>
#include <limits>

namespace tilewright {

namespace {

using AtomList = std::vector<AtomId>;

bool contains(const AtomList &list, AtomId a) {
  return std::binary_search(list.begin(), list.end(), a);
}

AtomList unionOf(const AtomList &a, const AtomList &b) {
  AtomList result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

AtomList without(const AtomList &a, const AtomList &b) {
  AtomList result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

/// Proposes groups that may be faster than the chosen kernels that have some of their atoms: more
/// than these take no kernel can save.
class UsefulGroups {
public:
  UsefulGroups(Columns &columns, std::span<const size_t> chosen)
      : columns(columns), chosenOf(columns.atoms.size()) {
    for (size_t c : chosen)
      for (AtomId a : columns.problem.columns[c].atoms)
        chosenOf[a].push_back(c);
  }

  void propose(AtomGroup group) {
    if (columns.boundNs(group) < replacedNs(group.atoms))
      columns.propose(std::move(group));
  }

private:
  double replacedNs(const AtomList &set) const {
    std::set<size_t> replaced;
    for (AtomId a : set)
      replaced.insert(chosenOf[a].begin(), chosenOf[a].end());
    double sum = 0;
    for (size_t c : replaced)
      sum += columns.problem.columns[c].cost;
    return sum;
  }

  Columns &columns;
  std::vector<std::vector<size_t>> chosenOf;
};

class Neighbours {
public:
  Neighbours(Columns &columns, std::span<const size_t> chosen, Neighbourhood which,
             std::set<std::pair<size_t, size_t>> &seen)
      : columns(columns), chosen(chosen), useful(columns, chosen),
        isFiner(which == Neighbourhood::Finer), seen(seen) {
    for (size_t c : chosen) {
      const Column &column = columnOf(c);
      for (AtomId value : column.inputs)
        readersOf[value].push_back(c);
      for (AtomId value : column.results)
        makersOf[value].push_back(c);
    }
  }

  void run() {
    for (size_t c : chosen) {
      const Column column = columnOf(c); // a copy: columns are added meanwhile
      if (columns.atoms[column.atoms.front()].isFixed)
        continue;
      std::set<size_t> readers, siblings;
      for (AtomId value : column.results)
        for (size_t reader : readersOf[value])
          readers.insert(reader);
      for (AtomId value : column.inputs)
        if (!columns.atoms[value].hasSeveral && readersOf[value].size() <= maxSiblings)
          for (size_t sibling : readersOf[value])
            siblings.insert(sibling);
      AtomList all = column.atoms;
      for (size_t reader : readers) {
        all = unionOf(all, columnOf(reader).atoms);
        if (!seen.insert({c, reader}).second)
          continue;
        if (isFiner) {
          handOn(c, reader);
          mergeWithout(c, reader);
        } else {
          merge(c, reader);
          recompute(c, reader);
        }
      }
      if (isFiner) {
        if (seen.insert({c, c}).second)
          split(c);
        continue;
      }
      if (readers.size() > 1) {
        std::vector<size_t> replaced(readers.begin(), readers.end());
        replaced.push_back(c);
        proposeHere(all, replaced);
      }
      for (size_t sibling : siblings)
        if (sibling > c && !readers.count(sibling) && seen.insert({c, sibling}).second)
          merge(c, sibling);
    }
  }

private:
  static constexpr size_t maxSiblings = 12;

  const Column &columnOf(size_t c) const { return columns.problem.columns[c]; }

  /// What chosen kernels outside of a set, and the graph's results, need of it; and also what
  /// `other` reads of it.
  AtomList neededOf(const AtomList &set, const AtomList &other) const {
    AtomList results;
    for (AtomId a : set) {
      bool isNeeded = columns.atoms[a].isRequired || isReadBy(other, a);
      if (auto readers = readersOf.find(a); readers != readersOf.end())
        for (size_t c : readers->second)
          isNeeded |= !isWithin(set, c);
      if (isNeeded)
        results.push_back(a);
    }
    return results;
  }

  /// Those of what is needed that no chosen kernel stores but the ones that are replaced: others
  /// are computed again.
  AtomList ownOf(const AtomList &needed, const AtomList &other,
                 const std::vector<size_t> &replaced) const {
    AtomList results;
    for (AtomId a : needed) {
      auto makers = makersOf.find(a);
      if (isReadBy(other, a) || makers == makersOf.end() ||
          std::all_of(makers->second.begin(), makers->second.end(), [&](size_t c) {
            return std::find(replaced.begin(), replaced.end(), c) != replaced.end();
          }))
        results.push_back(a);
    }
    return results;
  }

  bool isReadBy(const AtomList &set, AtomId value) const {
    const AtomList &readers = columns.atoms[value].readers;
    return std::any_of(readers.begin(), readers.end(),
                       [&](AtomId reader) { return contains(set, reader); });
  }

  bool isWithin(const AtomList &set, size_t c) const {
    const AtomList &atoms = columnOf(c).atoms;
    return std::includes(set.begin(), set.end(), atoms.begin(), atoms.end());
  }

  /// The groups of a set in place of chosen kernels: with all results that somebody may read, with
  /// those that are read, and with those that no other kernel stores. Of a set that nobody reads
  /// none.
  std::vector<AtomGroup> groupsOf(const AtomList &set, const AtomList &other,
                                  const std::vector<size_t> &replaced) const {
    std::vector<AtomGroup> groups;
    const AtomList needed = neededOf(set, other);
    for (AtomList results : {columns.resultsOf(set), needed, ownOf(needed, other, replaced)})
      if (!results.empty())
        groups.push_back({set, std::move(results)});
    return groups;
  }

  void proposeHere(const AtomList &set, const std::vector<size_t> &replaced) {
    for (AtomGroup &group : groupsOf(set, {}, replaced))
      useful.propose(std::move(group));
  }

  /// Two kernels that are to take less than `costNs` together.
  void proposeBoth(std::vector<AtomGroup> first, std::vector<AtomGroup> second, double costNs) {
    auto least = [&](const std::vector<AtomGroup> &groups) {
      double boundNs = groups.empty() ? 0 : std::numeric_limits<double>::infinity();
      for (const AtomGroup &group : groups)
        boundNs = std::min(boundNs, columns.boundNs(group));
      return boundNs;
    };
    const double firstNs = least(first), secondNs = least(second);
    if (firstNs + secondNs >= costNs)
      return;
    for (std::vector<AtomGroup> *groups : {&first, &second})
      for (AtomGroup &group : *groups)
        columns.propose(std::move(group));
  }

  void merge(size_t a, size_t b) {
    proposeHere(unionOf(columnOf(a).atoms, columnOf(b).atoms), {a, b});
  }

  /// Two kernels as one that leaves a result to its readers, which compute it again.
  void mergeWithout(size_t a, size_t b) {
    const AtomList set = unionOf(columnOf(a).atoms, columnOf(b).atoms);
    const AtomList results = ownOf(neededOf(set, {}), {}, {a, b});
    for (AtomId dropped : results) {
      const AtomList rest = without(results, {dropped});
      auto readers = readersOf.find(dropped);
      if (rest.empty() || !columns.atoms[dropped].isCheap || columns.atoms[dropped].isRequired ||
          readers == readersOf.end())
        continue;
      double costNs = columnOf(a).cost + columnOf(b).cost;
      std::vector<AtomGroup> changed{{set, rest}};
      for (size_t reader : readers->second) {
        if (isWithin(set, reader))
          continue;
        changed.push_back(
            {unionOf(columnOf(reader).atoms, {dropped}), AtomList(columnOf(reader).results)});
        costNs += columnOf(reader).cost;
      }
      double boundNs = 0;
      for (const AtomGroup &group : changed)
        boundNs += columns.boundNs(group);
      if (boundNs < costNs)
        for (AtomGroup &group : changed)
          columns.propose(std::move(group));
    }
  }

  /// Those of `within` that something in `wanted` needs.
  AtomList neededFor(const AtomList &wanted, const AtomList &within) const {
    std::set<AtomId> found;
    AtomList stack = wanted;
    while (!stack.empty()) {
      const AtomId a = stack.back();
      stack.pop_back();
      for (AtomId from : columns.atoms[a].reads)
        if (contains(within, from) && found.insert(from).second)
          stack.push_back(from);
    }
    return {found.begin(), found.end()};
  }

  /// What the reader needs of the producer, in the reader.
  void recompute(size_t producer, size_t reader) {
    const AtomList mine = neededFor(columnOf(reader).atoms, columnOf(producer).atoms);
    auto isCheap = [&](AtomId a) { return columns.atoms[a].isCheap; };
    if (std::all_of(mine.begin(), mine.end(), isCheap))
      useful.propose({unionOf(columnOf(reader).atoms, mine), columnOf(reader).results});
    // … and what the others leave of the producer, an atom that the reader itself reads.
    for (AtomId a : mine)
      if (isCheap(a) && contains(columnOf(reader).inputs, a))
        useful.propose({unionOf(columnOf(reader).atoms, {a}), columnOf(reader).results});
  }

  /// An atom at the border changes sides.
  void handOn(size_t producer, size_t reader) {
    const AtomList from = columnOf(producer).atoms, to = columnOf(reader).atoms;
    const std::vector<size_t> both{producer, reader};
    const double costNs = columnOf(producer).cost + columnOf(reader).cost;
    if (from.size() > 1)
      for (AtomId a : AtomList(columnOf(producer).results))
        proposeBoth(groupsOf(unionOf(to, {a}), {}, both), groupsOf(without(from, {a}), {a}, both),
                    costNs);
    if (to.size() > 1)
      for (AtomId a : to) {
        const AtomList &reads = columns.atoms[a].reads;
        if (std::none_of(reads.begin(), reads.end(), [&](AtomId r) { return contains(from, r); }))
          continue;
        const AtomList rest = without(to, {a});
        proposeBoth(groupsOf(unionOf(from, {a}), rest, both), groupsOf(rest, {}, both), costNs);
      }
  }

  /// Before and after each atom, and without it.
  void split(size_t c) {
    const Column column = columnOf(c);
    if (column.atoms.size() < 2)
      return;
    for (AtomId a : column.atoms) {
      const AtomList upper = unionOf(neededFor({a}, column.atoms), {a});
      const AtomList lower = without(column.atoms, upper);
      if (!lower.empty())
        proposeBoth(groupsOf(upper, lower, {c}), groupsOf(lower, {}, {c}), column.cost);
      proposeBoth({{{a}, columns.resultsOf(AtomList{a})}},
                  groupsOf(without(column.atoms, {a}), {a}, {c}), column.cost);
    }
  }

  Columns &columns;
  std::span<const size_t> chosen;
  UsefulGroups useful;
  const bool isFiner;
  std::set<std::pair<size_t, size_t>> &seen;
  std::map<AtomId, std::vector<size_t>> readersOf, makersOf;
};

} // namespace

void proposeNeighbours(Columns &columns, std::span<const size_t> chosen, Neighbourhood which,
                       std::set<std::pair<size_t, size_t>> &seen) {
  Neighbours(columns, chosen, which, seen).run();
}

bool proposeAll(Columns &columns, std::span<const size_t> chosen, size_t limit) {
  const AtomGraph &atoms = columns.atoms;
  UsefulGroups useful(columns, chosen);
  std::set<AtomList> sets;
  std::vector<AtomList> work;
  auto reach = [&](AtomList set) {
    if (columns.whyNoKernel({set, columns.resultsOf(set)}).empty() && sets.insert(set).second)
      work.push_back(std::move(set));
  };
  for (AtomId a = 0; a < atoms.size(); ++a)
    if (!atoms[a].isFixed)
      reach({a});
  for (size_t i = 0; i < work.size(); ++i) {
    if (sets.size() > limit)
      return false;
    const AtomList set = work[i];
    std::set<AtomId> near;
    for (AtomId a : set) {
      near.insert(atoms[a].reads.begin(), atoms[a].reads.end());
      near.insert(atoms[a].readers.begin(), atoms[a].readers.end());
      for (AtomId from : atoms[a].reads)
        if (!atoms[from].hasSeveral)
          near.insert(atoms[from].readers.begin(), atoms[from].readers.end());
    }
    for (AtomId a : near)
      if (!contains(set, a) && !atoms[a].isFixed)
        reach(unionOf(set, {a}));
  }
  for (const AtomList &set : sets) {
    const AtomList all = columns.resultsOf(set);
    if (all.empty())
      continue; // dead
    useful.propose({set, all});
    // Without those that others would have to compute again.
    AtomList least;
    for (AtomId a : all) {
      const AtomList &readers = atoms[a].readers;
      if (atoms[a].isRequired || std::none_of(readers.begin(), readers.end(),
                                              [&](AtomId reader) { return contains(set, reader); }))
        least.push_back(a);
    }
    if (!least.empty())
      useful.propose({set, std::move(least)});
  }
  return true;
}

} // namespace tilewright
