// reduce, scan and sort: ops that run a computation along dims.
#include "analysis/ir/evaluator_impl.h"
#include "analysis/ir/numeric.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright::eval {

llvm::Expected<std::vector<std::shared_ptr<Tensor>>> newAccumulators(const OpRun &run) {
  std::vector<const Shape *> leaves = leavesOf(run.op.shape);
  size_t n = leaves.size();
  if (n == 0 || run.operands.size() != 2 * n)
    return run.error(DiagClass::BadInput, "{} operands for {} results", run.operands.size(), n);
  for (size_t k = 0; k < 2 * n; ++k) {
    bool isInitial = k >= n;
    if (run.operands[k].size() != 1 ||
        !areHeldAlike(run.operandShape(k).dtype, leaves[k % n]->dtype) ||
        (isInitial ? run.operand(k).size() != 1
                   : run.operandShape(k).dims != run.operandShape(0).dims))
      return run.error(DiagClass::BadInput, "operand {} doesn't fit its result", k);
  }
  std::vector<std::shared_ptr<Tensor>> results;
  for (size_t k = 0; k < n; ++k) {
    if (leaves[k]->dims != leaves[0]->dims)
      return run.error(DiagClass::BadInput, "its results have different dims");
    llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(*leaves[k]);
    if (!result)
      return result.takeError();
    Scalar initial = load(run.operand(n + k), 0);
    for (int64_t i = 0; i < (*result)->size(); ++i)
      store(**result, i, initial);
    results.push_back(std::move(*result));
  }
  return results;
}

llvm::Expected<ScalarProgram *> reducerOf(const OpRun &run, CallRole role, size_t results) {
  llvm::Expected<GraphId> graph = run.called(role);
  if (!graph)
    return graph.takeError();
  llvm::Expected<ScalarProgram *> program =
      run.context.scalarProgram(*graph, run.context.reducerRounding());
  if (!program) {
    Diag diag = takeDiag(program.takeError());
    return run.error(diag.cls, "{}", diag.message);
  }
  if ((*program)->parameterCount() != 2 * results || (*program)->resultCount() != results)
    return run.error(DiagClass::BadInput, "its computation takes {} scalars and gives {}, not {}",
                     (*program)->parameterCount(), (*program)->resultCount(), results);
  return *program;
}

namespace {
Value finished(const OpRun &run, std::vector<std::shared_ptr<Tensor>> results) {
  Value value;
  for (std::shared_ptr<Tensor> &result : results) {
    finish(run.context, *result);
    value.push_back(std::move(result));
  }
  return value;
}

/// One accumulator and a single op such as add: no program to interpret.
void reduceByOneOp(const ScalarOp &op, const Tensor &in, Tensor &out,
                   const std::vector<int64_t> &outStrides) {
  const std::vector<int64_t> &dims = in.shape().dims;
  std::array<std::vector<int64_t>, 2> strides{outStrides, stridesOf(in.shape())};
  if (op.opcode == Opcode::Add && isFloat(in.dtype())) {
    walkBox<2>(dims, {0, 0}, strides, [&](const std::array<int64_t, 2> &at) {
      out.setReal(at[0], out.real(at[0]) + in.real(at[1]));
    });
    return;
  }
  std::array<Scalar, 2> pair;
  walkBox<2>(dims, {0, 0}, strides, [&](const std::array<int64_t, 2> &at) {
    pair = {load(out, at[0]), load(in, at[1])};
    store(out, at[0], op.apply(pair.data()));
  });
}
} // namespace

