#include "analysis/program/pipeline/program_loop.h"

#include "analysis/program/pending_reads.h"
#include "analysis/program/pipeline/loop_items.h"
#include "analysis/program/pipeline/step_work.h"
#include "analysis/program/produced_loop.h"
#include "analysis/support/diag.h"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tilewright::pipeline {

using program::BufferId;
using program::CopyOp;
using program::CopyWay;
using program::DotOp;
using program::DotWay;
using program::ForOp;
using program::Op;
using program::Program;
using program::ReadOp;
using program::ValueId;

std::vector<const ForOp *> copyingLoops(const Program &p) {
  std::vector<const ForOp *> loops;
  program::forEachOp(p.body, [&](const Op &op, const program::LoopNest &) {
    if (const auto *loop = op.as<ForOp>(); loop && !loop->issue.empty())
      loops.push_back(loop);
  });
  return loops;
}

namespace {

int64_t clocksOf(double clocks) { return static_cast<int64_t>(std::ceil(clocks - 1e-9)); }

class LoopReader {
public:
  LoopReader(const Program &p, const ForOp &source, const InstructionTimes &times, WarpOrder order)
      : p(p), source(source), times(times), order(order) {}

  llvm::Expected<ProgramLoop> run() {
    result.variable = source.name;
    result.steps = numberAt(p, source.trips);
    result.isProduced = program::isProduced(p, source);
    llvm::Expected<std::vector<LoopItem>> found = itemsOf(p, source);
    if (!found)
      return found.takeError();
    items = std::move(*found);
    readRings();
    readGroups();
    addCopies();
    for (int64_t g = 0; g < result.groups; ++g)
      addGroup(g);
    if (order == WarpOrder::Any)
      addRings();
    return std::move(result);
  }

private:
  struct Copy {
    BufferId ring;
    size_t op;
  };

  void readRings() {
    result.slots = INT64_MAX;
    for (BufferId ring : program::ringsOf(source))
      result.slots = std::min(result.slots, numberAt(p, p[ring].stages));
    result.ahead = source.ahead ? numberAt(p, source.ahead) : 0;
    if (order == WarpOrder::Any)
      return;
    if (result.isProduced) {
      rotation = program::rotationOf(p, source);
      flying = program::flyingDotOf(p, source);
    }
    result.isRotated = rotation.has_value();
    result.isFlying = flying.has_value();
  }

  void readGroups() {
    const int64_t warps = numberAt(p, p.warps);
    bool isApart = result.isProduced && warps % 4 == 0;
    for (const Op &op : source.body) {
      const StepWork work = workOf(p, op, times);
      isApart = isApart && work.exchanges == 0 && work.barriers == 0;
      if (const auto *dot = op.as<DotOp>())
        isApart = isApart && dot->way == DotWay::Wgmma;
    }
    result.groups = isApart ? std::max<int64_t>(warps / 4, 1) : 1;
    warpsOfGroup = std::max<int64_t>(warps / result.groups, 1);
  }

  std::string roleOf(int64_t group) const {
    if (!result.isProduced)
      return "warps";
    return result.groups == 1 ? "consumers" : fmt::format("warpgroup {}", group);
  }

  /// A producer's copies are ops of their own; the warps' own are one, which they commit together.
  void addCopies() {
    for (const Op &op : source.issue) {
      const auto *copy = op.as<CopyOp>();
      if (!copy)
        continue;
      LoopOp made = opOf(*copy);
      if (result.isProduced || copyOps.empty()) {
        copyOps.push_back(result.loop.add(std::move(made)));
      } else {
        LoopOp &all = result.loop.ops[copyOps[0]];
        all.name += made.name.substr(std::string("copy").size());
        all.issue += made.issue;
        all.latency = std::max(all.latency, made.latency) + all.units[0].busy;
        for (size_t u = 0; u < made.units.size(); ++u)
          if (u < all.units.size())
            all.units[u].busy += made.units[u].busy;
          else
            all.units.push_back(made.units[u]);
      }
      copies.push_back({copy->buffer, copyOps.back()});
    }
    if (result.isProduced && order == WarpOrder::AsEmitted) {
      std::vector<PipelineLoop::Turn> turns;
      for (size_t op : copyOps)
        turns.push_back({op, 0});
      result.loop.inOrder(turns);
    }
  }

  LoopOp opOf(const CopyOp &copy) const {
    const int64_t bytes = bytesOf(p, copy);
    const int64_t busy = clocksOf(static_cast<double>(bytes) / times.copyBytesPerClock.value);
    LoopOp made{"copy " + p[copy.buffer].name, {{"copies", busy}}, "producer"};
    made.latency = busy + clocksOf(times.copyLatency.value);
    made.issue = clocksOf(times.tmaIssue.value);
    if (result.isProduced)
      return made;
    constexpr int64_t bytesOfWarp = 32 * 16; // and the address
    made.role = roleOf(0);
    made.issue = (bytes + bytesOfWarp - 1) / bytesOfWarp * 2 / issuesPerClock();
    if (copy.way == CopyWay::Registers)
      made.units.push_back(
          {"shared", clocksOf(static_cast<double>(bytes) / times.sharedBytesPerClock.value)});
    return made;
  }

