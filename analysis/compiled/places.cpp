#include "analysis/compiled/places.h"

#include "analysis/compiled/arena.h"
#include "analysis/indexing/library_call.h"
#include "analysis/indexing/trip_count.h"
#include "analysis/ir/free_view.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tilewright {

namespace {

/// Nested loops and branches deeper than this are not followed, and more ops are not placed: calls
/// of calls can multiply them without bound.
constexpr size_t mostDepth = 32, mostOps = size_t(1) << 21;

/// Buffers of the leaves of an op's value.
using Parts = std::vector<size_t>;

class Placer {
public:
  explicit Placer(const Module &module) : module(module) {}

  llvm::Expected<CompiledSchedule> run() {
    const Graph &entry = module.entry();
    std::vector<Parts> parameters;
    for (OpId id : entry.parameters())
      parameters.push_back(ownParts(entry[id].shape));
    const Parts results = place(module.entryId, parameters, schedule.items, 0);
    if (opsPlaced > mostOps)
      return makeError(module.diagAt(
          entry.loc, fmt::format("the computations that are called hold more than {} ops", mostOps),
          DiagClass::BudgetSpent));
    for (size_t buffer : results)
      arena.setLasting(buffer);
    arena.assignAddresses();
    for (size_t i = 0; i < schedule.launches.size(); ++i)
      addAccesses(schedule.launches[i], touched[i]);
    return std::move(schedule);
  }

private:
  /// What a launch reads and writes, by operand and result.
  struct Touched {
    std::vector<Parts> operands;
    Parts results;
  };

  void addLeaves(const Shape &shape, bool isTemporary, Parts &parts) {
    if (!shape.isTuple)
      return parts.push_back(
          arena.add(int64_t(bytesOf(shape)), isTemporary, schedule.launches.size()));
    for (const Shape &element : shape.elements)
      addLeaves(element, isTemporary, parts);
  }
  Parts ownParts(const Shape &shape, bool isTemporary = false) {
    Parts parts;
    addLeaves(shape, isTemporary, parts);
    return parts;
  }

  static size_t leavesOf(const Shape &shape) {
    if (!shape.isTuple)
      return 1;
    size_t leaves = 0;
    for (const Shape &element : shape.elements)
      leaves += leavesOf(element);
    return leaves;
  }

  /// Places a computation's values; its launches are appended, its result's parts returned.
  Parts place(GraphId id, const std::vector<Parts> &parameters, std::vector<ScheduleItem> &items,
              size_t depth) {
    const Graph &graph = module.graph(id);
    std::vector<Parts> parts(graph.size());
    opsPlaced += graph.size();
    if (opsPlaced > mostOps)
      return ownParts(graph[graph.root()].shape);
    for (size_t i = 0; i < graph.size(); ++i) {
      const Op &op = graph[OpId{uint32_t(i)}];
      if (op.opcode == Opcode::Parameter) {
        const auto number = size_t(op.attrs.parameterNumber);
        parts[i] = number < parameters.size() ? parameters[number] : ownParts(op.shape);
      } else if (op.opcode == Opcode::While && depth < mostDepth) {
        parts[i] = placeLoop(id, OpId{uint32_t(i)}, parts, items, depth);
      } else if (op.opcode == Opcode::Conditional && depth < mostDepth) {
        parts[i] = placeBranches(op, parts, items, depth);
      } else if (op.opcode == Opcode::Call && !op.called.empty() && depth < mostDepth) {
        parts[i] = place(op.called.front().graph, operandsOf(op, parts), items, depth + 1);
      } else if (isLaunched(op)) {
        parts[i] = placeLaunch(id, OpId{uint32_t(i)}, parts, items);
      } else {
        parts[i] = placeView(op, parts);
      }
      parts[i].resize(leavesOf(op.shape), parts[i].empty() ? 0 : parts[i].back());
      if (parts[i].empty() && !op.shape.isTuple)
        parts[i] = ownParts(op.shape);
    }
    return parts[graph.root().index];
  }

  static std::vector<Parts> operandsOf(const Op &op, const std::vector<Parts> &parts) {
    std::vector<Parts> operands;
    for (OpId operand : op.operands)
      operands.push_back(parts[operand.index]);
    return operands;
  }

