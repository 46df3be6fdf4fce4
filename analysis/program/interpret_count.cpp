#include "analysis/program/infer.h"
#include "analysis/program/interpreter.h"
#include "analysis/program/pending_reads.h"

namespace tilewright::program {

int64_t saturatingProduct(int64_t a, int64_t b) {
  constexpr int64_t most = int64_t{1} << 50;
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) || product > most ? most : product;
}

int64_t Interpreter::extentProduct(const std::vector<Digit> &digits) const {
  int64_t product = 1;
  for (const Digit &digit : digits)
    product = saturatingProduct(product, number(digit.extent));
  return product;
}

int64_t Interpreter::copiesIn(const Layout &layout) const {
  if (atWork.othersEnd())
    return number(atWork.copiesIn(layout));
  int64_t copies = 1;
  for (const std::vector<Digit> *digits : {&layout.lanes, &layout.warps})
    for (const Digit &digit : *digits)
      copies = digit.isCopy() ? saturatingProduct(copies, number(digit.extent)) : copies;
  return copies;
}

int64_t Interpreter::moves(const Layout &layout, AxisId contiguous) const {
  int64_t width = 1;
  if (!layout.registers.empty()) {
    const Digit &first = layout.registers.front();
    if (first.axis == contiguous && number(first.stride) == 1)
      width = number(first.extent);
  }
  // One warp after another issues its registers, as many at once as lie side by side in memory.
  int64_t registers = extentProduct(layout.registers), vectors = 0;
  constexpr int64_t fewRegisters = 1 << 16;
  for (int64_t r = 0; r < std::min(registers, fewRegisters); r += width)
    ++vectors;
  return saturatingProduct(extentProduct(layout.warps), vectors);
}

void Interpreter::countSectors(const Op &op, const Access &access,
                               const std::vector<int64_t> &positions) {
  int64_t bits = bitWidth(program[access.tensor].type);
  std::set<int64_t> sectors;
  for (int64_t position : positions)
    if (position >= 0)
      sectors.insert(position * bits / sectorBits);
  bool isRead = op.as<LoadOp>() || op.as<CopyOp>();
  if (isRead || op.as<StoreOp>())
    add(isRead ? Count::ReadSectors : Count::WrittenSectors, static_cast<int64_t>(sectors.size()));
}

void Interpreter::countReduction(const Op &op, const ReduceOp &o, const Layout &held) {
  int64_t operands = static_cast<int64_t>(op.results.size());
  int64_t lanes = 1, warps = 1, kept = 1;
  for (const Digit &digit : held.lanes)
    lanes *= contains(o.over, digit.axis) && !digit.isCopy() ? number(digit.extent) : 1;
  for (const Digit &digit : held.warps)
    warps *= contains(o.over, digit.axis) && !digit.isCopy() ? number(digit.extent) : 1;
  for (const Digit &digit : held.registers)
    kept *= contains(o.over, digit.axis) ? 1 : number(digit.extent);
  // A butterfly over the lanes, in each warp and for each register that is left.
  int64_t atOnce = saturatingProduct(extentProduct(held.warps), kept);
  for (int64_t distance = 1; distance < lanes; distance *= 2)
    add(Count::Shuffles, saturatingProduct(atOnce, operands));
  if (warps == 1)
    return;
  add(Count::Barriers, 1);
  exchanges.insert(&op);
}

void Interpreter::countDot(const Op &op, const DotOp &o) {
  if (o.way == DotWay::Fma)
    return;
  const Tile &tile = program[op.results[0]].tile;
  int64_t bits = static_cast<int64_t>(bitWidth(o.left.type()));
  int64_t depth = 1, steps = 0;
  for (AxisId axis : o.over)
    depth *= number(program[axis].extent);
  for (int64_t k = 0; k < depth; k += std::max<int64_t>(256 / bits, 1)) // 32 bytes along k
    ++steps;
  if (tile.layout.registers.size() < 4)
    return;
  int64_t wide = number(tile.layout.registers[2].extent); // eights of columns
  int64_t high = extentProduct(tile.layout.registers) / std::max<int64_t>(4 * wide, 1);
  int64_t warps = extentProduct(tile.layout.warps);
  int64_t blocks = saturatingProduct(high, steps), instructions = 0;
  if (o.way == DotWay::MmaSync) {
    add(Count::Mmas, saturatingProduct(saturatingProduct(blocks, wide), warps * o.products));
    return;
  }
  for (int64_t column = 0; column < std::min<int64_t>(wide * 8, 1 << 16); column += 256)
    ++instructions;
  add(Count::Wgmmas, saturatingProduct(saturatingProduct(blocks, instructions), warps / 4));
}

int64_t Interpreter::registerWords(ValueId value) const {
  const Tile &tile = program[value].tile;
  int64_t each = tile.type == DType::Pred ? 32 : static_cast<int64_t>(bitWidth(tile.type));
  int64_t bits = saturatingProduct(extentProduct(tile.layout.registers), each);
  return (bits + 31) / 32;
}

