#include "codegen/point_reference.h"

#include "analysis/ir/evaluator.h"
#include "analysis/ir/evaluator_scalar.h"
#include "analysis/ir/literal.h"
#include "analysis/ir/numeric.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tilewright {

namespace {
using eval::Scalar;
using Point = std::vector<int64_t>;
constexpr unsigned maxDepth = 2000;
} // namespace

struct PointReference::Impl {
  const Module &module;
  const Graph &graph;
  std::span<const Tensor> arguments;
  std::vector<WordFiller> fillers; ///< in place of the arguments
  uint64_t workLeft;
  ExprContext context;
  unsigned depth = 0;

  struct OpState {
    std::optional<OpIndexing> indexing;
    std::optional<eval::ScalarOp> scalar;
    std::optional<eval::ScalarProgram> reducer;
    std::optional<Tensor> constant;
    // An op with two uses is usually requested twice in a row at the same place.
    bool hasLast = false;
    Point lastPoint;
    Scalar lastValue;
    /// Results of reductions and dots, which are expensive.
    std::map<Point, Scalar> sums;
  };
  std::map<OpId, OpState> states;

  Impl(const Module &module, std::span<const Tensor> arguments, uint64_t maxWork)
      : module(module), graph(module.entry()), arguments(arguments), workLeft(maxWork) {}

  llvm::Error unsupported(const Op &op) {
    return makeError(DiagClass::Unsupported, "%{}: {} has no reference for single elements",
                     op.name, toString(op.opcode));
  }

  llvm::Error spend() {
    if (workLeft == 0)
      return makeError(DiagClass::BudgetSpent, "the reference took more work than allowed");
    --workLeft;
    return llvm::Error::success();
  }

  llvm::Expected<Scalar> value(OpId id, const Point &point) {
    OpState &state = states[id];
    if (state.hasLast && state.lastPoint == point)
      return state.lastValue;
    if (auto error = spend())
      return error;
    if (depth >= maxDepth)
      return unsupported(graph[id]);
    ++depth;
    auto result = compute(id, state, point);
    --depth;
    if (result) {
      state.hasLast = true;
      state.lastPoint = point;
      state.lastValue = *result;
    }
    return result;
  }

  llvm::Expected<Scalar> compute(OpId id, OpState &state, const Point &point) {
    const Op &op = graph[id];
    switch (op.opcode) {
    case Opcode::Parameter: {
      auto number = static_cast<size_t>(op.attrs.parameterNumber);
      if (!fillers.empty())
        return filled(op, fillers[number], point);
      return eval::load(arguments[number], arguments[number].offset(point));
    }
    case Opcode::Constant: {
      if (!state.constant) {
        auto tensor = parseLiteral(op.shape, op.literal);
        if (!tensor)
          return tensor.takeError();
        state.constant = std::move(*tensor);
      }
      return eval::load(*state.constant, state.constant->offset(point));
    }
    case Opcode::Iota: {
      int64_t at = point[static_cast<size_t>(op.attrs.dimensions[0])];
      return isFloat(op.shape.dtype)
                 ? Scalar::of(roundFloat(op.shape.dtype, static_cast<double>(at)))
                 : Scalar::of(wrapInteger(op.shape.dtype, at));
    }
    default:
      break;
    }
    if (!state.indexing) {
      auto maps = outputToOperands(graph, id, context);
      if (!maps)
        return maps.takeError();
      state.indexing = std::move(*maps);
    }
    if (state.indexing->isOpaque || op.operands.empty())
      return unsupported(op);
    if (opClass(op.opcode) == OpClass::Elementwise)
      return elementwise(id, state, point);
    switch (op.opcode) {
    case Opcode::Broadcast:
    case Opcode::Reshape:
    case Opcode::Transpose:
    case Opcode::Slice:
    case Opcode::Reverse:
    case Opcode::Bitcast:
    case Opcode::Concatenate:
    case Opcode::Pad:
    case Opcode::DynamicSlice:
    case Opcode::DynamicUpdateSlice:
    case Opcode::Gather:
      return moved(id, state, point);
    case Opcode::Reduce:
    case Opcode::Dot: {
      if (auto known = state.sums.find(point); known != state.sums.end())
        return known->second;
      auto sum = contracted(id, state, point);
      if (sum)
        state.sums[point] = *sum;
      return sum;
    }
    default:
      return unsupported(op);
    }
  }

