#include "tools/explore/run_sequence.h"

#include "analysis/compiled/arena.h"
#include "analysis/indexing/library_call.h"
#include "analysis/ir/free_view.h"
#include "costmodel/sequence/sequence_price.h"
#include "tools/explore/neighbour_levers.h"
#include "tools/explore/rows.h"
#include "tools/explore/twins.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

/// Buffers of the leaves of an op's value.
using Leaves = std::vector<size_t>;

size_t leavesOf(const Shape &shape) {
  if (!shape.isTuple)
    return 1;
  size_t leaves = 0;
  for (const Shape &element : shape.elements)
    leaves += leavesOf(element);
  return leaves;
}

/// What one kernel, or an op priced by its bytes, reads and writes of a computation.
struct Step {
  std::optional<size_t> kernel; ///< in the model
  size_t assumed = 0;           ///< in the model's `assumed`, where it is no kernel
  std::vector<OpId> reads;
  struct Write {
    OpId op;
    size_t leaf = 0;
    double bytes = 0;
    bool isInPlace = false;
  };
  std::vector<Write> writes;
  uint32_t position = 0; ///< of its last op
  size_t launch = 0;
  double readBytes = 0; ///< that it needs of all it reads
};

class Sequencer {
public:
  Sequencer(const Module &module, const std::vector<ModelPart> &parts,
            const Calibration &calibration, KnownFeatures &known, ExploredModel &model)
      : module(module), parts(parts), device(known.device),
        parameters(parametersFor(calibration, device)), model(model), known(known) {
    for (size_t i = 0; i < parts.size(); ++i)
      partOf[parts[i].id.index] = i;
  }

  /// A computation, run after run.
  void run(GraphId id) {
    std::vector<Leaves> arguments;
    const Graph &graph = module.graph(id);
    for (OpId parameter : graph.parameters())
      arguments.push_back(newLeaves(graph[parameter].shape, false));
    for (size_t buffer : place(id, arguments, items))
      arena.setLasting(buffer);
    arena.assignAddresses();
    for (Placed &each : placed)
      addAccesses(each);
    traffic = replay(launches, items, device);
    setTimes();
  }

  double timeNs() const {
    double sum = 0;
    for (const ExploredKernel &kernel : model.kernels)
      sum += double(kernel.tripCount) * kernel.sequenceNs();
    for (const AssumedOp &op : model.assumed)
      sum += op.sequenceNs() * double(op.tripCount);
    return sum;
  }

  void setLevers() {
    for (const Placed &now : placed) {
      if (!now.step.kernel)
        continue;
      ExploredKernel &kernel = model.kernels[*now.step.kernel];
      const KernelPlan &plan = kernel.plans.front().plan;
      const Features *features = known.of(plan);
      if (!features)
        continue;
      const CacheTraffic &moved = traffic[now.step.launch];
      kernel.levers = allLevers(levers(*features, moved, device, parameters),
                                neighbourLevers(plan, moved, known, parameters));
      for (Lever &lever : kernel.levers)
        lever.because = renamed(lever.because, plan.ops(), plan.tiled->group,
                                module.graph(kernel.source.graph), kernel.source.group);
    }
  }

private:
  /// A step with the buffers that it touches.
  struct Placed {
    Step step;
    std::vector<Leaves> reads;
    std::vector<size_t> writes; ///< by Step::writes
  };

  Leaves newLeaves(const Shape &shape, bool isTemporary) {
    if (!shape.isTuple)
      return {arena.add(shape.byteSize().value_or(0), isTemporary, launches.size())};
    Leaves leaves;
    for (const Shape &element : shape.elements) {
      const Leaves inner = newLeaves(element, isTemporary);
      leaves.insert(leaves.end(), inner.begin(), inner.end());
    }
    return leaves;
  }

