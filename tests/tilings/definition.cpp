#include "tests/tilings/definition.h"

#include "analysis/support/diag.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/propagate.h"
#include "analysis/tiling/testing/tile_oracle.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr int64_t maxElements = 1 << 14, maxReads = 1 << 22;

int64_t product(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims)
    n *= d;
  return n;
}

void sortUnique(std::vector<int64_t> &list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

} // namespace

int64_t Definition::runtimeValue(uint32_t tensor, std::span<const int64_t> element) const {
  uint64_t hash = tensor + 1;
  for (int64_t i : element)
    hash = (hash ^ uint64_t(i)) * 0x9E3779B97F4A7C15u;
  return int64_t(hash >> 40) % 7;
}

llvm::Expected<Definition::Reads> Definition::readsOf(OpId id, unsigned operand,
                                                      const OperandMaps &maps,
                                                      const std::vector<Expr> &loops) const {
  const std::vector<int64_t> &from = resultDims(graph[id]);
  const std::vector<int64_t> &to = resultDims(graph[graph[id].operands[operand]]);
  Reads out;
  out.isExact = maps.coverage == Coverage::Exact;
  out.byElement.resize(size_t(product(from)));
  int64_t total = 0;
  for (const IndexMap &map : maps.maps) {
    std::vector<MapVariable> dims = map.variables(VarKind::Dim),
                             ranges = map.variables(VarKind::Range),
                             runtimes = map.variables(VarKind::Runtime);
    std::vector<int> rangeOfLoop(loops.size(), -1);
    for (size_t l = 0; l < loops.size(); ++l)
      for (size_t r = 0; r < ranges.size(); ++r)
        if (ranges[r].var == loops[l])
          rangeOfLoop[l] = int(r);
    std::vector<int64_t> extents;
    for (const MapVariable &range : ranges)
      extents.push_back(range.domain.hi - range.domain.lo + 1);
    total += product(from) * product(extents);
    if (map.isKnownEmpty() ||
        std::any_of(extents.begin(), extents.end(), [](int64_t extent) { return extent < 1; }))
      continue;
    if (total > maxReads)
      return makeError(DiagClass::Unsupported, "%{} reads too much", graph[id].name);
    for (size_t e = 0; e < out.byElement.size(); ++e) {
      const std::vector<int64_t> index = oracle::coordinates(int64_t(e), from);
      Assignment point;
      for (size_t d = 0; d < dims.size(); ++d)
        point.set(dims[d].var, index[d]);
      std::vector<int64_t> at(ranges.size(), 0);
      do {
        for (size_t r = 0; r < ranges.size(); ++r)
          point.set(ranges[r].var, ranges[r].domain.lo + at[r]);
        // Sources may use other runtime variables: go on until all have a value.
        for (size_t round = 0; round < runtimes.size(); ++round)
          for (const MapVariable &rt : runtimes) {
            std::vector<int64_t> element;
            for (Expr coordinate : rt.source->element)
              if (std::optional<int64_t> value = evaluate(coordinate, point))
                element.push_back(*value);
            if (element.size() == rt.source->element.size())
              point.set(rt.var, std::clamp(runtimeValue(rt.source->tensor, element), rt.domain.lo,
                                           rt.domain.hi));
          }
        std::optional<std::vector<int64_t>> read = map.evaluate(point);
        if (!read)
          continue;
        Read entry{0, std::vector<int64_t>(loops.size(), -1)};
        for (size_t d = 0; d < to.size(); ++d)
          entry.element = entry.element * to[d] + (*read)[d];
        for (size_t l = 0; l < loops.size(); ++l)
          if (rangeOfLoop[l] >= 0)
            entry.at[l] = ranges[size_t(rangeOfLoop[l])].domain.lo + at[size_t(rangeOfLoop[l])];
        out.byElement[e].push_back(std::move(entry));
      } while (oracle::advance(at, extents));
    }
  }
  return out;
}

llvm::Error Definition::readMaps(ExprContext &context) {
  for (const TileInstance &instance : group.instances)
    if (product(resultDims(graph[instance.op])) > maxElements)
      return makeError(DiagClass::Unsupported, "%{} is too large", graph[instance.op].name);
  auto isRoot = [&](unsigned i) {
    return group.instances[i].op == group.space.parameters.front().op;
  };
  // The root that is tiled: parallel parameters are its dims.
  if (group.space.parameters.front().role == TileParameter::Role::Parallel) {
    for (unsigned root : group.roots)
      if (isRoot(root))
        mainRoot = root;
  } else {
    mainRoot = group.roots.back(); // a scalar
  }
  for (OpId id : group.group.ops) {
    const Op &op = graph[id];
    if (op.operands.empty())
      continue;
    llvm::Expected<OpIndexing> indexing = outputToOperands(graph, id, context);
    if (!indexing)
      return indexing.takeError();
    if (indexing->isOpaque)
      return makeError(DiagClass::Unsupported, "%{}: {}", op.name, indexing->reason);
    std::vector<Expr> loops;
    size_t count = 0;
    for (const TileInstance &instance : group.instances)
      if (instance.op == id && !instance.isInput)
        count = std::max(count, instance.reduces.size());
    if (count > 0) {
      llvm::Expected<IterationDomain> domain = iterationDomain(graph, id, context);
      if (!domain)
        return domain.takeError();
      using Kind = IterationDomain::Reduction::Kind;
      for (const IterationDomain::Reduction &reduction : domain->reductions)
        if (reduction.kind == Kind::Contraction || reduction.kind == Kind::Reduced)
          loops.push_back(reduction.var);
      if (loops.size() != count)
        return makeError(DiagClass::Unsupported, "%{}: {} loops over {} reduced dims", op.name,
                         count, loops.size());
    }
    for (unsigned k = 0; k < op.operands.size(); ++k) {
      llvm::Expected<Reads> made = readsOf(id, k, indexing->operands[k], loops);
      if (!made)
        return made.takeError();
      reads[{id.index, k}] = std::move(*made);
    }
  }
  return llvm::Error::success();
}