  static Scalar filled(const Op &op, const WordFiller &filler, const Point &point) {
    uint64_t offset = 0, width = wordsPerElement(op.shape.dtype);
    for (size_t d = 0; d < point.size(); ++d)
      offset = offset * static_cast<uint64_t>(op.shape.dims[d]) + static_cast<uint64_t>(point[d]);
    Scalar value;
    for (uint64_t word = 0; word < width; ++word)
      value.words[word] = filler(offset * width + word);
    return value;
  }

  Assignment assign(const Point &point) {
    Assignment result;
    for (size_t i = 0; i < point.size(); ++i)
      result.set(context.dim(static_cast<unsigned>(i)), point[i]);
    return result;
  }

  llvm::Expected<Scalar> elementwise(OpId id, OpState &state, const Point &point) {
    const Op &op = graph[id];
    if (!state.scalar) {
      std::vector<DType> types;
      for (OpId operand : op.operands)
        types.push_back(graph[operand].shape.dtype);
      auto scalar = eval::ScalarOp::make(op, types, eval::Rounding::All);
      if (!scalar)
        return scalar.takeError();
      state.scalar = std::move(*scalar);
    }
    std::array<Scalar, eval::ScalarOp::maxOperands> operands;
    if (op.operands.size() > operands.size())
      return unsupported(op);
    for (size_t i = 0; i < op.operands.size(); ++i) {
      bool isScalar = graph[op.operands[i]].shape.rank() == 0;
      auto operand = value(op.operands[i], isScalar ? Point{} : point);
      if (!operand)
        return operand;
      operands[i] = *operand;
    }
    return state.scalar->apply(operands.data());
  }

  /// Data movement: the first operand whose map has the point in its domain.
  llvm::Expected<Scalar> moved(OpId id, OpState &state, const Point &point) {
    const Op &op = graph[id];
    if (op.opcode == Opcode::Bitcast && op.shape.dtype != graph[op.operands[0]].shape.dtype)
      return unsupported(op);
    std::vector<size_t> order(op.operands.size());
    std::iota(order.begin(), order.end(), size_t(0));
    switch (op.opcode) {
    case Opcode::DynamicSlice:
    case Opcode::Gather:
      order = {0}; // the other operands say where
      break;
    case Opcode::DynamicUpdateSlice:
      order = {1, 0}; // the part that the update does not cover
      break;
    default:
      break;
    }
    Assignment at = assign(point);
    for (size_t i : order)
      for (const IndexMap &map : state.indexing->operands[i].maps) {
        if (auto error = assignRuntime(map, at))
          return error;
        if (auto read = map.evaluate(at))
          return value(op.operands[i], *read);
      }
    return unsupported(op);
  }

  /// Gives the runtime variables of a map their values: elements of other tensors, each clamped to
  /// its domain.
  llvm::Error assignRuntime(const IndexMap &map, Assignment &at) {
    for (const MapVariable &variable : map.variables(VarKind::Runtime)) {
      OpId source{variable.source->tensor};
      Point element;
      for (Expr coordinate : variable.source->element) {
        auto number = evaluate(coordinate, at);
        if (!number)
          return unsupported(graph[source]);
        element.push_back(*number);
      }
      auto start = value(source, element);
      if (!start)
        return start.takeError();
      int64_t number = start->integer();
      if (graph[source].shape.dtype == DType::U64 && number < 0)
        number = variable.domain.hi; // over 2^63, not under 0
      at.set(variable.var, std::clamp(number, variable.domain.lo, variable.domain.hi));
    }
    return llvm::Error::success();
  }