llvm::Expected<Value> evaluateReduce(OpRun &run) {
  llvm::Expected<std::vector<std::shared_ptr<Tensor>>> results = newAccumulators(run);
  if (!results)
    return results.takeError();
  size_t n = results->size();
  llvm::Expected<ScalarProgram *> program = reducerOf(run, CallRole::ToApply, n);
  if (!program)
    return program.takeError();
  const Shape &in = run.operandShape(0), &out = (*results)[0]->shape();
  const std::vector<int64_t> &reduced = run.op.attrs.dimensions;
  if (!areDistinctDims(reduced, in.rank()) || out.rank() + reduced.size() != in.rank())
    return run.error(DiagClass::BadInput, "{} dims of {} don't leave {}", reduced.size(),
                     in.str(false), out.str(false));
  std::vector<int64_t> outStrides(in.rank()), kept = stridesOf(out);
  for (size_t d = 0, next = 0; d < in.rank(); ++d)
    if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) {
      if (in.dims[d] != out.dims[next])
        return run.error(DiagClass::BadInput, "{} reduced from {}", out.str(false), in.str(false));
      outStrides[d] = kept[next++];
    }
  if (llvm::Error error = run.charge(run.operand(0).size(), (*program)->cost()))
    return error;
  std::array<std::vector<int64_t>, 2> strides{outStrides, stridesOf(in)};
  if (const ScalarOp *op = (*program)->asBinaryOp()) {
    reduceByOneOp(*op, run.operand(0), *(*results)[0], outStrides);
  } else {
    walkBox<2>(in.dims, {0, 0}, strides, [&](const std::array<int64_t, 2> &at) {
      for (size_t k = 0; k < n; ++k) {
        (*program)->parameter(k) = load(*(*results)[k], at[0]);
        (*program)->parameter(n + k) = load(run.operand(k), at[1]);
      }
      (*program)->run();
      for (size_t k = 0; k < n; ++k)
        store(*(*results)[k], at[0], (*program)->result(k));
    });
  }
  if (run.isRecording()) {
    for (int64_t i = 0; i < (*results)[0]->size(); ++i)
      for (size_t k = 0; k < n; ++k)
        run.read(i, n + k, 0);
    walkBox<2>(in.dims, {0, 0}, strides, [&](const std::array<int64_t, 2> &at) {
      for (size_t k = 0; k < n; ++k)
        run.read(at[0], k, at[1]);
    });
  }
  return finished(run, std::move(*results));
}

namespace {
/// The box of one position along dim `dim`, copied between a whole tensor and its slice.
template <typename Body>
void walkSlice(const Shape &whole, size_t dim, int64_t position, Body body) {
  std::vector<int64_t> dims = whole.dims, strides = stridesOf(whole);
  int64_t base = position * strides[dim];
  dims.erase(dims.begin() + dim);
  strides.erase(strides.begin() + dim);
  Shape slice = Shape::tensor(whole.dtype, dims);
  walkBox<2>(dims, {base, 0}, {strides, stridesOf(slice)}, body);
}

Shape sliceShape(const Shape &whole, size_t dim) {
  Shape slice = Shape::tensor(whole.dtype, whole.dims);
  slice.dims.erase(slice.dims.begin() + dim);
  return slice;
}
} // namespace

