#include "analysis/program/fold.h"

#include "analysis/program/fold/executions.h"
#include "analysis/program/fold/live.h"
#include "analysis/program/grid.h"
#include "analysis/program/infer.h"
#include "analysis/program/pending_reads.h"
#include "analysis/program/threads_at_work.h"
#include "analysis/program/verifier.h"

#include <algorithm>

namespace tilewright::program {

namespace {

constexpr std::string_view countNames[] = {
    "ctas",         "threads",         "shared_bytes",    "live_registers",
    "read_bytes",   "requested_bytes", "written_bytes",   "copied_bytes",
    "read_sectors", "written_sectors", "workspace_bytes", "loads",
    "stores",       "copies",          "shared_reads",    "shared_writes",
    "shuffles",     "barriers",        "mbarrier_waits",  "mmas",
    "wgmmas",       "atomics",         "split_arrivals"};
static_assert(std::size(countNames) == countKinds);

Expr productOfExtents(ExprContext &c, const std::vector<Digit> &digits) {
  Expr product = c.constant(1);
  for (const Digit &digit : digits)
    product = product * digit.extent;
  return product;
}

class Folder {
public:
  explicit Folder(const Program &program)
      : p(program), executions(program, folds), shared(sharedRegionsOf(program)),
        pending(program, shared), atWork(program), lanes(laneBounds()) {}

  Folds run() {
    for (size_t i = 0; i < countKinds; ++i)
      folds.counts[static_cast<Count>(i)] = p.number(0);
    folds.tensorBytes.assign(p.tensors.size(), p.number(0));
    folds.counts[Count::Ctas] = ctaCount(p);
    Expr warps = p.resolved(p.warps);
    folds.counts[Count::Threads] =
        (p.producerWarps ? warps + p.resolved(p.producerWarps) : warps) * 32;
    for (const Buffer &buffer : p.buffers)
      if (!buffer.alias.isValid())
        share((buffer.isRing ? "ring " : "shared ") + buffer.name, {}, bufferBytes(p, buffer));
    folds.sectorsAreExact = p.number(1);
    Surroundings around;
    enterTurns();
    region(p.body, around);
    shareArrivals();
    folds.registers = liveRegisters(p);
    if (p.producerWarps) // copies hold no tiles
      folds.registers.push_back({"producer", p.number(0)});
    folds.counts[Count::LiveRegisters] = folds.registers.front().words;
    return std::move(folds);
  }

private:
  /// Which CTA comes last of those that share a sum is told the warps in memory that is free by
  /// then, or in words of its own.
  void shareArrivals() {
    constexpr int64_t words = 16;
    Expr zero = p.number(0), split = p.splitVariable();
    const GridVariable *variable = split ? p.gridVariableOf(split.variable()) : nullptr;
    if (!variable)
      return;
    Expr bytes = select(folds.counts[Count::SharedBytes].isEqual(zero), p.number(words), zero);
    bytes = select(p.resolved(p.warps).isAtLeast(p.number(2)), bytes, zero);
    bytes = select(p.resolved(variable->count).isAtLeast(p.number(2)), bytes, zero);
    if (!bytes.isConstant(0))
      share("arrivals", {}, bytes);
  }

  void add(const Op &op, Count count, Expr amount) {
    if (amount.isConstant(0))
      return;
    folds.counts[count] = folds.counts[count] + amount;
    folds.items.push_back({op.where, count, amount});
  }

  void share(std::string name, SourceLoc where, Expr bytes) {
    folds.counts[Count::SharedBytes] = folds.counts[Count::SharedBytes] + bytes;
    folds.shared.push_back({std::move(name), where, bytes});
  }

  void region(const Region &ops, Surroundings &around) {
    for (const Op &op : ops) {
      waitForCopies(op, around);
      std::visit([&](const auto &what) { kind(op, what, around); }, op.what);
      if (!isIssued && regionsOf(op).empty())
        pending.pass(op);
    }
  }

  /// The first op that reads what copies outside of issue blocks bring waits with all warps: each
  /// has copied a part. Copies by TMA have an mbarrier instead.
  void waitForCopies(const Op &op, const Surroundings &around) {
    if (!std::erase_if(open, [&](BufferId buffer) { return readsBuffer(op, buffer); }))
      return;
    add(op, Count::Barriers, executions.times(around));
    pending.barrier();
  }

  /// A turn of a persistent grid ends with what another begins with.
  void enterTurns() {
    if (!p.grid.persistent)
      return;
    PendingReads behind = pending;
    for (int round = 0; round < 2; ++round)
      behind.pass(p.body);
    pending.unite(behind);
  }

