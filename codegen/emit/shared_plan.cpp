#include "codegen/emit/shared_plan.h"

#include "analysis/program/infer.h"
#include "analysis/support/checked.h"

#include <bit>

namespace tilewright::emit {

using program::CopyOp;
using program::CopyWay;
using program::ForOp;
using program::LoopNest;
using program::ReduceOp;
using program::SumSplitsOp;

bool isProduced(const Program &program, const ForOp &loop) {
  return !loop.issue.empty() && program.producerWarps && !loop.ahead;
}

Layout heldAs(const Program &program, const program::ScalarExpr &scalar, const AxisSet &axes,
              const std::optional<program::LayoutSpec> &spec) {
  if (spec)
    return program.layoutFor(*spec, axes, scalar.type());
  if (std::optional<Layout> layout = layoutOf(program, scalar, axes))
    return *layout;
  return program.layoutFor({program::LayoutFamily::Flat, {program.number(1)}, {}}, axes,
                           scalar.type());
}

namespace {

int64_t numberOr(Expr e, int64_t otherwise) {
  return e && e.isConstant() ? e.constant() : otherwise;
}

/// `rows`: of the axis before the last.
Permutation permutationOf(int64_t rows, int64_t pitch, int64_t step) {
  constexpr int64_t line = 128; // bytes: all banks
  Permutation result;
  while (pitch % result.chunk != 0)
    result.chunk /= 2;
  const int64_t chunks = pitch / result.chunk, inLine = line / result.chunk;
  result.step = step;
  if (inLine % chunks == 0 && rows * chunks % inLine == 0) { // several rows in a line
    result.span = inLine;
    result.step = std::max(step, inLine / chunks);
  } else {
    while (result.span < inLine && chunks % (result.span * 2) == 0)
      result.span *= 2;
  }
  const int64_t groups = rows / step;
  if (groups > 0 && groups < inLine && inLine % groups == 0)
    result.scale = inLine / groups;
  return result;
}

llvm::Expected<BufferPlace> placeOf(const Program &p, const Buffer &buffer) {
  BufferPlace place;
  place.elementBits = bitWidth(buffer.type);
  place.stages = numberOr(buffer.stages, 1);
  place.slotBytes = numberOr(bufferBytes(p, buffer), 0) / place.stages;
  place.swizzle = buffer.swizzle;
  place.isOfWords = bitWidth(buffer.type) == 32 && !p.producerWarps;
  for (size_t i = 0; i + 1 < buffer.order.size(); ++i)
    place.rows *= numberOr(p[buffer.order[i]].extent, 1);
  int64_t bits = (numberOr(p[buffer.order.back()].extent, 1) + buffer.padElements) *
                 int64_t(place.elementBits);
  if (bits % 8 != 0)
    return makeError(DiagClass::Unsupported, "rows of buffer {} are {} bits, no whole bytes",
                     buffer.name, bits);
  place.pitch = bits / 8;
  const int64_t step = numberOr(buffer.permute, 0);
  if (step > 0 && !std::has_single_bit(static_cast<uint64_t>(step)))
    return makeError(DiagClass::Unsupported,
                     "{} is permuted by {} rows at once: there is code for powers of two",
                     buffer.name, step);
  if (step > 0 && buffer.order.size() > 1 && bits % 32 == 0)
    place.permutation = permutationOf(numberOr(p[buffer.order[buffer.order.size() - 2]].extent, 1),
                                      place.pitch, step);
  return place;
}

/// Buffers that an op behind sum.splits names, whose memory is in use then.
std::vector<bool> usedBehindSplits(const Program &p) {
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
    if (const auto *write = op.as<program::WriteOp>())
      isWritten[write->buffer.index] = true;
    for (const program::SlotRead &read : slotReadsOf(op))
      if (!isWritten[read.buffer.index] || !p[read.buffer].alias.isValid())
        use(read.buffer);
  });
  return used;
}

class SharedPlanner {
public:
  explicit SharedPlanner(const Program &p) : p(p) {}

  llvm::Expected<SharedPlan> run() {
    if (llvm::Error error = placeBuffers())
      return error;
    nameRegions();
    placeBarriers();
    placeExchanges();
    placeArrivals();
    return std::move(plan);
  }

private:
  int64_t take(int64_t bytes, int64_t align) {
    int64_t at = ceilDiv(plan.bytes, align) * align;
    plan.bytes = at + bytes;
    return at;
  }

  llvm::Error placeBuffers() {
    for (const Buffer &buffer : p.buffers) {
      llvm::Expected<BufferPlace> place = placeOf(p, buffer);
      if (!place)
        return place.takeError();
      plan.buffers.push_back(*place);
    }
    // Those that need wide alignment first: nothing is lost in between.
    constexpr int64_t wide = 1024;
    for (bool isWide : {true, false})
      for (size_t i = 0; i < p.buffers.size(); ++i) {
        bool takesWide = p.buffers[i].swizzle != 0 && p.producerWarps;
        if (!p.buffers[i].alias.isValid() && takesWide == isWide)
          plan.buffers[i].offset =
              take(plan.buffers[i].slotBytes * plan.buffers[i].stages, isWide ? wide : 128);
      }
    for (uint32_t i = 0; i < p.buffers.size(); ++i)
      if (p.buffers[i].alias.isValid())
        if (llvm::Error error = placeInside(BufferId{i}))
          return error;
    return llvm::Error::success();
  }

