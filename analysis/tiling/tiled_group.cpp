#include "analysis/tiling/tiled_group.h"

#include "analysis/affine/simplify.h"
#include "analysis/ir/run_time_extents.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/element_work.h"
#include "analysis/tiling/loop_range.h"
#include "analysis/tiling/propagate.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tilewright {

std::vector<unsigned> TiledGroup::instancesOf(OpId op) const {
  std::vector<unsigned> out;
  for (unsigned i = 0; i < instances.size(); ++i)
    if (instances[i].op == op)
      out.push_back(i);
  return out;
}

Bounds TiledGroup::bounds() const {
  Bounds bounds = space.bounds();
  for (const RuntimeVariable &variable : runtime)
    bounds.set(variable.var, variable.range);
  return bounds;
}

namespace {

/// Most groups need one or two tiles of each op; a group that needs many more of them grows
/// exponentially.
size_t maxInstances(const Group &group) { return 4096 + 4 * group.ops.size(); }

/// An op with one tile, before instances are numbered.
struct Node {
  OpId op;
  FactoredTile tile;
  OperandTile quality; ///< exactness; the tile in it is not used
  std::vector<unsigned> operands;
  std::vector<unsigned> reduces;
  /// A view op whose elements form a tile only under formulas that nothing else requires.
  std::vector<Formula> pending;
};

/// Ops are visited in reverse order, users before operands, so that all requested tiles of an op
/// are known when it is visited, without recursion. Requests with equal tiles become one node.
class GroupTiler {
public:
  GroupTiler(const Graph &graph, const Group &group, ExprContext &context)
      : graph(graph), group(group), ctx(context), rules(graph, context), requests(graph.size()) {}

  llvm::Expected<TiledGroup> run();

private:
  llvm::Expected<unsigned> request(OpId op, const OperandTile &wanted);
  llvm::Error seedRoot(OpId root);
  /// True if the tiles of all CTAs and steps together hold every element.
  bool coversAll(const FactoredTile &tile) const;
  llvm::Error visit(OpId op);
  llvm::Error expand(unsigned node);
  void makeParallelParameters(OpId root);
  TiledGroup finish();
  void findLoops(TiledGroup &out);
  std::vector<OpId> sharedSums() const;
  /// split_k must not exceed the number of tiles of these sums.
  void limitSplit(TiledGroup &out, const std::vector<OpId> &sums);
  unsigned bypass(unsigned node) const;

