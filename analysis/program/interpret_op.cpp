#include "analysis/ir/numeric.h"
#include "analysis/program/infer.h"
#include "analysis/program/interpreter.h"
#include "analysis/program/pending_reads.h"

namespace tilewright::program {

Interpreter::Flow Interpreter::region(const Region &ops) {
  for (const Op &op : ops)
    if (Flow flow = step(op); flow != Flow::Next)
      return flow;
  return Flow::Next;
}

Interpreter::Flow Interpreter::step(const Op &op) {
  for (ValueId id : op.results)
    if (!spend(op, boxOf(program[id].tile.axes).size))
      return Flow::Failed;
  Flow flow = std::visit([&](const auto &what) { return kind(op, what); }, op.what);
  if (error)
    return Flow::Failed;
  bool isPlain = regionsOf(op).empty();
  if (isPlain && !isProducing)
    traceOp(op);
  return flow;
}

void Interpreter::define(ValueId value, Elements elements) {
  values[value.index] = std::move(elements);
}

bool Interpreter::access(const Op &op, const Access &access,
                         const std::vector<Condition> &conditions, const Box &box,
                         const std::vector<int64_t> &dims, std::vector<int64_t> &out) {
  std::vector<bool> counts = counting(box, box.axes);
  out.assign(static_cast<size_t>(box.size), 0);
  int64_t asked = 0;
  std::vector<int64_t> at, low, high;
  for (const Condition &condition : conditions) {
    if (!indexValues(op, condition.value, box, at) || !indexValues(op, condition.low, box, low) ||
        !indexValues(op, condition.high, box, high))
      return false;
    for (size_t i = 0; i < at.size(); ++i)
      counts[i] = counts[i] && low[i] <= at[i] && at[i] < high[i];
  }
  for (bool c : counts)
    asked += c;
  for (size_t d = 0; d < access.index.size(); ++d) {
    if (!indexValues(op, access.index[d], box, at))
      return false;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] < 0 || at[i] >= dims[d])
        counts[i] = false;
      if (counts[i]) // an index outside may be any number
        out[i] = out[i] * dims[d] + at[i];
    }
  }
  for (size_t i = 0; i < out.size(); ++i)
    if (!counts[i])
      out[i] = -1;
  countSectors(op, access, out);
  result.tensorBytes[access.tensor.index] +=
      asked * static_cast<int64_t>(bitWidth(program[access.tensor].type)) / 8;
  int64_t bytes = asked * static_cast<int64_t>(bitWidth(program[access.tensor].type)) / 8;
  if (op.as<LoadOp>()) {
    add(Count::ReadBytes, bytes);
    add(Count::RequestedBytes,
        saturatingProduct(bytes, copiesIn(program[op.results[0]].tile.layout)));
  } else if (op.as<CopyOp>())
    add(Count::CopiedBytes, bytes);
  else if (op.as<StoreOp>())
    add(Count::WrittenBytes, bytes);
  else
    add(Count::Atomics, asked);
  return spend(op, box.size);
}