  /// Instructions that a group's warps issue together a clock.
  int64_t issuesPerClock() const { return std::min<int64_t>(warpsOfGroup, 4); }

  LoopOp opOf(const LoopItem &item, int64_t group) const {
    StepWork work;
    for (size_t place : item.places)
      work += workOf(p, source.body[place], times);
    const auto groups = static_cast<double>(result.groups);
    const double share = static_cast<double>(issuesPerClock()) / 4;
    auto unit = [&](double clocks) { return clocksOf(clocks / groups); };
    LoopOp op;
    op.name = result.groups == 1 ? item.name : fmt::format("{} {}", item.name, group);
    op.role = roleOf(group);
    const double lanes = times.aluLanesPerClock.value;
    const double alu = std::max((work.alu + work.sfu) / lanes, 2 * work.half / lanes);
    const double sfu = work.sfu / times.sfuLanesPerClock.value;
    const double shared =
        work.sharedBytes / times.sharedBytesPerClock.value + work.shuffles * times.shuffle.value;
    auto add = [&](const char *name, int64_t busy) {
      if (busy > 0)
        op.units.push_back({name, busy});
    };
    add("tensor", unit(work.tensorClocks));
    add("sfu", unit(sfu));
    add("alu", unit(alu));
    add("shared", unit(shared));
    const int64_t computing = unit(std::max({alu / share, sfu / share, shared}));
    const int64_t waiting = clocksOf(work.shuffleRounds * times.shuffleLatency.value) +
                            (work.exchanges + work.barriers) * clocksOf(times.exchange.value) +
                            (work.directLoads > 0 ? clocksOf(times.directLoad.value) : 0);
    op.issue = computing + waiting;
    op.latency = op.issue;
    if (item.kind != LoopItem::Kind::Dot || work.tensorClocks == 0)
      return op;
    op.issue = op.latency = std::max(unit(work.tensorClocks), computing);
    if (item.dot->way != DotWay::Wgmma)
      return op;
    op.latency += clocksOf(times.wgmmaLatency.value);
    const bool isAsynchronous = order == WarpOrder::Any || flying == item.places[0] || rotation;
    op.issue = isAsynchronous ? clocksOf(times.wgmmaIssue.value) : op.latency;
    return op;
  }

  void addGroup(int64_t group) {
    std::vector<size_t> ops;
    for (const LoopItem &item : items)
      ops.push_back(result.loop.add(opOf(item, group)));
    const size_t step = result.loop.add(stepOf(group));
    addResults(ops);
    for (const Copy &copy : copies)
      for (size_t n = 0; n < items.size(); ++n)
        if (reads(items[n], copy.ring)) {
          result.loop.needs(copy.op, ops[n]);
          uses[copy.op].push_back(ops[n]);
        }
    if (order == WarpOrder::AsEmitted) {
      addTurns(ops, step, group);
      return;
    }
    for (size_t n = 0; n < items.size(); ++n) // sums of a product are read before the next
      if (items[n].dot && !items[n].dot->isAdded)
        result.loop.ring("sums of " + items[n].name, ops[n], readersOf(n, ops), 1);
  }

  std::vector<size_t> readersOf(size_t of, const std::vector<size_t> &ops) const {
    std::vector<size_t> readers;
    for (size_t n = 0; n < items.size(); ++n)
      for (size_t place : items[n].places)
        if (readsAnyOf(source.body[place], source.body[items[of].places[0]].results)) {
          readers.push_back(ops[n]);
          break;
        }
    return readers;
  }

  /// What a step costs its warps beside its ops.
  LoopOp stepOf(int64_t group) const {
    LoopOp op;
    op.name = result.groups == 1 ? "step" : fmt::format("step {}", group);
    op.role = roleOf(group);
    op.issue = clocksOf(times.stepInstructions.value * static_cast<double>(warpsOfGroup) /
                        static_cast<double>(issuesPerClock()));
    if (!result.isProduced)
      op.issue += clocksOf(times.stepBarrier.value);
    op.latency = op.issue;
    return op;
  }

  bool reads(const LoopItem &item, BufferId ring) const {
    return std::any_of(item.places.begin(), item.places.end(), [&](size_t place) {
      return program::readsBuffer(source.body[place], ring);
    });
  }

  /// Values from item to item, of this step or carried from the one before.
  void addResults(const std::vector<size_t> &ops) {
    std::map<ValueId, std::vector<size_t>> makers; // items, in order
    for (size_t n = 0; n < items.size(); ++n)
      for (size_t place : items[n].places)
        program::forEachOpOf(source.body[place], [&](const Op &op) {
          for (ValueId value : op.results)
            if (makers[value].empty() || makers[value].back() != n)
              makers[value].push_back(n);
        });
    for (size_t n = 0; n < items.size(); ++n)
      for (const auto &[value, by] : makers) {
        bool isRead = items[n].dot && items[n].dot->isAdded &&
                      source.body[items[n].places[0]].results[0] == value;
        for (size_t place : items[n].places)
          isRead = isRead || program::readsValue(source.body[place], value);
        if (!isRead)
          continue;
        size_t before = SIZE_MAX;
        for (size_t maker : by)
          if (maker < n)
            before = maker;
        if (before != SIZE_MAX)
          result.loop.needs(ops[before], ops[n]);
        else if (by.back() != n) // of products that add to their own sums the unit says it
          result.loop.needs(ops[by.back()], ops[n], 1);
      }
  }

