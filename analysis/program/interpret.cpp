#include "analysis/program/interpret.h"

#include "analysis/program/interpreter.h"

#include <algorithm>

namespace tilewright::program {

llvm::Expected<RunResult> interpret(const Program &program, std::span<const Tensor> inputs,
                                    const RunOptions &options) {
  return Interpreter(program, inputs, options).run();
}

Interpreter::Interpreter(const Program &program, std::span<const Tensor> inputs,
                         const RunOptions &options)
    : program(program), inputs(inputs), options(options), random(options.seed),
      environment(program.context->variableCount()), workLeft(options.maxWork) {}

llvm::Error Interpreter::fail(const Op &op, std::string message, DiagClass cls) {
  return program.errorAt(op.where, std::move(message), cls);
}

Interpreter::Flow Interpreter::failed(const Op &op, std::string message) {
  if (!error)
    error = fail(op, std::move(message));
  return Flow::Failed;
}

bool Interpreter::spend(const Op &op, int64_t elements) {
  uint64_t work = static_cast<uint64_t>(std::max<int64_t>(elements, 1));
  if (work > workLeft) {
    if (!error)
      error = fail(op, fmt::format("more than {} elements to compute", options.maxWork),
                   DiagClass::BudgetSpent);
    return false;
  }
  workLeft -= work;
  return true;
}

llvm::Error Interpreter::prepare() {
  if (!program.sizes.empty())
    return makeError(DiagClass::BadInput, "{} has sizes without a number, {} among them: set them",
                     program.name, program.context->info(program.sizes[0].variable()).name);
  // Blocks of more elements than that belong to no CTA.
  constexpr int64_t mostElements = int64_t{1} << 24, mostStages = 64;
  for (const Axis &axis : program.axes)
    if (int64_t extent = number(axis.extent); extent < 1 || extent > mostElements)
      return makeError(DiagClass::BadInput, "axis {} has {} lanes, 1 to {} are run", axis.name,
                       extent, mostElements);
  auto checkBox = [&](const AxisSet &axes, const std::string &of) -> llvm::Error {
    int64_t size = 1;
    for (AxisId axis : axes)
      if (__builtin_mul_overflow(size, number(program[axis].extent), &size) || size > mostElements)
        return makeError(DiagClass::BadInput, "{} has more than {} elements", of, mostElements);
    return llvm::Error::success();
  };
  for (const Value &value : program.values)
    if (llvm::Error bad = checkBox(value.tile.axes, value.name))
      return bad;
  constexpr int64_t mostWarps = 64;
  if (int64_t warps = warpCount(); warps < 1 || warps > mostWarps)
    return makeError(DiagClass::BadInput, "{} warps, 1 to {} are run", warps, mostWarps);
  for (const Buffer &buffer : program.buffers) {
    AxisSet axes(buffer.order.begin(), buffer.order.end());
    if (llvm::Error bad = checkBox(axes, buffer.name))
      return bad;
    if (int64_t stages = number(buffer.stages); stages < 1 || stages > mostStages)
      return makeError(DiagClass::BadInput, "buffer {} has {} stages, 1 to {} are run", buffer.name,
                       stages, mostStages);
    int64_t elements = number(buffer.stages);
    for (AxisId axis : buffer.order)
      elements *= number(program[axis].extent);
    slotElements += elements;
    if (slotElements > mostElements)
      return makeError(DiagClass::BadInput, "buffers have more than {} elements", mostElements);
  }
  size_t input = 0;
  result.tensorBytes.resize(program.tensors.size());
  stored.resize(program.tensors.size());
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const TensorInfo &tensor = program.tensors[t];
    std::vector<int64_t> dims;
    int64_t size = 1;
    for (Expr dim : tensor.dims) {
      dims.push_back(number(dim));
      if (dims.back() < 0 || __builtin_mul_overflow(size, dims.back(), &size) ||
          size > (int64_t{1} << 28))
        return makeError(DiagClass::BadInput, "tensor {} has more elements than can be held",
                         tensor.name);
    }
    Shape shape = Shape::tensor(tensor.type, dims);
    if (!tensor.isResult) {
      if (input >= inputs.size() || !inputs[input].shape().sameDimsAndType(shape))
        return makeError(DiagClass::BadInput, "parameter {} is {}, the input given is {}",
                         tensor.name, shape.str(false),
                         input < inputs.size() ? inputs[input].shape().str(false) : "missing");
      ++input;
      continue;
    }
    result.results.emplace_back(shape);
    stored[t].resize(static_cast<size_t>(size));
  }
  // What atomics write starts as the identity.
  forEachOp(program.body, [&](const Op &op, const LoopNest &) {
    const auto *atomic = op.as<AtomicOp>();
    if (!atomic)
      return;
    size_t parameters = inputs.size();
    Tensor &to = result.results[atomic->to.tensor.index - parameters];
    double identity = identityOf(atomic->monoid);
    for (int64_t i = 0; i < to.size(); ++i) {
      if (isFloat(to.dtype()))
        to.setReal(i, identity);
      else
        to.setInteger(i, std::isinf(identity) ? (identity < 0 ? INT32_MIN : INT32_MAX)
                                              : static_cast<int64_t>(identity));
    }
  });
  llvm::Expected<GridMap> map = gridMapOf(program, gridContext);
  if (!map)
    return map.takeError();
  grid = std::move(*map);
  return llvm::Error::success();
}

