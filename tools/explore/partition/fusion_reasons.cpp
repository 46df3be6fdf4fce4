#include "tools/explore/partition/fusion_reasons.h"

#include <algorithm>

namespace tilewright {

namespace {

class FusionReasons {
public:
  FusionReasons(Columns &columns, std::span<const size_t> chosen)
      : columns(columns), atoms(columns.atoms), chosen(chosen) {
    for (size_t c : chosen)
      for (AtomId value : columns.problem.columns[c].inputs)
        readersOf[value].push_back(c);
  }

  std::vector<FusionChoice> run() {
    std::set<std::pair<size_t, size_t>> told;
    for (size_t c : chosen) {
      const Column column = columns.problem.columns[c]; // a copy: columns are added meanwhile
      if (atoms[column.atoms.front()].isFixed)
        continue;
      for (AtomId value : column.results)
        if (auto readers = readersOf.find(value); readers != readersOf.end())
          for (size_t reader : readers->second)
            if (!atoms[columns.problem.columns[reader].atoms.front()].isFixed &&
                told.insert({c, reader}).second)
              explainCut(c, reader);
      explainFused(column);
    }
    return std::move(rows);
  }

private:
  void explainCut(size_t first, size_t second) {
    const Column a = columns.problem.columns[first], b = columns.problem.columns[second];
    FusionChoice row{atoms[a.results.back()].result,
                     atoms[b.results.back()].result,
                     false,
                     a.cost + b.cost,
                     0,
                     {}};
    AtomGroup merged;
    std::set_union(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
                   std::back_inserter(merged.atoms));
    // Of the merged group the results that the others need.
    std::optional<std::string> refusal;
    std::optional<double> fusedNs;
    const std::vector<AtomId> all = columns.resultsOf(merged.atoms),
                              needed = neededOf(merged.atoms);
    columns.priceGroups({{merged.atoms, all}, {merged.atoms, needed}}, row.unfusedNs);
    for (const auto &results : {all, needed}) {
      merged.results = results;
      if (auto column = columns.find(merged);
          column && (!fusedNs || columns.problem.columns[*column].cost < *fusedNs))
        fusedNs = columns.problem.columns[*column].cost;
      if (!refusal)
        refusal = columns.refusalOf(merged);
    }
    if (fusedNs)
      row.fusedNs = *fusedNs;
    else
      row.reason = refusal.value_or("not tried");
    rows.push_back(std::move(row));
  }

  std::vector<AtomId> neededOf(const std::vector<AtomId> &set) const {
    std::vector<AtomId> results;
    for (AtomId a : set) {
      bool isNeeded = atoms[a].isRequired;
      if (auto readers = readersOf.find(a); readers != readersOf.end())
        for (size_t c : readers->second) {
          const std::vector<AtomId> &others = columns.problem.columns[c].atoms;
          isNeeded |= !std::includes(set.begin(), set.end(), others.begin(), others.end());
        }
      if (isNeeded)
        results.push_back(a);
    }
    return results;
  }

  /// The cheapest two columns that make the same of the same.
  void explainFused(const Column &column) {
    if (column.atoms.size() < 2)
      return;
    FusionChoice row{atoms[column.atoms.front()].result,
                     atoms[column.results.back()].result,
                     true,
                     0,
                     column.cost,
                     {}};
    for (AtomId a : column.atoms) {
      // What a needs in the kernel, and the rest.
      AtomGroup upper, lower;
      std::set<AtomId> needed{a};
      for (auto at = column.atoms.rbegin(); at != column.atoms.rend(); ++at)
        if (needed.count(*at))
          for (AtomId from : atoms[*at].reads)
            if (std::binary_search(column.atoms.begin(), column.atoms.end(), from))
              needed.insert(from);
      upper.atoms.assign(needed.begin(), needed.end());
      std::set_difference(column.atoms.begin(), column.atoms.end(), needed.begin(), needed.end(),
                          std::back_inserter(lower.atoms));
      for (AtomGroup *half : {&upper, &lower}) {
        const AtomGroup &other = half == &upper ? lower : upper;
        for (AtomId b : half->atoms) {
          const std::vector<AtomId> &readers = atoms[b].readers;
          if (std::binary_search(column.results.begin(), column.results.end(), b) ||
              std::any_of(readers.begin(), readers.end(), [&](AtomId reader) {
                return std::binary_search(other.atoms.begin(), other.atoms.end(), reader);
              }))
            half->results.push_back(b);
        }
      }
      const std::optional<size_t> first = columns.find(upper), second = columns.find(lower);
      if (!first || !second)
        continue;
      const double cost =
          columns.problem.columns[*first].cost + columns.problem.columns[*second].cost;
      if (row.unfusedNs > 0 && cost >= row.unfusedNs)
        continue;
      row.unfusedNs = cost;
      row.first = atoms[upper.results.back()].result;
    }
    if (row.unfusedNs == 0)
      return; // no way to split it has a price
    rows.push_back(std::move(row));
  }

  Columns &columns;
  const AtomGraph &atoms;
  std::span<const size_t> chosen;
  std::map<AtomId, std::vector<size_t>> readersOf; ///< chosen columns, by value
  std::vector<FusionChoice> rows;
};

} // namespace

std::vector<FusionChoice> fusionReasons(Columns &columns, std::span<const size_t> chosen) {
  return FusionReasons(columns, chosen).run();
}

} // namespace tilewright
