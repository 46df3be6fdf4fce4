// Shared memory: addresses in slots, read, write.
#include "codegen/emit/emission.h"

#include <bit>

namespace tilewright::emit {

llvm::Value *slotOffset(Emission &e, BufferId buffer, Expr step) {
  const BufferPlace &place = e.shared.buffers[buffer.index];
  const RingStep &ring = e.rings[buffer.index];
  if (!ring.stage || place.stages == 1)
    return e.k.c32(place.offset);
  llvm::Value *stage = ring.stage;
  if (step)
    if (Expr distance = e.index.simplify(e.now(step) - ring.step); distance.isConstant())
      stage = laterStage(e, stage, distance.constant() % place.stages, place.stages);
  llvm::Value *bytes = e.b.CreateMul(stage, e.k.c32(place.slotBytes), "", true, true);
  return e.b.CreateAdd(bytes, e.k.c32(place.offset), "", true, true);
}

SlotAddress::SlotAddress(Emission &e, const BufferPlace &place, llvm::Value *slot, Part part)
    : e(e), place(place), slot(slot), part(part) {
  const Permutation &by = place.permutation;
  if (by.span == 1) {
    base = from(part.row, part.byte);
    return;
  }
  llvm::IRBuilder<> &b = e.b;
  linear = b.CreateAdd(b.CreateMul(part.row, e.k.c32(place.pitch), "", true, true), part.byte, "",
                       true, true);
  auto log = [](int64_t power) { return std::countr_zero(static_cast<uint64_t>(power)); };
  llvm::Value *group = b.CreateLShr(part.permuting, log(by.step));
  pattern = b.CreateAnd(b.CreateShl(group, log(by.scale * by.chunk)), e.k.c32(by.mask()));
  base = b.CreateXor(linear, pattern);
}

llvm::Value *SlotAddress::from(llvm::Value *row, llvm::Value *byte) {
  llvm::IRBuilder<> &b = e.b;
  auto plus = [&](llvm::Value *x, llvm::Value *y) { return b.CreateAdd(x, y, "", true, true); };
  auto times = [&](llvm::Value *x, int64_t y) {
    return b.CreateMul(x, e.k.c32(y), "", true, true);
  };
  // The slot last: the rest is the same in all steps.
  if (place.swizzle == 0)
    return plus(slot, plus(times(row, place.pitch), byte));
  // PTX ISA, swizzling modes: bits 4 to 6 of an address are combined with bits 7 to 9.
  int64_t width = place.swizzle, chunks = width / 16;
  auto shift = std::countr_zero(static_cast<uint64_t>(128 / width));
  llvm::Value *pattern = b.CreateAnd(b.CreateLShr(row, shift), e.k.c32(chunks - 1));
  if (place.isOfWords && chunks > 2) { // its highest bit becomes the lowest
    llvm::Value *high = b.CreateLShr(pattern, std::countr_zero(static_cast<uint64_t>(chunks)) - 1);
    pattern = b.CreateAnd(b.CreateOr(b.CreateShl(pattern, 1), high), e.k.c32(chunks - 1));
  }
  llvm::Value *inPanel = b.CreateAnd(byte, e.k.c32(width - 1));
  llvm::Value *panel = b.CreateLShr(byte, std::countr_zero(static_cast<uint64_t>(width)));
  llvm::Value *swizzled = b.CreateXor(inPanel, b.CreateShl(pattern, 4));
  return plus(slot, plus(plus(times(panel, place.panelBytes()), times(row, width)), swizzled));
}

llvm::Value *SlotAddress::permuted(int64_t row, int64_t byte, int64_t permuting) {
  llvm::IRBuilder<> &b = e.b;
  const Permutation &by = place.permutation;
  const int64_t further = row * place.pitch + byte;
  auto plus = [&](llvm::Value *x, llvm::Value *y) { return b.CreateAdd(x, y, "", true, true); };
  llvm::Value *shift = pattern;
  if ((part.permutingBits & static_cast<uint64_t>(permuting)) != 0) { // they may carry
    auto log = [](int64_t power) { return std::countr_zero(static_cast<uint64_t>(power)); };
    llvm::Value *group = b.CreateLShr(plus(part.permuting, e.k.c32(permuting)), log(by.step));
    shift = b.CreateAnd(b.CreateShl(group, log(by.scale * by.chunk)), e.k.c32(by.mask()));
  } else if (by.of(permuting) != 0) {
    shift = b.CreateXor(pattern, e.k.c32(by.of(permuting)));
  }
  if (shift == pattern && further % (by.span * by.chunk) == 0) // the permuted bits stay
    return plus(plus(base, slot), e.k.c32(further));
  return plus(b.CreateXor(plus(linear, e.k.c32(further)), shift), slot);
}

llvm::Value *SlotAddress::at(int64_t row, int64_t byte, int64_t permuting) {
  if (place.permutation.span > 1)
    return permuted(row, byte, permuting);
  llvm::IRBuilder<> &b = e.b;
  auto plus = [&](llvm::Value *x, int64_t y) {
    return y ? b.CreateAdd(x, e.k.c32(y), "", true, true) : x;
  };
  if (place.swizzle == 0)
    return plus(base, row * place.pitch + byte);
  int64_t inPanel = byte % place.swizzle, panels = byte / place.swizzle;
  bool isApart = (part.byteBits & static_cast<uint64_t>(inPanel)) == 0; // no carry between them
  if (row % 8 != 0 || (inPanel != 0 && !isApart))
    return from(plus(part.row, row), plus(part.byte, byte));
  // Slots and rows are multiples of the panel's width: the low bits are those of the chunk alone.
  llvm::Value *chunk = inPanel ? b.CreateXor(base, e.k.c32(inPanel)) : base;
  return plus(chunk, row * place.swizzle + panels * place.panelBytes());
}

AxisSet axesOfBuffer(const Buffer &buffer) {
  AxisSet axes;
  for (AxisId axis : buffer.order)
    program::insert(axes, axis);
  return axes;
}

RegisterOffset registerOffset(Emission &e, const Buffer &buffer, const HeldLayout &held,
                              int64_t r) {
  RegisterOffset result{0, 0, 0};
  for (size_t i = 0; i + 1 < buffer.order.size(); ++i) {
    result.permuting = held.registerPart(buffer.order[i], r);
    result.row = result.row * e.extent(buffer.order[i]) + result.permuting;
  }
  result.byte =
      held.registerPart(buffer.order.back(), r) * static_cast<int64_t>(bitWidth(buffer.type)) / 8;
  return result;
}

SlotAddress slotAddressOf(Emission &e, const Buffer &buffer, const BufferPlace &place,
                          llvm::Value *slot, const HeldLayout &held, Expr first) {
  auto partOf = [&](size_t i) {
    Expr part = held.threadPart(buffer.order[i], e.lane, e.warp);
    return i == 0 && first ? first + part : part;
  };
  Expr row = e.number(0);
  uint64_t rowBits = 0, byteBits = held.threadBits(buffer.order.back());
  for (size_t i = 0; i + 1 < buffer.order.size(); ++i)
    row = row * e.extent(buffer.order[i]) + partOf(i);
  rowBits = buffer.order.size() == 2 && !first ? held.threadBits(buffer.order[0]) : UINT64_MAX;
  Expr lanes = held.threadPart(buffer.order.back(), e.lane, e.warp), permuting = e.number(0);
  uint64_t permutingBits = 0;
  if (buffer.order.size() > 1) {
    permuting = partOf(buffer.order.size() - 2);
    permutingBits = first ? UINT64_MAX : held.threadBits(buffer.order[buffer.order.size() - 2]);
  }
  int64_t bits = bitWidth(buffer.type);
  if (bits >= 8 && byteBits != UINT64_MAX)
    byteBits *= static_cast<uint64_t>(bits / 8);
  else
    byteBits = byteBits == 0 ? 0 : UINT64_MAX;
  auto word = [&](Expr expr) { return e.b.CreateSExtOrTrunc(e.index.index(expr), e.k.i32); };
  return SlotAddress(e, place, slot,
                     {word(row), word((lanes * bits).floorDiv(8)), rowBits, byteBits,
                      word(permuting), permutingBits});
}

namespace {

/// Neighbours that one access to a slot takes.
unsigned slotWidth(Emission &e, const Buffer &buffer, const BufferPlace &place,
                   const HeldLayout &held) {
  auto [axis, run] = held.run();
  if (axis != buffer.order.back())
    return 1;
  int64_t bits = bitWidth(buffer.type);
  Expr bytes = held.threadPart(axis, e.lane, e.warp) * bits;
  int64_t width = 1;
  while (width * 2 * bits <= 128 && run % (width * 2) == 0)
    width *= 2;
  auto fits = [&] {
    int64_t all = width * bits;
    if (place.permutation.span > 1 && all > place.permutation.chunk * 8)
      return false;
    if (all < 8 || (place.swizzle == 0 && place.pitch * 8 % all != 0) ||
        e.index.knownDivisor(bytes) % all != 0)
      return false;
    for (int64_t r = 0; r < held.registers(); r += width)
      if (held.registerPart(axis, r) * bits % all != 0)
        return false;
    return held.reach(axis) <= e.extent(axis) || e.extent(axis) % width == 0;
  };
  while (width > 1 && !fits())
    width /= 2;
  return static_cast<unsigned>(width);
}

/// Elements of less than a byte one by one.
llvm::Value *readPart(Emission &e, const Buffer &buffer, const BufferPlace &place,
                      llvm::Value *slot, const HeldLayout &held, SlotAddress &address, int64_t r,
                      llvm::Value *valid) {
  AxisId last = buffer.order.back();
  int64_t bits = bitWidth(buffer.type), perByte = 8 / bits;
  auto [row, byte, permuting] = registerOffset(e, buffer, held, r);
  Expr lanes = e.laneOf(held, last, r);
  llvm::Value *at;
  if (held.registerPart(last, r) % perByte == 0) {
    at = address.at(row, byte, permuting);
  } else {
    llvm::Value *all = e.b.CreateSExtOrTrunc(e.index.index((lanes * bits).floorDiv(8)), e.k.i32);
    HeldLayout rows = held;
    rows.fix(last, 0);
    SlotAddress inRow = slotAddressOf(e, buffer, place, e.b.CreateAdd(slot, all), rows);
    at = inRow.at(row, 0);
  }
  if (valid)
    at = e.b.CreateSelect(valid, at, slot);
  llvm::Value *shift = e.b.CreateTrunc(e.index.index(lanes.mod(perByte) * bits), e.k.i8);
  llvm::Value *code = e.b.CreateLShr(e.k.loadShared(e.k.i8, at, 1), shift);
  return e.ops.fromMemory(buffer.type, e.b.CreateAnd(code, (1u << bits) - 1));
}

/// Do products of warpgroups read a buffer?
bool isReadByWgmma(const Program &p, BufferId buffer) {
  bool found = false;
  forEachOp(p.body, [&](const Op &op, const program::LoopNest &) {
    const auto *dot = op.as<DotOp>();
    if (!dot || dot->way != DotWay::Wgmma)
      return;
    for (const ScalarExpr *scalar : {&dot->left, &dot->right})
      found = found ||
              (scalar->root().kind == ScalarNode::Kind::Slot && scalar->root().buffer == buffer);
  });
  return found;
}

} // namespace

namespace {

/// `buffer`: with the axes that it is read along, of which the first starts at `first`.
llvm::Expected<Values> readSlotAlong(Emission &e, const Op &op, BufferId id, const Buffer &buffer,
                                     Expr step, Expr first, const HeldLayout &held) {
  const BufferPlace &place = e.shared.buffers[id.index];
  e.pending.read(e.shared.regionOf(id));
  unsigned bits = bitWidth(buffer.type), width = slotWidth(e, buffer, place, held);
  if (bits < 8 && place.swizzle != 0)
    return e.unsupported(op, fmt::format("there is no code for elements of {} in a swizzled "
                                         "buffer",
                                         toString(buffer.type)));
  llvm::Value *slot = slotOffset(e, id, step);
  SlotAddress address = slotAddressOf(e, buffer, place, slot, held, first);
  AxisSet axes = axesOfBuffer(buffer);
  Values result;
  for (int64_t r = 0; r < held.registers(); r += width) {
    std::vector<MapConstraint> conditions;
    requireInside(e, conditions, held, axes, r);
    llvm::Value *valid = holdAll(e, conditions);
    if (bits * width < 8) {
      result.push_back(readPart(e, buffer, place, slot, held, address, r, valid));
      continue;
    }
    auto [row, byte, permuting] = registerOffset(e, buffer, held, r);
    llvm::Value *at = address.at(row, byte, permuting);
    if (valid) // any element will do
      at = e.b.CreateSelect(valid, at, slot);
    llvm::Value *vector = e.k.loadShared(vectorType(e, buffer.type, width), at, bits * width / 8);
    for (llvm::Value *value : unpacked(e, buffer.type, vector, width))
      result.push_back(value);
  }
  return result;
}

} // namespace

llvm::Expected<Values> readSlot(Emission &e, const Op &op, BufferId id, Expr step,
                                const HeldLayout &held) {
  return readSlotAlong(e, op, id, e.p[id], step, Expr(), held);
}

llvm::Expected<Values> readPartOfSlot(Emission &e, const Op &op, const ReadOp &read,
                                      const HeldLayout &held) {
  Buffer buffer = e.p[read.buffer];
  if (bitWidth(buffer.type) < 8)
    return e.unsupported(op, "parts of elements of less than a byte");
  Expr first = e.coordinate(read.axes[0], e.number(0)) - e.coordinate(buffer.order[0], e.number(0));
  buffer.order = read.axes;
  return readSlotAlong(e, op, read.buffer, buffer, read.step, e.index.simplify(first), held);
}

llvm::Error writeSlot(Emission &e, const Op &op, BufferId id, const Values &registers,
                      const HeldLayout &held) {
  const Buffer &buffer = e.p[id];
  const BufferPlace &place = e.shared.buffers[id.index];
  AxisSet axes = axesOfBuffer(buffer);
  unsigned bits = bitWidth(buffer.type), width = slotWidth(e, buffer, place, held);
  if (bits * width < 8)
    return e.unsupported(op, fmt::format("a thread writes single elements of {}, of which {} share "
                                         "a byte: hold neighbours in a thread",
                                         buffer.name, 8 / bits));
  SlotAddress address = slotAddressOf(e, buffer, place, slotOffset(e, id, Expr()), held);
  for (int64_t r = 0; r < held.registers(); r += width) {
    auto first = registers.begin() + r;
    std::vector<MapConstraint> conditions;
    requireInside(e, conditions, held, axes, r);
    requireFirstCopy(e, conditions, held);
    auto [row, byte, permuting] = registerOffset(e, buffer, held, r);
    llvm::Value *vector = packed(e, buffer.type, Values(first, first + width));
    llvm::Value *at = address.at(row, byte, permuting);
    auto store = [&] { e.k.storeShared(vector, at, bits * width / 8); };
    if (llvm::Value *valid = holdAll(e, conditions))
      e.k.ifThen(valid, store);
    else
      store();
  }
  return llvm::Error::success();
}

llvm::Error emitOp(Emission &e, const Op &op, const WriteOp &o) {
  const Buffer &buffer = e.p[o.buffer];
  AxisSet axes = axesOfBuffer(buffer);
  llvm::Expected<HeldLayout> held = e.held(op, heldAs(e.p, o.value, axes, std::nullopt));
  if (!held)
    return held.takeError();
  llvm::Expected<Values> values = evaluate(e, op, o.value, *held);
  if (!values)
    return values.takeError();
  if (buffer.alias.isValid())
    e.barrier();
  else
    e.beforeWrite(e.shared.regionOf(o.buffer));
  Values elements;
  for (llvm::Value *value : *values)
    elements.push_back(e.ops.convert(o.value.type(), buffer.type, value));
  if (llvm::Error error = writeSlot(e, op, o.buffer, elements, *held))
    return error;
  if (isReadByWgmma(e.p, o.buffer))
    e.k.fenceAsyncProxy();
  e.barrier();
  return llvm::Error::success();
}

llvm::Error emitOp(Emission &e, const Op &op, const ReadOp &o) {
  llvm::Expected<HeldLayout> held = e.held(op, e.p[op.results[0]].tile.layout);
  if (!held)
    return held.takeError();
  std::optional<Values> fragment = o.axes.empty() ? readFragment(e, o, *held) : std::nullopt;
  if (fragment) {
    e.define(op.results[0], std::move(*fragment));
    return llvm::Error::success();
  }
  llvm::Expected<Values> values =
      o.axes.empty() ? readSlot(e, op, o.buffer, o.step, *held) : readPartOfSlot(e, op, o, *held);
  if (!values)
    return values.takeError();
  e.define(op.results[0], std::move(*values));
  return llvm::Error::success();
}

} // namespace tilewright::emit
