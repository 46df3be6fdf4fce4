#include "analysis/tiling/chain_constraints.h"

#include "analysis/affine/simplify.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/carried_state.h"
#include "analysis/tiling/code_kind.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace tilewright {

namespace {

class Chain {
public:
  Chain(const Module &module, const Graph &graph, TiledGroup &group)
      : module(module), graph(graph), group(group),
        ctx(group.space.parameters.front().size.context()) {}

  /// False for groups that are no chain of two dots.
  bool find() {
    std::optional<TwoDots> found = twoDots(graph, group.group);
    if (!found)
      return false;
    first = found->first;
    second = found->second;
    scoresSide = found->scoresSide;
    return true;
  }

  void addOneTile() {
    const std::vector<unsigned> instances = group.instancesOf(first);
    for (size_t i = 1; i < instances.size(); ++i) {
      const Tile &a = group.instances[instances[0]].tile, &b = group.instances[instances[i]].tile;
      std::set<const TileParameter *> apart;
      for (size_t dim = 0; dim < a.dims.size(); ++dim)
        if (a.dims[dim] != b.dims[dim])
          for (const TileDim &tile : {a.dims[dim], b.dims[dim]})
            addParameters(tile, apart);
      std::vector<Formula> whole;
      std::string names;
      for (const TileParameter &p : group.space.parameters)
        if (apart.count(&p)) {
          whole.push_back(Formula::lessEqual(ctx.constant(p.largest()), p.size));
          names += (names.empty() ? "" : ", ") + p.name;
        }
      bool isSame = sameWhenWhole(a, b, apart);
      add(first, "one-tile", isSame ? Formula::all(std::move(whole)) : Formula::constant(false),
          isSame ? fmt::format("the tile of {} must be the whole dim: %{}, which is made once, is "
                               "needed with different tiles",
                               names, graph[first].name)
                 : fmt::format("%{}, which is made once, is needed with different tiles",
                               graph[first].name),
          {});
    }
  }

  void addWholeRow() {
    llvm::Expected<std::string> found = whyNotOnline(module, graph, group.group.ops, first, second);
    std::string why = found ? *found : takeDiag(found.takeError()).message;
    if (why.empty())
      return;
    for (unsigned parameter : reducesOf(second)) {
      const TileParameter &p = group.space.parameters[parameter];
      add(second, "whole-row", Formula::lessEqual(ctx.constant(p.largest()), p.size),
          fmt::format("tile {{0}} must be the whole row of {}: {}", p.extent, why), {p.size});
    }
  }

  void addSearch() {
    auto refuse = [&](OpId op, std::string text) {
      add(op, "search-chain", Formula::constant(false), std::move(text), {});
    };
    if (auto found = whyNotOnline(module, graph, group.group.ops, first, second); !found)
      refuse(second, takeDiag(found.takeError()).message);
    const OpId scores = graph[second].operands[scoresSide];
    for (unsigned parameter : reducesOf(first)) {
      const TileParameter &p = group.space.parameters[parameter];
      add(first, "search-chain", Formula::lessEqual(ctx.constant(p.largest()), p.size),
          fmt::format("tile {{0}} must be the whole contraction of {}: both operands are staged "
                      "with all of it where %{} follows",
                      p.extent, graph[second].name),
          {p.size});
    }
    const std::vector<unsigned> outer = group.instancesOf(second);
    if (outer.size() != 1 || reducesOf(second).size() != 1) {
      refuse(second, fmt::format("{} contracted dims of %{}, one is allowed",
                                 reducesOf(second).size(), graph[scores].name));
      return;
    }
    if (!isOneSide(group.space.parameters[reducesOf(second)[0]]))
      refuse(second,
             fmt::format("its contracted dim must follow the rows or the columns of %{} alone, "
                         "which of {} it does not; tile the two dots as separate kernels",
                         graph[first].name, graph[first].shape.str(false)));
    const ChainSizes sizes = chainSizes(graph, group, {first, second, scoresSide});
    const Expr rows = sizes.rows, step = sizes.step, columns = sizes.columns;
    const Expr warps = group.space.find("warps")->size, least = warps * 16;
    Formula isEven = Formula::divides(least, rows);
    std::string orAll;
    // Rows that are no whole blocks of 16 are padded, where there are no more.
    if (const int64_t whole = wholeRows(); whole % 16 != 0) {
      isEven = isEven || (Formula::lessEqual(ctx.constant(whole), rows) &&
                          Formula::lessEqual(warps, rows.ceilDiv(16)));
      orAll = fmt::format(", or be all {} with a row for each warp's 16", whole);
    }
    add(second, "search-chain", std::move(isEven),
        "the tile of {0} rows must divide evenly among the warps, 16 at least each, {1} in all" +
            orAll,
        {rows, least});
    const Expr registers = rows.ceilDiv(least) * (step.ceilDiv(16) + columns.ceilDiv(16)) * 8;
    add(second, "search-chain", Formula::lessEqual(registers, ctx.constant(chainRegisters)),
        fmt::format("{{0}} scores and sums a thread, of at most {}", chainRegisters), {registers});
  }

private:
  /// True if the steps over the second dot's contraction run over one side of the first dot.
  bool isOneSide(const TileParameter &step) const {
    const TileInstance &inner = group.instances[group.instancesOf(first).front()];
    const std::vector<DotSide> sides = sidesOfResult(graph, first);
    bool isIn[3] = {false, false, false};
    for (size_t dim = 0; dim < inner.tile.dims.size(); ++dim) {
      std::set<const TileParameter *> used;
      addParameters(inner.tile.dims[dim], used);
      isIn[size_t(sides[dim])] |= used.count(&step) > 0;
    }
    return !isIn[size_t(DotSide::Batch)] &&
           isIn[size_t(DotSide::Rows)] != isIn[size_t(DotSide::Columns)];
  }

