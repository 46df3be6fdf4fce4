#include "analysis/program/pending_reads.h"

#include "analysis/program/infer.h"

#include <algorithm>

namespace tilewright::program {

namespace {

class RegionNamer {
public:
  explicit RegionNamer(const Program &program) : p(program) {}

  SharedRegions run() {
    nameBuffers();
    nameExchanges();
    nameArrivals();
    return std::move(regions);
  }

private:
  void nameBuffers() {
    for (uint32_t i = 0; i < p.buffers.size(); ++i)
      regions.buffers.push_back(i);
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (uint32_t i = 0; i < p.buffers.size(); ++i)
        for (uint32_t j = 0; j < p.buffers.size(); ++j)
          if (regions.buffers[j] < regions.buffers[i] && shareMemory(p, BufferId{i}, BufferId{j})) {
            regions.buffers[i] = regions.buffers[j];
            isChanged = true;
          }
    }
    next = static_cast<SharedRegion>(p.buffers.size());
  }

  void nameExchanges() {
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      const auto *o = op.as<ReduceOp>();
      if (!o)
        return;
      Layout held = heldAs(p, o->value, p.axesOf(o->value), std::nullopt);
      Exchange exchange{next, p.number(0), p.number(1), p.number(1)};
      auto count = [&](const std::vector<Digit> &digits, Expr *over) {
        for (const Digit &digit : digits) {
          if (digit.isCopy())
            continue;
          if (!contains(o->over, digit.axis))
            exchange.elements = exchange.elements * digit.extent;
          else if (over)
            *over = *over * digit.extent;
        }
      };
      count(held.registers, nullptr);
      count(held.lanes, nullptr);
      count(held.warps, &exchange.warps);
      exchange.crosses = exchange.warps.isAtLeast(p.number(2));
      if (exchange.crosses.isConstant(0))
        return;
      regions.exchanges.emplace(&op, exchange);
      firstExchange = firstExchange ? firstExchange : &op;
      ++next;
    });
  }

  void nameArrivals() {
    bool isSplit = false;
    forEachOp(p.body,
              [&](const Op &op, const LoopNest &) { isSplit = isSplit || op.as<SumSplitsOp>(); });
    if (!isSplit)
      return;
    SharedRegions::Arrivals arrivals{next, {}, nullptr, p.resolved(p.warps).isAtLeast(p.number(2))};
    std::vector<bool> isUsed = usedBehindSplits();
    for (uint32_t i = 0; i < p.buffers.size() && !arrivals.buffer.isValid(); ++i)
      if (!isUsed[i] && !p.buffers[i].alias.isValid() && !isFilledAhead(BufferId{i})) {
        arrivals.buffer = BufferId{i};
        arrivals.region = regions.buffers[i];
      }
    if (!arrivals.buffer.isValid() &&
        firstExchange) { // read by the time that all stored their sums
      arrivals.exchange = firstExchange;
      arrivals.region = regions.exchanges.at(firstExchange).region;
    }
    regions.arrivals = arrivals;
  }

  /// Buffers that an op behind sum.splits names, whose memory is in use then.
  std::vector<bool> usedBehindSplits() const {
    std::vector<bool> used(p.buffers.size());
    auto use = [&](BufferId id) {
      for (uint32_t i = 0; i < p.buffers.size(); ++i)
        if (BufferId{i} == id || liesIn(p[id], BufferId{i}))
          used[i] = true;
    };
    bool isBehind = false;
    std::vector<bool> isWritten(p.buffers.size()); // a barrier stands in front of that
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      isBehind = isBehind || op.as<SumSplitsOp>();
      if (!isBehind)
        return;
      if (const auto *write = op.as<WriteOp>())
        isWritten[write->buffer.index] = true;
      for (const SlotRead &read : slotReadsOf(op))
        if (!isWritten[read.buffer.index] || !p[read.buffer].alias.isValid())
          use(read.buffer);
    });
    return used;
  }

  /// In turns a producer fills its rings for the next item already.
  bool isFilledAhead(BufferId buffer) const {
    bool isFilled = false;
    if (p.grid.persistent)
      forEachOp(p.body, [&](const Op &op, const LoopNest &) {
        if (const auto *loop = op.as<ForOp>(); loop && isProduced(p, *loop))
          for (const Op &copy : loop->issue)
            isFilled |= copy.as<CopyOp>() && copy.as<CopyOp>()->buffer == buffer;
      });
    return isFilled;
  }

  const Program &p;
  SharedRegions regions;
  SharedRegion next = 0;
  const Op *firstExchange = nullptr;
};

} // namespace