llvm::Expected<Definition> Definition::of(const Graph &graph, const TiledGroup &group,
                                          ExprContext &context) {
  Definition out(graph, group);
  if (llvm::Error error = out.readMaps(context))
    return error;
  return out;
}

uint64_t Definition::runs(std::span<const int64_t> values) const {
  uint64_t runs = 1;
  for (int64_t count : tileCounts(group.space, values))
    runs *= uint64_t(count);
  return runs;
}

/// Calls visit with the number of the tile along each parameter, CTAs outermost; until it
/// returns false.
bool Definition::forEachRun(std::span<const int64_t> values,
                            const std::function<bool(const std::vector<int64_t> &)> &visit) const {
  const std::vector<int64_t> counts = tileCounts(group.space, values);
  std::vector<int64_t> ids(counts.size(), 0);
  if (std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count < 1; }))
    return true;
  do {
    if (!visit(ids))
      return false;
  } while (oracle::advance(ids, counts));
  return true;
}

Assignment Definition::pointOf(std::span<const int64_t> values,
                               const std::vector<int64_t> &ids) const {
  Assignment point = group.space.assign(values);
  for (size_t p = 0; p < ids.size(); ++p)
    if (group.space.parameters[p].index)
      point.set(group.space.parameters[p].index, ids[p]);
  for (const RuntimeVariable &rt : group.runtime) {
    std::vector<int64_t> element;
    for (Expr coordinate : rt.element)
      element.push_back(evaluate(coordinate, point).value_or(0));
    point.set(rt.var, std::clamp(runtimeValue(rt.source.index, element), rt.range.lo, rt.range.hi));
  }
  return point;
}

Definition::Needs Definition::needsOf(std::span<const int64_t> values,
                                      const std::vector<int64_t> &ids) const {
  Needs out;
  out.elements.resize(group.instances.size());
  // The main root's tile.
  std::vector<NumericDim> tile;
  const OpId main = group.instances[mainRoot].op;
  const std::vector<int64_t> &extents = resultDims(graph[main]);
  for (size_t p = 0; p < extents.size(); ++p)
    tile.push_back({ids[p] * values[p], values[p], 1, 0, extents[p]});
  const std::vector<int64_t> rootElements = elementsOf(tile, extents);
  out.elements[mainRoot] = rootElements;
  std::vector<bool> isUsed(group.instances.size());
  for (const TileInstance &instance : group.instances)
    for (unsigned operand : instance.operands)
      isUsed[operand] = true;
  // Other roots of its shape are tiled as it is; those that nothing needs have the same elements in
  // another shape.
  for (unsigned root : group.roots)
    if (root != mainRoot &&
        (resultDims(graph[group.instances[root].op]) == extents || !isUsed[root]))
      out.elements[root] = rootElements;
  for (unsigned i = unsigned(group.instances.size()); i-- > 0;) {
    const TileInstance &instance = group.instances[i];
    std::vector<int64_t> &mine = out.elements[i];
    sortUnique(mine);
    for (unsigned k = 0; k < instance.operands.size(); ++k) {
      const unsigned target = instance.operands[k];
      std::vector<int64_t> read;
      for (int64_t e : mine)
        for (const Read &entry : reads.at({instance.op.index, k}).byElement[size_t(e)]) {
          bool isInStep = true;
          for (size_t l = 0; l < instance.reduces.size(); ++l) {
            const unsigned p = instance.reduces[l];
            isInStep &= entry.at[l] < 0 || entry.at[l] / values[p] == ids[p];
          }
          if (isInStep)
            read.push_back(entry.element);
        }
      // Through views that have no instance of their own.
      OpId at = graph[instance.op].operands[k];
      while (at != group.instances[target].op) {
        sortUnique(read);
        std::vector<int64_t> below;
        for (int64_t e : read)
          for (const Read &entry : reads.at({at.index, 0}).byElement[size_t(e)])
            below.push_back(entry.element);
        read = std::move(below);
        at = graph[at].operands[0];
      }
      std::vector<int64_t> &theirs = out.elements[target];
      theirs.insert(theirs.end(), read.begin(), read.end());
    }
  }
  return out;
}

