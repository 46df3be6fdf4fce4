// Loops become whiles; where steps are known and few and values change their shapes, or the body
// needs the step's number, the steps stand one behind the other.
#include "analysis/import/onnx/control.h"
#include "analysis/import/onnx/proto.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <unordered_map>

namespace tilewright::onnx_format {

namespace {

constexpr int64_t mostUnrolled = 64;
constexpr int64_t mostScanned = int64_t(1) << 32; ///< elements in front of what a step results in

/// How a body's first output, whether the loop goes on, comes about.
enum class GoesOn { Always, AsBefore, Computed };

GoesOn goesOnOf(const ::onnx::GraphProto &body, Reader &reader) {
  std::unordered_map<std::string, const ::onnx::NodeProto *> nodes;
  for (const ::onnx::NodeProto &node : body.node())
    if (node.output_size() > 0)
      nodes.emplace(node.output(0), &node);
  std::string name = body.output(0).name();
  for (int step = 0; step <= body.node_size(); ++step) {
    if (name == body.input(1).name())
      return GoesOn::AsBefore;
    auto it = nodes.find(name);
    if (it == nodes.end())
      return GoesOn::Computed;
    const ::onnx::NodeProto &node = *it->second;
    if (node.op_type() == "Constant" && node.attribute_size() == 1 && node.attribute(0).has_t()) {
      llvm::Expected<Tensor> value = readTensor(node.attribute(0).t(), reader.folder);
      if (value)
        return value->size() == 1 && value->integer(0) ? GoesOn::Always : GoesOn::Computed;
      llvm::consumeError(value.takeError());
    }
    if (node.op_type() != "Identity" || node.input_size() != 1)
      return GoesOn::Computed;
    name = node.input(0);
  }
  return GoesOn::Computed;
}

/// A Loop as its node has it.
struct LoopText {
  const ::onnx::GraphProto *body = nullptr;
  size_t carried = 0, scanned = 0;
  std::optional<int64_t> trips; ///< if they are known; as many as can be where they are not given
  bool hasTrips = false;        ///< the number is an input
  std::optional<bool> starts;   ///< the condition at first; true where it is not given
  GoesOn goesOn = GoesOn::Computed;
};

bool readLoop(Node &n, LoopText &loop) {
  loop.body = n.graph("body");
  if (!loop.body)
    return false;
  loop.carried = n.inputCount() > 2 ? n.inputCount() - 2 : 0;
  const auto inputs = static_cast<size_t>(loop.body->input_size()),
             outputs = static_cast<size_t>(loop.body->output_size());
  if (inputs != loop.carried + 2 || outputs < loop.carried + 1)
    return n.fail(fmt::format("its body has {} inputs and {} outputs for {} values", inputs,
                              outputs, loop.carried));
  loop.scanned = outputs - loop.carried - 1;
  loop.hasTrips = n.hasInput(0);
  if (!loop.hasTrips)
    loop.trips = INT64_MAX;
  int64_t trips = 0;
  if (loop.hasTrips && n.isKnown(0)) {
    if (!n.integerOf(0, trips))
      return false;
    loop.trips = std::max<int64_t>(0, trips);
  }
  loop.starts = true;
  if (n.hasInput(1)) {
    loop.starts = std::nullopt;
    if (n.isKnown(1)) {
      const Tensor *condition = n.known(1);
      if (condition->size() != 1)
        return n.fail("the condition is not one truth value");
      loop.starts = condition->integer(0) != 0;
    }
  }
  loop.goesOn = goesOnOf(*loop.body, n.reader);
  return true;
}

Value knownValue(DType type, int64_t number) {
  Value value;
  value.shape = Shape::tensor(type, {});
  value.known = std::make_shared<const Tensor>(Tensor::ofIntegers(value.shape, {{number}}));
  value.isConstant = true;
  return value;
}

/// One step behind the other. False: error, or (`isPossible` false) steps depend on values.
bool unroll(Node &n, const LoopText &loop, std::vector<Value> values, bool &isPossible) {
  std::vector<std::vector<Value>> scans(loop.scanned);
  bool goesOn = *loop.starts;
  for (int64_t i = 0; goesOn && i < std::min(*loop.trips, mostUnrolled + 1); ++i) {
    if (i == mostUnrolled) {
      isPossible = false;
      return false;
    }
    Env env = within(n, n.scope, fmt::format("{}.{}.", n.base, i));
    env.values.emplace(loop.body->input(0).name(), knownValue(DType::S64, i));
    env.values.emplace(loop.body->input(1).name(), knownValue(DType::Pred, 1));
    for (size_t v = 0; v < values.size(); ++v)
      env.values.emplace(loop.body->input(static_cast<int>(v) + 2).name(), values[v]);
    std::vector<Value> results;
    if (!readGraph(n, *loop.body, env, results))
      return false;
    const Tensor *more = results[0].list ? nullptr : n.reader.knownOf(results[0]);
    if (!more || more->size() != 1) {
      isPossible = false;
      return false;
    }
    goesOn = more->integer(0) != 0;
    for (size_t v = 0; v < values.size(); ++v)
      values[v] = results[v + 1];
    for (size_t s = 0; s < loop.scanned; ++s) {
      Value &value = results[1 + loop.carried + s];
      const std::vector<Value> &all = scans[s];
      if (value.list || (!all.empty() && all[0].shape.dims != value.shape.dims))
        return n.refuse("what its steps result in has different shapes");
      n.reader.materialise(env, value, "value");
      scans[s].push_back(value);
    }
  }
  for (const std::vector<Value> &all : scans) {
    if (all.empty())
      return n.refuse("it has no steps, and results that they would make");
    std::vector<OpId> parts;
    Dims each = all[0].shape.dims;
    each.insert(each.begin(), 1);
    for (const Value &one : all)
      parts.push_back(n.reshape(one.op, each));
    values.push_back(n.valueOf(n.concatenate(parts, 0)));
  }
  return n.finish(std::move(values));
}

/// A step of the body in a loop's scope.
struct BodyStep {
  Node &n;
  const LoopText &loop;
  const std::vector<Shape> &shapes; ///< of the carried values
  bool carriesCondition;

