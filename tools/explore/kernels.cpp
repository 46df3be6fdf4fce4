#include "tools/explore/kernels.h"

#include "analysis/ir/run_time_extents.h"
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/code_constraints.h"
#include "tools/explore/in_place.h"
#include "tools/explore/named_kernel.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <set>

namespace tilewright {

KernelKind kindOf(const Graph &graph, const Group &group) {
  KernelKind kind = KernelKind::Elementwise;
  for (OpId id : group.ops) {
    if (graph.op(id).opcode == Opcode::Dot || graph.op(id).opcode == Opcode::ScaledDot)
      return KernelKind::Dot;
    if (graph.op(id).opcode == Opcode::Reduce)
      kind = KernelKind::Reduce;
  }
  return kind;
}

namespace {

/// A reduction of several operands whose results are read one by one, or one of them.
bool isOfSeveral(const Graph &graph, const Op &op) {
  if (op.opcode == Opcode::GetTupleElement)
    return isOfSeveral(graph, graph.op(op.operands[0]));
  return op.opcode == Opcode::Reduce && op.shape.isTuple;
}

/// All ops of a fusion's body are one kernel, as the compiler that made the fusion decided.
llvm::Expected<KernelSource> fusionSource(const Module &module, const Op &fusion) {
  KernelSource source;
  source.name = fusion.name;
  for (const CalledGraph &called : fusion.called)
    if (called.role == CallRole::Calls)
      source.graph = called.graph;
  if (!source.graph.isValid())
    return makeError(
        module.diagAt(fusion.loc, "fusion: calls no computation", DiagClass::Unsupported));
  const Graph &body = module.graph(source.graph);
  std::vector<OpId> ops, roots;
  for (uint32_t i = 0; i < body.size(); ++i) {
    const Op &op = body.op(OpId{i});
    if (op.opcode == Opcode::Parameter || op.opcode == Opcode::Tuple)
      continue;
    if (isOfSeveral(body, op) && OpId{i} != body.root()) {
      ops.push_back(OpId{i});
      continue;
    }
    if (std::optional<std::string> reason = notModelled(body, OpId{i}))
      return makeError(module.diagAt(
          op.loc, fmt::format("fusion %{}: its body has %{}: {}", fusion.name, op.name, *reason),
          DiagClass::Unsupported));
    if (opClass(op.opcode) != OpClass::Elementwise && opClass(op.opcode) != OpClass::Structured &&
        opClass(op.opcode) != OpClass::Leaf)
      return makeError(
          module.diagAt(op.loc,
                        fmt::format("fusion %{}: its body has %{}, a {}, which is not modelled",
                                    fusion.name, op.name, toString(op.opcode)),
                        DiagClass::Unsupported));
    ops.push_back(OpId{i});
  }
  const Op &root = body.op(body.root());
  if (root.opcode == Opcode::Tuple)
    roots = root.operands;
  else
    roots.push_back(body.root());
  std::erase_if(roots, [&](OpId id) { return body.op(id).opcode == Opcode::Parameter; });
  if (ops.empty() || roots.empty())
    return makeError(
        module.diagAt(fusion.loc, "fusion: its body computes nothing", DiagClass::Unsupported));
  llvm::Expected<Group> group = makeGroup(body, ops, roots);
  if (!group)
    return group.takeError();
  source.group = std::move(*group);
  source.kind = kindOf(body, source.group);
  return source;
}

/// The part of a kernel that `root` needs.
std::vector<OpId> coneOf(const Graph &graph, OpId root, const std::vector<OpId> &within) {
  std::vector<OpId> result, work{root};
  std::vector<bool> seen(graph.size());
  seen[root.index] = true;
  while (!work.empty()) {
    OpId id = work.back();
    work.pop_back();
    result.push_back(id);
    for (OpId operand : graph.op(id).operands)
      if (!seen[operand.index] && std::binary_search(within.begin(), within.end(), operand)) {
        seen[operand.index] = true;
        work.push_back(operand);
      }
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// The part of `kernel` that `root` needs, without the ops of `without`, whose values it reads from
/// memory. Ops of `elsewhere` are counted there.
KernelGroup partOf(const Graph &graph, const KernelGroup &kernel, OpId root,
                   const std::vector<OpId> &without, const std::vector<OpId> &elsewhere) {
  std::vector<OpId> within = kernel.allOps();
  std::erase_if(within, [&](OpId id) {
    return id != root && std::find(without.begin(), without.end(), id) != without.end();
  });
  KernelGroup part;
  part.kind = kernel.kind;
  part.root = root;
  for (OpId id : coneOf(graph, root, within)) {
    bool isCounted = std::binary_search(kernel.ops.begin(), kernel.ops.end(), id) &&
                     std::find(elsewhere.begin(), elsewhere.end(), id) == elsewhere.end();
    (isCounted ? part.ops : part.recomputed).push_back(id);
  }
  return part;
}

/// For a chain of two dots: the views of three operands and the ops after the second dot.
constexpr size_t maxCutPoints = 4;

bool rearranges(Opcode opcode) {
  switch (opcode) {
  case Opcode::Transpose:
  case Opcode::Slice:
  case Opcode::DynamicSlice:
  case Opcode::Concatenate:
  case Opcode::Pad:
  case Opcode::Reverse:
    return true;
  default:
    return false;
  }
}

/// The ops of a kernel and the views through which it reads memory: a window over a cropped tensor
/// reads the tensor. (A dot's operands are values in memory.)
std::vector<OpId> withViews(const Graph &graph, std::vector<OpId> ops) {
  auto isDot = [&](OpId id) {
    return graph.op(id).opcode == Opcode::Dot || graph.op(id).opcode == Opcode::ScaledDot;
  };
  if (std::any_of(ops.begin(), ops.end(), isDot))
    return ops;
  std::vector<bool> isIn(graph.size());
  for (OpId id : ops)
    isIn[id.index] = true;
  for (size_t i = 0; i < ops.size(); ++i)
    for (OpId operand : graph.op(ops[i]).operands) {
      const Op &op = graph.op(operand);
      const bool isView = rearranges(op.opcode) || op.opcode == Opcode::Broadcast ||
                          op.opcode == Opcode::Reshape || op.opcode == Opcode::Bitcast ||
                          op.opcode == Opcode::Constant;
      if (!isView || isIn[operand.index])
        continue;
      isIn[operand.index] = true;
      ops.push_back(operand);
    }
  std::sort(ops.begin(), ops.end());
  return ops;
}

llvm::Expected<KernelSource> kernelOfOp(const Module &module, GraphId graphId, OpId id) {
  const Graph &graph = module.graph(graphId);
  Grouping grouping = groupSimply(graph);
  for (const KernelGroup &kernel : grouping.kernels) {
    std::vector<OpId> ops = kernel.allOps();
    if (!std::binary_search(ops.begin(), ops.end(), id))
      continue;
    if (graph.op(id).opcode == Opcode::Fusion)
      return kernelSource(module, graphId, kernel);
    OpId roots[] = {id};
    llvm::Expected<Group> group = makeGroup(graph, withViews(graph, coneOf(graph, id, ops)), roots);
    if (!group)
      return group.takeError();
    KernelSource source{graph.op(id).name, kindOf(graph, *group), graphId, std::move(*group)};
    return source;
  }
  const Op &op = graph.op(id);
  for (const OpReason &entry : grouping.unsupported)
    if (entry.op == id)
      return makeError(module.diagAt(op.loc, fmt::format("%{}: {}", op.name, entry.reason),
                                     DiagClass::Unsupported));
  for (const OpReason &entry : grouping.noKernel)
    if (entry.op == id)
      return makeError(
          module.diagAt(op.loc, fmt::format("%{} needs no kernel: {}", op.name, entry.reason)));
  return makeError(
      module.diagAt(op.loc, fmt::format("%{} is in no kernel", op.name), DiagClass::Internal));
}

} // namespace

/// After the sums of a kernel that rearranges what it makes of them. None where a sum leaves it.
static std::vector<KernelCut> cutAfterReductions(const Graph &graph, const KernelGroup &kernel) {
  std::vector<OpId> ops = kernel.allOps(), sums;
  std::set<OpId> afterSum;
  bool rearrangesSums = false;
  for (OpId id : ops) {
    const Op &op = graph.op(id);
    const bool depends = std::any_of(op.operands.begin(), op.operands.end(),
                                     [&](OpId operand) { return afterSum.count(operand) > 0; });
    if (op.opcode == Opcode::Reduce)
      sums.push_back(id);
    if (depends || op.opcode == Opcode::Reduce)
      afterSum.insert(id);
    rearrangesSums |= depends && rearranges(op.opcode);
  }
  if (!rearrangesSums || sums.size() > maxCutPoints ||
      std::find(sums.begin(), sums.end(), kernel.root) != sums.end())
    return {};
  KernelCut cut;
  std::vector<OpId> counted;
  sums.push_back(kernel.root);
  for (OpId root : sums) {
    std::vector<OpId> written(sums.begin(), std::find(sums.begin(), sums.end(), root));
    KernelGroup part = partOf(graph, kernel, root, written, counted);
    if (root == kernel.root)
      part.kind = KernelKind::Elementwise;
    counted.insert(counted.end(), part.ops.begin(), part.ops.end());
    cut.push_back(std::move(part));
  }
  return {std::move(cut)};
}

std::vector<KernelCut> kernelCuts(const Graph &graph, const KernelGroup &kernel) {
  if (kernel.placed)
    return {};
  if (kernel.kind == KernelKind::Reduce)
    return cutAfterReductions(graph, kernel);
  std::vector<OpId> ops = kernel.allOps(), points;
  std::set<OpId> hasDot; // dots and their dependents
  OpId last;
  for (OpId id : ops) {
    const Op &op = graph.op(id);
    for (OpId operand : op.operands)
      if (hasDot.count(operand))
        hasDot.insert(id);
    if (op.opcode != Opcode::Dot)
      continue;
    hasDot.insert(id);
    last = id;
    for (OpId operand : op.operands)
      if (!hasDot.count(operand) && std::binary_search(ops.begin(), ops.end(), operand) &&
          std::find(points.begin(), points.end(), operand) == points.end())
        points.push_back(operand);
  }
  if (!last.isValid())
    return {};
  std::vector<OpId> epilogue = partOf(graph, kernel, kernel.root, {last}, {}).ops;
  if (last != kernel.root && std::any_of(epilogue.begin(), epilogue.end(),
                                         [&](OpId id) { return rearranges(graph.op(id).opcode); }))
    points.push_back(last);
  if (points.size() > maxCutPoints)
    return {};

  std::vector<KernelCut> cuts;
  for (unsigned chosen = 1; chosen < 1u << points.size(); ++chosen) {
    std::vector<OpId> taken, counted;
    for (size_t i = 0; i < points.size(); ++i)
      if (chosen >> i & 1)
        taken.push_back(points[i]);
    KernelCut cut;
    auto add = [&](OpId root) {
      KernelGroup part = partOf(graph, kernel, root, taken, counted);
      std::vector<OpId> made = part.allOps();
      if (std::none_of(made.begin(), made.end(),
                       [&](OpId id) { return graph.op(id).opcode == Opcode::Dot; }))
        part.kind = KernelKind::Elementwise;
      counted.insert(counted.end(), part.ops.begin(), part.ops.end());
      cut.push_back(std::move(part));
    };
    for (OpId root : taken)
      add(root);
    add(kernel.root);
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

/// A placed kernel is all of its graph.
static llvm::Expected<KernelSource> placedSource(const Module &module, const PlacedKernel &placed) {
  const Graph &graph = module.graph(placed.graph);
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph.op(OpId{i}).opcode != Opcode::Parameter)
      ops.push_back(OpId{i});
  llvm::Expected<Group> group = makeGroup(graph, ops, placed.roots);
  if (!group)
    return group.takeError();
  group->within = placed.within;
  const KernelKind kind = kindOf(graph, *group);
  return KernelSource{placed.name, kind, placed.graph, std::move(*group)};
}

llvm::Expected<KernelSource> kernelSource(const Module &module, GraphId graphId,
                                          const KernelGroup &kernel) {
  if (kernel.placed)
    return placedSource(module, *kernel.placed);
  const Graph &graph = module.graph(graphId);
  const Op &root = graph.op(kernel.root);
  if (root.opcode == Opcode::Fusion)
    return fusionSource(module, root);
  const std::vector<OpId> roots =
      kernel.roots.empty() ? std::vector<OpId>{kernel.root} : kernel.roots;
  llvm::Expected<Group> group = makeGroup(graph, kernel.allOps(), roots);
  if (!group)
    return group.takeError();
  KernelSource source{root.name, kindOf(graph, *group), graphId, std::move(*group)};
  return source;
}

llvm::Expected<KernelSource> findKernel(const Module &module, std::string_view name) {
  if (name.starts_with('%'))
    name.remove_prefix(1);
  if (name.empty()) {
    Grouping grouping = groupSimply(module.entry());
    // Without a kernel the answer is the reason, preferably of an op that would need one.
    OpId wanted = !grouping.kernels.empty()       ? grouping.kernels.back().root
                  : !grouping.unsupported.empty() ? grouping.unsupported.back().op
                                                  : module.entry().root();
    return kernelOfOp(module, module.entryId, wanted);
  }
  OpId id = module.entry().find(name);
  if (id.isValid())
    return kernelOfOp(module, module.entryId, id);
  for (uint32_t g = 0; g < module.all().size(); ++g) {
    id = module.graph(GraphId{g}).find(name);
    if (!id.isValid())
      continue;
    // Inside a fusion the group is given: everything that the op needs.
    bool isFusionBody = false;
    for (const Graph &caller : module.all())
      for (const Op &op : caller.all())
        for (const CalledGraph &called : op.called)
          isFusionBody |= op.opcode == Opcode::Fusion && called.graph == GraphId{g};
    if (!isFusionBody)
      return kernelOfOp(module, GraphId{g}, id);
    const Graph &body = module.graph(GraphId{g});
    std::vector<OpId> computed;
    for (uint32_t i = 0; i < body.size(); ++i)
      if (body.op(OpId{i}).opcode != Opcode::Parameter)
        computed.push_back(OpId{i});
    if (body.op(id).opcode == Opcode::Parameter)
      return kernelOfOp(module, GraphId{g}, id);
    OpId roots[] = {id};
    llvm::Expected<Group> group = makeGroup(body, coneOf(body, id, computed), roots);
    if (!group)
      return group.takeError();
    KernelSource source{body.op(id).name, kindOf(body, *group), GraphId{g}, std::move(*group)};
    return source;
  }
  return noSuchOp(module, name);
}

llvm::Expected<TiledKernel> tileKernel(const Module &module, const KernelSource &source) {
  TiledKernel result;
  result.context = std::make_shared<ExprContext>();
  llvm::Expected<TiledGroup> tiled =
      tileGroup(module.graph(source.graph), source.group, *result.context);
  if (!tiled)
    return tiled.takeError();
  addChainConstraints(module, module.graph(source.graph), *tiled);
  addCodeConstraints(module.graph(source.graph), *tiled);
  result.tiled = std::make_shared<const TiledGroup>(std::move(*tiled));
  return result;
}

llvm::Expected<KernelSource> findTiles(const Module &module, std::string_view name) {
  llvm::Expected<KernelSource> kernel = findKernel(module, name);
  if (kernel)
    return kernel;
  Diag diag = takeDiag(kernel.takeError());
  const Graph &graph = module.entry();
  const OpId id = name.empty() ? graph.root() : graph.find(name.substr(name.starts_with('%')));
  if (diag.cls != DiagClass::Unsupported || !id.isValid())
    return makeError(std::move(diag));
  const Op &op = graph.op(id);
  if (opClass(op.opcode) != OpClass::Structured || op.shape.isTuple ||
      runTimeExtentRefusal(graph, op))
    return makeError(std::move(diag));
  const OpId alone[] = {id};
  llvm::Expected<Group> group = makeGroup(graph, alone, alone);
  if (!group)
    return group.takeError();
  KernelSource source{op.name, kindOf(graph, *group), module.entryId, std::move(*group)};
  source.notes.push_back("there is no kernel of it here; the tiles are those of its definition");
  return source;
}

} // namespace tilewright