  const Graph &graph;
  const Group &group;
  ExprContext &ctx;
  TilePropagator rules;
  std::vector<TileParameter> parallel;
  std::vector<Node> nodes;
  std::vector<std::map<FactoredTile, unsigned>> requests; ///< by op
  std::map<OpId, unsigned> rootNode;
  FactoredTile rootTile;
  OpId mainRoot;
};

void GroupTiler::makeParallelParameters(OpId root) {
  const std::vector<int64_t> &extents = resultDims(graph[root]);
  for (size_t i = 0; i < extents.size(); ++i) {
    const Expr pid = ctx.variable(VarKind::ProgramId, fmt::format("pid{}", i)); // sorts first
    TileParameter p{TileParameter::Role::Parallel,
                    fmt::format("t{}", i),
                    ctx.variable(VarKind::TileParam, fmt::format("t{}", i)),
                    pid,
                    extents[i],
                    root,
                    static_cast<unsigned>(i)};
    rootTile.dims.push_back(rules.factory.rootDim(p.index, p.size, p.extent));
    parallel.push_back(std::move(p));
  }
}

llvm::Expected<unsigned> GroupTiler::request(OpId op, const OperandTile &wanted) {
  auto [it, isNew] = requests[op.index].try_emplace(wanted.tile, nodes.size());
  if (isNew) {
    if (nodes.size() >= maxInstances(group))
      return makeError(DiagClass::BudgetSpent,
                       "%{} and others are needed with over {} different tiles; split the group",
                       graph[op].name, maxInstances(group));
    nodes.push_back({op, wanted.tile, wanted, {}, {}, {}});
  } else if (wanted.exactness < nodes[it->second].quality.exactness) {
    nodes[it->second].quality = wanted; // one user needs every element
  }
  return it->second;
}

bool GroupTiler::coversAll(const FactoredTile &tile) const {
  if (!tile.guards.empty())
    return false;
  // True if each origin runs over its whole dim and all of its digits occur once.
  std::map<unsigned, std::vector<Atom>> digits;
  for (size_t i = 0; i < tile.dims.size(); ++i)
    for (const Atom &atom : tile.dims[i])
      digits[atom.origin].push_back(atom);
  for (auto &[index, atoms] : digits) {
    const TileOrigin &origin = rules.factory.origin(index);
    const bool isWhole = origin.tile.size.isConstant(origin.extent);
    std::sort(atoms.begin(), atoms.end());
    int64_t weight = 1;
    for (const Atom &atom : atoms) {
      if (atom.inner != weight)
        return false;
      weight *= atom.extent;
    }
    if (!origin.isRooted() || weight != origin.extent || !(isWhole || origin.isDirect))
      return false;
  }
  return true;
}

llvm::Error GroupTiler::seedRoot(OpId root) {
  const Op &op = graph[root];
  const std::vector<int64_t> &extents = resultDims(op);
  std::map<FactoredTile, unsigned> &asked = requests[root.index];
  std::string name = "%" + op.name;
  if (root == mainRoot || extents == resultDims(graph[mainRoot])) {
    llvm::Expected<unsigned> node = request(root, {rootTile});
    if (!node)
      return node.takeError();
    rootNode[root] = *node;
    return llvm::Error::success();
  }
  // Writes the first requested instance among those that reach every element.
  std::optional<unsigned> node;
  for (const auto &[tile, candidate] : asked)
    if (coversAll(tile) && (!node || candidate < *node))
      node = candidate;
  if (!node) {
    if (op.shape.isTuple || op.shape.elementCount() != graph[mainRoot].shape.elementCount())
      return makeError(DiagClass::Unsupported,
                       "%{} and %{} can't be results of one kernel: the tile of {} does not follow "
                       "from that of {}",
                       op.name, graph[mainRoot].name, op.shape.str(false),
                       graph[mainRoot].shape.str(false));
    ConditionSink sink = rules.sinkFor(root, -1);
    FactoredTile tile = rules.factory.reshape(rootTile, resultDims(graph[mainRoot]), extents, sink);
    llvm::Expected<unsigned> made = request(root, {tile});
    if (!made)
      return made.takeError();
    rootNode[root] = *made;
    return llvm::Error::success();
  }
  rootNode[root] = *node;
  // CTAs whose id does not occur in the tile would write the same elements.
  std::vector<Expr> offsets;
  for (size_t i = 0; i < extents.size(); ++i)
    for (const Atom &atom : nodes[*node].tile.dims[i])
      offsets.push_back(rules.factory.atomTile(atom).offset);
  std::vector<VarId> used = variablesOf(offsets);
  for (const TileParameter &p : parallel)
    if (p.extent > 1 && !std::binary_search(used.begin(), used.end(), p.index.variable()))
      rules.require(root, -1,
                    {Formula::lessEqual(ctx.constant(p.extent), p.size),
                     -1,
                     "redundant-writes",
                     fmt::format("tile {{0}} must cover all {}, else {{1}} CTAs write the same "
                                 "elements of {}",
                                 p.extent, name),
                     {p.size, p.tileCount()}});
  return llvm::Error::success();
}

llvm::Error GroupTiler::expand(unsigned index) {
  const OpId id = nodes[index].op;
  const Op &op = graph[id];
  const FactoredTile tile = nodes[index].tile;
  const OperandTile quality = nodes[index].quality;
  if (!isView(op) || rootNode.count(id)) {
    rules.factory.plainTile(tile, resultDims(op), rules.sinkFor(id, -1));
  } else {
    ConditionSink keep = [&](TileCondition condition) {
      if (!condition.formula.isTrue())
        nodes[index].pending.push_back(condition.formula);
    };
    rules.factory.plainTile(tile, resultDims(op), keep);
  }
  auto ask = [&](OpId operand, OperandTile wanted, int number) -> llvm::Error {
    if (!group.contains(operand) || (isView(op) && !isView(graph[operand])))
      rules.factory.plainTile(wanted.tile, resultDims(graph[operand]), rules.sinkFor(id, number));
    if (quality.exactness > wanted.exactness) {
      wanted.exactWhen = wanted.exactness == Exactness::Exact ? quality.exactWhen : Expr();
      wanted.exactness = quality.exactness;
      wanted.why = quality.why;
    } else if (quality.exactness != Exactness::Exact) {
      wanted.exactWhen = Expr();
    }
    wanted.factor *= quality.factor;
    llvm::Expected<unsigned> node = request(operand, wanted);
    if (!node)
      return node.takeError();
    nodes[index].operands.push_back(*node);
    return llvm::Error::success();
  };
  // A chain of reshapes is one reshape: intermediate ops only have to hold the elements.
  OpId bottom = id;
  while (!graph[bottom].operands.empty() && group.contains(bottom) &&
         isRowMajorReshape(graph[bottom], graph[graph[bottom].operands[0]]))
    bottom = graph[bottom].operands[0];
  if (bottom != id) {
    const std::vector<int64_t> &dims = resultDims(graph[bottom]);
    return ask(bottom,
               dims == resultDims(op) ? OperandTile{tile} : rules.throughReshape(id, tile, dims),
               0);
  }
  llvm::Expected<OperandTiles> wanted = rules.operands(id, tile);
  if (!wanted)
    return wanted.takeError();
  nodes[index].reduces = wanted->reduces;
  for (size_t k = 0; k < wanted->tiles.size(); ++k)
    if (llvm::Error error = ask(op.operands[k], wanted->tiles[k], static_cast<int>(k)))
      return error;
  return llvm::Error::success();
}

llvm::Error GroupTiler::visit(OpId id) {
  if (std::find(group.roots.begin(), group.roots.end(), id) != group.roots.end())
    if (llvm::Error error = seedRoot(id))
      return error;
  // In order of request, which does not depend on the tiles' order in the map.
  std::vector<unsigned> mine;
  for (const auto &[tile, node] : requests[id.index])
    mine.push_back(node);
  std::sort(mine.begin(), mine.end());
  for (unsigned node : mine)
    if (llvm::Error error = expand(node))
      return error;
  return llvm::Error::success();
}

unsigned GroupTiler::bypass(unsigned node) const {
  while (!nodes[node].pending.empty())
    node = nodes[node].operands.front();
  return node;
}

void GroupTiler::findLoops(TiledGroup &out) {
  const unsigned first = static_cast<unsigned>(parallel.size());
  const size_t steps = rules.sequential.size();
  std::map<VarId, unsigned> stepOf;
  for (unsigned s = 0; s < steps; ++s)
    stepOf[rules.sequential[s].index.variable()] = s;
  // The loops that an instance depends on: steps in its tile and its operands' tiles, minus its
  // own.
  std::vector<std::set<unsigned>> depends(out.instances.size());
  for (size_t i = 0; i < out.instances.size(); ++i) {
    TileInstance &instance = out.instances[i];
    for (unsigned operand : instance.operands)
      depends[i].insert(depends[operand].begin(), depends[operand].end());
    for (unsigned own : instance.reduces)
      depends[i].erase(own - first);
    for (const TileDim &dim : instance.tile.dims) {
      const Expr parts[] = {dim.offset, dim.lower, dim.upper};
      for (VarId var : variablesOf(parts))
        if (auto it = stepOf.find(var); it != stepOf.end())
          depends[i].insert(it->second);
    }
  }
  // A loop lies inside the loops of the op that runs it.
  std::vector<std::set<unsigned>> around(steps);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < out.instances.size(); ++i)
      for (unsigned own : out.instances[i].reduces)
        for (unsigned outer : depends[i]) {
          std::set<unsigned> &mine = around[own - first];
          changed |= outer != own - first && mine.insert(outer).second;
          for (unsigned further : std::set<unsigned>(around[outer]))
            changed |= further != own - first && mine.insert(further).second;
        }
  }
  for (size_t i = 0; i < out.instances.size(); ++i) {
    std::set<unsigned> loops = depends[i];
    for (unsigned step : depends[i])
      loops.insert(around[step].begin(), around[step].end());
    for (unsigned step : loops)
      out.instances[i].loops.push_back(first + step);
  }
}