  llvm::Expected<Scalar> contracted(OpId id, OpState &state, const Point &point) {
    const Op &op = graph[id];
    bool isDot = op.opcode == Opcode::Dot;
    const std::vector<OperandMaps> &maps = state.indexing->operands;
    if (op.operands.size() != 2 || op.shape.isTuple || maps[0].maps.size() != 1 ||
        (isDot && maps[1].maps.size() != 1))
      return unsupported(op);
    if (!isDot && !state.reducer) {
      auto program =
          eval::ScalarProgram::compile(module, op.called.at(0).graph, eval::Rounding::ConvertsOnly);
      if (!program)
        return program.takeError();
      state.reducer = std::move(*program);
    }
    DType type = op.shape.dtype;
    Scalar sum = isFloat(type) ? Scalar::of(0.0) : Scalar::of(int64_t(0));
    if (!isDot) {
      auto init = value(op.operands[1], {});
      if (!init)
        return init;
      sum = *init;
    }
    std::vector<MapVariable> ranges = maps[0].maps[0].variables(VarKind::Range);
    Assignment at = assign(point);
    for (const MapVariable &range : ranges)
      at.set(range.var, range.domain.lo);
    for (;;) {
      auto left = read(op.operands[0], maps[0].maps[0], at);
      if (!left)
        return left;
      if (isDot) {
        auto right = read(op.operands[1], maps[1].maps[0], at);
        if (!right)
          return right;
        if (isFloat(type))
          sum = Scalar::of(sum.real() +
                           asReal(op.operands[0], *left) * asReal(op.operands[1], *right));
        else
          sum = Scalar::of(static_cast<int64_t>(static_cast<uint64_t>(sum.integer()) +
                                                static_cast<uint64_t>(left->integer()) *
                                                    static_cast<uint64_t>(right->integer())));
      } else {
        state.reducer->parameter(0) = sum;
        state.reducer->parameter(1) = *left;
        state.reducer->run();
        sum = state.reducer->result(0);
      }
      size_t digit = 0;
      for (; digit < ranges.size(); ++digit) {
        int64_t next = *at.get(ranges[digit].var.variable()) + 1;
        bool carries = next > ranges[digit].domain.hi;
        at.set(ranges[digit].var, carries ? ranges[digit].domain.lo : next);
        if (!carries)
          break;
      }
      if (digit == ranges.size())
        return eval::roundScalar(type, sum);
    }
  }

  double asReal(OpId op, const Scalar &value) {
    return isFloat(graph[op].shape.dtype) ? value.real() : static_cast<double>(value.integer());
  }

  llvm::Expected<Scalar> read(OpId operand, const IndexMap &map, const Assignment &at) {
    auto point = map.evaluate(at);
    if (!point)
      return unsupported(graph[operand]);
    return value(operand, *point);
  }
};

PointReference::PointReference(const Module &module, std::span<const Tensor> arguments,
                               uint64_t maxWork)
    : impl(std::make_unique<Impl>(module, arguments, maxWork)) {}
PointReference::PointReference(const Module &module, uint64_t seed, uint64_t maxWork)
    : impl(std::make_unique<Impl>(module, std::span<const Tensor>(), maxWork)) {
  for (const ArgumentFill &fill : argumentFills(module, module.entryId))
    impl->fillers.emplace_back(fill.shape.dtype, seed + impl->fillers.size(), fill.range);
}
PointReference::~PointReference() = default;

llvm::Expected<double> PointReference::at(OpId op, std::span<const int64_t> coordinates) {
  auto value = impl->value(op, Point(coordinates.begin(), coordinates.end()));
  if (!value)
    return value.takeError();
  DType type = impl->graph[op].shape.dtype;
  if (isFloat(type))
    return value->real();
  return type == DType::U64 ? static_cast<double>(value->words[0])
                            : static_cast<double>(value->integer());
}

uint64_t evaluationWork(const Graph &graph) {
  auto count = [](const Shape &shape) -> uint64_t {
    return shape.isTuple ? 0 : static_cast<uint64_t>(shape.elementCount().value_or(INT64_MAX));
  };
  uint64_t total = 0;
  auto add = [&](uint64_t work) {
    if (__builtin_add_overflow(total, work, &total))
      total = std::numeric_limits<uint64_t>::max();
  };
  for (const Op &op : graph.all()) {
    uint64_t work = count(op.shape);
    if (op.opcode == Opcode::Reduce)
      work = count(graph[op.operands[0]].shape);
    auto times = [&](int64_t factor) {
      if (__builtin_mul_overflow(work, static_cast<uint64_t>(factor), &work))
        work = std::numeric_limits<uint64_t>::max();
    };
    if (op.opcode == Opcode::Dot)
      for (int64_t dim : op.attrs.dot.lhsContracting)
        times(graph[op.operands[0]].shape.dims[static_cast<size_t>(dim)]);
    for (const WindowDim &dim : op.attrs.window)
      times(dim.size);
    if (op.opcode == Opcode::Convolution)
      times(graph[op.operands[1]].shape.dims[static_cast<size_t>(op.attrs.conv.kernelInput)]);
    add(work);
  }
  return total;
}

} // namespace tilewright