bool Definition::isExactAt(unsigned i, const Assignment &point) const {
  const TileInstance &instance = group.instances[i];
  return instance.exactness == Exactness::Exact ||
         (instance.exactWhen && evaluate(instance.exactWhen, point) == 1);
}

namespace {

std::string placeOf(const TileSpace &space, std::span<const int64_t> values,
                    const std::vector<int64_t> &ids) {
  std::string out;
  for (size_t p = 0; p < ids.size(); ++p)
    if (space.parameters[p].index)
      out += fmt::format("{}={} #{} ", space.parameters[p].name, values[p], ids[p]);
  return out;
}

} // namespace

std::string Definition::checkAccepted(std::span<const int64_t> values) const {
  std::string problem;
  std::vector<std::map<int64_t, std::set<int64_t>>> writers(group.roots.size());
  forEachRun(values, [&](const std::vector<int64_t> &ids) {
    const Needs needs = needsOf(values, ids);
    const Assignment point = pointOf(values, ids);
    for (unsigned i = 0; i < group.instances.size() && problem.empty(); ++i) {
      const OpId op = group.instances[i].op;
      auto tile = numericTile(group.instances[i].tile, point);
      std::vector<int64_t> have =
          tile ? elementsOf(*tile, resultDims(graph[op])) : std::vector<int64_t>();
      std::sort(have.begin(), have.end());
      const std::vector<int64_t> &want = needs.elements[i];
      bool isFine =
          tile && (isExactAt(i, point)
                       ? have == want
                       : group.instances[i].exactness == Exactness::Unknown ||
                             std::includes(have.begin(), have.end(), want.begin(), want.end()));
      if (!isFine)
        problem =
            fmt::format("%{} holds {} elements of the {} that are needed, at {}", graph[op].name,
                        have.size(), want.size(), placeOf(group.space, values, ids));
    }
    // Which CTA this is: the ids of its parallel dims.
    int64_t cta = 0;
    const std::vector<int64_t> counts = tileCounts(group.space, values);
    for (size_t p = 0; p < ids.size(); ++p)
      if (group.space.parameters[p].role == TileParameter::Role::Parallel)
        cta = cta * counts[p] + ids[p];
    for (size_t r = 0; r < group.roots.size(); ++r)
      for (int64_t e : needs.elements[group.roots[r]])
        writers[r][e].insert(cta);
    return problem.empty();
  });
  for (size_t r = 0; r < group.roots.size() && problem.empty(); ++r) {
    const Op &op = graph[group.instances[group.roots[r]].op];
    if (int64_t(writers[r].size()) != product(resultDims(op)))
      problem = fmt::format("%{}: only {} elements are written", op.name, writers[r].size());
    for (const auto &[element, ctas] : writers[r])
      if (ctas.size() > 1)
        problem =
            fmt::format("%{}: element {} is written by {} CTAs", op.name, element, ctas.size());
  }
  return problem;
}

std::string Definition::checkRefused(std::span<const int64_t> values) const {
  std::vector<std::vector<int64_t>> strides(group.instances.size());
  std::vector<std::map<int64_t, int64_t>> writer(group.roots.size());
  const std::vector<int64_t> counts = tileCounts(group.space, values);
  bool isTiling = forEachRun(values, [&](const std::vector<int64_t> &ids) {
    const Needs needs = needsOf(values, ids);
    for (unsigned i = 0; i < group.instances.size(); ++i) {
      const std::vector<int64_t> &dims = resultDims(graph[group.instances[i].op]);
      std::vector<int64_t> mine;
      const std::vector<int64_t> &want = needs.elements[i];
      if (want.empty())
        continue;
      if (!oracle::isBox({want.begin(), want.end()}, dims, mine))
        return false;
      if (strides[i].empty())
        strides[i].assign(dims.size(), 0);
      for (size_t d = 0; d < dims.size(); ++d) {
        if (mine[d] != 0 && strides[i][d] != 0 && strides[i][d] != mine[d])
          return false;
        strides[i][d] = std::max(strides[i][d], mine[d]);
      }
    }
    int64_t cta = 0;
    for (size_t p = 0; p < ids.size(); ++p)
      if (group.space.parameters[p].role == TileParameter::Role::Parallel)
        cta = cta * counts[p] + ids[p];
    for (size_t r = 0; r < group.roots.size(); ++r)
      for (int64_t e : needs.elements[group.roots[r]])
        if (!writer[r].try_emplace(e, cta).second && writer[r][e] != cta)
          return false;
    return true;
  });
  if (!isTiling)
    return {};
  Assignment point = group.space.assign(values);
  std::string why;
  for (const Constraint &constraint : group.constraints)
    if (constraint.formula.evaluate(point) != std::optional(true))
      why += fmt::format("; {}", constraint.describe(point));
  return "refused, though all tiles are boxes and all results are written once" + why;
}

} // namespace tilewright