  /// Rows of the second dot's result, of one batch.
  int64_t wholeRows() const {
    const DotDims &dims = graph[second].attrs.dot;
    const OpId scores = graph[second].operands[scoresSide];
    const auto &batch = scoresSide == 0 ? dims.lhsBatch : dims.rhsBatch;
    const auto &contracted = scoresSide == 0 ? dims.lhsContracting : dims.rhsContracting;
    int64_t rows = 1;
    for (size_t dim = 0; dim < graph[scores].shape.rank(); ++dim)
      if (std::find(batch.begin(), batch.end(), int64_t(dim)) == batch.end() &&
          std::find(contracted.begin(), contracted.end(), int64_t(dim)) == contracted.end())
        rows *= graph[scores].shape.dims[dim];
    return rows;
  }

  const std::vector<unsigned> &reducesOf(OpId op) const {
    return group.instances[group.instancesOf(op).front()].reduces;
  }

  void add(OpId op, const char *rule, Formula formula, std::string text, std::vector<Expr> args) {
    Provenance from{op, "%" + graph[op].name, -1, -1, rule, std::move(text), std::move(args)};
    if (!formula.isTrue())
      group.constraints.push_back({std::move(formula), std::move(from)});
  }

  void addParameters(const TileDim &tile, std::set<const TileParameter *> &out) const {
    const Expr parts[] = {tile.offset, tile.size, tile.stride, tile.lower, tile.upper};
    const std::vector<VarId> used = variablesOf(parts);
    for (const TileParameter &p : group.space.parameters)
      if (std::binary_search(used.begin(), used.end(), p.size.variable()) ||
          (p.index && std::binary_search(used.begin(), used.end(), p.index.variable())))
        out.insert(&p);
  }

  bool sameWhenWhole(const Tile &a, const Tile &b, const std::set<const TileParameter *> &whole) {
    std::vector<Expr> replacement(ctx.variableCount());
    for (const TileParameter *p : whole) {
      replacement[p->size.variable().index] = ctx.constant(p->largest());
      if (p->index)
        replacement[p->index.variable().index] = ctx.constant(0);
    }
    Simplifier simplifier(ctx, group.bounds());
    auto at = [&](Expr expr) { return simplifier.simplify(substitute(expr, replacement)); };
    for (size_t i = 0; i < a.dims.size(); ++i) {
      const TileDim &x = a.dims[i], &y = b.dims[i];
      if (at(x.offset) != at(y.offset) || at(x.size) != at(y.size) ||
          at(x.stride) != at(y.stride) || at(x.lower) != at(y.lower) || at(x.upper) != at(y.upper))
        return false;
    }
    return true;
  }