  /// `now` holds the carried values, the condition where it is carried, then what was scanned.
  bool run(Builder &b, OpId count, std::vector<OpId> &now, std::vector<Shape> *scanned) const {
    Env env = within(n, b.scope, n.base + ".");
    auto bind = [&](int i, OpId op) {
      Value value;
      value.op = op;
      value.shape = b.shapeOf(op);
      env.values.emplace(loop.body->input(i).name(), value);
    };
    bind(0, count);
    if (carriesCondition)
      bind(1, now[loop.carried]);
    else
      env.values.emplace(loop.body->input(1).name(), knownValue(DType::Pred, 1));
    for (size_t v = 0; v < loop.carried; ++v)
      bind(static_cast<int>(v) + 2, now[v]);
    std::vector<Value> values;
    std::vector<OpId> ops;
    if (!readGraph(n, *loop.body, env, values) || !opsOf(n, env, values, ops))
      return false;
    for (size_t v = 0; v < loop.carried; ++v) {
      if (!b.shapeOf(ops[v + 1]).sameDimsAndType(shapes[v]))
        return n.refuse(fmt::format("value {} is {} before a step and {} behind it", v,
                                    shapes[v].str(false), b.shapeOf(ops[v + 1]).str(false)));
      now[v] = ops[v + 1];
    }
    if (carriesCondition)
      now[loop.carried] = b.reshape(ops[0], {});
    for (size_t s = 0; s < loop.scanned; ++s) {
      const OpId element = ops[1 + loop.carried + s];
      if (scanned) {
        scanned->push_back(b.shapeOf(element));
        continue;
      }
      OpId &buffer = now[loop.carried + carriesCondition + s];
      Dims row = b.shapeOf(element).dims;
      row.insert(row.begin(), 1);
      std::vector<OpId> starts = {count};
      starts.resize(row.size(), b.constant(DType::S64, "0"));
      buffer = b.dynamicUpdate(buffer, b.reshape(element, row), starts);
    }
    return true;
  }
};

/// What a step scans, from one that is thrown away.
bool scannedShapes(const BodyStep &step, std::vector<Shape> &out) {
  Node &n = step.n;
  Captures captures;
  Scope scope("tried", &n.scope, RegionKind::State, &captures, n.scope.totals);
  std::vector<Shape> own = {Shape::tensor(DType::S64, {})};
  own.insert(own.end(), step.shapes.begin(), step.shapes.end());
  if (step.carriesCondition)
    own.push_back(Shape::tensor(DType::Pred, {}));
  scope.startState(own, SourceLoc{});
  Builder builder(scope, n.computations, n.base, SourceLoc{});
  std::vector<OpId> now;
  for (size_t i = 1; i < own.size(); ++i)
    now.push_back(scope.stateField(i, own[i], SourceLoc{}));
  return step.run(builder, scope.stateField(0, own[0], SourceLoc{}), now, &out);
}

} // namespace

bool lowerLoop(Node &n) {
  LoopText loop;
  if (!readLoop(n, loop))
    return false;
  std::vector<Value> initial;
  bool hasList = false;
  for (size_t i = 2; i < n.inputCount(); ++i) {
    if (!n.hasInput(i))
      return n.fail(fmt::format("input {} is missing", i));
    initial.push_back(*n.inputs[i]);
    hasList |= n.inputs[i]->list != nullptr || n.inputs[i]->isAbsent;
  }
  const bool canUnroll = loop.starts && loop.trips && (*loop.trips <= mostUnrolled || hasList);
  bool isPossible = true;
  if (hasList) {
    if (!canUnroll)
      return n.refuse("a sequence is carried by steps whose number is known at run time only");
    return unroll(n, loop, initial, isPossible) ||
           (!n.hasFailed() && n.refuse("a sequence is carried by too many steps"));
  }
  std::vector<OpId> values;
  std::vector<Shape> shapes, scanned;
  for (size_t i = 2; i < n.inputCount(); ++i) {
    values.push_back(n.input(i));
    shapes.push_back(n.shape(i));
  }
  const bool isFixed = loop.starts == true && loop.goesOn != GoesOn::Computed;
  const BodyStep step = {n, loop, shapes, !isFixed};
  const std::string place = n.reader.place();
  const bool isFit = scannedShapes(step, scanned) &&
                     (loop.scanned == 0 || (isFixed && loop.trips && *loop.trips < mostScanned));
  if (!isFit && canUnroll) {
    n.reader.forgive(place);
    return unroll(n, loop, initial, isPossible) ||
           (!n.hasFailed() && n.refuse("how many steps it has is known at run time only"));
  }
  if (n.hasFailed())
    return false;
  if (!isFit && isFixed && !loop.trips)
    return n.known(0) != nullptr;
  if (!isFit)
    return n.refuse("it results in one element for each step, whose number is known at run time "
                    "only");
  if (!isFixed) {
    OpId starts;
    if (n.hasInput(1)) {
      if (!truthOf(n, 1, starts))
        return false;
    } else {
      starts = n.constant(DType::Pred, "true");
    }
    values.push_back(starts);
  }
  for (const Shape &shape : scanned) {
    Dims dims = shape.dims;
    dims.insert(dims.begin(), *loop.trips);
    values.push_back(n.number(Shape::tensor(shape.dtype, dims), 0));
  }
  OpId trips = n.constant(DType::S64, std::to_string(loop.trips.value_or(0)));
  if (!loop.trips) {
    if (!n.isTensor(0) || n.shape(0).elementCount() != 1 || !isInteger(n.dtype(0)))
      return n.fail("the number of steps is not one integer");
    trips = n.convert(n.reshape(n.input(0), {}), DType::S64);
  }
  const size_t conditionAt = loop.carried;
  Builder::Condition condition;
  if (!isFixed)
    condition = [conditionAt](Builder &, OpId, std::span<const OpId> fields, OpId &more) {
      more = fields[conditionAt];
      return true;
    };
  if (!n.loop(
          trips, values,
          [&](Builder &b, OpId count, std::vector<OpId> &now) {
            return step.run(b, count, now, nullptr);
          },
          condition))
    return n.hasFailed() ? false : n.fail("its body doesn't fit");
  if (!isFixed)
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(conditionAt));
  return n.finish(std::move(values));
}

} // namespace tilewright::onnx_format