/// scan(inputs…, carries…): the computation takes (inputs at one position…, carries…) and gives
/// (outputs at that position…, carries…); the result is (outputs…, last carries…).
llvm::Expected<Value> evaluateScan(OpRun &run) {
  llvm::Expected<GraphId> graph = run.called(CallRole::ToApply);
  if (!graph)
    return graph.takeError();
  std::vector<const Shape *> leaves = leavesOf(run.op.shape);
  std::string_view carriesText = run.rawAttribute("num_carries");
  size_t carries = 0;
  if (llvm::StringRef(carriesText.data(), carriesText.size()).getAsInteger(10, carries) ||
      carries > run.operands.size() || carries > leaves.size())
    return run.error(DiagClass::BadInput, "num_carries \"{}\" for {} operands and {} results",
                     carriesText, run.operands.size(), leaves.size());
  size_t inputs = run.operands.size() - carries, outputs = leaves.size() - carries;
  bool isReverse = run.rawAttribute("is_reverse") == "true";
  if (run.op.attrs.dimensions.size() != 1 || inputs == 0)
    return run.error(DiagClass::BadInput, "needs one dim and at least one input");
  for (const Value &operand : run.operands)
    if (operand.size() != 1)
      return run.error(DiagClass::BadInput, "an operand is a tuple");
  size_t dim = static_cast<size_t>(run.op.attrs.dimensions[0]);
  int64_t length = dim < run.operandShape(0).rank() ? run.operandShape(0).dims[dim] : -1;
  for (size_t k = 0; k < inputs + outputs; ++k) {
    const Shape &shape = k < inputs ? run.operandShape(k) : *leaves[k - inputs];
    if (dim >= shape.rank() || shape.dims[dim] != length)
      return run.error(DiagClass::BadInput, "{} can't be scanned along dim {}", shape.str(false),
                       run.op.attrs.dimensions[0]);
  }
  std::vector<std::shared_ptr<Tensor>> results;
  for (size_t k = 0; k < outputs; ++k) {
    llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(*leaves[k]);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  std::vector<Value> state(run.operands.size());
  for (size_t k = 0; k < carries; ++k)
    state[inputs + k] = run.operands[inputs + k];
  for (int64_t step = 0; step < length; ++step) {
    int64_t position = isReverse ? length - 1 - step : step;
    for (size_t k = 0; k < inputs; ++k) {
      const Tensor &in = run.operand(k);
      llvm::Expected<std::shared_ptr<Tensor>> slice =
          run.context.allocate(sliceShape(in.shape(), dim));
      if (!slice)
        return slice.takeError();
      walkSlice(in.shape(), dim, position,
                [&](const std::array<int64_t, 2> &at) { store(**slice, at[1], load(in, at[0])); });
      state[k] = {*slice};
    }
    llvm::Expected<Value> next = run.context.runGraph(*graph, state);
    if (!next)
      return next.takeError();
    if (next->size() != leaves.size())
      return run.error(DiagClass::BadInput, "its computation gives {} results, not {}",
                       next->size(), leaves.size());
    for (size_t k = 0; k < outputs; ++k) {
      const Tensor &slice = *(*next)[k];
      if (!slice.shape().sameDimsAndType(sliceShape(*leaves[k], dim)))
        return run.error(DiagClass::BadInput, "its computation gives {} for {}",
                         slice.shape().str(false), leaves[k]->str(false));
      walkSlice(*leaves[k], dim, position, [&](const std::array<int64_t, 2> &at) {
        store(*results[k], at[0], load(slice, at[1]));
      });
    }
    for (size_t k = 0; k < carries; ++k)
      state[inputs + k] = {(*next)[outputs + k]};
  }
  if (run.isRecording() && outputs > 0 && leaves[0]->dims == run.operandShape(0).dims) {
    int64_t count = results[0]->size(), stride = length ? stridesOf(*leaves[0])[dim] : 1;
    if (llvm::Error error = run.charge(count, std::max<int64_t>(length, 1)))
      return error;
    for (int64_t i = 0; i < count; ++i) {
      int64_t position = i / stride % length, first = isReverse ? position : 0;
      int64_t last = isReverse ? length - 1 : position;
      for (size_t k = 0; k < inputs; ++k)
        for (int64_t j = first; j <= last; ++j)
          run.read(i, k, i + (j - position) * stride);
    }
  }
  Value value(results.begin(), results.end());
  for (size_t k = 0; k < carries; ++k)
    value.push_back(state[inputs + k][0]);
  return value;
}

namespace {
/// Merge sort, stable, and safe with a comparator that contradicts itself.
template <typename Less>
void mergeSort(std::vector<int64_t> &list, std::vector<int64_t> &scratch, Less less) {
  size_t n = list.size();
  scratch.resize(n);
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t low = 0; low < n; low += 2 * width) {
      size_t middle = std::min(low + width, n), high = std::min(low + 2 * width, n);
      size_t a = low, b = middle;
      for (size_t k = low; k < high; ++k)
        scratch[k] = a < middle && (b == high || !less(list[b], list[a])) ? list[a++] : list[b++];
    }
    list.swap(scratch);
  }
}
} // namespace