  /// In the memory of others, which lies in one piece.
  llvm::Error placeInside(BufferId id) {
    const Buffer &buffer = p[id];
    int64_t begin = INT64_MAX, end = 0, bytes = 0;
    for (uint32_t host = 0; host < p.buffers.size(); ++host)
      if (liesIn(buffer, BufferId{host})) {
        const BufferPlace &place = plan.buffers[host];
        begin = std::min(begin, place.offset);
        end = std::max(end, place.offset + place.slotBytes * place.stages);
        bytes += place.slotBytes * place.stages;
      }
    constexpr int64_t mostGap = 1023; // in front of slots that are aligned to 1024
    if (end - begin > bytes + mostGap)
      return makeError(
          DiagClass::Unsupported,
          "{} lies in the memory of buffers that are apart: declare others behind them",
          buffer.name);
    plan.buffers[id.index].offset = begin;
    return llvm::Error::success();
  }

  /// Buffers that share memory, or lie in what another one spans, are one.
  void nameRegions() {
    for (uint32_t i = 0; i < p.buffers.size(); ++i)
      plan.regions.push_back(i);
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (uint32_t i = 0; i < p.buffers.size(); ++i)
        for (uint32_t j = 0; j < p.buffers.size(); ++j)
          if (plan.regions[j] < plan.regions[i] && shareMemory(p, BufferId{i}, BufferId{j})) {
            plan.regions[i] = plan.regions[j];
            isChanged = true;
          }
    }
  }

  void placeBarriers() {
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      const auto *loop = op.as<ForOp>();
      if (!loop || !isProduced(p, *loop))
        return;
      for (const Op &copy : loop->issue)
        if (const auto *c = copy.as<CopyOp>(); c && !plan.rings.count(c->buffer)) {
          StageRing ring{plan.buffers[c->buffer.index].stages, 0};
          ring.offset = take(ring.bytes(), 8);
          plan.rings[c->buffer] = ring;
        }
    });
    for (const Op &op : p.body)
      if (const auto *c = op.as<CopyOp>(); c && c->way == CopyWay::Tma)
        plan.copies[&op] = take(8, 8);
  }

  void placeExchanges() {
    auto region = static_cast<SharedRegion>(p.buffers.size());
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      const auto *o = op.as<ReduceOp>();
      if (!o)
        return;
      AxisSet axes = p.axesOf(o->value);
      Layout held = heldAs(p, o->value, axes, std::nullopt).normal();
      int64_t elements = 1, warps = 1;
      auto count = [&](const std::vector<program::Digit> &digits, int64_t &over) {
        for (const program::Digit &digit : digits)
          if (!digit.isCopy())
            (program::contains(o->over, digit.axis) ? over : elements) *= numberOr(digit.extent, 1);
      };
      int64_t inThread = 1;
      count(held.registers, inThread);
      count(held.lanes, inThread);
      count(held.warps, warps);
      if (warps == 1)
        return;
      int64_t each = std::max<int64_t>(bitWidth(o->value.type()) / 8, 4);
      int64_t bytes = elements * warps * (each + (op.results.size() == 2 ? 4 : 0));
      SharedPlan::Exchange exchange{take((bytes + 7) / 8 * 8, 8), region++};
      plan.exchanges[&op] = exchange;
      firstExchange = firstExchange.value_or(exchange);
    });
  }

  void placeArrivals() {
    bool isSplit = false;
    forEachOp(p.body,
              [&](const Op &op, const LoopNest &) { isSplit = isSplit || op.as<SumSplitsOp>(); });
    if (!isSplit || numberOr(p.warps, 1) == 1) // one warp shuffles
      return;
    std::vector<bool> used = usedBehindSplits(p);
    for (size_t i = 0; i < p.buffers.size(); ++i)
      if (!used[i] && !p.buffers[i].alias.isValid() && !isFilledAhead(i)) {
        plan.arrivals = plan.buffers[i].offset;
        plan.arrivalsRegion = plan.regions[i];
        return;
      }
    if (firstExchange) { // read by the time that all have stored their sums
      plan.arrivals = firstExchange->offset;
      plan.arrivalsRegion = firstExchange->region;
      return;
    }
    plan.arrivals = take(16, 16);
    plan.arrivalsRegion = static_cast<SharedRegion>(p.buffers.size() + plan.exchanges.size());
  }

  /// In turns a producer fills its rings for the next item already.
  bool isFilledAhead(size_t buffer) const {
    return p.grid.persistent && plan.rings.count(BufferId{static_cast<uint32_t>(buffer)});
  }

  const Program &p;
  SharedPlan plan;
  std::optional<SharedPlan::Exchange> firstExchange;
};

} // namespace

llvm::Expected<SharedPlan> planShared(const Program &program) {
  return SharedPlanner(program).run();
}

} // namespace tilewright::emit
