#include "analysis/sets/sets.h"

#include "analysis/sets/closed_forms.h"
#include "analysis/sets/enumeration.h"
#include "analysis/sets/library_engine.h"
#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright::sets {
namespace {

/// Limit for enumeration before the library is tried.
constexpr int64_t smallDomain = 1 << 14;

bool uses(const Options &options, Engine engine) {
  return options.engine == Engine::Auto || options.engine == engine;
}

/// Enumeration is tried before the library where the domains are small, else after it. `early` says
/// which of the two attempts this is.
bool enumerates(const Options &options, bool early, int64_t points) {
  if (options.engine == Engine::Enumeration)
    return early;
  return options.engine == Engine::Auto && points <= options.maxPoints &&
         early == (points <= smallDomain);
}

Answer answer(bool isTrue, Engine by) { return {isTrue ? Truth::Yes : Truth::No, by, ""}; }

Answer unknown(const Options &options, std::string reason) {
  return {Truth::Unknown, options.engine, std::move(reason)};
}

/// a ⊆ b by products; nothing when they don't reach it.
std::optional<bool> closedFormSubset(const IndexSet &a, const IndexSet &b, const Options &options,
                                     std::string &reason) {
  std::optional<std::vector<Product>> left = productsOf(a, options, reason);
  if (!left)
    return std::nullopt;
  if (left->empty())
    return true;
  std::optional<std::vector<Product>> right = productsOf(b, options, reason);
  if (!right)
    return std::nullopt;
  std::optional<std::vector<Box>> from = disjointBoxes(a.rank(), *left, options, reason);
  std::optional<std::vector<Box>> to = disjointBoxes(b.rank(), *right, options, reason);
  if (!from || !to)
    return std::nullopt;
  Work work{options.maxSteps};
  for (const Box &box : *from) {
    std::optional<std::vector<Box>> rest = difference(box, *to, options.maxBoxes, work);
    if (!rest) {
      reason = "too many boxes to compare";
      return std::nullopt;
    }
    if (!rest->empty())
      return false;
  }
  return true;
}

using ClosedForm = std::optional<bool> (*)(const IndexSet &, const IndexSet &, const Options &,
                                           std::string &);
using ByPoints = bool (*)(const PointSet &, const PointSet &);
using ByLibrary = Answer (*)(const IndexSet &, const IndexSet &, const Options &);

/// One question about two sets, tried with each engine in turn.
Answer decide(const IndexSet &a, const IndexSet &b, const Options &options, ClosedForm closedForm,
              ByPoints byPoints, ByLibrary byLibrary) {
  std::string reason;
  if (uses(options, Engine::ClosedForms))
    if (std::optional<bool> result = closedForm(a, b, options, reason))
      return answer(*result, Engine::ClosedForms);
  auto enumeration = [&]() -> std::optional<Answer> {
    std::optional<PointSet> left = enumerate(a, options.maxPoints, reason);
    std::optional<PointSet> right = left ? enumerate(b, options.maxPoints, reason) : std::nullopt;
    if (!right)
      return std::nullopt;
    return answer(byPoints(*left, *right), Engine::Enumeration);
  };
  int64_t points = std::max(domainPoints(a, options.maxPoints), domainPoints(b, options.maxPoints));
  if (enumerates(options, true, points))
    if (std::optional<Answer> result = enumeration())
      return *result;
  if (uses(options, Engine::Library)) {
    Answer result = byLibrary(a, b, options);
    if (result.truth != Truth::Unknown)
      return result;
    reason = result.reason;
  }
  if (enumerates(options, false, points))
    if (std::optional<Answer> result = enumeration())
      return *result;
  return unknown(options, reason);
}

} // namespace

void IndexSet::unite(const IndexSet &other) {
  reads.insert(reads.end(), other.reads.begin(), other.reads.end());
}

bool IndexSet::coversAllRuns() const {
  return std::any_of(reads.begin(), reads.end(), [](const Reads &r) {
    return std::any_of(
        r.map.variables().begin(), r.map.variables().end(), [&](const MapVariable &v) {
          if (r.map.context().info(v.var.variable()).kind != VarKind::Runtime)
            return false;
          return std::none_of(r.restrictions.begin(), r.restrictions.end(),
                              [&](const auto &fixed) { return fixed.first == v.var; });
        });
  });
}

IndexSet image(const IndexMap &map) { return IndexSet(map.results().size(), {Reads{map, {}}}); }

IndexSet image(const IndexMap &map, const Box &box) {
  Reads reads{map, {}};
  std::vector<MapVariable> dims = map.variables(VarKind::Dim);
  for (size_t i = 0; i < dims.size() && i < box.size(); ++i)
    reads.restrictions.emplace_back(dims[i].var, box[i]);
  return IndexSet(map.results().size(), {std::move(reads)});
}