  /// The order of a group's code, and where it gives slots back.
  void addTurns(const std::vector<size_t> &ops, size_t step, int64_t group) {
    std::vector<PipelineLoop::Turn> turns;
    auto issueCopies = [&](size_t place) {
      if (!result.isProduced && group == 0 && place == source.issueAt)
        for (size_t op : copyOps)
          turns.push_back({op, result.ahead});
    };
    if (rotation) {
      turns = rotatedTurns(ops, step);
    } else {
      for (size_t n = 0; n < items.size(); ++n) {
        if (n == 0 || items[n].kind != LoopItem::Kind::Rest)
          issueCopiesUpTo(items[n].places[0], issueCopies);
        turns.push_back({ops[n], 0});
      }
      issueCopiesUpTo(source.body.size(), issueCopies);
      turns.push_back({step, 0});
    }
    result.loop.inOrder(turns);
    if (result.isProduced)
      for (const Copy &copy : copies)
        giveBack(copy, ops, step);
  }

  size_t issuedUpTo = 0;
  template <typename Issue> void issueCopiesUpTo(size_t place, const Issue &issue) {
    for (; issuedUpTo <= place; ++issuedUpTo)
      issue(issuedUpTo);
  }

  std::vector<PipelineLoop::Turn> rotatedTurns(const std::vector<size_t> &ops, size_t step) const {
    std::vector<PipelineLoop::Turn> front, rest, late;
    for (size_t n = 0; n < items.size(); ++n) {
      if (items[n].places[0] == rotation->scores)
        front.insert(front.begin(), {ops[n], 1});
      else if (items[n].places[0] == rotation->outputs)
        front.push_back({ops[n], 0});
      else
        (items[n].isLate ? late : rest).push_back({ops[n], 1});
    }
    front.insert(front.end(), rest.begin(), rest.end());
    front.insert(front.end(), late.begin(), late.end());
    front.push_back({step, 0});
    return front;
  }

  void giveBack(const Copy &copy, const std::vector<size_t> &ops, size_t step);

  void addRings() {
    for (const Copy &copy : copies)
      result.loop.ring(p[copy.ring].name, copy.op, uses[copy.op], numberAt(p, p[copy.ring].stages));
  }

  const Program &p;
  const ForOp &source;
  const InstructionTimes &times;
  WarpOrder order;
  std::vector<LoopItem> items;
  std::vector<Copy> copies;
  std::vector<size_t> copyOps;
  std::map<size_t, std::vector<size_t>> uses; ///< by copy: ops of all groups
  std::optional<program::Rotation> rotation;
  std::optional<size_t> flying;
  int64_t warpsOfGroup = 1;
  ProgramLoop result;
};

void LoopReader::giveBack(const Copy &copy, const std::vector<size_t> &ops, size_t step) {
  const int64_t slots = numberAt(p, p[copy.ring].stages);
  const std::string why = "slot of " + p[copy.ring].name;
  size_t last = SIZE_MAX;
  for (size_t n = 0; n < items.size(); ++n)
    if (reads(items[n], copy.ring))
      last = n;
  if (last == SIZE_MAX)
    return;
  const size_t place = items[last].places.back();
  if (flying == place) { // when the next step's products have been started
    result.loop.wait(
        {ops[last], step, result.loop.ops[ops[last]].latency, 1, "products in flight"});
    result.loop.wait({step, copy.op, 0, slots - 1, why});
    return;
  }
  if (!rotation) {
    result.loop.wait({ops[last], copy.op, result.loop.ops[ops[last]].issue, slots, why});
    return;
  }
  // Of the scores when they are there, of the outputs behind what the next step computes meanwhile.
  const bool isOfOutputs = place == rotation->outputs;
  for (size_t n = 0; n < items.size(); ++n)
    if (items[n].kind == LoopItem::Kind::Rest && isOfOutputs)
      result.loop.wait(
          {ops[n], copy.op, items[n].isLate ? 0 : result.loop.ops[ops[n]].issue, slots - 1, why});
    else if (items[n].kind == LoopItem::Kind::Rest && !items[n].isLate)
      result.loop.wait({ops[n], copy.op, 0, slots, why});
  result.loop.wait({ops[last], copy.op, result.loop.ops[ops[last]].latency, slots, why});
}

} // namespace

llvm::Expected<ProgramLoop> pipelineLoopOf(const Program &program, const ForOp &loop,
                                           const InstructionTimes &times, WarpOrder order) {
  return LoopReader(program, loop, times, order).run();
}

} // namespace tilewright::pipeline