void GroupTiler::limitSplit(TiledGroup &out, const std::vector<OpId> &sums) {
  const Expr split = out.space.find("split_k")->size;
  auto isSum = [&](const TileInstance &instance) {
    return !instance.isInput && std::find(sums.begin(), sums.end(), instance.op) != sums.end();
  };
  for (const TileInstance &sum : out.instances) {
    if (!isSum(sum))
      continue;
    Expr tiles = ctx.constant(1);
    for (unsigned parameter : sum.reduces)
      tiles = tiles * out.space.parameters[parameter].tileCount();
    tiles = tiles.max(1);
    Provenance from{sum.op,
                    "%" + graph[sum.op].name,
                    -1,
                    -1,
                    "split-k",
                    "{0} CTAs share one result tile, of at most {1} tiles of the sum",
                    {split, tiles}};
    out.constraints.push_back({Formula::lessEqual(split, tiles), std::move(from)});
    // Another reduction in the same loop would see only a part of the sum.
    for (const TileInstance &other : out.instances) {
      bool isShared =
          std::find_first_of(other.reduces.begin(), other.reduces.end(), sum.reduces.begin(),
                             sum.reduces.end()) != other.reduces.end();
      if (!isShared || isSum(other))
        continue;
      Provenance inner{other.op,
                       "%" + graph[other.op].name,
                       -1,
                       -1,
                       "split-k",
                       fmt::format("{{0}} CTAs share one result tile of %{}, each with a part "
                                   "of what %{} needs all of",
                                   graph[sum.op].name, graph[other.op].name),
                       {split}};
      out.constraints.push_back({Formula::lessEqual(split, ctx.constant(1)), std::move(inner)});
    }
  }
}