llvm::Expected<RunResult> Interpreter::run() {
  if (llvm::Error bad = prepare())
    return bad;
  constexpr int64_t mostCtas = int64_t{1} << 24;
  if (grid->map.items > mostCtas)
    return makeError(DiagClass::BudgetSpent, "{} has {} tiles, at most {} are run", program.name,
                     grid->map.items, mostCtas);
  std::vector<int64_t> order(static_cast<size_t>(grid->map.ctas));
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int64_t>(i);
  std::shuffle(order.begin(), order.end(), random);
  add(Count::Ctas, grid->map.ctas);
  int64_t turns = (grid->map.items + grid->map.ctas - 1) / std::max<int64_t>(grid->map.ctas, 1);
  for (int64_t cta : order)
    for (int64_t turn = 0; turn < turns; ++turn) {
      if (turn * grid->map.ctas + cta >= grid->map.items)
        break;
      Assignment at;
      at.set(grid->map.cta, cta);
      at.set(grid->map.turn, turn);
      std::vector<int64_t> tile;
      for (Expr index : grid->map.tile)
        tile.push_back(evaluate(index, at).value_or(0));
      if (llvm::Error bad = runItem(tile, evaluate(grid->map.split, at).value_or(0)))
        return bad;
    }
  if (llvm::Error bad = finish())
    return bad;
  return std::move(result);
}

llvm::Error Interpreter::runItem(const std::vector<int64_t> &tile, int64_t split) {
  for (size_t i = 0; i < tile.size(); ++i)
    environment.set(grid->tileVariables[i], tile[i]);
  if (grid->splitVariable)
    environment.set(*grid->splitVariable, split);
  tileAt = tile;
  splitAt = split;
  uint64_t work = static_cast<uint64_t>(slotElements) + 1;
  if (work > workLeft)
    return makeError(DiagClass::BudgetSpent, "more than {} elements to compute", options.maxWork);
  workLeft -= work;
  values.assign(program.values.size(), std::nullopt);
  slots.clear();
  reading.assign(program.buffers.size(), 0);
  for (const Buffer &buffer : program.buffers) {
    AxisSet axes;
    for (AxisId axis : buffer.order)
      insert(axes, axis);
    Elements empty{boxOf(axes), {}};
    empty.data.assign(static_cast<size_t>(empty.box.size),
                      std::numeric_limits<double>::quiet_NaN());
    slots.emplace_back(static_cast<size_t>(number(buffer.stages)), std::move(empty));
  }
  trace.clear();
  Flow flow = region(program.body);
  if (flow == Flow::Failed)
    return std::move(*error);
  finishTrace();
  return llvm::Error::success();
}

llvm::Error Interpreter::finish() {
  countShared();
  add(Count::Threads, saturatingProduct(warpCount(), 32));
  if (program.producerWarps)
    add(Count::Threads, saturatingProduct(number(program.producerWarps), 32));
  llvm::Error bad = llvm::Error::success();
  forEachOp(program.body, [&](const Op &op, const LoopNest &) {
    const auto *store = op.as<StoreOp>();
    if (!store || bad)
      return;
    const std::vector<uint32_t> &times = stored[store->to.tensor.index];
    auto wrong = std::find_if(times.begin(), times.end(), [](uint32_t n) { return n != 1; });
    if (wrong != times.end())
      bad = fail(op, fmt::format("element {} of {} is stored {} times, once is right",
                                 wrong - times.begin(), program[store->to.tensor].name, *wrong));
  });
  return bad;
}

/// Of pairs of values and places the better ones, of equal values the lower place.
static void takeBetter(Monoid monoid, std::vector<Elements> &pairs,
                       const std::vector<Elements> &others) {
  for (size_t e = 0; e < pairs[0].data.size(); ++e) {
    double &value = pairs[0].data[e], &place = pairs[1].data[e];
    const double other = others[0].data[e], otherPlace = others[1].data[e];
    if (monoid == Monoid::ArgMax ? other > value : other < value) {
      value = other;
      place = otherPlace;
    } else if (other == value) {
      place = std::min(place, otherPlace);
    }
  }
}

Interpreter::Flow Interpreter::kind(const Op &op, const SumSplitsOp &o) {
  int64_t splits = 1;
  for (const GridVariable &variable : program.grid.variables)
    if (variable.var == o.splitVar)
      splits = number(variable.count);
  if (splits == 1) {
    for (size_t i = 0; i < o.values.size(); ++i)
      define(op.results[i], *values[o.values[i].index]);
    return Flow::Next;
  }
  Partial &partial = partials[tileAt];
  partial.bySplit.resize(static_cast<size_t>(splits));
  int64_t slotBytes = 0;
  for (ValueId id : o.values) {
    partial.bySplit[static_cast<size_t>(splitAt)].push_back(*values[id.index]);
    const Tile &tile = program[id].tile;
    slotBytes += extentProduct(tile.layout.registers) * warpCount() * 32 *
                 std::max<int64_t>(bitWidth(tile.type), 32) / 8;
  }
  add(Count::WorkspaceBytes, slotBytes);
  add(Count::SplitArrivals, 1);
  add(Count::Barriers, 2);
  if (++partial.arrived < splits)
    return Flow::CtaEnds;
  std::vector<Elements> sums = partial.bySplit[0];
  for (size_t s = 1; s < partial.bySplit.size(); ++s) { // in the order of the splits
    const std::vector<Elements> &next = partial.bySplit[s];
    if (resultCount(o.monoid) == 2) {
      takeBetter(o.monoid, sums, next);
      continue;
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      for (size_t e = 0; e < sums[i].data.size(); ++e)
        sums[i].data[e] = combine(o.monoid, sums[i].data[e], next[i].data[e]);
      convertTo(program[o.values[i]].tile.type, sums[i].data);
    }
  }
  for (size_t i = 0; i < sums.size(); ++i)
    define(op.results[i], std::move(sums[i]));
  add(Count::WorkspaceBytes, slotBytes * splits);
  partials.erase(tileAt);
  return Flow::Next;
}

} // namespace tilewright::program
