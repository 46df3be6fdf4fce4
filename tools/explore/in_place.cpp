#include "tools/explore/in_place.h"

#include "analysis/indexing/trip_count.h"
#include "analysis/ir/free_view.h"
#include "analysis/support/math.h"
#include "analysis/tiling/tiled_group.h"
#include "tools/explore/buffers.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <set>

namespace tilewright {

namespace {

/// Copies ops of one graph to a new one in which what is not to be computed is a parameter.
class KernelGraph {
public:
  KernelGraph(const Graph &from, const std::string &name, std::function<bool(OpId)> isInside)
      : from(from), graph(name), isInside(std::move(isInside)) {}

  /// The copies of some ops, with all that they need.
  std::vector<OpId> place(const std::vector<OpId> &wanted) {
    std::set<OpId> needed;
    std::vector<OpId> work(wanted);
    while (!work.empty()) {
      const OpId id = work.back();
      work.pop_back();
      if (placed.count(id) || !needed.insert(id).second || !isInside(id))
        continue;
      const std::vector<OpId> &operands = from.op(id).operands;
      work.insert(work.end(), operands.begin(), operands.end());
    }
    for (OpId id : needed) // operands come first
      placed[id] = copyOf(id);
    std::vector<OpId> result;
    for (OpId id : wanted)
      result.push_back(placed.at(id));
    return result;
  }

  /// An op of our own; its name gets a number behind it where it is taken.
  OpId add(Op op, const std::string &name) {
    op.name = name;
    for (int i = 1; graph.find(op.name).isValid(); ++i)
      op.name = fmt::format("{}.{}", name, i);
    return graph.add(std::move(op));
  }

  void addRoot(OpId id, std::vector<int64_t> within) {
    kernel.roots.push_back(id);
    if (!within.empty())
      kernel.within[id] = std::move(within);
  }
  bool isRoot(OpId id) const {
    return std::count(kernel.roots.begin(), kernel.roots.end(), id) > 0;
  }

  const Graph &from;
  Graph graph;
  PlacedKernel kernel;

private:
  OpId copyOf(OpId id) {
    Op op = from.op(id);
    const bool isMade = op.opcode == Opcode::Constant || op.opcode == Opcode::Iota;
    if (isInside(id) || isMade) {
      for (OpId &operand : op.operands)
        operand = placed.at(operand);
      return graph.add(std::move(op));
    }
    Op parameter;
    parameter.name = op.name;
    parameter.opcode = Opcode::Parameter;
    parameter.shape = op.shape;
    parameter.attrs.parameterNumber = parameters++;
    parameter.loc = op.loc;
    return graph.add(std::move(parameter));
  }