/// The ops whose sums CTAs may share. Of products those that are results, since nothing may be
/// computed of parts of a sum; of rows the only op with a loop, where all results have an element
/// for each of its sums.
std::vector<OpId> GroupTiler::sharedSums() const {
  std::vector<OpId> loops;
  for (OpId id : group.ops)
    if (takesLoop(graph[id].opcode))
      loops.push_back(id);
  auto isProduct = [&](OpId id) {
    return graph[id].opcode == Opcode::Dot || graph[id].opcode == Opcode::Convolution;
  };
  if (std::any_of(loops.begin(), loops.end(), isProduct))
    return std::all_of(group.roots.begin(), group.roots.end(), isProduct) ? group.roots
                                                                          : std::vector<OpId>();
  if (loops.size() != 1 || graph[loops[0]].opcode != Opcode::Reduce ||
      graph[loops[0]].attrs.dimensions.empty())
    return {};
  // Several operands have a tuple of as many results, all of one shape.
  auto countOf = [&](OpId id) { return resultShape(graph[id], {})->elementCount(); };
  std::set<OpId> behind(loops.begin(), loops.end());
  for (OpId id : group.ops) // operands come first
    for (OpId operand : graph[id].operands)
      if (behind.count(operand))
        behind.insert(id);
  const std::optional<int64_t> sums = countOf(loops[0]);
  const bool areAlike = std::all_of(group.roots.begin(), group.roots.end(), [&](OpId root) {
    return behind.count(root) && (root == loops[0] || !graph[root].shape.isTuple) &&
           countOf(root) == sums;
  });
  return areAlike ? loops : std::vector<OpId>();
}