void Interpreter::traceOp(const Op &op) {
  TraceEntry entry;
  for (ValueId id : op.results)
    entry.defined.push_back(id.index);
  for (const ScalarExpr *scalar : scalarsOf(op))
    for (const ScalarNode &node : scalar->nodes) {
      if (node.kind == ScalarNode::Kind::Value)
        entry.used.push_back(node.value.index);
      if (node.index)
        for (VarId var : variablesOf(node.index))
          if (ValueId value = program.valueOf(var); value.isValid())
            entry.used.push_back(value.index);
    }
  if (const Access *access = accessOf(op))
    for (Expr index : access->index)
      for (VarId var : variablesOf(index))
        if (ValueId value = program.valueOf(var); value.isValid())
          entry.used.push_back(value.index);
  if (const auto *o = op.as<DotOp>(); o && o->isAdded)
    entry.used.push_back(op.results[0].index);
  if (const auto *o = op.as<RelayoutOp>())
    entry.used.push_back(o->value.index);
  if (const auto *o = op.as<SelectAxisOp>())
    entry.used.push_back(o->value.index);
  if (const auto *o = op.as<JoinOp>())
    for (ValueId part : o->parts)
      entry.used.push_back(part.index);
  if (const auto *o = op.as<SumSplitsOp>())
    for (ValueId part : o->values)
      entry.used.push_back(part.index);
  trace.push_back(std::move(entry));
}

/// What is live, from the back.
void Interpreter::finishTrace() {
  std::set<uint32_t> live;
  int64_t &most = result.counts[Count::LiveRegisters];
  std::vector<int64_t> words;
  for (uint32_t v = 0; v < program.values.size(); ++v)
    words.push_back(registerWords(ValueId{v}));
  for (size_t i = trace.size(); i-- > 0;) {
    std::set<uint32_t> here = live;
    here.insert(trace[i].defined.begin(), trace[i].defined.end());
    int64_t sum = 0;
    for (uint32_t value : here)
      sum += words[value];
    most = std::max(most, sum);
    for (uint32_t value : trace[i].defined)
      live.erase(value);
    live.insert(trace[i].used.begin(), trace[i].used.end());
  }
}

void Interpreter::countShared() {
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer &buffer = program.buffers[b];
    if (buffer.alias.isValid())
      continue;
    const Elements &slot = slots[b].front();
    int64_t last = number(program[buffer.order.back()].extent);
    constexpr int64_t mostPadding = int64_t{1} << 40;
    int64_t row = saturatingProduct(last + std::min<int64_t>(buffer.padElements, mostPadding),
                                    static_cast<int64_t>(bitWidth(buffer.type)));
    int64_t bits = saturatingProduct(slot.box.size / last, row);
    int64_t bytes = (bits + 7) / 8,
            unit = buffer.swizzle != 0 && program.producerWarps ? 1024 : 128;
    while (bytes % unit != 0)
      ++bytes;
    for (size_t stage = 0; stage < slots[b].size(); ++stage)
      add(Count::SharedBytes, bytes);
  }
  if (program.producerWarps) // full and empty, of each slot of the rings that copies fill
    forEachOp(program.body, [&](const Op &op, const LoopNest &) {
      const auto *loop = op.as<ForOp>();
      if (!loop || loop->ahead)
        return;
      for (const Op &copy : loop->issue)
        if (const auto *c = copy.as<CopyOp>())
          add(Count::SharedBytes, 2 * 8 * static_cast<int64_t>(slots[c->buffer.index].size()));
    });
  for (const Op &op : program.body)
    if (const auto *copy = op.as<CopyOp>(); copy && copy->way == CopyWay::Tma)
      add(Count::SharedBytes, 8);
  for (const Op *op : exchanges) {
    const auto *o = op->as<ReduceOp>();
    AxisSet axes = program.axesOf(o->value);
    Layout held = heldAs(program, o->value, axes, std::nullopt, role);
    int64_t warps = 1, elements = 1;
    auto count = [&](const std::vector<Digit> &digits) {
      for (const Digit &digit : digits)
        if (!digit.isCopy() && !contains(o->over, digit.axis))
          elements *= number(digit.extent);
    };
    count(held.registers);
    count(held.lanes);
    count(held.warps);
    for (const Digit &digit : held.warps)
      warps *= contains(o->over, digit.axis) && !digit.isCopy() ? number(digit.extent) : 1;
    add(Count::SharedBytes, elements * warps * 4 * static_cast<int64_t>(op->results.size()));
  }
  Expr split = program.splitVariable();
  const GridVariable *variable = split ? program.gridVariableOf(split.variable()) : nullptr;
  constexpr int64_t arrivals = 16;
  if (variable && number(variable->count) > 1 && warpCount() > 1 &&
      result.counts[Count::SharedBytes] == 0)
    add(Count::SharedBytes, arrivals);
}

} // namespace tilewright::program
