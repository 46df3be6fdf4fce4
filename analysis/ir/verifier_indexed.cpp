// gather and scatter. The rules are those of XLA's operation semantics.
#include "analysis/ir/verifier_internal.h"
#include "analysis/support/math.h"

#include <algorithm>

namespace tilewright {

bool OpCheck::indexed(bool &handled) {
  if (op.opcode == Opcode::Gather)
    return gather();
  if (op.opcode == Opcode::Scatter)
    return scatter();
  handled = false;
  return true;
}

/// The start vectors stand along `dim` of the indices, or each index is a vector of one.
bool OpCheck::indexVector(const Shape &indices, int64_t dim, size_t needed,
                          std::string_view attribute) {
  if (!isInteger(indices.dtype))
    return fail("the indices {} must be integers", briefText(indices));
  int64_t rank = indices.rank();
  if (dim < 0 || dim > rank)
    return failIn("index_vector_dim", "index_vector_dim {} is out of range, the rank is {}", dim,
                  rank);
  int64_t length = dim == rank ? 1 : indices.dims[static_cast<size_t>(dim)];
  return length == static_cast<int64_t>(needed) ||
         failIn(attribute, "{} lists {} dims, the index vectors have {}", attribute, needed,
                length);
}

/// Sorted and in range: the dims that the operand's slices lose.
bool OpCheck::sortedInRange(std::string_view attribute, const std::vector<int64_t> &dims,
                            size_t rank) {
  return dimsInRange(attribute, dims, rank) && (std::is_sorted(dims.begin(), dims.end()) ||
                                                failIn(attribute, "{} is not sorted", attribute));
}

/// The operand's dims that a slice keeps: neither collapsed nor batching.
bool OpCheck::batchingFits(std::string_view attribute, const std::vector<int64_t> &operandDims,
                           const std::vector<int64_t> &indexDims, const Shape &from,
                           const Shape &indices, int64_t vectorDim) {
  if (operandDims.size() != indexDims.size())
    return failIn(attribute, "{} operand batching dims stand against {} of the indices",
                  operandDims.size(), indexDims.size());
  if (!dimsInRange(attribute, operandDims, from.rank()) ||
      !dimsInRange(attribute, indexDims, indices.rank()))
    return false;
  for (size_t i = 0; i < operandDims.size(); ++i)
    if (indexDims[i] == vectorDim || from.dims[static_cast<size_t>(operandDims[i])] !=
                                         indices.dims[static_cast<size_t>(indexDims[i])])
      return failIn(attribute, "batching dim {} of the operand does not fit dim {} of the indices",
                    operandDims[i], indexDims[i]);
  return true;
}

bool OpCheck::gather() {
  if (!operandCount(2) || !areTensors(0, 2))
    return false;
  const Shape &from = operand(0), &indices = operand(1);
  const GatherDims &dims = op.attrs.gather;
  if (op.shape.isTuple)
    return fail("the result {} is a tuple", briefText(op.shape));
  if (!indexVector(indices, dims.indexVectorDim, dims.startIndexMap.size(), "start_index_map") ||
      !dimsInRange("start_index_map", dims.startIndexMap, from.rank()) ||
      !sortedInRange("collapsed_slice_dims", dims.collapsedSliceDims, from.rank()) ||
      !sortedInRange("offset_dims", dims.offsetDims, op.shape.rank()) ||
      !batchingFits("operand_batching_dims", dims.operandBatchingDims,
                    dims.startIndicesBatchingDims, from, indices, dims.indexVectorDim))
    return false;
  if (dims.sliceSizes.size() != from.rank())
    return failIn("slice_sizes", "needs a slice size for each of the {} dims of {}, {} given",
                  from.rank(), name(0), dims.sliceSizes.size());
  std::vector<int64_t> window; // the slice's extents that the result keeps
  for (size_t i = 0; i < from.rank(); ++i) {
    int64_t size = dims.sliceSizes[i], dim = static_cast<int64_t>(i);
    if (size < 0 || size > from.dims[i])
      return failIn("slice_sizes", "slice size {} is out of range, dim {} of {} has {}", size, i,
                    name(0), from.dims[i]);
    bool isCollapsed = contains(dims.collapsedSliceDims, dim);
    bool isBatching = contains(dims.operandBatchingDims, dim);
    if (isCollapsed && isBatching)
      return failIn("collapsed_slice_dims", "dim {} is collapsed and batching", i);
    if ((isCollapsed || isBatching) && size > 1)
      return failIn("slice_sizes", "slice size {} of dim {} must be 1, the result drops it", size,
                    i);
    if (!isCollapsed && !isBatching)
      window.push_back(size);
  }
  if (window.size() != dims.offsetDims.size())
    return failIn("offset_dims", "lists {} dims, the slices keep {}", dims.offsetDims.size(),
                  window.size());
  std::vector<int64_t> batch;
  for (size_t i = 0; i < indices.rank(); ++i)
    if (static_cast<int64_t>(i) != dims.indexVectorDim)
      batch.push_back(indices.dims[i]);
  if (op.shape.rank() != window.size() + batch.size())
    return fail("the result {} must have {} dims: {} of the slices and {} of the indices",
                briefText(op.shape), window.size() + batch.size(), window.size(), batch.size());
  std::vector<int64_t> expected;
  for (size_t i = 0, w = 0, b = 0; i < op.shape.rank(); ++i)
    expected.push_back(contains(dims.offsetDims, static_cast<int64_t>(i)) ? window[w++]
                                                                          : batch[b++]);
  return resultDims(expected) && resultTypeLike(0);
}

bool OpCheck::scatter() {
  // n operands, the indices, n updates
  if (operands() < 3 || operands() % 2 == 0)
    return fail("needs as many updates as operands and the indices, {} operands given", operands());
  size_t count = operands() / 2;
  if (!areTensors(0, operands()))
    return false;
  const Shape &from = operand(0), &indices = operand(count), &updates = operand(count + 1);
  const ScatterDims &dims = op.attrs.scatter;
  for (size_t i = 0; i < count; ++i) {
    if (operand(i).dims != from.dims)
      return fail("{} and {} differ in dims", name(0), name(i));
    if (operand(count + 1 + i).dims != updates.dims)
      return fail("{} and {} differ in dims", name(count + 1), name(count + 1 + i));
    if (!typesAgree(operand(i).dtype, operand(count + 1 + i).dtype))
      return fail("{} and {} differ in element type", name(i), name(count + 1 + i));
  }
  if (!indexVector(indices, dims.indexVectorDim, dims.scatterDimsToOperandDims.size(),
                   "scatter_dims_to_operand_dims") ||
      !dimsInRange("scatter_dims_to_operand_dims", dims.scatterDimsToOperandDims, from.rank()) ||
      !sortedInRange("inserted_window_dims", dims.insertedWindowDims, from.rank()) ||
      !sortedInRange("update_window_dims", dims.updateWindowDims, updates.rank()) ||
      !batchingFits("input_batching_dims", dims.inputBatchingDims, dims.scatterIndicesBatchingDims,
                    from, indices, dims.indexVectorDim))
    return false;
  std::vector<int64_t> window, batch; // what the updates' dims may be and must be
  for (size_t i = 0; i < from.rank(); ++i) {
    bool isInserted = contains(dims.insertedWindowDims, static_cast<int64_t>(i));
    bool isBatching = contains(dims.inputBatchingDims, static_cast<int64_t>(i));
    if (isInserted && isBatching)
      return failIn("inserted_window_dims", "dim {} is inserted and batching", i);
    if (!isInserted && !isBatching)
      window.push_back(from.dims[i]);
  }
  for (size_t i = 0; i < indices.rank(); ++i)
    if (static_cast<int64_t>(i) != dims.indexVectorDim)
      batch.push_back(indices.dims[i]);
  if (window.size() != dims.updateWindowDims.size())
    return failIn("update_window_dims", "lists {} dims, the windows keep {}",
                  dims.updateWindowDims.size(), window.size());
  if (updates.rank() != window.size() + batch.size())
    return fail("{} must have {} dims: {} of the windows and {} of the indices", name(count + 1),
                window.size() + batch.size(), window.size(), batch.size());
  for (size_t i = 0, w = 0, b = 0; i < updates.rank(); ++i) {
    bool isWindow = contains(dims.updateWindowDims, static_cast<int64_t>(i));
    if (isWindow ? updates.dims[i] > window[w] : updates.dims[i] != batch[b])
      return fail("dim {} of {} {} {}", i, name(count + 1),
                  isWindow ? "is over the operand's" : "is not the indices'",
                  isWindow ? window[w] : batch[b]);
    isWindow ? ++w : ++b;
  }
  GraphId body = callee(CallRole::ToApply, "to_apply");
  return body.isValid() && combines(body, "to_apply", operandTypes(count)) &&
         resultsLikeInputs(count, from.dims);
}

} // namespace tilewright