Interpreter::Flow Interpreter::kind(const Op &op, const LoadOp &o) {
  const Tile &tile = program[op.results[0]].tile;
  const Tensor &from = inputs[o.from.tensor.index];
  Elements elements{boxOf(tile.axes), {}};
  std::vector<int64_t> at;
  if (!access(op, o.from, o.conditions, elements.box, from.shape().dims, at))
    return Flow::Failed;
  for (int64_t position : at)
    elements.data.push_back(position < 0 ? o.otherwise : from.asDouble(position));
  add(Count::Loads, moves(tile.layout, memoryRunOf(program, o.from).axis));
  define(op.results[0], std::move(elements));
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const CopyOp &o) {
  const Buffer &buffer = program[o.buffer];
  const Tensor &from = inputs[o.from.tensor.index];
  AxisSet axes;
  for (AxisId axis : buffer.order)
    insert(axes, axis);
  Elements elements{boxOf(axes), {}};
  std::vector<int64_t> at;
  if (!access(op, o.from, o.conditions, elements.box, from.shape().dims, at))
    return Flow::Failed;
  for (int64_t position : at)
    elements.data.push_back(position < 0 ? 0 : from.asDouble(position));
  convertTo(buffer.type, elements.data);
  // An instruction a box; else a warp moves 16 bytes a lane.
  constexpr int64_t warpBytes = 16 * 32;
  int64_t bytes = elements.box.size * static_cast<int64_t>(bitWidth(buffer.type)) / 8;
  if (o.way == CopyWay::Tma)
    add(Count::Copies, 1);
  for (int64_t done = 0; o.way != CopyWay::Tma && done < bytes; done += warpBytes)
    add(Count::Copies, 1);
  if (copiesTo)
    copiesTo->emplace_back(o.buffer, std::move(elements));
  else
    slots[o.buffer.index][0] = std::move(elements); // waited for where it is read
  return Flow::Next;
}

double combine(Monoid monoid, double a, double b) {
  switch (monoid) {
  case Monoid::Add:
    return a + b;
  case Monoid::Mul:
    return a * b;
  case Monoid::Max:
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN()
                                          : std::max(a, b);
  case Monoid::Min:
    return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN()
                                          : std::min(a, b);
  case Monoid::And:
    return a != 0 && b != 0;
  case Monoid::Or:
    return a != 0 || b != 0;
  case Monoid::ArgMax:
  case Monoid::ArgMin:
    break;
  }
  return a;
}

namespace {

void put(Tensor &to, int64_t at, double value) {
  if (isFloat(to.dtype()))
    to.setReal(at, roundFloat(to.dtype(), value));
  else
    to.setInteger(at,
                  std::isnan(value) ? -1 : wrapInteger(to.dtype(), static_cast<int64_t>(value)));
}

} // namespace

Interpreter::Flow Interpreter::kind(const Op &op, const StoreOp &o) {
  AxisSet axes = program.axesOf(o.to);
  unite(axes, program.axesOf(o.value));
  Box box = boxOf(axes);
  Tensor &to = result.results[o.to.tensor.index - inputs.size()];
  std::vector<int64_t> at;
  std::vector<double> data;
  if (!access(op, o.to, {}, box, to.shape().dims, at) || !scalarValues(op, o.value, box, data))
    return Flow::Failed;
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i] >= 0) {
      put(to, at[i], data[i]);
      ++stored[o.to.tensor.index][static_cast<size_t>(at[i])];
    }
  add(Count::Stores,
      moves(heldAs(program, o.value, axes, o.layout, role), memoryRunOf(program, o.to).axis));
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const AtomicOp &o) {
  AxisSet axes = program.axesOf(o.to);
  unite(axes, program.axesOf(o.value));
  Box box = boxOf(axes);
  Tensor &to = result.results[o.to.tensor.index - inputs.size()];
  std::vector<int64_t> at;
  std::vector<double> data;
  if (!access(op, o.to, {}, box, to.shape().dims, at) || !scalarValues(op, o.value, box, data))
    return Flow::Failed;
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i] >= 0)
      put(to, at[i], combine(o.monoid, to.asDouble(at[i]), data[i]));
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const ReadOp &o) {
  const Tile &tile = program[op.results[0]].tile;
  const std::vector<AxisId> &order = program[o.buffer].order;
  const Elements &slot = slotOf(o.buffer, o.step);
  define(op.results[0], o.axes.empty() ? slot : partOf(slot, order[0], o.axes[0]));
  add(Count::SharedReads, moves(tile.layout, order.back()));
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const WriteOp &o) {
  const Buffer &buffer = program[o.buffer];
  Elements &slot = slots[o.buffer.index][0];
  std::vector<double> data;
  if (!scalarValues(op, o.value, slot.box, data))
    return Flow::Failed;
  convertTo(buffer.type, data);
  slot.data = std::move(data);
  // What lies in the same memory is lost.
  for (uint32_t other = 0; other < program.buffers.size(); ++other) {
    if (other != o.buffer.index && shareMemory(program, o.buffer, BufferId{other}))
      for (Elements &lost : slots[other])
        std::fill(lost.data.begin(), lost.data.end(), std::numeric_limits<double>::quiet_NaN());
  }
  add(Count::SharedWrites,
      moves(heldAs(program, o.value, slot.box.axes, std::nullopt, role), buffer.order.back()));
  // One behind it; where it lies in another's memory one in front, too.
  add(Count::Barriers, buffer.alias.isValid() ? 2 : 1);
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const MapOp &o) {
  Elements made{boxOf(program[op.results[0]].tile.axes), {}};
  if (!scalarValues(op, o.value, made.box, made.data))
    return Flow::Failed;
  define(op.results[0], std::move(made));
  return Flow::Next;
}