  /// The kernels and the priced ops of a computation, in the order they run.
  std::vector<Step> stepsOf(GraphId id) const {
    const Graph &graph = module.graph(id);
    const std::string name = computationName(module, id);
    std::vector<Step> steps;
    for (size_t k = 0; k < model.kernels.size(); ++k)
      if (model.kernels[k].computation == name && model.kernels[k].tripCount > 0)
        steps.push_back(stepOf(graph, id, k));
    for (size_t a = 0; a < model.assumed.size(); ++a)
      if (const AssumedOp &assumed = model.assumed[a]; assumed.computation == name &&
                                                       assumed.tripCount > 0 &&
                                                       graph.find(assumed.op).isValid()) {
        const OpId op = graph.find(assumed.op);
        Step step;
        step.assumed = a;
        step.position = op.index;
        step.reads = graph[op].operands;
        step.readBytes = assumed.readBytes;
        // Behind the result of a library's call stands its workspace.
        const size_t leaves = graph[op].opcode == Opcode::CustomCall ? resultsOfCall(graph[op])
                                                                     : leavesOf(graph[op].shape);
        for (size_t leaf = 0; leaf < leaves; ++leaf)
          step.writes.push_back({op, leaf, assumed.writtenBytes / double(leaves), false});
        steps.push_back(std::move(step));
      }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step &a, const Step &b) { return a.position < b.position; });
    return steps;
  }

  /// A kernel's group lies in the computation itself, in the body of a fusion of it, or is a graph
  /// of its own whose ops have the computation's names (in_place.h).
  Step stepOf(const Graph &graph, GraphId id, size_t index) const {
    const ExploredKernel &kernel = model.kernels[index];
    const Group &group = kernel.source.group;
    const GraphId of = kernel.source.graph;
    const Graph &ops = module.graph(of);
    Step step;
    step.kernel = index;
    for (const std::string &name : kernel.ops)
      if (const OpId op = graph.find(name); op.isValid())
        step.position = std::max(step.position, op.index);
    const OpId fusion = of == id ? OpId() : fusionOf(graph, of, kernel);
    for (OpId input : group.inputs) {
      OpId read = input;
      if (fusion.isValid())
        read = operandOf(graph[fusion], ops[input]);
      else if (of != id)
        read = graph.find(ops[input].name);
      if (read.isValid())
        step.reads.push_back(read);
    }
    for (OpId root : group.roots) {
      const double bytes = double(ops[root].shape.byteSize().value_or(0));
      if (fusion.isValid())
        step.writes.push_back({fusion, leafOf(ops, root), bytes, false});
      else if (of == id)
        step.writes.push_back({root, 0, bytes, false});
      else if (const OpId written = graph.find(ops[root].name); written.isValid())
        step.writes.push_back({written, 0, bytes, true});
    }
    for (const Step::Write &write : step.writes)
      step.position = std::max(step.position, write.op.index);
    return step;
  }

  /// The fusion among a kernel's ops that calls that body.
  OpId fusionOf(const Graph &graph, GraphId body, const ExploredKernel &kernel) const {
    std::vector<std::string> names = kernel.ops;
    names.push_back(kernel.partOf);
    for (const std::string &name : names)
      if (const OpId op = graph.find(name); op.isValid() && graph[op].opcode == Opcode::Fusion)
        for (const CalledGraph &called : graph[op].called)
          if (called.graph == body)
            return op;
    return {};
  }

  static OpId operandOf(const Op &fusion, const Op &input) {
    const auto number = size_t(input.attrs.parameterNumber);
    return input.opcode == Opcode::Parameter && number < fusion.operands.size()
               ? fusion.operands[number]
               : OpId();
  }

  static size_t leafOf(const Graph &body, OpId root) {
    const Op &result = body[body.root()];
    if (result.opcode != Opcode::Tuple)
      return 0;
    const auto found = std::find(result.operands.begin(), result.operands.end(), root);
    return found == result.operands.end() ? 0 : size_t(found - result.operands.begin());
  }

  /// Launches of a computation are appended; its result's buffers are returned.
  Leaves place(GraphId id, const std::vector<Leaves> &arguments, std::vector<ScheduleItem> &into) {
    const Graph &graph = module.graph(id);
    std::vector<Step> steps = stepsOf(id);
    std::map<uint32_t, std::vector<size_t>> endingAt; ///< steps, by the op behind which they ran
    for (size_t s = 0; s < steps.size(); ++s)
      endingAt[steps[s].position].push_back(s);
    std::map<uint32_t, std::vector<std::pair<size_t, size_t>>> writtenBy; ///< step, write
    for (size_t s = 0; s < steps.size(); ++s)
      for (size_t w = 0; w < steps[s].writes.size(); ++w)
        writtenBy[steps[s].writes[w].op.index].push_back({s, w});
    std::vector<Leaves> leaves(graph.size());
    for (uint32_t i = 0; i < graph.size(); ++i) {
      const Op &op = graph[OpId{i}];
      if (writtenBy.count(i)) {
        leaves[i] = newLeaves(op.shape, true);
        for (auto [s, w] : writtenBy[i])
          if (steps[s].writes[w].isInPlace && !op.operands.empty() &&
              !leaves[op.operands[0].index].empty() && !leaves[i].empty())
            arena.putInto(leaves[i][0], leaves[op.operands[0].index][0]);
      } else {
        leaves[i] = viewOf(graph, id, OpId{i}, leaves, arguments, into);
      }
      for (size_t s : endingAt[i])
        launch(std::move(steps[s]), leaves, into);
    }
    return leaves[graph.root().index];
  }

  Leaves viewOf(const Graph &graph, GraphId id, OpId op, std::vector<Leaves> &leaves,
                const std::vector<Leaves> &arguments, std::vector<ScheduleItem> &into) {
    const Op &o = graph[op];
    switch (o.opcode) {
    case Opcode::Parameter: {
      const auto number = size_t(o.attrs.parameterNumber);
      return number < arguments.size() ? arguments[number] : newLeaves(o.shape, false);
    }
    case Opcode::Constant:
      return newLeaves(o.shape, false);
    case Opcode::Tuple: {
      Leaves all;
      for (OpId operand : o.operands)
        all.insert(all.end(), leaves[operand.index].begin(), leaves[operand.index].end());
      return all;
    }
    case Opcode::GetTupleElement:
      return elementOf(graph, o, leaves);
    case Opcode::While:
      return placeLoop(o, leaves, into);
    case Opcode::Conditional:
      return placeBranch(o, leaves, into);
    default:
      if (!o.operands.empty() && movesNoByte(graph, op))
        return leaves[o.operands[0].index];
      return newLeaves(o.shape, true); // of no kernel, or inside of one
    }
  }

  static Leaves elementOf(const Graph &graph, const Op &op, const std::vector<Leaves> &leaves) {
    const Leaves &tuple = leaves[op.operands[0].index];
    const Shape &shape = graph[op.operands[0]].shape;
    size_t begin = 0;
    for (size_t i = 0; i < size_t(op.attrs.tupleIndex) && i < shape.elements.size(); ++i)
      begin += leavesOf(shape.elements[i]);
    const size_t end = std::min(tuple.size(), begin + leavesOf(op.shape));
    return begin < end ? Leaves(tuple.begin() + int64_t(begin), tuple.begin() + int64_t(end))
                       : Leaves();
  }

  /// A loop's state stays where it is.
  Leaves placeLoop(const Op &op, const std::vector<Leaves> &leaves,
                   std::vector<ScheduleItem> &into) {
    const Leaves state = op.operands.empty() ? Leaves() : leaves[op.operands[0].index];
    const size_t from = launches.size();
    ScheduleItem loop;
    for (const CalledGraph &called : op.called)
      if (called.role == CallRole::Body && partOf.count(called.graph.index)) {
        loop.trips = tripsOf(called.graph);
        const Leaves made = place(called.graph, {state}, loop.body);
        for (size_t i = 0; i < made.size() && i < state.size(); ++i)
          arena.putInto(made[i], state[i]);
      }
    for (size_t buffer : state) {
      arena.touch(buffer, from);
      arena.touch(buffer, launches.size());
    }
    if (!loop.body.empty() && loop.trips > 0)
      into.push_back(std::move(loop));
    return state;
  }

  int64_t tripsOf(GraphId body) const {
    for (const ModelPart &part : parts)
      for (const ModelPart::Loop &loop : part.loops)
        if (loop.body == body)
          return loop.isCounted ? loop.trips : 1;
    return 1;
  }

  /// Of a conditional the branch that counts.
  Leaves placeBranch(const Op &op, const std::vector<Leaves> &leaves,
                     std::vector<ScheduleItem> &into) {
    size_t branch = 0;
    for (const CalledGraph &called : op.called) {
      if (called.role != CallRole::Branch)
        continue;
      ++branch;
      const auto part = partOf.find(called.graph.index);
      if (part != partOf.end() && parts[part->second].runs > 0 && branch < op.operands.size())
        return place(called.graph, {leaves[op.operands[branch].index]}, into);
    }
    return newLeaves(op.shape, true);
  }

  void launch(Step step, const std::vector<Leaves> &leaves, std::vector<ScheduleItem> &into) {
    Placed now;
    step.launch = launches.size();
    for (OpId read : step.reads) {
      now.reads.push_back(leaves[read.index]);
      for (size_t buffer : leaves[read.index])
        arena.touch(buffer, step.launch);
    }
    for (const Step::Write &write : step.writes) {
      const Leaves &of = leaves[write.op.index];
      now.writes.push_back(of.empty() ? arena.add(int64_t(write.bytes), true, step.launch)
                                      : of[std::min(write.leaf, of.size() - 1)]);
      arena.touch(now.writes.back(), step.launch);
    }
    into.push_back({step.launch, {}, 1});
    launches.emplace_back();
    now.step = std::move(step);
    placed.push_back(std::move(now));
  }

  void addAccess(Launch &launch, size_t buffer, double bytes, bool isWrite,
                 const std::string &region = {}) {
    const Arena::Place place = arena.placeOf(buffer);
    const auto extent = double(arena.bytesOf(buffer));
    if (std::min(bytes, extent) > 0)
      launch.accesses.push_back(
          {place.space, place.offset, int64_t(extent), std::min(bytes, extent), isWrite, region});
  }

  void addAccesses(const Placed &now) {
    Launch &launch = launches[now.step.launch];
    std::set<size_t> buffers;
    double all = 0;
    for (const Leaves &read : now.reads)
      for (size_t buffer : read)
        if (buffers.insert(buffer).second)
          all += double(arena.bytesOf(buffer));
    double needed = now.step.readBytes;
    if (now.step.kernel) {
      const Estimate &estimate = model.kernels[*now.step.kernel].plans.front().estimate;
      double written = 0;
      for (const Step::Write &write : now.step.writes)
        written += write.bytes;
      needed = std::max(0.0, estimate.compulsoryBytes - written);
    }
    // Of slices and gathers not all is read; which of several values it is cut from isn't told.
    const double share = all > 0 ? std::min(1.0, needed / all) : 1;
    const std::string region =
        share < 1 ? "launch " + std::to_string(now.step.launch) : std::string();
    for (size_t buffer : buffers)
      addAccess(launch, buffer, share * double(arena.bytesOf(buffer)), false, region);
    for (size_t w = 0; w < now.writes.size(); ++w)
      addAccess(launch, now.writes[w], now.step.writes[w].bytes, true);
  }

  void setTimes() {
    for (const Placed &now : placed) {
      const CacheTraffic &moved = traffic[now.step.launch];
      if (!now.step.kernel) {
        setTime(model.assumed[now.step.assumed], moved);
        continue;
      }
      ExploredKernel &kernel = model.kernels[*now.step.kernel];
      const Features *features = known.of(kernel.plans.front().plan);
      if (!features)
        continue;
      const SequencedTime time = timeInSequence(*features, moved, device, parameters);
      kernel.inSequence = {time.timeNs, moved.missedBytes, moved.writtenBackBytes, time.limiter};
    }
  }

  /// The passes of a library's kernels; of a product they are its operands and its result once.
  void setTime(AssumedOp &op, const CacheTraffic &moved) const {
    if (op.linkBytes > 0 || op.kernels == 0) // the link's time, whatever L2 holds
      return;
    const SequencedTime time = op.isProduct
                                   ? libraryInSequence(op.leastNs, moved, parameters)
                                   : passesInSequence(op.kernels, op.readBytes + op.writtenBytes,
                                                      op.leastNs, moved, parameters);
    op.inSequence = {time.timeNs, moved.missedBytes, moved.writtenBackBytes, time.limiter};
  }

  const Module &module;
  const std::vector<ModelPart> &parts;
  const Device &device;
  const Parameters parameters;
  ExploredModel &model;
  KnownFeatures &known;
  std::map<uint32_t, size_t> partOf;
  Arena arena;
  std::vector<Launch> launches;
  std::vector<Placed> placed; ///< of `launches`
  std::vector<ScheduleItem> items;
  std::vector<CacheTraffic> traffic; ///< of `launches`
};

} // namespace

double sequenceNsOf(const Module &module, const std::vector<ModelPart> &parts, GraphId computation,
                    const Calibration &calibration, KnownFeatures &known, ExploredModel &model) {
  Sequencer sequencer(module, parts, calibration, known, model);
  sequencer.run(computation);
  return sequencer.timeNs();
}

void priceSequence(const Module &module, const std::vector<ModelPart> &parts, const Device &device,
                   const Calibration &calibration, ExploredModel &model) {
  KnownFeatures known(device);
  Sequencer sequencer(module, parts, calibration, known, model);
  sequencer.run(module.entryId);
  sequencer.setLevers();
  model.sequenceNs = sequencer.timeNs();
}

} // namespace tilewright