  std::function<bool(OpId)> isInside;
  std::map<OpId, OpId> placed;
  int64_t parameters = 0;
};

/// The window of a dynamic-update-slice: its update, which must be a value that the kernel makes.
void addSlice(KernelGraph &kernel, const Op &update) {
  const Shape &buffer = kernel.from.op(update.operands[0]).shape;
  OpId value = kernel.place({update.operands[1]})[0];
  const Op &made = kernel.graph.op(value);
  if (made.opcode == Opcode::Parameter || made.opcode == Opcode::Constant || kernel.isRoot(value)) {
    Op copy;
    copy.opcode = Opcode::Copy;
    copy.shape = made.shape;
    copy.shape.layout = buffer.layout;
    copy.operands = {value};
    value = kernel.add(std::move(copy), update.name + ".window");
  }
  kernel.addRoot(value, buffer.dims);
}

/// The gather that reads what a scatter updates, one window an update.
Op gatherOf(const Op &scatter, const Shape &buffer, const Shape &updates) {
  const ScatterDims &s = scatter.attrs.scatter;
  Op gather;
  gather.opcode = Opcode::Gather;
  gather.shape = Shape::tensor(buffer.dtype, updates.dims);
  GatherDims &g = gather.attrs.gather;
  g.offsetDims = s.updateWindowDims;
  g.collapsedSliceDims = s.insertedWindowDims;
  g.startIndexMap = s.scatterDimsToOperandDims;
  g.operandBatchingDims = s.inputBatchingDims;
  g.startIndicesBatchingDims = s.scatterIndicesBatchingDims;
  g.indexVectorDim = s.indexVectorDim;
  g.sliceSizes.assign(buffer.dims.size(), 1);
  return gather;
}

/// The windows of a scatter: old values are gathered and combined with the updates.
bool addScatter(KernelGraph &kernel, const Op &scatter) {
  const auto body = std::find_if(scatter.called.begin(), scatter.called.end(),
                                 [](auto &call) { return call.role == CallRole::ToApply; });
  if (scatter.operands.size() != 3 || body == scatter.called.end())
    return false;
  const ScatterDims &s = scatter.attrs.scatter;
  const Shape &buffer = kernel.from.op(scatter.operands[0]).shape;
  const Shape &updates = kernel.from.op(scatter.operands[2]).shape;
  Op gather = gatherOf(scatter, buffer, updates);
  std::vector<int64_t> within(updates.dims.size(), INT64_MAX);
  size_t window = 0;
  for (size_t d = 0; d < buffer.dims.size(); ++d) {
    if (contains(s.insertedWindowDims, d) || contains(s.inputBatchingDims, d))
      continue;
    if (window >= s.updateWindowDims.size())
      return false;
    const auto updateDim = static_cast<size_t>(s.updateWindowDims[window++]);
    gather.attrs.gather.sliceSizes[d] = updates.dims[updateDim];
    within[updateDim] = buffer.dims[d];
  }
  const std::vector<OpId> values = kernel.place(scatter.operands);
  gather.operands = {values[0], values[1]};
  Op combine;
  combine.opcode = Opcode::Map;
  combine.shape = Shape::tensor(buffer.dtype, updates.dims);
  for (size_t d = 0; d < updates.dims.size(); ++d)
    combine.attrs.dimensions.push_back(static_cast<int64_t>(d));
  combine.called = {*body};
  combine.operands = {kernel.add(std::move(gather), scatter.name + ".old"), values[2]};
  kernel.addRoot(kernel.add(std::move(combine), scatter.name + ".window"), std::move(within));
  return true;
}

bool addWindow(KernelGraph &kernel, const Op &update) {
  if (update.opcode == Opcode::Scatter)
    return addScatter(kernel, update);
  addSlice(kernel, update);
  return true;
}

/// Has it tiles? Roots of unlike shapes may have none in common.
bool isTiled(const KernelGraph &kernel) {
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < kernel.graph.size(); ++i)
    if (kernel.graph.op(OpId{i}).opcode != Opcode::Parameter)
      ops.push_back(OpId{i});
  llvm::Expected<Group> group = makeGroup(kernel.graph, ops, kernel.kernel.roots);
  if (!group) {
    llvm::consumeError(group.takeError());
    return false;
  }
  ExprContext context;
  llvm::Expected<TiledGroup> tiled = tileGroup(kernel.graph, *group, context);
  const bool isFine = bool(tiled);
  llvm::consumeError(tiled.takeError());
  return isFine;
}

class PartPlanner {
public:
  PartPlanner(const Module &module, ModelPart &part, bool isLoop, UpdatedElements &known,
              std::vector<std::pair<Graph, std::shared_ptr<PlacedKernel>>> &made)
      : module(module), graph(module.graph(part.id)), part(part), isLoop(isLoop),
        buffers(module, part.id, part.grouping.kernels, known), made(made) {}

  void run() {
    if (isLoop)
      leaveOutCounters();
    for (KernelGroup &kernel : part.grouping.kernels)
      plan(kernel);
    mergeWindows();
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (graph.op(OpId{i}).opcode == Opcode::While)
        copyBefore(OpId{i});
  }

private:
  /// How often the loop runs is known, so that whoever launches a step's kernels knows its number.
  void leaveOutCounters() {
    const std::vector<bool> follows = followsFromStep(graph);
    std::erase_if(part.grouping.kernels, [&](const KernelGroup &kernel) {
      auto isCounter = [&](OpId id) { return follows[id.index]; };
      if (!std::all_of(kernel.ops.begin(), kernel.ops.end(), isCounter))
        return false;
      for (OpId id : kernel.ops)
        part.grouping.noKernel.push_back(
            {id, fmt::format("{}: follows from the number of the loop's step",
                             toString(graph.op(id).opcode))});
      return true;
    });
  }