  /// A write to shared memory that may be read still stands behind a barrier.
  void beforeWrite(const Op &op, SharedRegion region, const Surroundings &around,
                   std::optional<Expr> when = std::nullopt) {
    Expr isPending = pending.contains(region);
    if (when)
      isPending = select(*when, isPending, p.number(0));
    if (isPending.isConstant(0))
      return;
    add(op, Count::Barriers, executions.times(around) * isPending);
    pending.barrier(isPending);
  }

  /// Bytes that an access moves, counted by tensor, too.
  Expr bytesOf(const Op &op, const Access &access, const Surroundings &around) {
    bool isExact = true;
    Expr elements = executions.elements(around, boxOf(op, access), isExact);
    if (!isExact)
      folds.inexact.push_back(op.where);
    Expr bytes = (elements * static_cast<int64_t>(bitWidth(p[access.tensor].type))).floorDiv(8);
    folds.tensorBytes[access.tensor.index] = folds.tensorBytes[access.tensor.index] + bytes;
    return bytes;
  }

  /// 1 where the runs of an access start at sectors and stay in the tensor: tiles, rows and the
  /// first one do.
  Expr runsAreAligned(const Access &access, const MemoryRun &run) const {
    const TensorInfo &tensor = p[access.tensor];
    int64_t bits = bitWidth(tensor.type);
    auto isMultiple = [&](Expr elements) {
      return (p.resolved(elements) * bits).mod(sectorBits).isEqual(p.number(0));
    };
    const Axis &axis = p[run.axis];
    Expr aligned = p.number(1);
    if (!p.resolved(axis.origin).isConstant(0))
      aligned = aligned * isMultiple(axis.extent);
    if (tensor.dims.size() > 1)
      aligned = aligned * isMultiple(tensor.dims.back());
    if (run.start == 0)
      return aligned;
    Expr end = p.resolved((axis.bound ? axis.bound : axis.origin + axis.extent) + run.start);
    Expr isInside = run.start > 0 ? p.resolved(tensor.dims.back()).isAtLeast(end) : p.number(0);
    return aligned * isMultiple(p.number(run.start)) * isInside;
  }

  /// Sectors of an access. Runs are along the innermost dim; where they start anywhere, each may
  /// take one more, and what moves otherwise along that dim takes one an element.
  void addSectors(const Op &op, Count count, const Access &access, const Surroundings &around) {
    AxisSet axes = boxOf(op, access);
    MemoryRun run = memoryRunOf(p, access);
    AxisId along = run.axis;
    int64_t bits = bitWidth(p[access.tensor].type);
    bool isExact = true, isRun = along.isValid();
    std::vector<Expr> coordinates;
    for (size_t d = 0; d < access.index.size(); ++d) { // else two rows may be one
      Expr index = access.index[d];
      if (d + 1 == access.index.size() && run.axis.isValid())
        index = p[run.axis].var;
      bool isNew = std::find(coordinates.begin(), coordinates.end(), index) == coordinates.end();
      bool isPlain = index.isConstant() ||
                     (index.isVariable() && isNew && !p.valueOf(index.variable()).isValid());
      isRun = isRun && isPlain;
      coordinates.push_back(index);
    }
    for (AxisId axis : axes)
      isRun = isRun && contains(p.axesOf(access), axis);
    if (!isRun) {
      folds.sectorsAreExact = p.number(0);
      return add(op, count, executions.elements(around, axes, isExact));
    }
    Expr isAligned = runsAreAligned(access, run);
    Expr exact = executions.sectors(around, axes, along, bits);
    Expr runs = executions.elements(around, without(axes, {along}), isExact);
    Expr extent = p.resolved(p[along].extent);
    Expr most = (runs * ((extent * bits).ceilDiv(sectorBits) + 1))
                    .min(executions.elements(around, axes, isExact));
    add(op, count, select(isAligned, exact, most));
    folds.sectorsAreExact = folds.sectorsAreExact * isAligned;
  }

  /// The axes of the box that an access goes over.
  AxisSet boxOf(const Op &op, const Access &access) const {
    AxisSet axes = p.axesOf(access);
    for (const ScalarExpr *scalar : scalarsOf(op))
      unite(axes, p.axesOf(*scalar));
    if (const auto *copy = op.as<CopyOp>())
      for (AxisId axis : p[copy->buffer].order)
        insert(axes, axis);
    return axes;
  }