IndexSet preimage(const IndexMap &map, const Box &target) {
  std::vector<Expr> dims;
  for (const MapVariable &v : map.variables(VarKind::Dim))
    dims.push_back(v.var);
  size_t rank = dims.size();
  if (map.isKnownEmpty())
    return IndexSet(rank);
  std::vector<MapConstraint> constraints = map.constraints();
  for (size_t i = 0; i < target.size() && i < map.results().size(); ++i) {
    std::optional<Progression> p = normalised(target[i]);
    if (!p || p->isEmpty())
      return IndexSet(rank);
    constraints.push_back(
        {map.results()[i], {p->offset, p->last()}, p->stride, *checkedMod(p->offset, p->stride)});
  }
  return image(IndexMap(map.context(), map.variables(), std::move(dims), std::move(constraints)));
}

IndexSet boxSet(ExprContext &context, const Box &box) {
  std::vector<Expr> dims;
  std::vector<MapVariable> variables;
  Reads reads{IndexMap(context, {}, {}), {}};
  for (size_t i = 0; i < box.size(); ++i) {
    dims.push_back(context.dim(static_cast<unsigned>(i)));
    variables.push_back({dims.back(), Interval{}, std::nullopt});
    reads.restrictions.emplace_back(dims.back(), box[i]);
  }
  reads.map = IndexMap(context, std::move(variables), std::move(dims));
  return IndexSet(box.size(), {std::move(reads)});
}

Answer isEmpty(const IndexSet &set, const Options &options) {
  return decide(
      set, IndexSet(set.rank()), options,
      [](const IndexSet &a, const IndexSet &, const Options &o, std::string &reason) {
        std::optional<std::vector<Product>> products = productsOf(a, o, reason);
        return products ? std::optional(products->empty()) : std::nullopt;
      },
      [](const PointSet &a, const PointSet &) { return a.count == 0; },
      [](const IndexSet &a, const IndexSet &, const Options &o) { return libraryIsEmpty(a, o); });
}

Answer isSubset(const IndexSet &a, const IndexSet &b, const Options &options) {
  return decide(a, b, options, closedFormSubset, isSubset, libraryIsSubset);
}

Answer isEqual(const IndexSet &a, const IndexSet &b, const Options &options) {
  return decide(
      a, b, options,
      [](const IndexSet &x, const IndexSet &y, const Options &o, std::string &reason) {
        std::optional<bool> first = closedFormSubset(x, y, o, reason);
        return first && *first ? closedFormSubset(y, x, o, reason) : first;
      },
      [](const PointSet &x, const PointSet &y) {
        return x.count == y.count && x.coordinates == y.coordinates;
      },
      libraryIsEqual);
}

Count count(const IndexSet &set, const Options &options) {
  std::string reason;
  if (uses(options, Engine::ClosedForms))
    if (std::optional<std::vector<Product>> products = productsOf(set, options, reason)) {
      std::optional<int64_t> total;
      if (products->size() == 1) {
        total = (*products)[0].pointCount();
      } else if (auto boxes = disjointBoxes(set.rank(), *products, options, reason)) {
        total = 0;
        for (const Box &box : *boxes) {
          std::optional<int64_t> own = pointCount(box);
          total = total && own ? checkedAdd(*total, *own) : std::nullopt;
        }
      }
      if (total)
        return {total, Engine::ClosedForms, ""};
      if (reason.empty())
        reason = "more points than fit in 64 bits";
    }
  // Points that the library visits cost more than points of the domain, so it comes last.
  if (uses(options, Engine::Enumeration))
    if (std::optional<PointSet> points = enumerate(set, options.maxPoints, reason))
      return {static_cast<int64_t>(points->count), Engine::Enumeration, ""};
  if (uses(options, Engine::Library)) {
    Count result = libraryCount(set, options);
    if (result.points)
      return result;
    reason = result.reason;
  }
  return {std::nullopt, options.engine, reason};
}

std::optional<std::vector<Box>> boxesOf(const IndexSet &set, const Options &options) {
  std::string reason;
  if (uses(options, Engine::ClosedForms))
    if (std::optional<std::vector<Product>> products = productsOf(set, options, reason))
      if (auto boxes = disjointBoxes(set.rank(), *products, options, reason))
        return boxes;
  if (uses(options, Engine::Enumeration))
    if (std::optional<PointSet> points = enumerate(set, options.maxPoints, reason)) {
      std::vector<Box> boxes = boxesOf(*points);
      if (boxes.size() <= options.maxBoxes)
        return boxes;
    }
  return std::nullopt;
}

std::optional<Box> hullOf(const IndexSet &set, const Options &options) {
  std::optional<std::vector<Box>> boxes = boxesOf(set, options);
  return boxes ? hull(*boxes) : std::nullopt;
}

} // namespace tilewright::sets