bool Interpreter::checkPadding(const Op &op, const Box &box, const std::vector<double> &data,
                               const AxisSet &over, Monoid monoid, DType type) {
  if (!options.checksPadding)
    return true;
  std::vector<bool> others = counting(box, without(box.axes, over));
  std::vector<bool> all = counting(box, box.axes);
  for (size_t i = 0; i < data.size(); ++i)
    if (others[i] && !all[i] && !isIdentity(monoid, type, data[i])) {
      failed(op, fmt::format("V7: a lane that does not count holds {}, where {} is the identity",
                             data[i], identityOf(monoid)));
      return false;
    }
  return true;
}

Interpreter::Flow Interpreter::kind(const Op &op, const ReduceOp &o) {
  Box full = boxOf(program.axesOf(o.value));
  std::vector<double> data;
  if (!scalarValues(op, o.value, full, data) ||
      !checkPadding(op, full, data, o.over, o.monoid, o.value.type()))
    return Flow::Failed;
  Elements made{boxOf(program[op.results[0]].tile.axes), {}};
  std::vector<uint32_t> to = positions(made.box, full);
  bool hasIndex = resultCount(o.monoid) == 2;
  made.data.assign(static_cast<size_t>(made.box.size), identityOf(o.monoid));
  Elements index = made;
  if (hasIndex) {
    Box line = boxOf(o.over);
    std::vector<uint32_t> lanes = positions(line, full);
    std::vector<int64_t> at = coordinates(o.over[0]);
    std::vector<bool> isSet(made.data.size());
    for (size_t i = 0; i < data.size(); ++i) {
      bool isBetter =
          o.monoid == Monoid::ArgMax ? data[i] > made.data[to[i]] : data[i] < made.data[to[i]];
      if (isSet[to[i]] && !isBetter) // the first of equal ones stays
        continue;
      isSet[to[i]] = true;
      made.data[to[i]] = data[i];
      index.data[to[i]] = static_cast<double>(at[lanes[i] % at.size()]);
    }
    define(op.results[1], std::move(index));
  } else {
    for (size_t i = 0; i < data.size(); ++i)
      made.data[to[i]] = combine(o.monoid, made.data[to[i]], data[i]);
    convertTo(o.value.type(), made.data);
  }
  define(op.results[0], std::move(made));
  countReduction(op, o, heldAs(program, o.value, full.axes, std::nullopt, role));
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const ScanOp &o) {
  Elements made{boxOf(program.axesOf(o.value)), {}};
  if (!scalarValues(op, o.value, made.box, made.data) ||
      !checkPadding(op, made.box, made.data, AxisSet{o.over}, o.monoid, o.value.type()))
    return Flow::Failed;
  int64_t stride = 1;
  for (size_t a = made.box.axes.size(); a-- > 0 && made.box.axes[a] != o.over;)
    stride *= made.box.extents[a];
  int64_t extent = number(program[o.over].extent);
  for (int64_t i = 0; i < made.box.size; ++i)
    if (i / stride % extent != 0)
      made.data[static_cast<size_t>(i)] = combine(
          o.monoid, made.data[static_cast<size_t>(i - stride)], made.data[static_cast<size_t>(i)]);
  convertTo(o.value.type(), made.data);
  define(op.results[0], std::move(made));
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const DotOp &o) {
  Box left = boxOf(program.axesOf(o.left)), right = boxOf(program.axesOf(o.right));
  std::vector<double> x, y;
  if (!scalarValues(op, o.left, left, x) || !scalarValues(op, o.right, right, y) ||
      !checkPadding(op, left, x, o.over, Monoid::Add, o.left.type()) ||
      !checkPadding(op, right, y, o.over, Monoid::Add, o.right.type()))
    return Flow::Failed;
  const Tile &tile = program[op.results[0]].tile;
  Elements made{boxOf(tile.axes), {}};
  Box line = boxOf(o.over);
  if (!spend(op, made.box.size * line.size))
    return Flow::Failed;
  // Positions of an operand: where it starts for each element, and how it goes on along `over`.
  auto startsOf = [&](const Box &operand) {
    Box base = operand; // lane 0 along `over`
    Elements zero{base, {}};
    AxisSet kept = without(operand.axes, o.over);
    Box keptBox = boxOf(kept);
    std::vector<uint32_t> ofKept = positions(operand, keptBox),
                          toKept = positions(keptBox, made.box);
    for (uint32_t &at : toKept)
      at = ofKept[at];
    return toKept;
  };
  std::vector<uint32_t> fromX = startsOf(left), fromY = startsOf(right);
  std::vector<uint32_t> alongX = positions(left, line), alongY = positions(right, line);
  made.data = o.isAdded ? values[op.results[0].index]->data
                        : std::vector<double>(static_cast<size_t>(made.box.size));
  for (size_t e = 0; e < made.data.size(); ++e) {
    double sum = made.data[e];
    for (size_t k = 0; k < alongX.size(); ++k)
      sum += x[fromX[e] + alongX[k]] * y[fromY[e] + alongY[k]];
    made.data[e] = sum;
  }
  convertTo(tile.type, made.data);
  define(op.results[0], std::move(made));
  countDot(op, o);
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const FullOp &o) {
  Elements made{boxOf(o.axes), {}};
  made.data.assign(static_cast<size_t>(made.box.size), o.number);
  convertTo(o.type, made.data);
  define(op.results[0], std::move(made));
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const RelayoutOp &o) {
  define(op.results[0], *values[o.value.index]);
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const SelectAxisOp &o) {
  const Elements &from = *values[o.value.index];
  Elements made{boxOf(program[op.results[0]].tile.axes), {}};
  int64_t lane = number(o.at);
  if (lane < 0 || lane >= number(program[o.axis].extent))
    return failed(op, fmt::format("lane {} of axis {}, which has {}", lane, program[o.axis].name,
                                  number(program[o.axis].extent)));
  std::vector<uint32_t> at = positions(from.box, made.box);
  std::vector<uint32_t> along = positions(from.box, boxOf({o.axis}));
  for (uint32_t start : at)
    made.data.push_back(from.data[start + along[static_cast<size_t>(lane)]]);
  define(op.results[0], std::move(made));
  return Flow::Next;
}

Interpreter::Flow Interpreter::kind(const Op &op, const JoinOp &o) {
  Elements made{boxOf(program[op.results[0]].tile.axes), {}};
  std::vector<uint32_t> lanes = positions(boxOf({o.axis}), made.box);
  std::vector<std::vector<double>> parts;
  for (ValueId part : o.parts)
    parts.push_back(expanded(*values[part.index], made.box));
  for (size_t i = 0; i < lanes.size(); ++i)
    made.data.push_back(lanes[i] < parts.size() ? parts[lanes[i]][i] : 0);
  define(op.results[0], std::move(made));
  return Flow::Next;
}

} // namespace tilewright::program