  /// Warp instructions that move a tile held like this: vectors of the first register digit where
  /// that runs along memory.
  Expr moves(const Layout &layout, AxisId contiguous) const {
    Expr count = productOfExtents(*p.context, layout.warps);
    for (size_t i = 0; i < layout.registers.size(); ++i) {
      const Digit &digit = layout.registers[i];
      bool isVector = i == 0 && digit.axis == contiguous && digit.stride.isConstant(1);
      if (!isVector)
        count = count * digit.extent;
    }
    return count;
  }

  /// All lanes that count are elements of the tensor, as far as intervals tell.
  bool staysInside(const Access &access) const {
    const std::vector<Expr> &dims = p[access.tensor].dims;
    if (dims.size() != access.index.size())
      return false; // which the verifier refuses
    for (size_t d = 0; d < access.index.size(); ++d) {
      const Expr dim = p.resolved(dims[d]);
      if (!dim.isConstant())
        continue; // sizes decide
      const Interval range = rangeOf(access.index[d], lanes);
      if (range.lo < 0 || range.hi >= dim.constant())
        return false;
    }
    return true;
  }

  /// Threads ask for what a load's tile has and no more: its layout is its own (a number that is
  /// an index alone is loaded where it is used), ends with the tile, and its elements are bytes.
  bool isEvenlyHeld(const Op &op) const {
    const Tile &tile = p[op.results[0]].tile;
    if (!op.as<LoadOp>()->layout || bitWidth(tile.type) % 8 != 0)
      return false;
    for (AxisId axis : tile.axes) {
      Expr held = p.number(1);
      for (const auto *digits : {&tile.layout.registers, &tile.layout.lanes, &tile.layout.warps})
        for (const Digit &digit : *digits)
          if (digit.axis == axis && !digit.isCopy())
            held = held * digit.extent;
      const Expr extent = p.resolved(p[axis].extent);
      // The tensor's end cuts off what is beyond the only tile.
      const Expr end = p[axis].bound ? p.resolved(p[axis].bound) : Expr();
      const bool isOnly =
          end && end.isConstant() && extent.isConstant() && end.constant() <= extent.constant();
      if (!isOnly && held.isConstant() && extent.isConstant() &&
          held.constant() > extent.constant())
        return false;
    }
    return true;
  }

  /// What variables of the grid, of loops and of axes count to, where that is a number.
  Bounds laneBounds() const {
    Bounds bounds = sizeBounds(p);
    auto upTo = [&](Expr var, Expr count) {
      if (Interval range = rangeOf(p.resolved(count), bounds); range.hi < Interval{}.hi)
        bounds.set(var, {0, std::max<int64_t>(range.hi - 1, 0)});
    };
    for (const GridVariable &variable : p.grid.variables)
      upTo(variable.var, variable.count);
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      if (const auto *loop = op.as<ForOp>())
        upTo(loop->var, loop->trips);
    });
    for (const Axis &axis : p.axes) {
      Interval range = rangeOf(p.resolved(axis.origin + axis.extent - 1), bounds);
      const Interval first = rangeOf(p.resolved(axis.origin), bounds);
      range.lo = first.lo;
      if (axis.bound)
        range.hi = std::min(range.hi, rangeOf(p.resolved(axis.bound), bounds).hi - 1);
      if (axis.lower)
        range.lo = std::max(range.lo, rangeOf(p.resolved(axis.lower), bounds).lo);
      bounds.set(axis.var, {range.lo, std::max(range.lo, range.hi)});
    }
    return bounds;
  }

