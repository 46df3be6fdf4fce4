// Tiles as values: constants, registers in another layout, slices, tiles side by side.
#include "analysis/ir/numeric.h"
#include "codegen/emit/emission.h"

#include <algorithm>

namespace tilewright::emit {

std::optional<Values> pickRegisters(const Values &from, const HeldLayout &held, const AxisSet &axes,
                                    const HeldLayout &wanted) {
  std::map<std::vector<int64_t>, llvm::Value *> byPart;
  for (size_t r = 0; r < from.size(); ++r)
    byPart.emplace(held.parts(axes, static_cast<int64_t>(r)), from[r]);
  Values result;
  for (int64_t r = 0; r < wanted.registers(); ++r) {
    auto found = byPart.find(wanted.parts(axes, r));
    if (found == byPart.end())
      return std::nullopt;
    result.push_back(found->second);
  }
  return result;
}

llvm::Expected<Values> registersIn(Emission &e, const Op &op, ValueId id,
                                   const HeldLayout &wanted) {
  const program::Value &value = e.p[id];
  const Values &registers = e.values[id.index];
  if (value.tile.axes.empty()) // every thread has it
    return Values(static_cast<size_t>(wanted.registers()), registers[0]);
  HeldLayout part = wanted.restrictedTo(value.tile.axes);
  Layout normal = value.tile.layout.normal(), needed = part.layout().normal();
  if (normal.lanes == needed.lanes && normal.warps == needed.warps) {
    llvm::Expected<HeldLayout> held = e.held(op, value.tile.layout);
    if (!held)
      return held.takeError();
    if (std::optional<Values> picked = pickRegisters(registers, *held, value.tile.axes, wanted))
      return std::move(*picked);
  }
  // Indices are few and in a cache: each thread loads its own.
  if (const Op *load = e.loads[id.index]) {
    llvm::Expected<Values> loaded = loadTile(e, *load, *load->as<LoadOp>(), value.tile.axes, part);
    if (!loaded)
      return loaded.takeError();
    return *pickRegisters(*loaded, part, value.tile.axes, wanted);
  }
  return e.unsupported(op, fmt::format("{} is held by other threads than those that need it here: "
                                       "relayout it",
                                       value.name));
}

llvm::Error emitOp(Emission &e, const Op &op, const FullOp &o) {
  llvm::Expected<HeldLayout> held = e.held(op, e.p[op.results[0]].tile.layout);
  if (!held)
    return held.takeError();
  double number = isFloat(o.type) ? roundFloat(o.type, o.number) : o.number;
  e.define(op.results[0],
           Values(static_cast<size_t>(held->registers()), e.ops.constant(o.type, number)));
  return llvm::Error::success();
}

namespace {

/// The digits along one axis, by stride, if each goes on where the one before ends: a lane along
/// the axis is then read digit by digit.
struct AxisDigits {
  std::vector<PlacedDigit> registers, lanes;
};

std::optional<AxisDigits> digitsAlong(const HeldLayout &held, AxisId axis) {
  AxisDigits result;
  std::vector<std::pair<int64_t, int64_t>> order; // stride, extent
  auto take = [&](const std::vector<PlacedDigit> &digits, std::vector<PlacedDigit> *to) {
    for (const PlacedDigit &digit : digits)
      if (digit.axis == axis && !digit.isCopy()) {
        order.emplace_back(digit.stride, digit.extent);
        if (to)
          to->push_back(digit);
      }
  };
  take(held.registerDigits(), &result.registers);
  take(held.laneDigits(), &result.lanes);
  take(held.warpDigits(), nullptr);
  std::sort(order.begin(), order.end());
  int64_t next = 1;
  for (auto [stride, extent] : order) {
    if (stride != next)
      return std::nullopt;
    next = stride * extent;
  }
  return result;
}

/// The value of one of the registers: that whose number is `which`.
llvm::Value *selectRegister(Emission &e, const std::vector<std::pair<int64_t, llvm::Value *>> &from,
                            Expr which) {
  which = e.index.simplify(which);
  llvm::Value *result = from[0].second;
  for (size_t i = 0; i < from.size(); ++i) {
    if (which.isConstant(from[i].first))
      return from[i].second;
    if (i > 0 && !which.isConstant())
      result = e.b.CreateSelect(
          e.b.CreateICmpEQ(e.index.index(which),
                           llvm::ConstantInt::getSigned(e.index.type(), from[i].first)),
          from[i].second, result);
  }
  return result;
}

llvm::Value *asWord(Emission &e, llvm::Value *value) {
  return e.b.CreateSExtOrTrunc(value, e.k.i32);
}

/// Within warps: each thread fetches every register of its own from the lane that has it, which may
/// be in another register for other lanes.
llvm::Expected<Values> shuffled(Emission &e, const Op &op, const Values &registers,
                                const AxisSet &axes, const HeldLayout &from, const HeldLayout &to) {
  Values result;
  std::vector<AxisDigits> digits;
  for (AxisId axis : axes) {
    std::optional<AxisDigits> along = digitsAlong(from, axis);
    if (!along)
      return e.unsupported(op, fmt::format("the digits of {} are no mixed radix: write the tile to "
                                           "a buffer and read it",
                                           e.p[axis].name));
    digits.push_back(std::move(*along));
  }
  for (int64_t r = 0; r < to.registers(); ++r) {
    Expr lane = e.number(0), which = e.number(0);
    for (size_t a = 0; a < axes.size(); ++a) {
      Expr at = e.laneOf(to, axes[a], r);
      for (const PlacedDigit &digit : digits[a].lanes)
        lane = lane + at.floorDiv(digit.stride).mod(digit.extent) * digit.place;
      for (const PlacedDigit &digit : digits[a].registers)
        which = which + at.floorDiv(digit.stride).mod(digit.extent) * digit.place;
    }
    which = e.index.simplify(which);
    Interval reach = e.index.range(which);
    std::vector<std::pair<int64_t, llvm::Value *>> fetched;
    llvm::Value *source = asWord(e, e.index.index(lane));
    for (int64_t s = 0; s < from.registers(); ++s)
      if (reach.contains(s))
        fetched.emplace_back(s, e.k.shuffleIndex(registers[static_cast<size_t>(s)], source));
    if (fetched.empty()) // beyond the box
      fetched.emplace_back(0, registers[0]);
    result.push_back(selectRegister(e, fetched, which));
  }
  return result;
}

} // namespace

llvm::Error emitOp(Emission &e, const Op &op, const RelayoutOp &o) {
  const Tile &from = e.p[o.value].tile;
  llvm::Expected<HeldLayout> before = e.held(op, from.layout);
  llvm::Expected<HeldLayout> after = e.held(op, e.p[op.results[0]].tile.layout);
  if (!before || !after)
    return llvm::joinErrors(before ? llvm::Error::success() : before.takeError(),
                            after ? llvm::Error::success() : after.takeError());
  const Values &registers = e.values[o.value.index];
  Layout a = from.layout.normal(), b = after->layout().normal();
  if (a.lanes == b.lanes && a.warps == b.warps)
    if (auto picked = pickRegisters(registers, *before, from.axes, *after)) {
      e.define(op.results[0], std::move(*picked));
      return llvm::Error::success();
    }
  for (AxisId axis : from.axes) {
    auto along = [&](const HeldLayout &held) {
      return e.index.simplify(held.threadPart(axis, e.number(0), e.warp));
    };
    if (along(*before) != along(*after))
      return e.unsupported(op, fmt::format("{} goes to other warps: write it to a buffer and read "
                                           "it",
                                           e.p[o.value].name));
  }
  llvm::Expected<Values> values = shuffled(e, op, registers, from.axes, *before, *after);
  if (!values)
    return values.takeError();
  e.define(op.results[0], std::move(*values));
  return llvm::Error::success();
}

llvm::Error emitOp(Emission &e, const Op &op, const SelectAxisOp &o) {
  const Tile &from = e.p[o.value].tile;
  llvm::Expected<HeldLayout> held = e.held(op, from.layout);
  if (!held)
    return held.takeError();
  std::optional<AxisDigits> digits = digitsAlong(*held, o.axis);
  bool isInWarp = digits.has_value();
  for (const PlacedDigit &digit : held->warpDigits())
    isInWarp = isInWarp && (digit.axis != o.axis || digit.isCopy());
  if (!isInWarp)
    return e.unsupported(op, fmt::format("{} is spread over warps along {}: write it to a buffer "
                                         "and read it",
                                         e.p[o.value].name, e.p[o.axis].name));
  const Values &registers = e.values[o.value.index];
  AxisSet kept = program::without(from.axes, {o.axis});
  Expr source = e.lane, which = e.number(0), chosen = e.now(o.at);
  for (const PlacedDigit &digit : digits->lanes)
    source = source + (chosen.floorDiv(digit.stride).mod(digit.extent) - digitOf(digit, e.lane)) *
                          digit.place;
  for (const PlacedDigit &digit : digits->registers)
    which = which + chosen.floorDiv(digit.stride).mod(digit.extent) * digit.stride;
  // Registers of each place along the other axes, by their lane along the axis.
  std::map<std::vector<int64_t>, std::vector<std::pair<int64_t, llvm::Value *>>> places;
  std::vector<std::vector<int64_t>> order;
  for (int64_t r = 0; r < held->registers(); ++r) {
    auto [at, isNew] = places.try_emplace(held->parts(kept, r));
    if (isNew)
      order.push_back(at->first);
    at->second.emplace_back(held->registerPart(o.axis, r), registers[static_cast<size_t>(r)]);
  }
  Values result;
  for (const std::vector<int64_t> &place : order) {
    llvm::Value *value = selectRegister(e, places[place], which);
    if (!digits->lanes.empty())
      value = e.k.shuffleIndex(value, asWord(e, e.index.index(source)));
    result.push_back(value);
  }
  e.define(op.results[0], std::move(result));
  return llvm::Error::success();
}

llvm::Error emitOp(Emission &e, const Op &op, const JoinOp &o) {
  const Tile &first = e.p[o.parts[0]].tile, &made = e.p[op.results[0]].tile;
  if (e.extent(o.axis) != static_cast<int64_t>(o.parts.size()))
    return e.unsupported(op, fmt::format("{} parts along {}, which has {} lanes", o.parts.size(),
                                         e.p[o.axis].name, e.extent(o.axis)));
  llvm::Expected<HeldLayout> held = e.held(op, first.layout);
  if (!held)
    return held.takeError();
  Values result;
  for (ValueId part : o.parts) {
    llvm::Expected<Values> registers = registersIn(e, op, part, *held);
    if (!registers)
      return registers.takeError();
    for (llvm::Value *value : *registers)
      result.push_back(e.ops.convert(e.p[part].tile.type, made.type, value));
  }
  e.define(op.results[0], std::move(result));
  return llvm::Error::success();
}

llvm::Error emitOp(Emission &e, const Op &op, const BarrierOp &o) {
  if (o.isOfCluster)
    return e.unsupported(op, "there is no code for barriers of clusters");
  e.barrier();
  return llvm::Error::success();
}

llvm::Error emitOp(Emission &e, const Op &op, const RoleOp &) {
  return e.unsupported(op, "there is no code for roles; a producer runs issue blocks");
}

} // namespace tilewright::emit
