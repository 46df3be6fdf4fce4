// reduce-window and select-and-scatter.
#include "analysis/ir/evaluate_window.h"

#include "analysis/support/checked.h"

namespace tilewright::eval {

WindowTable::WindowTable(const WindowDim &dim, int64_t inputExtent, int64_t positions)
    : windowSize(dim.size), table(static_cast<size_t>(positions * dim.size), -1) {
  using Wide = __int128; // attributes may be anything
  for (int64_t position = 0; position < positions; ++position)
    for (int64_t k = 0; k < dim.size; ++k) {
      Wide at = Wide(position) * dim.stride - dim.padLow + Wide(k) * dim.windowDilation;
      if (at >= 0 && at % dim.baseDilation == 0 && at / dim.baseDilation < inputExtent)
        table[position * windowSize + k] = static_cast<int64_t>(at / dim.baseDilation);
    }
}

std::optional<int64_t> windowElements(const std::vector<WindowDim> &window) {
  std::optional<int64_t> count = 1;
  for (const WindowDim &dim : window) {
    count = checkedMul(*count, dim.size);
    if (!count)
      break;
  }
  return count;
}

llvm::Expected<std::vector<WindowTable>> windowTables(const OpRun &run,
                                                      const std::vector<WindowDim> &window,
                                                      const std::vector<int64_t> &inputs,
                                                      const std::vector<int64_t> &positions) {
  if (window.size() != inputs.size() || window.size() != positions.size())
    return run.error(DiagClass::BadInput, "a window of {} dims on {}", window.size(),
                     inputs.size());
  std::vector<WindowTable> tables;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim &dim = window[d];
    if (dim.size < 1 || dim.stride < 1 || dim.windowDilation < 1 || dim.baseDilation < 1)
      return run.error(DiagClass::BadInput, "window dim {} has a size, stride or dilation below 1",
                       d);
    if (llvm::Error error = run.charge(positions[d], dim.size))
      return error;
    tables.emplace_back(dim, inputs[d], positions[d]);
  }
  return tables;
}

llvm::Expected<Value> evaluateReduceWindow(OpRun &run) {
  llvm::Expected<std::vector<std::shared_ptr<Tensor>>> results = newAccumulators(run);
  if (!results)
    return results.takeError();
  size_t n = results->size();
  llvm::Expected<ScalarProgram *> program = reducerOf(run, CallRole::ToApply, n);
  if (!program)
    return program.takeError();
  const Shape &in = run.operandShape(0), &out = (*results)[0]->shape();
  std::optional<int64_t> elements = windowElements(run.op.attrs.window);
  std::optional<int64_t> each = elements ? checkedMul(*elements, (*program)->cost()) : std::nullopt;
  if (llvm::Error error = run.charge((*results)[0]->size(), each.value_or(INT64_MAX)))
    return error;
  llvm::Expected<std::vector<WindowTable>> tables =
      windowTables(run, run.op.attrs.window, in.dims, out.dims);
  if (!tables)
    return tables.takeError();
  std::vector<int64_t> position(out.rank()), strides = stridesOf(in), unused(in.rank());
  int64_t count = (*results)[0]->size();
  for (int64_t i = 0; i < count; ++i, advance(position, out.dims)) {
    for (size_t k = 0; k < n; ++k)
      if (run.isRecording())
        run.read(i, n + k, 0);
    auto combine = [&](int64_t input, int64_t) {
      for (size_t k = 0; k < n; ++k) {
        (*program)->parameter(k) = load(*(*results)[k], i);
        (*program)->parameter(n + k) = load(run.operand(k), input);
        if (run.isRecording())
          run.read(i, k, input);
      }
      (*program)->run();
      for (size_t k = 0; k < n; ++k)
        store(*(*results)[k], i, (*program)->result(k));
    };
    walkWindow(*tables, position, strides, unused, combine);
  }
  Value value;
  for (std::shared_ptr<Tensor> &result : *results) {
    finish(run.context, *result);
    value.push_back(std::move(result));
  }
  return value;
}

/// Each source element is combined into the operand position that `select` picks in its window:
/// the running choice stays while select(choice, candidate) holds.
llvm::Expected<Value> evaluateSelectAndScatter(OpRun &run) {
  if (run.operands.size() != 3)
    return run.error(DiagClass::BadInput, "{} operands, not 3", run.operands.size());
  for (const Value &operand : run.operands)
    if (operand.size() != 1)
      return run.error(DiagClass::BadInput, "an operand is a tuple");
  const Tensor &operand = run.operand(0), &source = run.operand(1);
  if (!operand.shape().sameDimsAndType(run.op.shape) || run.operand(2).size() != 1 ||
      !areHeldAlike(source.dtype(), operand.dtype()) ||
      !areHeldAlike(run.operandShape(2).dtype, operand.dtype()))
    return run.error(DiagClass::BadInput, "its operands and result don't fit");
  llvm::Expected<ScalarProgram *> select = reducerOf(run, CallRole::Select, 1);
  if (!select)
    return select.takeError();
  llvm::Expected<ScalarProgram *> scatter = reducerOf(run, CallRole::Scatter, 1);
  if (!scatter)
    return scatter.takeError();
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  Tensor &out = **result;
  std::optional<int64_t> elements = windowElements(run.op.attrs.window);
  std::optional<int64_t> each = elements ? checkedMul(*elements, (*select)->cost()) : std::nullopt;
  if (llvm::Error error = run.charge(source.size(), each.value_or(INT64_MAX)))
    return error;
  llvm::Expected<std::vector<WindowTable>> tables =
      windowTables(run, run.op.attrs.window, operand.shape().dims, source.shape().dims);
  if (!tables)
    return tables.takeError();
  for (int64_t i = 0; i < out.size(); ++i) {
    store(out, i, load(run.operand(2), 0));
    if (run.isRecording())
      run.read(i, 2, 0);
  }
  std::vector<int64_t> position(source.shape().rank());
  std::vector<int64_t> strides = stridesOf(operand.shape()), unused(position.size());
  std::vector<int64_t> seen;
  for (int64_t i = 0; i < source.size(); ++i, advance(position, source.shape().dims)) {
    int64_t chosen = -1;
    seen.clear();
    auto consider = [&](int64_t candidate, int64_t) {
      seen.push_back(candidate);
      if (chosen >= 0) {
        (*select)->parameter(0) = load(operand, chosen);
        (*select)->parameter(1) = load(operand, candidate);
        (*select)->run();
        if ((*select)->result(0).integer() != 0)
          return;
      }
      chosen = candidate;
    };
    walkWindow(*tables, position, strides, unused, consider);
    if (chosen < 0)
      continue;
    (*scatter)->parameter(0) = load(out, chosen);
    (*scatter)->parameter(1) = load(source, i);
    (*scatter)->run();
    store(out, chosen, (*scatter)->result(0));
    if (run.isRecording()) {
      run.read(chosen, 1, i);
      for (int64_t candidate : seen)
        run.read(chosen, 0, candidate);
    }
  }
  finish(run.context, out);
  return Value{*result};
}

} // namespace tilewright::eval