  void kind(const Op &op, const LoadOp &o, Surroundings &around) {
    Expr bytes = bytesOf(op, o.from, around);
    add(op, Count::ReadBytes, bytes);
    add(op, Count::RequestedBytes, bytes * atWork.copiesIn(p[op.results[0]].tile.layout));
    folds.requestsAreExact &= o.conditions.empty() && staysInside(o.from) && isEvenlyHeld(op);
    addSectors(op, Count::ReadSectors, o.from, around);
    add(op, Count::Loads,
        executions.times(around) *
            moves(p[op.results[0]].tile.layout, memoryRunOf(p, o.from).axis));
  }
  void kind(const Op &op, const StoreOp &o, Surroundings &around) {
    add(op, Count::WrittenBytes, bytesOf(op, o.to, around));
    folds.requestsAreExact &= staysInside(o.to);
    addSectors(op, Count::WrittenSectors, o.to, around);
    Layout held = heldAs(p, o.value, boxOf(op, o.to), o.layout, role);
    add(op, Count::Stores, executions.times(around) * moves(held, memoryRunOf(p, o.to).axis));
  }
  void kind(const Op &op, const AtomicOp &o, Surroundings &around) {
    bytesOf(op, o.to, around);
    bool isExact = true;
    add(op, Count::Atomics, executions.elements(around, boxOf(op, o.to), isExact));
  }
  void kind(const Op &op, const CopyOp &o, Surroundings &around) {
    if (!isIssued) {
      beforeWrite(op, shared.of(o.buffer), around);
      if (o.way != CopyWay::Tma)
        open.push_back(o.buffer);
    }
    add(op, Count::CopiedBytes, bytesOf(op, o.from, around));
    folds.requestsAreExact &= staysInside(o.from);
    addSectors(op, Count::ReadSectors, o.from, around);
    constexpr int64_t warpBytes = 16 * 32;
    Expr bytes = p.number(static_cast<int64_t>(bitWidth(p[o.buffer].type)));
    for (AxisId axis : p[o.buffer].order)
      bytes = bytes * p.resolved(p[axis].extent);
    if (o.way == CopyWay::Tma && around.loops.empty() && around.conditions.empty())
      share("mbarrier of " + p[o.buffer].name, op.where, p.number(8));
    Expr each = o.way == CopyWay::Tma ? p.number(1) : bytes.floorDiv(8).ceilDiv(warpBytes);
    add(op, Count::Copies, executions.times(around) * each);
  }
  void kind(const Op &op, const ReadOp &o, Surroundings &around) {
    add(op, Count::SharedReads,
        executions.times(around) * moves(p[op.results[0]].tile.layout, p[o.buffer].order.back()));
  }
  void kind(const Op &op, const WriteOp &o, Surroundings &around) {
    AxisSet axes;
    for (AxisId axis : p[o.buffer].order)
      insert(axes, axis);
    Expr n = executions.times(around);
    add(op, Count::SharedWrites,
        n * moves(heldAs(p, o.value, axes, std::nullopt, role), p[o.buffer].order.back()));
    // One behind it; where it lies in another's memory one in front, too.
    const bool isAlias = p[o.buffer].alias.isValid();
    add(op, Count::Barriers, isAlias ? n * 2 : n);
    if (!isAlias)
      beforeWrite(op, shared.of(o.buffer), around);
  }
  void kind(const Op &op, const ReduceOp &o, Surroundings &around) {
    Layout held = heldAs(p, o.value, p.axesOf(o.value), std::nullopt, role);
    auto isOver = [&](const Digit &digit) {
      return digit.axis.isValid() && contains(o.over, digit.axis) && !digit.isCopy();
    };
    Expr lanes = p.number(1), kept = p.number(1);
    for (const Digit &digit : held.lanes)
      if (isOver(digit))
        lanes = lanes * digit.extent;
    for (const Digit &digit : held.registers)
      if (!isOver(digit))
        kept = kept * digit.extent;
    Expr n = executions.times(around);
    int64_t operands = static_cast<int64_t>(op.results.size());
    Expr allWarps = productOfExtents(*p.context, held.warps);
    // A butterfly over the lanes: one shuffle a register and doubling.
    Expr doublings = lanes.pow2Ceil().log2();
    add(op, Count::Shuffles, n * allWarps * kept * doublings * operands);
    auto found = shared.exchanges.find(&op);
    if (found == shared.exchanges.end())
      return;
    const Exchange &exchange = found->second;
    beforeWrite(op, exchange.region, around, exchange.crosses);
    add(op, Count::Barriers, select(exchange.crosses, n, p.number(0)));
    int64_t each = std::max<int64_t>(bitWidth(o.value.type()) / 8, 4) + 4 * (operands - 1);
    Expr slots = (exchange.elements * exchange.warps * each).ceilDiv(8) * 8;
    Expr bytes = select(exchange.crosses, slots, p.number(0));
    if (!bytes.isConstant(0))
      share("exchange of " + p[op.results[0]].name, op.where, bytes);
  }
  void kind(const Op &op, const DotOp &o, Surroundings &around) {
    const Tile &tile = p[op.results[0]].tile;
    if (o.way == DotWay::Fma || tile.layout.registers.size() < 4)
      return;
    int64_t bits = bitWidth(o.left.type());
    Expr depth = p.number(1);
    for (AxisId axis : o.over)
      depth = depth * p.resolved(p[axis].extent);
    Expr steps = depth.ceilDiv(256 / bits), high = p.number(1);
    Expr wide = tile.layout.registers[2].extent;
    for (size_t i = 3; i < tile.layout.registers.size(); ++i)
      high = high * tile.layout.registers[i].extent;
    Expr warps = productOfExtents(*p.context, tile.layout.warps);
    Expr n = executions.times(around) * high * steps;
    if (o.way == DotWay::MmaSync)
      add(op, Count::Mmas, n * wide * warps * static_cast<int64_t>(o.products));
    else
      add(op, Count::Wgmmas, n * warps.floorDiv(4) * (wide * 8).ceilDiv(256));
  }
  void kind(const Op &op, const ForOp &o, Surroundings &around) {
    const PendingReads before = pending; // no step may be made
    const bool isProducing = isProduced(p, o);
    if (!isProducing)
      for (const Op &copy : o.issue)
        if (const auto *c = copy.as<CopyOp>())
          beforeWrite(copy, shared.of(c->buffer), around);
    pending.enterLoop(o);
    around.loops.push_back(&op);
    Expr trips = executions.times(around);
    if (isProducing) {
      add(op, Count::MbarrierWaits, trips * (p.resolved(p.warps) + 1));
      for (const Op &copy : o.issue)
        if (const auto *c = copy.as<CopyOp>())
          share("mbarriers of " + p[c->buffer].name, op.where,
                p.resolved(p[c->buffer].stages) * 16);
    } else if (!o.issue.empty()) {
      // Behind the wait; with nothing ahead also behind the reads; and behind early reads.
      Expr one = p.number(1), ahead = o.ahead ? p.resolved(o.ahead) : p.number(0);
      Expr each = select(ahead.isAtLeast(one), one, p.number(2)) + (o.issueAt > 0 ? 1 : 0);
      add(op, Count::Barriers, trips * each);
    }
    if (!o.issue.empty() && !isProducing)
      pending.barrier();
    isIssued = true;
    region(o.issue, around);
    isIssued = false;
    region(o.body, around);
    around.loops.pop_back();
    pending.unite(before);
  }
  void kind(const Op &, const IfOp &o, Surroundings &around) {
    Expr one = p.number(1), zero = p.number(0);
    bool wasBehind = around.isBehindSplits;
    const PendingReads before = pending;
    around.conditions.push_back(select(o.condition, one, zero));
    region(o.then, around);
    around.conditions.back() = select(o.condition, zero, one);
    const PendingReads behind = std::exchange(pending, before);
    region(o.otherwise, around);
    pending.unite(behind);
    around.conditions.pop_back();
    around.isBehindSplits = wasBehind;
  }
  void kind(const Op &op, const SumSplitsOp &o, Surroundings &around) {
    Expr splits = p.number(1), slot = p.number(0), zero = p.number(0);
    for (const GridVariable &variable : p.grid.variables)
      if (variable.var == o.splitVar)
        splits = p.resolved(variable.count);
    for (ValueId id : o.values) {
      const Tile &tile = p[id].tile;
      int64_t bytes = std::max<int64_t>(bitWidth(tile.type), 32) / 8;
      slot = slot + tile.layout.registerCount(*p.context) * p.resolved(p.warps) * (32 * bytes);
    }
    Expr n = executions.times(around), isSplit = splits.isAtLeast(p.number(2));
    add(op, Count::WorkspaceBytes, select(isSplit, n * slot * 2, zero)); // written, and read
    add(op, Count::SplitArrivals, select(isSplit, n, zero));
    add(op, Count::Barriers, select(isSplit, n * 2, zero));
    around.isBehindSplits = true;
  }
  void kind(const Op &op, const BarrierOp &, Surroundings &around) {
    add(op, Count::Barriers, executions.times(around));
  }
  void kind(const Op &, const RoleOp &o, Surroundings &around) {
    RoleId outer = std::exchange(role, o.role);
    region(o.body, around);
    role = outer;
  }
  void kind(const Op &, const MapOp &, Surroundings &) {}
  void kind(const Op &, const ScanOp &, Surroundings &) {}
  void kind(const Op &, const FullOp &, Surroundings &) {}
  void kind(const Op &, const RelayoutOp &, Surroundings &) {}
  void kind(const Op &, const SelectAxisOp &, Surroundings &) {}
  void kind(const Op &, const JoinOp &, Surroundings &) {}

  const Program &p;
  Folds folds;
  Executions executions;
  const SharedRegions shared;
  PendingReads pending;       ///< at the op at hand
  const ThreadsAtWork atWork; ///< others load each for itself what they hold
  std::vector<BufferId> open; ///< of copies outside of issue blocks that nothing has waited for
  const Bounds lanes;
  bool isIssued = false; ///< the copies at hand are a loop's, filled a step or more ahead
  RoleId role;           ///< of the region at hand
};

} // namespace

std::string_view toString(Count count) { return countNames[static_cast<size_t>(count)]; }

Folds foldsOf(const Program &program) { return Folder(program).run(); }

} // namespace tilewright::program