  void plan(KernelGroup &kernel) {
    if (kernel.ops.size() != 1)
      return;
    const Op &op = graph.op(kernel.root);
    std::string why;
    const std::vector<BufferUpdate> updates = updatesOf(module, op, kernel.root, why);
    for (const BufferUpdate &update : updates)
      if (why.empty())
        why = buffers.whyCopied(update);
    if (why.empty() && updates.empty())
      return;
    if (why.empty() && !place(kernel, updates))
      why = "its windows have no tiles in common";
    kernel.notes.push_back(why.empty() ? placesText(updates)
                                       : fmt::format("writes all of its result: {}", why));
  }

  std::string placesText(const std::vector<BufferUpdate> &updates) const {
    std::string names;
    for (const BufferUpdate &update : updates)
      names += (names.empty() ? "%" : " and %") + graph.op(update.buffer).name;
    return fmt::format("in place: writes its window of {} alone", names);
  }

  void keep(KernelGroup &kernel, KernelGraph &&built, const std::string &name) {
    auto placed = std::make_shared<PlacedKernel>(std::move(built.kernel));
    placed->name = name;
    built.graph.setRoot(placed->roots.back());
    kernel.placed = placed;
    made.emplace_back(std::move(built.graph), std::move(placed));
  }

  bool place(KernelGroup &kernel, const std::vector<BufferUpdate> &updates) {
    const Op &op = graph.op(kernel.root);
    const bool isFused = op.opcode == Opcode::Fusion;
    const Graph *body = &graph;
    for (const CalledGraph &call : op.called)
      if (isFused && call.role == CallRole::Calls)
        body = &module.graph(call.graph);
    KernelGraph built(*body, op.name + ".in_place",
                      [&](OpId id) { return isFused && body->op(id).opcode != Opcode::Parameter; });
    if (isFused && body->op(body->root()).opcode == Opcode::Tuple)
      for (size_t i = 0; i < op.shape.elements.size(); ++i)
        if (std::none_of(updates.begin(), updates.end(), [&](const BufferUpdate &update) {
              return update.result.element == static_cast<int64_t>(i);
            }))
          built.addRoot(built.place({body->op(body->root()).operands[i]})[0], {});
    for (const BufferUpdate &update : updates)
      if (!addWindow(built, body->op(update.inner)))
        return false;
    if (!isTiled(built))
      return false;
    keep(kernel, std::move(built), op.name);
    return true;
  }

  /// Windows whose update a kernel before them makes.
  void mergeWindows() {
    std::vector<KernelGroup> &kernels = part.grouping.kernels;
    for (size_t k = 0; k < kernels.size(); ++k)
      if (kernels[k].placed && graph.op(kernels[k].root).opcode == Opcode::DynamicUpdateSlice)
        for (size_t m = 0; m < k; ++m)
          if (merge(kernels[m], kernels[k], m)) {
            kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(k--));
            break;
          }
  }

  /// What lies between the result of a kernel and the update that shows it in another shape.
  std::optional<std::set<OpId>> viewsTo(OpId from, OpId id) const {
    std::set<OpId> views;
    for (; id != from; id = graph.op(id).operands[0]) {
      if (!movesNoByte(graph, id))
        return std::nullopt;
      views.insert(id);
    }
    return views;
  }

