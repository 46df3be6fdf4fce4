// Scans: loops over the elements along a dim.
#include "analysis/import/onnx/control.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

namespace {

/// A Scan as its node has it. Opset 8 has a batch dim in front, whose elements are taken one by
/// one.
struct ScanText {
  const ::onnx::GraphProto *body = nullptr;
  size_t states = 0, scanned = 0, results = 0;
  Dims axes, directions, resultAxes, resultDirections;
  int64_t steps = 0;
};

bool perScan(Node &n, std::string_view name, size_t count, Dims &out) {
  out = n.integers(name, Dims(count, 0));
  return out.size() == count ||
         n.fail(fmt::format("{} has {} numbers for {} tensors", name, out.size(), count));
}

bool readScan(Node &n, ScanText &scan) {
  scan.body = n.graph("body");
  const int64_t count = n.integer("num_scan_inputs", 0);
  if (!scan.body)
    return false;
  const auto inputs = static_cast<int64_t>(n.inputCount());
  if (count < 1 || count > inputs || scan.body->input_size() != inputs ||
      scan.body->output_size() < inputs - count)
    return n.fail(
        fmt::format("its body doesn't fit {} inputs, of which {} are scanned", inputs, count));
  scan.scanned = static_cast<size_t>(count);
  scan.states = n.inputCount() - scan.scanned;
  scan.results = static_cast<size_t>(scan.body->output_size()) - scan.states;
  if (!perScan(n, "scan_input_axes", scan.scanned, scan.axes) ||
      !perScan(n, "scan_input_directions", scan.scanned, scan.directions) ||
      !perScan(n, "scan_output_axes", scan.results, scan.resultAxes) ||
      !perScan(n, "scan_output_directions", scan.results, scan.resultDirections))
    return false;
  for (size_t i = 0; i < n.inputCount(); ++i)
    if (!n.isTensor(i))
      return false;
  for (size_t i = 0; i < scan.scanned; ++i) {
    size_t axis = 0;
    if (!n.axisOf(scan.axes[i], n.rank(scan.states + i), axis))
      return false;
    scan.axes[i] = static_cast<int64_t>(axis);
    const int64_t extent = n.dims(scan.states + i)[axis];
    if (i > 0 && extent != scan.steps)
      return n.fail(fmt::format("{} and {} elements are scanned", scan.steps, extent));
    scan.steps = extent;
  }
  return true;
}

/// One step; `inputs` are whole tensors.
bool scanStep(Node &n, const ScanText &scan, const std::vector<OpId> &inputs, Builder &b,
              OpId count, std::vector<OpId> &now, std::vector<Shape> *shapes) {
  Env env = within(n, b.scope, n.base + ".");
  auto bind = [&](size_t i, OpId op) {
    Value value;
    value.op = op;
    value.shape = b.shapeOf(op);
    env.values.emplace(scan.body->input(static_cast<int>(i)).name(), value);
  };
  const OpId last = b.constant(DType::S64, std::to_string(scan.steps - 1));
  const OpId zero = b.constant(DType::S64, "0");
  const OpId fromEnd = b.minus(last, count);
  for (size_t i = 0; i < scan.states; ++i)
    bind(i, now[i]);
  for (size_t i = 0; i < scan.scanned; ++i) {
    const OpId whole = b.scope.capture(inputs[i], SourceLoc{}).op;
    Dims sizes = b.shapeOf(whole).dims;
    const auto axis = static_cast<size_t>(scan.axes[i]);
    std::vector<OpId> starts(sizes.size(), zero);
    starts[axis] = scan.directions[i] ? fromEnd : count;
    sizes[axis] = 1;
    bind(scan.states + i,
         b.reshape(b.dynamicSlice(whole, starts, sizes), without(sizes, {scan.axes[i]})));
  }
  std::vector<Value> values;
  std::vector<OpId> ops;
  if (!readGraph(n, *scan.body, env, values) || !opsOf(n, env, values, ops))
    return false;
  for (size_t i = 0; i < scan.states; ++i) {
    if (!b.shapeOf(ops[i]).sameDimsAndType(n.shape(i)))
      return n.refuse(fmt::format("state {} is {} before a step and {} behind it", i,
                                  n.shape(i).str(false), b.shapeOf(ops[i]).str(false)));
    now[i] = ops[i];
  }
  for (size_t i = 0; i < scan.results; ++i) {
    const OpId element = ops[scan.states + i];
    if (shapes) {
      shapes->push_back(b.shapeOf(element));
      continue;
    }
    Dims row = b.shapeOf(element).dims;
    row.insert(row.begin(), 1);
    std::vector<OpId> starts(row.size(), zero);
    starts[0] = scan.resultDirections[i] ? fromEnd : count;
    OpId &buffer = now[scan.states + i];
    buffer = b.dynamicUpdate(buffer, b.reshape(element, row), starts);
  }
  return true;
}

} // namespace

bool lowerScan(Node &n) {
  if (n.opset < 9)
    return n.refuse("as it was before opset 9, with a batch dim, it is not lowered");
  ScanText scan;
  if (!readScan(n, scan))
    return false;
  std::vector<OpId> values, inputs;
  for (size_t i = 0; i < n.inputCount(); ++i)
    (i < scan.states ? values : inputs).push_back(n.input(i));
  std::vector<Shape> shapes, own = {Shape::tensor(DType::S64, {})};
  {
    Captures captures;
    Scope scope("tried", &n.scope, RegionKind::State, &captures, n.scope.totals);
    for (OpId id : values)
      own.push_back(n.shapeOf(id));
    scope.startState(own, SourceLoc{});
    Builder builder(scope, n.computations, n.base, SourceLoc{});
    std::vector<OpId> now;
    for (size_t i = 1; i < own.size(); ++i)
      now.push_back(scope.stateField(i, own[i], SourceLoc{}));
    if (!scanStep(n, scan, inputs, builder, scope.stateField(0, own[0], SourceLoc{}), now, &shapes))
      return false;
  }
  for (const Shape &shape : shapes) {
    Dims dims = shape.dims;
    dims.insert(dims.begin(), scan.steps);
    values.push_back(n.number(Shape::tensor(shape.dtype, dims), 0));
  }
  if (!n.loop(n.constant(DType::S64, std::to_string(scan.steps)), values,
              [&](Builder &b, OpId count, std::vector<OpId> &now) {
                return scanStep(n, scan, inputs, b, count, now, nullptr);
              }))
    return n.hasFailed() ? false : n.fail("its body doesn't fit");
  for (size_t i = 0; i < scan.results; ++i) {
    size_t axis = 0;
    OpId &whole = values[scan.states + i];
    if (!n.axisOf(scan.resultAxes[i], n.shapeOf(whole).rank(), axis))
      return false;
    Dims order;
    for (size_t d = 1; d < n.shapeOf(whole).rank(); ++d)
      order.push_back(static_cast<int64_t>(d));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    whole = n.transpose(whole, order);
  }
  return n.finish(std::move(values));
}

} // namespace tilewright::onnx_format