  Parts placeView(const Op &op, const std::vector<Parts> &parts) {
    if (op.operands.empty())
      return ownParts(op.shape);
    const Parts &first = parts[op.operands[0].index];
    switch (op.opcode) {
    case Opcode::Tuple: {
      Parts all;
      for (OpId operand : op.operands)
        all.insert(all.end(), parts[operand.index].begin(), parts[operand.index].end());
      return all;
    }
    case Opcode::GetTupleElement:
      return elementOf(op, first);
    case Opcode::AsyncDone:
    case Opcode::CopyDone:
      return Parts(first.begin(),
                   first.begin() + int64_t(std::min(first.size(), leavesOf(op.shape))));
    default:
      return first;
    }
  }

  Parts elementOf(const Op &op, const Parts &tuple) const {
    // Shapes of the elements in front say where the leaves begin.
    const size_t wanted = leavesOf(op.shape);
    auto begin = size_t(op.attrs.tupleIndex);
    if (const auto found = tupleShape.find(&op); found != tupleShape.end())
      begin = found->second;
    if (begin + wanted > tuple.size())
      return Parts(tuple.begin(), tuple.begin() + int64_t(std::min(wanted, tuple.size())));
    return Parts(tuple.begin() + int64_t(begin), tuple.begin() + int64_t(begin + wanted));
  }

  /// A loop's state stays where it is: what the body makes of an element is written there.
  Parts placeLoop(GraphId graph, OpId id, const std::vector<Parts> &parts,
                  std::vector<ScheduleItem> &items, size_t depth) {
    const Op &op = module.graph(graph)[id];
    const TripCount trips = tripCount(module, module.graph(graph), id);
    if (!trips.count)
      schedule.notes.push_back(fmt::format(
          "%{}: how often it runs is unknown ({}); one trip counts", op.name, trips.reason));
    const Parts state = op.operands.empty() ? Parts() : parts[op.operands[0].index];
    ScheduleItem loop;
    loop.trips = trips.count.value_or(1);
    const size_t from = schedule.launches.size();
    for (const CalledGraph &called : op.called)
      if (called.role == CallRole::Body) {
        const Parts made = place(called.graph, {state}, loop.body, depth + 1);
        for (size_t i = 0; i < made.size() && i < state.size(); ++i)
          arena.putInto(made[i], state[i]);
      }
    for (size_t buffer : state) { // lives as long as the loop
      arena.touch(buffer, from);
      arena.touch(buffer, schedule.launches.size());
    }
    if (!loop.body.empty() && loop.trips > 0)
      items.push_back(std::move(loop));
    return state;
  }

  Parts placeBranches(const Op &op, const std::vector<Parts> &parts,
                      std::vector<ScheduleItem> &items, size_t depth) {
    std::vector<ScheduleItem> best;
    double most = -1;
    Parts result;
    size_t branch = 0;
    for (const CalledGraph &called : op.called) {
      if (called.role != CallRole::Branch)
        continue;
      std::vector<ScheduleItem> own;
      ++branch;
      const Parts made =
          place(called.graph,
                branch < op.operands.size() ? std::vector<Parts>{parts[op.operands[branch].index]}
                                            : std::vector<Parts>{},
                own, depth + 1);
      double bytes = 0;
      for (const Op &inner : module.graph(called.graph).all())
        if (isLaunched(inner))
          bytes += bytesOf(inner.shape);
      if (bytes > most) {
        most = bytes;
        best = std::move(own);
        result = made;
      }
    }
    if (branch > 1)
      schedule.notes.push_back(fmt::format(
          "%{}: of {} branches the one that writes most bytes counts", op.name, branch));
    items.insert(items.end(), std::make_move_iterator(best.begin()),
                 std::make_move_iterator(best.end()));
    return result.empty() ? ownParts(op.shape, true) : result;
  }