  const Module &module;
  const Graph &graph;
  TiledGroup &group;
  ExprContext &ctx;
  OpId first, second;
  size_t scoresSide = 0;
};

} // namespace

/// Are all reductions between the dots, rows of the first one's result that a loop can carry? Which
/// monoid they have is not known here: a sum starts at 0, a maximum, which comes first, as a rule
/// below. carriedState() decides.
static bool areCarried(const Graph &graph, std::span<const OpId> ops, const TwoDots &dots) {
  std::set<OpId> ofFirst{dots.first}, ofSecond{dots.second};
  bool isFirst = true;
  for (OpId id : ops) {
    const Op &op = graph[id];
    for (std::set<OpId> *of : {&ofFirst, &ofSecond})
      if (std::any_of(op.operands.begin(), op.operands.end(),
                      [&](OpId operand) { return of->count(operand) != 0; }))
        of->insert(id);
    if (op.opcode != Opcode::Reduce)
      continue;
    if (!ofFirst.count(id) || ofSecond.count(id) || op.attrs.dimensions.size() != 1 ||
        op.operands.size() != 2 || !isFloat(op.shape.dtype) || op.shape.dtype == DType::F64)
      return false;
    const std::optional<double> start = scalarConstant(graph, op.operands[1]);
    if (!start || *start > 0 || (*start < 0 && !isFirst))
      return false;
    isFirst = false;
  }
  return true;
}

/// One contracted dim of the scores; of the first dot so many elements as rows of an instruction on
/// either side can be staged of.
static bool isStaged(const Graph &graph, const TwoDots &dots) {
  constexpr int64_t mostDepth = 3072;
  const Op &first = graph[dots.first];
  int64_t depth = 1;
  for (int64_t dim : first.attrs.dot.lhsContracting)
    depth *= std::min(graph[first.operands[0]].shape.dims[static_cast<size_t>(dim)], mostDepth + 1);
  return graph[dots.second].attrs.dot.lhsContracting.size() == 1 && depth <= mostDepth;
}

/// Operands of one type of 16 bits.
static bool areAlike(const Graph &graph, const TwoDots &dots) {
  const DType type = graph[graph[dots.first].operands[0]].shape.dtype;
  if (type != DType::F16 && type != DType::BF16)
    return false;
  for (OpId dot : {dots.first, dots.second}) {
    for (OpId operand : graph[dot].operands)
      if (graph[operand].shape.dtype != type)
        return false;
    if (graph[dot].shape.dtype != DType::F32 && graph[dot].shape.dtype != type)
      return false;
  }
  return true;
}

/// Do both dots sum over several elements, the second has columns of its own, and no reduction goes
/// over the first one's batches? Other groups of dots are made by loops, or each in its own way.
static bool hasColumns(const Graph &graph, std::span<const OpId> ops, const TwoDots &dots) {
  const Op &first = graph[dots.first], &second = graph[dots.second];
  auto areOne = [](const Shape &shape, const std::vector<int64_t> &dims) {
    return std::all_of(dims.begin(), dims.end(),
                       [&](int64_t dim) { return shape.dims[static_cast<size_t>(dim)] <= 1; });
  };
  for (const Op *dot : {&first, &second})
    if (areOne(graph[dot->operands[0]].shape, dot->attrs.dot.lhsContracting))
      return false;
  const auto batches = static_cast<int64_t>(first.attrs.dot.lhsBatch.size());
  for (OpId id : ops) {
    const Op &op = graph[id];
    if (op.opcode != Opcode::Reduce || graph[op.operands[0]].shape.dims != first.shape.dims)
      continue;
    for (int64_t dim : op.attrs.dimensions)
      if (dim < batches && first.shape.dims[static_cast<size_t>(dim)] > 1)
        return false;
  }
  const DotDims &d = second.attrs.dot;
  const bool isRight = dots.scoresSide == 0; // what P meets
  const Shape &values = graph[second.operands[isRight ? 1 : 0]].shape;
  std::set<int64_t> bound;
  for (const std::vector<int64_t> *dims :
       {isRight ? &d.rhsBatch : &d.lhsBatch, isRight ? &d.rhsContracting : &d.lhsContracting})
    bound.insert(dims->begin(), dims->end());
  for (size_t dim = 0; dim < values.dims.size(); ++dim)
    if (values.dims[dim] > 1 && !bound.count(static_cast<int64_t>(dim)))
      return true;
  return false;
}