/// The comparator takes (a0, b0, a1, b1, …): element a before element b, an operand each.
llvm::Expected<Value> evaluateSort(OpRun &run) {
  size_t n = run.operands.size();
  std::vector<const Shape *> leaves = leavesOf(run.op.shape);
  if (n == 0 || leaves.size() != n || run.op.attrs.dimensions.size() != 1)
    return run.error(DiagClass::BadInput, "{} operands, {} results", n, leaves.size());
  for (size_t k = 0; k < n; ++k)
    if (run.operands[k].size() != 1 || !run.operandShape(k).sameDimsAndType(*leaves[k]) ||
        run.operandShape(k).dims != leaves[0]->dims)
      return run.error(DiagClass::BadInput, "operand {} doesn't fit its result", k);
  llvm::Expected<GraphId> graph = run.called(CallRole::ToApply);
  if (!graph)
    return graph.takeError();
  llvm::Expected<ScalarProgram *> program =
      run.context.scalarProgram(*graph, run.context.rounding());
  if (!program)
    return program.takeError();
  if ((*program)->parameterCount() != 2 * n || (*program)->resultCount() != 1)
    return run.error(DiagClass::BadInput, "its comparator takes {} scalars, not {}",
                     (*program)->parameterCount(), 2 * n);
  const Shape &shape = run.operandShape(0);
  if (!areDistinctDims(run.op.attrs.dimensions, shape.rank()))
    return run.error(DiagClass::BadInput, "has no dim {}", run.op.attrs.dimensions[0]);
  size_t dim = static_cast<size_t>(run.op.attrs.dimensions[0]);
  std::vector<std::shared_ptr<Tensor>> results;
  for (size_t k = 0; k < n; ++k) {
    llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(*leaves[k]);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  int64_t length = shape.dims[dim], rounds = 1;
  while (rounds < 63 && (int64_t(1) << rounds) < length)
    ++rounds;
  if (llvm::Error error = run.charge(run.operand(0).size(), rounds * (*program)->cost()))
    return error;
  if (run.isRecording())
    if (llvm::Error error = run.charge(run.operand(0).size(), length))
      return error;
  std::vector<int64_t> lines = shape.dims, strides = stridesOf(shape), order, scratch;
  int64_t step = strides[dim];
  lines[dim] = std::min<int64_t>(length, 1);
  walkBox<1>(lines, {0}, {strides}, [&](const std::array<int64_t, 1> &at) {
    order.resize(static_cast<size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    mergeSort(order, scratch, [&](int64_t a, int64_t b) {
      for (size_t k = 0; k < n; ++k) {
        (*program)->parameter(2 * k) = load(run.operand(k), at[0] + a * step);
        (*program)->parameter(2 * k + 1) = load(run.operand(k), at[0] + b * step);
      }
      (*program)->run();
      return (*program)->result(0).integer() != 0;
    });
    for (int64_t i = 0; i < length; ++i)
      for (size_t k = 0; k < n; ++k)
        store(*results[k], at[0] + i * step, load(run.operand(k), at[0] + order[i] * step));
    if (run.isRecording())
      for (int64_t i = 0; i < length; ++i)
        for (size_t k = 0; k < n; ++k)
          for (int64_t j = 0; j < length; ++j)
            run.read(at[0] + i * step, k, at[0] + j * step);
  });
  return Value(results.begin(), results.end());
}

/// The k largest (smallest) elements along the last dim in order, and where they stood. Floats are
/// in total order, as XLA has it: -NaN, -inf, …, -0, 0, …, inf, NaN. Of equal elements the first
/// comes first.
llvm::Expected<Value> evaluateTopK(OpRun &run) {
  std::vector<const Shape *> leaves = leavesOf(run.op.shape);
  if (run.operands.size() != 1 || run.operands[0].size() != 1 || leaves.size() != 2 ||
      run.operandShape(0).rank() == 0 || leaves[0]->dims != leaves[1]->dims ||
      leaves[0]->rank() != run.operandShape(0).rank() || !isInteger(leaves[1]->dtype))
    return run.error(DiagClass::BadInput,
                     "needs one tensor and gives its elements and their places");
  const Tensor &in = run.operand(0);
  std::vector<int64_t> expected = in.shape().dims;
  int64_t length = expected.back(), count = leaves[0]->dims.back();
  expected.back() = count;
  if (expected != leaves[0]->dims || count > length || !areHeldAlike(in.dtype(), leaves[0]->dtype))
    return run.error(DiagClass::BadInput, "{} of {}", leaves[0]->str(false), in.shape().str(false));
  if (!isFloat(in.dtype()) && !isInteger(in.dtype()) && in.dtype() != DType::Pred)
    return run.error(DiagClass::Unsupported, "of {} is not evaluated", toString(in.dtype()));
  bool isLargest = run.rawAttribute("largest") != "false";
  std::vector<std::shared_ptr<Tensor>> results;
  for (const Shape *leaf : leaves) {
    llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(*leaf);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  int64_t rounds = 1;
  while (rounds < 63 && (int64_t(1) << rounds) < length)
    ++rounds;
  if (llvm::Error error = run.charge(in.size(), rounds))
    return error;
  if (run.isRecording())
    if (llvm::Error error = run.charge(results[0]->size(), length))
      return error;
  auto isSmaller = [&](int64_t a, int64_t b) {
    if (isFloat(in.dtype()))
      return totalOrderKey(in.asDouble(a)) < totalOrderKey(in.asDouble(b));
    bool isSigned = dtypeClass(in.dtype()) == DTypeClass::Signed;
    return isSigned ? in.integer(a) < in.integer(b)
                    : static_cast<uint64_t>(in.integer(a)) < static_cast<uint64_t>(in.integer(b));
  };
  std::vector<int64_t> order(static_cast<size_t>(length)), scratch;
  for (int64_t line = 0; count > 0 && line < results[0]->size() / count; ++line) {
    std::iota(order.begin(), order.end(), line * length);
    mergeSort(order, scratch,
              [&](int64_t a, int64_t b) { return isLargest ? isSmaller(b, a) : isSmaller(a, b); });
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = line * count + i, from = order[static_cast<size_t>(i)];
      store(*results[0], at, load(in, from));
      results[1]->setInteger(at, wrapInteger(leaves[1]->dtype, from - line * length));
      if (run.isRecording())
        for (int64_t j = 0; j < length; ++j)
          run.read(at, 0, line * length + j);
    }
  }
  return Value(results.begin(), results.end());
}

} // namespace tilewright::eval