  Parts placeLaunch(GraphId graph, OpId id, const std::vector<Parts> &parts,
                    std::vector<ScheduleItem> &items) {
    const Op &op = module.graph(graph)[id];
    const size_t index = schedule.launches.size();
    Launch launch{graph, id, launchKindOf(module, op), {}, {}};
    const bool isFusion = op.opcode == Opcode::Fusion && !op.called.empty();
    if (isFusion)
      launch.work = fusionWork(
          module, op, launch.kind == LaunchKind::Tile || launch.kind == LaunchKind::TileDot);
    Touched now{operandsOf(op, parts), {}};
    for (const Parts &operand : now.operands)
      for (size_t buffer : operand)
        arena.touch(buffer, index);
    now.results = ownParts(op.shape, true);
    if (isFusion)
      shareResults(op, launch, now, index);
    touched.push_back(now);
    schedule.launches.push_back(std::move(launch));
    items.push_back({index, {}, 1});
    return now.results;
  }

  /// Updates lie in their operand's buffer; what a loop over elements makes may lie
  /// in that of an operand that dies.
  void shareResults(const Op &op, const Launch &launch, Touched &now, size_t index) {
    for (size_t i = 0; i < now.results.size() && i < launch.work->results.size(); ++i) {
      if (const auto &of = launch.work->results[i].inPlaceOf)
        if (size_t(*of) < now.operands.size() && !now.operands[size_t(*of)].empty())
          arena.putInto(now.results[i], now.operands[size_t(*of)].front());
      if (op.attrs.fusionKind != "kLoop")
        continue;
      for (const Parts &operand : now.operands)
        if (!operand.empty())
          arena.mayTakePlaceOf(now.results[i], operand.front(), index);
    }
  }

  void addAccess(Launch &launch, size_t buffer, double bytes, bool isWrite,
                 const std::string &region = {}) {
    const Arena::Place place = arena.placeOf(buffer);
    const int64_t extent = arena.bytesOf(buffer);
    bytes = std::min(bytes, double(extent));
    if (bytes <= 0)
      return;
    for (MemoryAccess &other : launch.accesses) // of one value that is an operand twice
      if (!isWrite && !other.isWrite && other.space == place.space &&
          other.offset == place.offset && other.extent == extent && other.region == region) {
        other.bytes = std::max(other.bytes, bytes);
        return;
      }
    launch.accesses.push_back({place.space, place.offset, extent, bytes, isWrite, region});
  }

  void addAccesses(Launch &launch, const Touched &now) {
    const Op &op = module.graph(launch.graph)[launch.op];
    for (size_t i = 0; i < now.operands.size(); ++i)
      for (size_t buffer : now.operands[i]) {
        if (!launch.work)
          addAccess(launch, buffer, double(arena.bytesOf(buffer)), false);
        else if (i < launch.work->operands.size())
          addAccess(launch, buffer, launch.work->operands[i].bytes, false,
                    launch.work->operands[i].region);
      }
    // Behind the result of a library call stands its workspace, which is reserved, not touched.
    const size_t results = launch.work || op.opcode != Opcode::CustomCall
                               ? now.results.size()
                               : std::min(resultsOfCall(op), now.results.size());
    for (size_t i = 0; i < results; ++i) {
      const bool isKnown = launch.work && i < launch.work->results.size();
      addAccess(launch, now.results[i],
                isKnown ? launch.work->results[i].bytes : double(arena.bytesOf(now.results[i])),
                true);
    }
  }

  const Module &module;
  CompiledSchedule schedule;
  size_t opsPlaced = 0;
  Arena arena;
  std::vector<Touched> touched;            ///< by launch
  std::map<const Op *, size_t> tupleShape; ///< first leaf of a get-tuple-element

  friend llvm::Expected<CompiledSchedule> tilewright::compiledSchedule(const Module &module);
  void findLeaves() {
    for (const Graph &graph : module.all())
      for (const Op &op : graph.all())
        if (op.opcode == Opcode::GetTupleElement && !op.operands.empty()) {
          const Shape &tuple = graph[op.operands[0]].shape;
          size_t leaf = 0;
          for (size_t i = 0; i < size_t(op.attrs.tupleIndex) && i < tuple.elements.size(); ++i)
            leaf += leavesOf(tuple.elements[i]);
          tupleShape[&op] = leaf;
        }
  }
};

} // namespace

llvm::Expected<CompiledSchedule> compiledSchedule(const Module &module) {
  if (!isScheduled(module))
    return makeError(module.diagAt(
        module.loc, "the module is not scheduled: a dump from after optimisation is needed, whose "
                    "HloModule line says is_scheduled=true"));
  Placer placer(module);
  placer.findLeaves();
  return placer.run();
}

} // namespace tilewright