std::optional<TwoDots> twoDots(const Graph &graph, std::span<const OpId> ops) {
  TwoDots found;
  for (OpId id : ops) {
    if (graph[id].opcode != Opcode::Dot)
      continue;
    if (found.second.isValid())
      return std::nullopt;
    (found.first.isValid() ? found.second : found.first) = id;
  }
  if (!found.second.isValid() || graph[found.second].operands.size() != 2)
    return std::nullopt;
  std::set<OpId> dependent{found.first};
  for (OpId id : ops)
    if (id != found.second &&
        std::any_of(graph[id].operands.begin(), graph[id].operands.end(),
                    [&](OpId operand) { return dependent.count(operand) != 0; }))
      dependent.insert(id);
  const std::vector<OpId> &operands = graph[found.second].operands;
  if (dependent.count(operands[0]) == dependent.count(operands[1]))
    return std::nullopt;
  found.scoresSide = dependent.count(operands[0]) ? 0 : 1;
  if (!areAlike(graph, found) || !areCarried(graph, ops, found) || !isStaged(graph, found) ||
      !hasColumns(graph, ops, found))
    return std::nullopt;
  return found;
}

bool hasCommonRows(const Graph &graph, std::span<const OpId> ops) {
  const std::optional<TwoDots> dots = twoDots(graph, ops);
  if (!dots)
    return false;
  const Op &second = graph[dots->second];
  const DotDims &d = second.attrs.dot;
  const bool isLeft = dots->scoresSide == 0;
  const Shape &scores = graph[second.operands[dots->scoresSide]].shape;
  std::set<int64_t> others;
  for (const std::vector<int64_t> *dims :
       {isLeft ? &d.lhsBatch : &d.rhsBatch, isLeft ? &d.lhsContracting : &d.rhsContracting})
    others.insert(dims->begin(), dims->end());
  for (OpId id : ops)
    if (graph[id].opcode == Opcode::Reduce &&
        graph[graph[id].operands[0]].shape.dims == scores.dims)
      others.insert(graph[id].attrs.dimensions.begin(), graph[id].attrs.dimensions.end());
  for (size_t dim = 0; dim < scores.dims.size(); ++dim)
    if (scores.dims[dim] > 1 && !others.count(static_cast<int64_t>(dim)))
      return true;
  return false;
}

ChainSizes chainSizes(const Graph &graph, const TiledGroup &group, const TwoDots &dots) {
  const Expr one = group.space.parameters.front().size.context().constant(1);
  ChainSizes sizes{one, one, one, one, one};
  // Result dims: batch, the free dims of lhs, those of rhs.
  const DotDims &d = graph[dots.second].attrs.dot;
  const TileInstance &outer = group.instances[group.instancesOf(dots.second).front()];
  const size_t batch = d.lhsBatch.size();
  const size_t lhsEnd =
      graph[graph[dots.second].operands[0]].shape.dims.size() - d.lhsContracting.size();
  for (size_t dim = 0; dim < outer.tile.dims.size(); ++dim) {
    Expr &side = dim < batch                                ? sizes.batch
                 : (dim < lhsEnd) == (dots.scoresSide == 0) ? sizes.rows
                                                            : sizes.columns;
    side = side * outer.tile.dims[dim].size;
    if (&side == &sizes.columns)
      sizes.allColumns *= graph[dots.second].shape.dims[dim];
  }
  for (unsigned parameter : outer.reduces) {
    sizes.step = sizes.step * group.space.parameters[parameter].size;
    sizes.allKeys *= group.space.parameters[parameter].largest();
  }
  const TileInstance &inner = group.instances[group.instancesOf(dots.first).front()];
  for (unsigned parameter : inner.reduces)
    sizes.depth = sizes.depth * group.space.parameters[parameter].largest();
  return sizes;
}

void addChainConstraints(const Module &module, const Graph &graph, TiledGroup &group) {
  Chain chain(module, graph, group);
  if (!chain.find())
    return;
  chain.addOneTile();
  chain.addWholeRow();
}

void addChainSearchConstraints(const Module &module, const Graph &graph, TiledGroup &group) {
  Chain chain(module, graph, group);
  if (chain.find())
    chain.addSearch();
}

} // namespace tilewright