SharedRegions sharedRegionsOf(const Program &program) { return RegionNamer(program).run(); }

bool isProduced(const Program &program, const ForOp &loop) {
  return !loop.issue.empty() && program.producerWarps && !loop.ahead;
}

Layout heldAs(const Program &program, const ScalarExpr &scalar, const AxisSet &axes,
              const std::optional<LayoutSpec> &spec, RoleId role) {
  if (!spec)
    if (std::optional<Layout> layout = layoutOf(program, scalar, axes))
      return *layout;
  const LayoutSpec flat{LayoutFamily::Flat, {program.number(1)}, {}};
  return program.layoutFor(spec ? *spec : flat, axes, scalar.type(), role);
}

void PendingReads::read(SharedRegion region, Expr when) {
  auto [it, isNew] = pending.try_emplace(region, when);
  if (!isNew)
    it->second = it->second.max(when);
}

void PendingReads::barrier(Expr when) {
  if (when.isConstant(1))
    return pending.clear();
  if (when.isConstant(0))
    return;
  for (auto &[region, isPending] : pending)
    isPending = select(when, p->number(0), isPending);
}

Expr PendingReads::contains(SharedRegion region) const {
  auto it = pending.find(region);
  return it == pending.end() ? p->number(0) : it->second;
}

void PendingReads::unite(const PendingReads &other) {
  for (const auto &[region, when] : other.pending)
    read(region, when);
}

void PendingReads::passStep(const ForOp &loop) {
  bool isSynchronous = !loop.issue.empty() && !isProduced(*p, loop);
  if (isSynchronous)
    barrier();
  pass(loop.body);
}

void PendingReads::enterLoop(const ForOp &loop) {
  constexpr int rounds = 2; // what is pending grows once at most for each nested head
  for (int round = 0; round < rounds; ++round) {
    PendingReads end = *this;
    end.passStep(loop);
    unite(end);
  }
}

void PendingReads::pass(const Region &ops) {
  for (const Op &op : ops)
    pass(op);
}

void PendingReads::pass(const Op &op) {
  if (const auto *o = op.as<ForOp>()) {
    PendingReads before = *this; // no step may be made
    if (!isProduced(*p, *o))
      for (const Op &copy : o->issue)
        if (const auto *c = copy.as<CopyOp>())
          write(regions->of(c->buffer));
    enterLoop(*o);
    passStep(*o);
    return unite(before);
  }
  if (const auto *o = op.as<IfOp>()) {
    PendingReads other = *this;
    pass(o->then);
    other.pass(o->otherwise);
    return unite(other);
  }
  for (const SlotRead &slot : slotReadsOf(op))
    read(regions->of(slot.buffer));
  if (const auto *o = op.as<CopyOp>())
    write(regions->of(o->buffer));
  if (op.as<WriteOp>() || op.as<BarrierOp>() || op.as<SumSplitsOp>())
    barrier();
  if (op.as<SumSplitsOp>() && regions->arrivals)
    read(regions->arrivals->region, regions->arrivals->crosses);
  if (auto exchange = regions->exchanges.find(&op); exchange != regions->exchanges.end()) {
    barrier(exchange->second.crosses);
    read(exchange->second.region, exchange->second.crosses);
  }
}

} // namespace tilewright::program
