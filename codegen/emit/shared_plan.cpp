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

namespace {

int64_t numberOr(Expr e, int64_t otherwise) {
  return e && e.isConstant() ? e.constant() : otherwise;
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
    place.permutation = layout::permutationOf(
        numberOr(p[buffer.order[buffer.order.size() - 2]].extent, 1), place.pitch, step);
  return place;
}

class SharedPlanner {
public:
  explicit SharedPlanner(const Program &p) : p(p) {}

  llvm::Expected<SharedPlan> run() {
    if (llvm::Error error = placeBuffers())
      return error;
    plan.regions = program::sharedRegionsOf(p);
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
    forEachOp(p.body, [&](const Op &op, const LoopNest &) { // in their order
      auto found = plan.regions.exchanges.find(&op);
      if (found == plan.regions.exchanges.end())
        return;
      const program::Exchange &exchange = found->second;
      int64_t each = std::max<int64_t>(bitWidth(op.as<ReduceOp>()->value.type()) / 8, 4) +
                     (op.results.size() == 2 ? 4 : 0);
      int64_t bytes = numberOr(exchange.elements * exchange.warps, 1) * each;
      plan.exchanges[&op] = take((bytes + 7) / 8 * 8, 8);
    });
  }

  void placeArrivals() {
    const auto &arrivals = plan.regions.arrivals;
    if (!arrivals || arrivals->crosses.isConstant(0))
      return;
    if (arrivals->buffer.isValid())
      plan.arrivals = plan.buffers[arrivals->buffer.index].offset;
    else if (arrivals->exchange)
      plan.arrivals = plan.exchanges.at(arrivals->exchange);
    else
      plan.arrivals = take(16, 16);
  }

  const Program &p;
  SharedPlan plan;
};

} // namespace

llvm::Expected<SharedPlan> planShared(const Program &program) {
  return SharedPlanner(program).run();
}

} // namespace tilewright::emit
