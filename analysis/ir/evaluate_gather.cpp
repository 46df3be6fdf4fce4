// gather and scatter: slices whose starts are read from an index tensor.
#include "analysis/ir/evaluator_impl.h"

#include <algorithm>

namespace tilewright::eval {

namespace {
/// How gather and scatter read their index tensor: its batch positions (all dims but the index
/// vector's) and, for each, the start along every operand dim.
struct IndexReader {
  const Tensor &indices;
  int64_t vectorDim;
  const std::vector<int64_t> &startMap; ///< operand dim of each component of the index vector
  const std::vector<int64_t> &operandBatching, &indicesBatching;
  std::vector<int64_t> batchDims;    ///< extents of the batch positions
  std::vector<int64_t> batchStrides; ///< in the index tensor
  int64_t vectorStride = 0;
  int64_t vectorSize = 1;

  IndexReader(const Tensor &indices, int64_t vectorDim, const std::vector<int64_t> &startMap,
              const std::vector<int64_t> &operandBatching,
              const std::vector<int64_t> &indicesBatching)
      : indices(indices), vectorDim(vectorDim), startMap(startMap),
        operandBatching(operandBatching), indicesBatching(indicesBatching) {
    const Shape &shape = indices.shape();
    std::vector<int64_t> strides = stridesOf(shape);
    for (int64_t d = 0; d < static_cast<int64_t>(shape.rank()); ++d) {
      if (d == vectorDim) {
        vectorStride = strides[d];
        vectorSize = shape.dims[d];
      } else {
        batchDims.push_back(shape.dims[d]);
        batchStrides.push_back(strides[d]);
      }
    }
  }

  bool fits(size_t operandRank) const {
    int64_t rank = indices.shape().rank();
    if (vectorDim < 0 || vectorDim > rank || !isInteger(indices.dtype()) ||
        vectorSize != static_cast<int64_t>(startMap.size()) ||
        operandBatching.size() != indicesBatching.size() ||
        !areDistinctDims(startMap, operandRank) || !areDistinctDims(operandBatching, operandRank))
      return false;
    for (int64_t dim : indicesBatching)
      if (dim < 0 || dim >= rank || dim == vectorDim)
        return false;
    return true;
  }

  int64_t offset(const std::vector<int64_t> &batch) const {
    int64_t result = 0;
    for (size_t d = 0; d < batch.size(); ++d)
      result += batch[d] * batchStrides[d];
    return result;
  }