TiledGroup GroupTiler::finish() {
  TiledGroup out;
  out.group = group;
  out.runtime = rules.runtime;
  out.constraints = rules.constraints;
  out.space.parameters = parallel;
  auto isDot = [&](OpId id) {
    return graph[id].opcode == Opcode::Dot || graph[id].opcode == Opcode::Convolution;
  };
  const bool hasDot = std::any_of(group.ops.begin(), group.ops.end(), isDot);
  const std::vector<OpId> sums = sharedSums();
  constexpr int64_t mostProductSplits = 64, mostRowSplits = 256;
  size_t wideDims = 0;
  for (const TileParameter &p : parallel)
    wideDims += p.extent > 1;
  for (const TileParameter &p : rules.sequential)
    out.space.parameters.push_back(p);
  auto schedule = [&](std::string name, int64_t largest) {
    out.space.parameters.push_back({TileParameter::Role::Schedule, name,
                                    ctx.variable(VarKind::TileParam, name), Expr(), largest, OpId{},
                                    0});
  };
  schedule("warps", 32);
  schedule("stages", rules.sequential.empty() ? 1 : 16);
  schedule("split_k", sums.empty() ? 1 : hasDot ? mostProductSplits : mostRowSplits);
  for (int64_t splits = 1; splits <= (hasDot ? 8 : mostRowSplits); splits *= 2)
    out.space.parameters.back().tried.push_back(splits);
  schedule("group_m", hasDot && wideDims >= 2 ? 64 : 1);

  for (Node &node : nodes)
    if (std::all_of(node.pending.begin(), node.pending.end(),
                    [&](const Formula &formula) { return rules.isRequired(formula); }))
      node.pending.clear();

  std::vector<unsigned> order;
  for (unsigned n = 0; n < nodes.size(); ++n)
    if (nodes[n].pending.empty())
      order.push_back(n);
  std::stable_sort(order.begin(), order.end(),
                   [&](unsigned a, unsigned b) { return nodes[a].op < nodes[b].op; });
  std::vector<unsigned> number(nodes.size());
  for (unsigned i = 0; i < order.size(); ++i)
    number[order[i]] = i;

  Simplifier simplifier(ctx, out.bounds());
  const unsigned firstSequential = static_cast<unsigned>(parallel.size());
  ConditionSink ignore = [](TileCondition) {};
  for (unsigned n : order) {
    const Node &node = nodes[n];
    TileInstance instance;
    instance.op = node.op;
    instance.tile = rules.factory.plainTile(node.tile, resultDims(graph[node.op]), ignore);
    for (TileDim &dim : instance.tile.dims)
      dim = {simplifier.simplify(dim.offset), simplifier.simplify(dim.size),
             simplifier.simplify(dim.stride), simplifier.simplify(dim.lower),
             simplifier.simplify(dim.upper)};
    for (unsigned operand : node.operands)
      instance.operands.push_back(number[bypass(operand)]);
    instance.isInput = !group.contains(node.op);
    instance.exactness = node.quality.exactness;
    instance.factor = node.quality.factor;
    instance.why = node.quality.why;
    instance.exactWhen = node.quality.exactWhen;
    for (unsigned own : node.reduces)
      instance.reduces.push_back(firstSequential + own);
    out.instances.push_back(std::move(instance));
  }
  for (OpId root : group.roots)
    out.roots.push_back(number[rootNode.at(root)]);
  findLoops(out);
  out.ranges = findLoopRanges(graph, out);
  if (!sums.empty())
    limitSplit(out, sums);
  return out;
}

llvm::Expected<TiledGroup> GroupTiler::run() {
  if (group.roots.empty())
    return makeError(DiagClass::BadInput, "the group has no root");
  mainRoot = group.roots.back();
  if (graph[mainRoot].shape.isTuple && !isTiledByFirstResult(graph[mainRoot]))
    return makeError(DiagClass::Unsupported, "%{} ({}) can't be tiled: its result is a tuple",
                     graph[mainRoot].name, toString(graph[mainRoot].opcode));
  for (OpId id : group.ops)
    if (std::optional<std::string> refusal = runTimeExtentRefusal(graph, graph[id]))
      return makeError(DiagClass::Unsupported, "%{} ({}) can't be tiled: {}", graph[id].name,
                       toString(graph[id].opcode), *refusal);
  for (OpId id : group.ops)
    if (!resultDims(graph[id]).empty() && !graph[id].shape.isTuple &&
        !graph[id].shape.elementCount())
      return makeError(DiagClass::Unsupported, "%{} has more elements than 64 bits count",
                       graph[id].name);
  makeParallelParameters(mainRoot);
  for (auto it = group.ops.rbegin(); it != group.ops.rend(); ++it)
    if (llvm::Error error = visit(*it))
      return error;
  return finish();
}

} // namespace

llvm::Expected<TiledGroup> tileGroup(const Graph &graph, const Group &group, ExprContext &context) {
  return GroupTiler(graph, group, context).run();
}

} // namespace tilewright