  bool merge(KernelGroup &maker, const KernelGroup &window, size_t number) {
    const Op &update = graph.op(window.root);
    if (maker.placed || (maker.kind != KernelKind::Elementwise && maker.kind != KernelKind::Reduce))
      return false;
    std::optional<std::set<OpId>> views = viewsTo(maker.root, update.operands[1]);
    if (!views || !mayRunWith(maker, window.root, number))
      return false;
    std::set<OpId> inside(*views);
    inside.insert(maker.ops.begin(), maker.ops.end());
    inside.insert(maker.recomputed.begin(), maker.recomputed.end());
    KernelGraph built(graph, update.name + ".in_place",
                      [&](OpId id) { return inside.count(id) > 0; });
    if (buffers.isReadBesides(buffers.source({maker.root}), window.root))
      built.addRoot(built.place({maker.root})[0], {});
    addSlice(built, update);
    if (!isTiled(built))
      return false;
    keep(maker, std::move(built), update.name);
    maker.kind = KernelKind::Opaque;
    maker.ops.push_back(window.root);
    std::sort(maker.ops.begin(), maker.ops.end());
    maker.root = window.root;
    maker.notes.insert(maker.notes.end(), window.notes.begin(), window.notes.end());
    return true;
  }

  /// Everything else that the update needs is there when its maker runs, and nobody reads the
  /// buffer in between.
  bool mayRunWith(const KernelGroup &maker, OpId id, size_t number) const {
    const Op &update = graph.op(id);
    const BufferValue buffer = buffers.source({update.operands[0]});
    if (buffers.isReadBesides(buffer, id))
      return false;
    const std::vector<bool> later = buffers.after(maker.root);
    std::vector<OpId> needed(update.operands.begin() + 2, update.operands.end());
    needed.push_back(buffer.op);
    const std::vector<KernelGroup> &kernels = part.grouping.kernels;
    return std::all_of(needed.begin(), needed.end(), [&](OpId operand) {
      for (size_t k = number; k < kernels.size(); ++k)
        if (std::count(kernels[k].ops.begin(), kernels[k].ops.end(), operand))
          return false;
      return !later[operand.index];
    });
  }

  /// Copies of what a loop updates in place and may not overwrite.
  void copyBefore(OpId loop) {
    const Op &op = graph.op(loop);
    for (size_t i = 0; i < op.shape.elements.size(); ++i) {
      const auto element = static_cast<int64_t>(i);
      if (!buffers.isUpdated({loop, element}))
        continue;
      const std::string why = buffers.whyCopied({{loop, element}, op.operands[0], element, loop});
      if (why.empty())
        continue;
      const Shape &shape = op.shape.elements[i];
      KernelGraph built(graph, fmt::format("{}.copy{}", op.name, i), [](OpId) { return false; });
      Op source, copy;
      source.opcode = Opcode::Parameter;
      source.shape = copy.shape = shape;
      copy.opcode = Opcode::Copy;
      copy.operands = {built.add(std::move(source), "state")};
      built.addRoot(built.add(std::move(copy), fmt::format("{}.copy{}", op.name, i)), {});
      KernelGroup kernel;
      kernel.kind = KernelKind::Opaque;
      kernel.root = loop;
      kernel.notes = {fmt::format("copied before the loop, which updates it in place: {}", why)};
      keep(kernel, std::move(built), fmt::format("{}.copy{}", op.name, i));
      std::vector<KernelGroup> &kernels = part.grouping.kernels;
      kernels.insert(std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelGroup &other) { return other.root > loop; }),
                     std::move(kernel));
    }
  }

  const Module &module;
  const Graph &graph;
  ModelPart &part;
  bool isLoop;
  Buffers buffers;
  std::vector<std::pair<Graph, std::shared_ptr<PlacedKernel>>> &made;
};

} // namespace

void planUpdates(Module &module, std::vector<ModelPart> &parts) {
  std::set<GraphId> bodies;
  for (const ModelPart &part : parts)
    for (const ModelPart::Loop &loop : part.loops)
      bodies.insert(loop.body);
  UpdatedElements known;
  std::vector<std::pair<Graph, std::shared_ptr<PlacedKernel>>> made;
  for (ModelPart &part : parts)
    PartPlanner(module, part, bodies.count(part.id) > 0, known, made).run();
  for (auto &[graph, kernel] : made)
    kernel->graph = module.add(std::move(graph));
}

} // namespace tilewright
