#include "analysis/sets/enumeration.h"

#include "analysis/sets/nodes.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tilewright::sets {
namespace {

/// The values of one variable; nothing where they have no bounds that can be counted.
std::optional<Progression> valuesOf(const MapVariable &v, const Reads &reads) {
  if (v.domain.isEmpty())
    return Progression{0, 0, 1};
  Interval domain = v.domain.intersect({-maxMagnitude, maxMagnitude});
  Progression values = Progression::interval(domain.lo, domain.hi);
  bool isRestricted = false;
  for (const auto &[var, given] : reads.restrictions)
    if (var == v.var) {
      std::optional<Progression> p = normalised(given);
      if (!p || p->offset < -maxMagnitude || p->last() > maxMagnitude)
        return std::nullopt;
      values = intersect(values, *p);
      isRestricted = true;
    }
  if (!isRestricted && domain != v.domain)
    return std::nullopt;
  return values;
}

int64_t domainPoints(const Reads &reads, int64_t limit) {
  if (reads.map.isKnownEmpty())
    return 0;
  int64_t total = 1;
  bool isOver = false;
  for (const MapVariable &v : reads.map.variables()) {
    std::optional<Progression> values = valuesOf(v, reads);
    if (values && values->isEmpty())
      return 0;
    std::optional<int64_t> product = values ? checkedMul(total, values->size) : std::nullopt;
    if (!product || *product > limit)
      isOver = true;
    else
      total = *product;
  }
  return isOver ? limit + 1 : total;
}

bool enumerate(const Reads &reads, int64_t maxPoints, PointSet &out, std::string &reason) {
  const IndexMap &map = reads.map;
  std::vector<Expr> roots = map.results();
  for (const MapConstraint &c : map.constraints())
    roots.push_back(c.expr);
  for (VarId id : variablesOf(roots)) {
    bool isKnown = std::any_of(map.variables().begin(), map.variables().end(),
                               [&](const MapVariable &v) { return v.var.variable() == id; });
    if (!isKnown) {
      reason = fmt::format("{} has no domain", map.context().variableExpr(id).str());
      return false;
    }
  }
  // Long expressions count as several points.
  int64_t perPoint = 1 + static_cast<int64_t>(NodeList(roots).nodes().size()) / 64;
  if (domainPoints(reads, maxPoints) > maxPoints / perPoint) {
    reason = fmt::format("more than {} points of long expressions", maxPoints / perPoint);
    return false;
  }
  std::vector<Progression> values;
  std::vector<int64_t> at;
  Assignment point;
  for (const MapVariable &v : map.variables()) {
    values.push_back(*valuesOf(v, reads));
    at.push_back(0);
    point.set(v.var, values.back().offset);
  }
  while (true) {
    if (std::optional<std::vector<int64_t>> read = map.evaluate(point)) {
      out.coordinates.insert(out.coordinates.end(), read->begin(), read->end());
      ++out.count;
    }
    size_t i = at.size();
    while (i > 0) {
      --i;
      if (++at[i] < values[i].size) {
        point.set(map.variables()[i].var, values[i].offset + at[i] * values[i].stride);
        break;
      }
      at[i] = 0;
      point.set(map.variables()[i].var, values[i].offset);
      if (i == 0)
        return true;
    }
    if (at.empty())
      return true;
  }
}

void sortUnique(PointSet &set) {
  if (set.rank == 0) {
    set.count = std::min<size_t>(set.count, 1);
    return;
  }
  auto at = [&](size_t i) { return set.coordinates.begin() + i * set.rank; };
  std::vector<size_t> order(set.count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::lexicographical_compare(at(a), at(a) + set.rank, at(b), at(b) + set.rank);
  });
  std::vector<int64_t> sorted;
  size_t count = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && std::equal(at(order[i]), at(order[i]) + set.rank, at(order[i - 1])))
      continue;
    sorted.insert(sorted.end(), at(order[i]), at(order[i]) + set.rank);
    ++count;
  }
  set.coordinates = std::move(sorted);
  set.count = count;
}

} // namespace

int64_t domainPoints(const IndexSet &set, int64_t limit) {
  int64_t total = 0;
  for (const Reads &reads : set.parts()) {
    total += domainPoints(reads, limit - total);
    if (total > limit)
      return limit + 1;
  }
  return total;
}

std::optional<PointSet> enumerate(const IndexSet &set, int64_t maxPoints, std::string &reason) {
  if (domainPoints(set, maxPoints) > maxPoints) {
    reason = fmt::format("more than {} points", maxPoints);
    return std::nullopt;
  }
  PointSet out;
  out.rank = set.rank();
  for (const Reads &reads : set.parts())
    if (domainPoints(reads, maxPoints) > 0 && !enumerate(reads, maxPoints, out, reason))
      return std::nullopt;
  for (int64_t c : out.coordinates)
    if (c < -maxMagnitude || c > maxMagnitude) {
      reason = "numbers near 64 bits";
      return std::nullopt;
    }
  sortUnique(out);
  return out;
}

bool isSubset(const PointSet &a, const PointSet &b) {
  size_t j = 0;
  for (size_t i = 0; i < a.count; ++i) {
    auto p = a.coordinates.begin() + i * a.rank;
    while (j < b.count &&
           std::lexicographical_compare(b.coordinates.begin() + j * b.rank,
                                        b.coordinates.begin() + (j + 1) * b.rank, p, p + a.rank))
      ++j;
    if (j == b.count || !std::equal(p, p + a.rank, b.coordinates.begin() + j * b.rank))
      return false;
  }
  return true;
}

std::vector<Box> boxesOf(const PointSet &set) {
  std::vector<Box> boxes;
  if (set.rank == 0)
    return std::vector<Box>(set.count);
  for (size_t i = 0; i < set.count;) {
    std::vector<int64_t> first = set.point(i), line;
    size_t j = i;
    for (; j < set.count; ++j) {
      auto p = set.coordinates.begin() + j * set.rank;
      if (!std::equal(first.begin(), first.end() - 1, p))
        break;
      line.push_back(p[set.rank - 1]);
    }
    Box box;
    for (int64_t c : first)
      box.push_back(Progression::point(c));
    for (const Progression &p : progressionsOf(line)) {
      box.back() = p;
      boxes.push_back(box);
    }
    i = j;
  }
  return boxes;
}

} // namespace tilewright::sets
