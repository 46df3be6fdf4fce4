#include "analysis/program/box.h"
#include "analysis/program/verifier.h"

namespace tilewright::program {

namespace {

/// Whether all reads of a buffer in the body of a loop stand in front of `issue`.
bool isReadBefore(const ForOp &loop, BufferId buffer) {
  return std::none_of(loop.body.begin() + loop.issueAt, loop.body.end(),
                      [&](const Op &op) { return readsBuffer(op, buffer); });
}

} // namespace

void Verifier::checkLoop(const Op &op, const ForOp &loop) {
  require(18, op.where, Formula::lessEqual(p.number(0), resolved(loop.trips)),
          fmt::format("{} trips of a loop", text(loop.trips)));
  if (loop.unroll)
    require(18, op.where, Formula::lessEqual(p.number(1), resolved(loop.unroll)),
            fmt::format("a loop unrolled {} times", text(loop.unroll)));
  if (loop.issue.empty()) {
    if (loop.ahead)
      violate(5, op.where, "a loop without an issue block has nothing to run ahead");
    return;
  }
  for (const Op &copy : loop.issue) {
    const auto *c = copy.as<CopyOp>();
    if (!c) {
      violate(5, copy.where,
              fmt::format("{} in an issue block, which holds copies", kindName(copy)));
      continue;
    }
    const Buffer &ring = p[c->buffer];
    if (!ring.isRing)
      violate(5, copy.where,
              fmt::format("{} is no ring, so that no step is ahead of another", ring.name));
    if (!loop.ahead)
      continue;
    Expr stages = resolved(ring.stages), ahead = resolved(loop.ahead);
    bool isFree = isReadBefore(loop, c->buffer);
    Expr most = isFree ? stages : stages - 1;
    require(5, op.where, Formula::lessEqual(p.number(0), ahead),
            fmt::format("{} steps ahead", text(ahead)));
    require(5, op.where, Formula::lessEqual(ahead, most),
            fmt::format("{} steps ahead need {} stages of {}, which has {}", text(ahead),
                        text(simplifier.simplify(isFree ? ahead : ahead + 1)), ring.name,
                        text(stages)));
  }
}

void Verifier::checkReadPlace(const Op &op, BufferId id, Expr step, const Place &place) {
  const Buffer &buffer = p[id];
  if (!buffer.isRing) {
    if (step)
      violate(5, op.where, fmt::format("{} is no ring and has no steps", buffer.name));
    return;
  }
  const ForOp *owner = nullptr;
  for (const Op *loop : place.loops)
    for (const Op &copy : loop->as<ForOp>()->issue)
      if (const auto *c = copy.as<CopyOp>(); c && c->buffer == id)
        owner = loop->as<ForOp>();
  if (!owner) {
    violate(5, op.where, fmt::format("{} is read outside of the loop that fills it", buffer.name));
    return;
  }
  if (!step)
    return;
  Expr ahead = simplifier.simplify(p.resolved(step) - owner->var);
  Expr most = owner->ahead ? resolved(owner->ahead) : resolved(buffer.stages) - 1;
  if (!ahead.isConstant() || ahead.constant() < 0)
    violate(5, op.where, fmt::format("step {} is not the loop's own or one behind it", text(step)));
  else
    require(5, op.where, Formula::lessEqual(ahead, most),
            fmt::format("{} is read {} steps ahead, and {} are on their way", buffer.name,
                        text(ahead), text(most)));
}

/// A part of an axis starts where it does, and its steps end with it.
void Verifier::checkReadAxes(const Op &op, const ReadOp &read) {
  const Buffer &buffer = p[read.buffer];
  bool isAlike = read.axes.size() == buffer.order.size();
  for (size_t i = 1; isAlike && i < read.axes.size(); ++i)
    isAlike = read.axes[i] == buffer.order[i];
  if (!isAlike)
    return violate(1, op.where,
                   fmt::format("{} is read along other axes than its own", buffer.name));
  AxisId part = read.axes[0], whole = buffer.order[0];
  if (part == whole)
    return;
  std::vector<TileDigit> steps = tileDigitsOf(p, part, simplifier),
                         tiles = tileDigitsOf(p, whole, simplifier);
  bool isPart = steps.size() >= tiles.size() &&
                (!tiles.empty() || variablesOf(p[whole].origin).empty()) &&
                (!steps.empty() || variablesOf(p[part].origin).empty());
  for (size_t i = 0; isPart && i < tiles.size(); ++i)
    isPart = steps[i].var == tiles[i].var;
  if (!isPart)
    return violate(3, op.where,
                   fmt::format("{} goes along no part of {}", p[part].name, p[whole].name));
  Expr lanes = resolved(p[part].extent), extent = resolved(p[whole].extent);
  for (size_t i = tiles.size(); i < steps.size(); ++i)
    lanes = lanes * steps[i].count;
  require(3, op.where,
          tiles.empty() ? Formula::lessEqual(lanes, extent) : Formula::equal(lanes, extent),
          fmt::format("parts along {} have {} lanes together, {} has {}", p[part].name, text(lanes),
                      p[whole].name, text(extent)));
}

void Verifier::checkCopy(const Op &op, const CopyOp &copy, const Place &place) {
  const Buffer &buffer = p[copy.buffer];
  const TensorInfo &tensor = p[copy.from.tensor];
  if (buffer.isRing && !place.isIssue)
    violate(5, op.where, fmt::format("{} is filled outside of an issue block", buffer.name));
  if (buffer.type != tensor.type && copy.way != CopyWay::Registers)
    violate(10, op.where,
            fmt::format("{} holds {}, and {} is {}: only regs converts on the way", buffer.name,
                        toString(buffer.type), tensor.name, toString(tensor.type)));
  AxisSet axes;
  for (AxisId axis : buffer.order)
    insert(axes, axis);
  for (AxisId axis : p.axesOf(copy.from))
    if (!contains(axes, axis))
      violate(3, op.where, fmt::format("{} has no axis {}", buffer.name, p[axis].name));
  if (copy.way == CopyWay::Registers || tensor.dims.empty())
    return;
  int64_t bits = bitWidth(tensor.type);
  Expr pitch = resolved(tensor.dims.back()) * bits; // in bits, of the innermost dim
  bool isTma = copy.way == CopyWay::Tma;
  int64_t unit = isTma ? 16 : 4;
  if (tensor.dims.size() > 1)
    require(
        10, op.where, Formula::divides(p.number(unit * 8), pitch),
        fmt::format("rows of {} are {} elements of {} bits, no multiple of the {} bytes that {} "
                    "needs",
                    tensor.name, text(tensor.dims.back()), bits, unit, toString(copy.way)));
  if (!isTma)
    return;
  constexpr size_t mostRank = 5;
  constexpr int64_t mostBox = 256;
  if (tensor.dims.size() > mostRank)
    violate(10, op.where,
            fmt::format("{} has {} dims, tma takes {}", tensor.name, tensor.dims.size(), mostRank));
  Expr inner = resolved(p[buffer.order.back()].extent);
  require(10, op.where, Formula::divides(p.number(128), inner * bits),
          fmt::format("rows of {} are {} elements of {} bits, no multiple of 16 bytes", buffer.name,
                      text(inner), bits));
  llvm::Expected<std::vector<BoxDim>> box = boxOf(p, copy);
  bool isBox = bool(box);
  if (!isBox)
    llvm::consumeError(box.takeError());
  for (size_t d = 0; isBox && d < box->size(); ++d) {
    const BoxDim &dim = (*box)[d];
    bool isInner = d + 1 == box->size();
    if (!dim.axis.isValid() || (isInner && buffer.swizzle != 0)) // a box for each panel's width
      continue;
    Formula fits = Formula::lessEqual(dim.size, p.number(mostBox));
    if (isCutInPieces(buffer, dim))
      fits = fits || Formula::divides(p.number(boxPiece), dim.size);
    require(10, op.where, fits,
            fmt::format("a box of {} along {}, tma takes {}", text(dim.size), p[dim.axis].name,
                        mostBox));
  }
  for (Expr index : copy.from.index)
    if (!isBox && !index.isConstant() && !index.isVariable())
      violate(
          10, op.where,
          fmt::format("{} is no coordinate of a box: tma takes tiles of a tensor", text(index)));
}

namespace {

bool isCopiedInto(const Program &p, const Buffer &buffer) {
  bool isFound = false;
  forEachOp(p.body, [&](const Op &op, const LoopNest &) {
    const auto *copy = op.as<CopyOp>();
    isFound |= copy && &p[copy->buffer] == &buffer;
  });
  return isFound;
}

} // namespace

void Verifier::checkSwizzles() {
  for (const Buffer &buffer : p.buffers) {
    const bool isCopied = buffer.permute && isCopiedInto(p, buffer);
    if (isCopied)
      violate(10, {}, fmt::format("{} is permuted, and copies lay rows in order", buffer.name));
    if (buffer.permute && (buffer.swizzle != 0 || buffer.padElements != 0))
      violate(11, {}, fmt::format("{} is permuted, and swizzled or padded as well", buffer.name));
    if (buffer.swizzle == 0)
      continue;
    if (buffer.swizzle != 32 && buffer.swizzle != 64 && buffer.swizzle != 128) {
      violate(11, {},
              fmt::format("{} is swizzled by {} bytes: there are 32, 64 and 128", buffer.name,
                          buffer.swizzle));
      continue;
    }
    if (buffer.padElements != 0)
      violate(11, {},
              fmt::format("{} has {} elements of padding beside a swizzle", buffer.name,
                          buffer.padElements));
    Expr extent = p[buffer.order.back()].extent;
    Expr bits = resolved(extent) * static_cast<int64_t>(bitWidth(buffer.type));
    require(11, {}, Formula::divides(p.number(buffer.swizzle * 8), bits),
            fmt::format("rows of {} are {} elements of {} bits, no whole panels of {} bytes",
                        buffer.name, text(extent), bitWidth(buffer.type), buffer.swizzle));
  }
}

/// A write has barriers of its own; a copy starts without one.
void Verifier::checkCopyIntoOthers(BufferId id) {
  bool isFree = true; // a barrier lies behind the last use of another buffer
  BufferId host = p[id].alias;
  auto isOther = [&](BufferId other) { return shareMemory(p, id, other); };
  for (const Op &op : p.body) {
    bool isBarrier = op.as<BarrierOp>();
    isFree = isFree || isBarrier;
    forEachOpOf(op, [&](const Op &inner) {
      const auto *copy = inner.as<CopyOp>();
      if (copy && copy->buffer == id && !isFree)
        violate(6, inner.where,
                fmt::format("{} is filled where {} may still be read: put a barrier in front",
                            p[id].name, p[host].name));
      for (const SlotRead &read : slotReadsOf(inner))
        if (read.buffer != id && isOther(read.buffer))
          isFree = false;
    });
  }
}

/// A buffer is in use from the first op that names it to the last one; a loop counts as a whole for
/// what is used inside it.
void Verifier::checkAliases() {
  struct Use {
    size_t first = SIZE_MAX, last = 0;
    SourceLoc where;
  };
  std::vector<Use> uses(p.buffers.size());
  for (size_t i = 0; i < p.body.size(); ++i) {
    auto use = [&](BufferId id, SourceLoc where) {
      Use &u = uses[id.index];
      if (u.first == SIZE_MAX)
        u.where = where;
      u.first = std::min(u.first, i);
      u.last = std::max(u.last, i);
    };
    forEachOpOf(p.body[i], [&](const Op &op) {
      if (const auto *o = op.as<CopyOp>())
        use(o->buffer, op.where);
      if (const auto *o = op.as<WriteOp>())
        use(o->buffer, op.where);
      for (const SlotRead &read : slotReadsOf(op))
        use(read.buffer, op.where);
    });
  }
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    const Buffer &buffer = p.buffers[i];
    if (!buffer.alias.isValid())
      continue;
    Expr bytes = simplifier.simplify(bufferBytes(p, buffer)), room = p.number(0);
    std::string names;
    for (uint32_t h = buffer.alias.index; h < buffer.alias.index + buffer.hosts; ++h) {
      const Buffer &host = p.buffers[h];
      room = room + bufferBytes(p, host);
      names += (names.empty() ? "" : ", ") + host.name;
      if (host.alias.isValid())
        violate(6, uses[i].where,
                fmt::format("{} lies in {}, which lies in {} itself", buffer.name, host.name,
                            p[host.alias].name));
    }
    room = simplifier.simplify(room);
    require(
        6, uses[i].where, Formula::lessEqual(bytes, room),
        fmt::format("{} takes {} bytes, {} has {}", buffer.name, text(bytes), names, text(room)));
    checkCopyIntoOthers(BufferId{static_cast<uint32_t>(i)});
    for (size_t j = 0; j < p.buffers.size(); ++j) {
      BufferId mine{static_cast<uint32_t>(i)}, other{static_cast<uint32_t>(j)};
      bool isSame = liesIn(buffer, other) || (j < i && shareMemory(p, mine, other));
      bool isApart = uses[i].first > uses[j].last || uses[j].first > uses[i].last;
      if (isSame && !isApart)
        violate(6, uses[i].where,
                fmt::format("{} is in use while {} is, in the same memory", buffer.name,
                            p.buffers[j].name));
    }
  }
}

} // namespace tilewright::program