  /// Fills `starts`, one an operand dim. A u64 over 2^63 reads as the largest int64.
  void read(const std::vector<int64_t> &batch, std::vector<int64_t> &starts) const {
    std::fill(starts.begin(), starts.end(), 0);
    int64_t base = offset(batch);
    for (size_t k = 0; k < startMap.size(); ++k) {
      int64_t value = indices.integer(base + static_cast<int64_t>(k) * vectorStride);
      starts[startMap[k]] = indices.dtype() == DType::U64 && value < 0 ? INT64_MAX : value;
    }
    for (size_t k = 0; k < operandBatching.size(); ++k) {
      // Batch positions leave the vector dim out.
      int64_t dim = indicesBatching[k];
      starts[operandBatching[k]] = batch[dim > vectorDim ? dim - 1 : dim];
    }
  }
};

/// Strides of the dims in `dims` out of `all`.
std::vector<int64_t> pick(const std::vector<int64_t> &all, const std::vector<int64_t> &dims) {
  std::vector<int64_t> result;
  for (int64_t dim : dims)
    result.push_back(all[dim]);
  return result;
}

/// Numbers in [0, rank) that are not in `list`.
std::vector<int64_t> otherDims(size_t rank, const std::vector<int64_t> &list) {
  std::vector<int64_t> result;
  for (int64_t dim = 0; dim < static_cast<int64_t>(rank); ++dim)
    if (!contains(list, dim))
      result.push_back(dim);
  return result;
}

bool isEmpty(const std::vector<int64_t> &dims) { return contains(dims, 0); }

int64_t dot(const std::vector<int64_t> &index, const std::vector<int64_t> &strides) {
  int64_t result = 0;
  for (size_t d = 0; d < index.size(); ++d)
    result += index[d] * strides[d];
  return result;
}
} // namespace

llvm::Expected<Value> evaluateGather(OpRun &run) {
  if (run.operands.size() != 2 || run.operands[0].size() != 1 || run.operands[1].size() != 1)
    return run.error(DiagClass::BadInput, "needs two tensors");
  const GatherDims &dims = run.op.attrs.gather;
  const Tensor &operand = run.operand(0);
  const Shape &in = operand.shape(), &shape = run.op.shape;
  IndexReader reader(run.operand(1), dims.indexVectorDim, dims.startIndexMap,
                     dims.operandBatchingDims, dims.startIndicesBatchingDims);
  std::vector<int64_t> dropped = dims.collapsedSliceDims;
  dropped.insert(dropped.end(), dims.operandBatchingDims.begin(), dims.operandBatchingDims.end());
  std::vector<int64_t> kept = otherDims(in.rank(), dropped);
  std::vector<int64_t> batchOut = otherDims(shape.rank(), dims.offsetDims);
  bool fits = !shape.isTuple && shape.dtype == in.dtype && reader.fits(in.rank()) &&
              areDistinctDims(dropped, in.rank()) && dims.sliceSizes.size() == in.rank() &&
              areDistinctDims(dims.offsetDims, shape.rank()) &&
              kept.size() == dims.offsetDims.size() &&
              pick(shape.dims, batchOut) == reader.batchDims;
  for (size_t d = 0; fits && d < in.rank(); ++d) {
    int64_t size = dims.sliceSizes[d];
    fits = size >= 0 && size <= in.dims[d] &&
           (!contains(dropped, static_cast<int64_t>(d)) || size == 1 || shape.elementCount() == 0);
  }
  for (size_t k = 0; fits && k < kept.size(); ++k)
    fits = shape.dims[dims.offsetDims[k]] == dims.sliceSizes[kept[k]];
  if (!fits)
    return run.error(DiagClass::BadInput, "its dims don't fit {}, {} and {}", in.str(false),
                     run.operandShape(1).str(false), shape.str(false));
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(shape);
  if (!result)
    return result.takeError();
  Tensor &out = **result;
  if (llvm::Error error = run.charge(out.size()))
    return error;
  if (out.size() == 0)
    return Value{*result};
  std::vector<int64_t> inStrides = stridesOf(in), outStrides = stridesOf(shape);
  std::vector<int64_t> batchOutStrides = pick(outStrides, batchOut);
  std::vector<int64_t> sliceDims = pick(dims.sliceSizes, kept);
  std::array<std::vector<int64_t>, 2> strides{pick(outStrides, dims.offsetDims),
                                              pick(inStrides, kept)};
  std::vector<int64_t> batch(reader.batchDims.size()), starts(in.rank());
  do {
    reader.read(batch, starts);
    for (size_t d = 0; d < in.rank(); ++d)
      starts[d] = std::clamp<int64_t>(starts[d], 0, in.dims[d] - dims.sliceSizes[d]);
    int64_t indexBase = reader.offset(batch);
    walkBox<2>(sliceDims, {dot(batch, batchOutStrides), dot(starts, inStrides)}, strides,
               [&](const std::array<int64_t, 2> &at) {
                 store(out, at[0], load(operand, at[1]));
                 if (!run.isRecording())
                   return;
                 run.read(at[0], 0, at[1]);
                 for (int64_t k = 0; k < reader.vectorSize; ++k)
                   run.read(at[0], 1, indexBase + k * reader.vectorStride);
               });
  } while (advance(batch, reader.batchDims));
  return Value{*result};
}

/// scatter(operands…, indices, updates…).
llvm::Expected<Value> evaluateScatter(OpRun &run) {
  std::vector<const Shape *> leaves = leavesOf(run.op.shape);
  size_t n = leaves.size();
  if (n == 0 || run.operands.size() != 2 * n + 1)
    return run.error(DiagClass::BadInput, "{} operands for {} results", run.operands.size(), n);
  for (const Value &operand : run.operands)
    if (operand.size() != 1)
      return run.error(DiagClass::BadInput, "an operand is a tuple");
  const ScatterDims &dims = run.op.attrs.scatter;
  const Shape &in = run.operandShape(0), &updates = run.operandShape(n + 1);
  IndexReader reader(run.operand(n), dims.indexVectorDim, dims.scatterDimsToOperandDims,
                     dims.inputBatchingDims, dims.scatterIndicesBatchingDims);
  std::vector<int64_t> dropped = dims.insertedWindowDims;
  dropped.insert(dropped.end(), dims.inputBatchingDims.begin(), dims.inputBatchingDims.end());
  std::vector<int64_t> kept = otherDims(in.rank(), dropped);
  std::vector<int64_t> batchIn = otherDims(updates.rank(), dims.updateWindowDims);
  bool fits = reader.fits(in.rank()) && areDistinctDims(dropped, in.rank()) &&
              areDistinctDims(dims.updateWindowDims, updates.rank()) &&
              kept.size() == dims.updateWindowDims.size() &&
              pick(updates.dims, batchIn) == reader.batchDims;
  for (size_t k = 0; fits && k < n; ++k)
    fits = areHeldAlike(run.operandShape(k).dtype, leaves[k]->dtype) &&
           run.operandShape(k).dims == in.dims && leaves[k]->dims == in.dims &&
           run.operandShape(n + 1 + k).dims == updates.dims &&
           areHeldAlike(run.operandShape(n + 1 + k).dtype, leaves[k]->dtype);
  if (!fits)
    return run.error(DiagClass::BadInput, "its dims don't fit {}, {} and {}", in.str(false),
                     run.operandShape(n).str(false), updates.str(false));
  llvm::Expected<ScalarProgram *> program = reducerOf(run, CallRole::ToApply, n);
  if (!program)
    return program.takeError();
  std::vector<std::shared_ptr<Tensor>> results;
  for (size_t k = 0; k < n; ++k) {
    llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(*leaves[k]);
    if (!result)
      return result.takeError();
    std::span<const uint64_t> words = run.operand(k).words();
    std::copy(words.begin(), words.end(), (*result)->words().begin());
    results.push_back(std::move(*result));
  }
  if (llvm::Error error = run.charge(run.operand(0).size()))
    return error;
  if (llvm::Error error = run.charge(run.operand(n + 1).size(), (*program)->cost()))
    return error;
  if (run.isRecording())
    for (int64_t i = 0; i < run.operand(0).size(); ++i)
      for (size_t k = 0; k < n; ++k)
        run.read(i, k, i);
  std::vector<int64_t> inStrides = stridesOf(in), updateStrides = stridesOf(updates);
  std::vector<int64_t> windowDims = pick(updates.dims, dims.updateWindowDims);
  std::vector<int64_t> windowStrides = pick(updateStrides, dims.updateWindowDims);
  std::vector<int64_t> batchStrides = pick(updateStrides, batchIn);
  std::vector<int64_t> batch(reader.batchDims.size()), starts(in.rank());
  auto apply = [&](int64_t at, int64_t update, int64_t indexBase) {
    for (size_t k = 0; k < n; ++k) {
      (*program)->parameter(k) = load(*results[k], at);
      (*program)->parameter(n + k) = load(run.operand(n + 1 + k), update);
    }
    (*program)->run();
    for (size_t k = 0; k < n; ++k)
      store(*results[k], at, (*program)->result(k));
    if (!run.isRecording())
      return;
    for (size_t k = 0; k < n; ++k)
      run.read(at, n + 1 + k, update);
    for (int64_t k = 0; k < reader.vectorSize; ++k)
      run.read(at, n, indexBase + k * reader.vectorStride);
  };
  if (!isEmpty(reader.batchDims) && !isEmpty(windowDims))
    do {
      reader.read(batch, starts);
      int64_t indexBase = reader.offset(batch), batchBase = dot(batch, batchStrides);
      std::vector<int64_t> window(windowDims.size());
      do {
        // Element by element: a window may lie partly outside the operand.
        bool isInside = true;
        int64_t at = 0;
        for (size_t d = 0, w = 0; d < in.rank() && isInside; ++d) {
          int64_t inWindow =
              w < kept.size() && kept[w] == static_cast<int64_t>(d) ? window[w++] : 0;
          isInside =
              starts[d] < in.dims[d] && starts[d] >= -inWindow && starts[d] + inWindow < in.dims[d];
          at += isInside ? (starts[d] + inWindow) * inStrides[d] : 0;
        }
        if (isInside)
          apply(at, batchBase + dot(window, windowStrides), indexBase);
      } while (advance(window, windowDims));
    } while (advance(batch, reader.batchDims));
  Value value;
  for (std::shared_ptr<Tensor> &result : results) {
    finish(run.context, *result);
    value.push_back(std::move(result));
  }
  return value;
}

} // namespace tilewright::eval
