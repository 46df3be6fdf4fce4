// Ops that read where other tensors tell them to: dynamic slices, gather, scatter.
#include "analysis/indexing/indexing_internal.h"
#include "analysis/ir/literal.h"
#include "analysis/support/math.h"

#include <algorithm>

namespace tilewright::indexing {

std::optional<int64_t> knownInteger(const Graph &graph, OpId id, size_t element) {
  for (const Op *op = &graph.op(id);; op = &graph.op(op->operands[0])) {
    switch (op->opcode) {
    case Opcode::Constant: {
      if (op->shape.isTuple || !isInteger(op->shape.dtype) || op->isElidedConstant())
        return std::nullopt;
      llvm::Expected<Tensor> value = parseLiteral(op->shape, op->literal);
      if (!value) {
        llvm::consumeError(value.takeError());
        return std::nullopt;
      }
      if (element >= static_cast<size_t>(value->size()))
        return std::nullopt;
      int64_t number = value->integer(static_cast<int64_t>(element));
      // u64 is held as a bit pattern.
      bool isHuge = dtypeClass(op->shape.dtype) == DTypeClass::Unsigned && number < 0;
      return isHuge ? INT64_MAX : number;
    }
    case Opcode::Convert: // only where it can't change the number
      if (op->operands.size() != 1 || !isInteger(op->shape.dtype) ||
          bitWidth(op->shape.dtype) < bitWidth(graph.op(op->operands[0]).shape.dtype) ||
          dtypeClass(op->shape.dtype) != dtypeClass(graph.op(op->operands[0]).shape.dtype))
        return std::nullopt;
      break;
    case Opcode::Broadcast: // of a scalar
      if (op->operands.size() != 1 || !graph.op(op->operands[0]).shape.isScalar())
        return std::nullopt;
      element = 0;
      break;
    case Opcode::Copy:
    case Opcode::Reshape:
      if (op->operands.size() != 1)
        return std::nullopt;
      break;
    default:
      return std::nullopt;
    }
  }
}

namespace {

Expr runtime(const OpView &v, unsigned i) {
  return v.ctx.variable(VarKind::Runtime, fmt::format("rt{}", i));
}

/// The starts of a dynamic slice: constants are clamped and folded, others are runtime variables
/// over what remains after clamping, [0, extent - size].
struct Starts {
  std::vector<Expr> at;
  std::vector<MapVariable> variables;
};

llvm::Expected<Starts> startsOf(const OpView &v, size_t firstOperand,
                                const std::vector<int64_t> &extents,
                                const std::vector<int64_t> &sizes) {
  Starts starts;
  // Old dumps give all starts as one vector.
  bool isVector = v.operandCount() == firstOperand + 1 && v.operand(firstOperand).rank() == 1;
  if (sizes.size() != extents.size() ||
      (!isVector && v.operandCount() != firstOperand + extents.size()))
    return v.malformed("its starts don't fit");
  for (size_t i = 0; i < extents.size(); ++i) {
    size_t operand = isVector ? firstOperand : firstOperand + i;
    Interval domain{0, extents[i] - sizes[i]};
    if (domain.isEmpty())
      return v.malformed("a slice is larger than its operand");
    OpId id = v.op.operands[operand];
    if (std::optional<int64_t> known = knownInteger(v.graph, id, isVector ? i : 0)) {
      starts.at.push_back(v.constant(std::clamp(*known, domain.lo, domain.hi)));
      continue;
    }
    starts.at.push_back(runtime(v, static_cast<unsigned>(i)));
    RuntimeSource source{id.index, "%" + v.graph.op(id).name, {}};
    if (isVector)
      source.element.push_back(v.constant(static_cast<int64_t>(i)));
    starts.variables.push_back({starts.at.back(), domain, std::move(source)});
  }
  return starts;
}

/// Maps of the start operands: each is read wholly.
void addStartOperands(const OpView &v, size_t first, OpIndexing &result) {
  for (size_t i = first; i < v.operandCount(); ++i) {
    const Shape &in = v.operand(i);
    if (in.dims.empty()) {
      result.operands.push_back(exactly(v.scalar()));
      continue;
    }
    std::vector<Expr> at;
    std::vector<MapVariable> ranges;
    for (size_t d = 0; d < in.rank(); ++d) {
      at.push_back(v.ctx.range(static_cast<unsigned>(d)));
      ranges.push_back(rangeVariable(at.back(), in.dims[d]));
    }
    result.operands.push_back(exactly(v.map(std::move(at), std::move(ranges))));
  }
}

Maps dynamicSliceMaps(const OpView &v) {
  const std::vector<int64_t> &extents = v.operand(0).dims;
  if (v.out.rank() != extents.size())
    return v.malformed("operand and result differ in rank");
  llvm::Expected<Starts> starts = startsOf(v, 1, extents, v.out.dims);
  if (!starts)
    return starts.takeError();
  std::vector<Expr> at;
  for (size_t i = 0; i < extents.size(); ++i)
    at.push_back(v.dim(i) + starts->at[i]);
  OpIndexing result;
  result.operands.push_back(exactly(v.map(std::move(at), starts->variables)));
  addStartOperands(v, 1, result);
  return result;
}

Maps dynamicUpdateSliceMaps(const OpView &v) {
  if (v.operandCount() < 2 || v.operand(0).dims != v.out.dims)
    return v.malformed("operand and result differ in dims");
  const std::vector<int64_t> &sizes = v.operand(1).dims;
  llvm::Expected<Starts> starts = startsOf(v, 2, v.out.dims, sizes);
  if (!starts)
    return starts.takeError();
  std::vector<Expr> at;
  std::vector<MapConstraint> inside;
  for (size_t i = 0; i < sizes.size(); ++i) {
    at.push_back(v.dim(i) - starts->at[i]);
    inside.push_back({at.back(), Interval::ofExtent(sizes[i]), 1, 0});
  }
  OpIndexing result;
  result.operands.push_back(atMost(v.identity(), "without the updated window"));
  result.operands.push_back(exactly(v.map(std::move(at), starts->variables, std::move(inside))));
  addStartOperands(v, 2, result);
  return result;
}

/// The coordinates in an index tensor: the batch coordinates with `component` put in at the index
/// vector's dim (nowhere, if each index is a scalar).
std::vector<Expr> indexElement(const Shape &indices, int64_t vectorDim,
                               const std::vector<Expr> &batch, Expr component) {
  std::vector<Expr> at;
  size_t next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(indices.rank()); ++d)
    at.push_back(d == vectorDim ? component : batch[next++]);
  return at;
}

/// Which batch coordinate belongs to dim `d` of the index tensor.
size_t batchPosition(int64_t d, int64_t vectorDim) {
  return static_cast<size_t>(d > vectorDim ? d - 1 : d);
}

Maps gatherMaps(const OpView &v) {
  const GatherDims &g = v.op.attrs.gather;
  if (v.operandCount() != 2)
    return v.malformed("needs two operands");
  const Shape &in = v.operand(0), &indices = v.operand(1);
  std::vector<Expr> batch, offsets;
  for (int64_t d = 0; d < static_cast<int64_t>(v.out.rank()); ++d)
    (contains(g.offsetDims, d) ? offsets : batch).push_back(v.dim(static_cast<size_t>(d)));
  int64_t rank = indices.rank();
  bool hasVector = g.indexVectorDim >= 0 && g.indexVectorDim < rank;
  size_t batchRank = static_cast<size_t>(rank - (hasVector ? 1 : 0));
  int64_t components = hasVector ? indices.dims[static_cast<size_t>(g.indexVectorDim)] : 1;
  if (batch.size() != batchRank || g.sliceSizes.size() != in.rank() || g.indexVectorDim < 0 ||
      components != static_cast<int64_t>(g.startIndexMap.size()) ||
      g.operandBatchingDims.size() != g.startIndicesBatchingDims.size())
    return v.malformed("its dims don't fit");
  std::vector<Expr> at(in.rank(), v.constant(0));
  std::vector<MapVariable> variables;
  for (size_t j = 0; j < g.startIndexMap.size(); ++j) {
    size_t k = static_cast<size_t>(g.startIndexMap[j]);
    if (k >= in.rank() || in.dims[k] < g.sliceSizes[k])
      return v.malformed("its slices don't fit");
    Expr start = runtime(v, static_cast<unsigned>(j));
    Interval domain{0, in.dims[k] - g.sliceSizes[k]};
    OpId id = v.op.operands[1];
    // A constant that every element reads, as of a dynamic slice.
    if (std::optional<int64_t> known =
            batch.empty() ? knownInteger(v.graph, id, j) : std::nullopt) {
      at[k] = at[k] + v.constant(std::clamp(*known, domain.lo, domain.hi));
      continue;
    }
    at[k] = at[k] + start;
    variables.push_back({start, domain,
                         RuntimeSource{id.index, "%" + v.graph.op(id).name,
                                       indexElement(indices, hasVector ? g.indexVectorDim : rank,
                                                    batch, v.constant(static_cast<int64_t>(j)))}});
  }
  size_t nextOffset = 0;
  for (size_t k = 0; k < in.rank(); ++k) {
    int64_t dim = static_cast<int64_t>(k);
    auto batching = std::find(g.operandBatchingDims.begin(), g.operandBatchingDims.end(), dim);
    if (batching != g.operandBatchingDims.end()) {
      int64_t d =
          g.startIndicesBatchingDims[static_cast<size_t>(batching - g.operandBatchingDims.begin())];
      size_t position = batchPosition(d, hasVector ? g.indexVectorDim : rank);
      if (d < 0 || position >= batch.size())
        return v.malformed("its batching dims don't fit");
      at[k] = at[k] + batch[position];
    } else if (!contains(g.collapsedSliceDims, dim)) {
      if (nextOffset >= offsets.size())
        return v.malformed("its offset dims don't fit");
      at[k] = at[k] + offsets[nextOffset++];
    }
  }
  OpIndexing result;
  result.operands.push_back(exactly(v.map(std::move(at), std::move(variables))));
  Expr component = v.ctx.range(0);
  std::vector<MapVariable> ranges;
  if (hasVector)
    ranges.push_back(rangeVariable(component, components));
  result.operands.push_back(
      exactly(v.map(indexElement(indices, hasVector ? g.indexVectorDim : rank, batch, component),
                    std::move(ranges))));
  return result;
}

/// An output element is its operand element combined with the updates whose windows cover it:
/// for update batch position s with starts rt read at s, window coordinate d - rt.
Maps scatterMaps(const OpView &v) {
  const ScatterDims &g = v.op.attrs.scatter;
  if (v.operandCount() < 3 || v.operandCount() % 2 == 0)
    return v.malformed("needs operands, indices and updates");
  size_t count = v.operandCount() / 2;
  const Shape &in = v.operand(0), &indices = v.operand(count), &updates = v.operand(count + 1);
  int64_t rank = indices.rank();
  bool hasVector = g.indexVectorDim >= 0 && g.indexVectorDim < rank;
  int64_t components = hasVector ? indices.dims[static_cast<size_t>(g.indexVectorDim)] : 1;
  size_t batchRank = static_cast<size_t>(rank - (hasVector ? 1 : 0));
  if (in.dims != v.out.dims || g.indexVectorDim < 0 ||
      components != static_cast<int64_t>(g.scatterDimsToOperandDims.size()) ||
      g.inputBatchingDims.size() != g.scatterIndicesBatchingDims.size())
    return v.malformed("its dims don't fit");
  std::vector<Expr> at(updates.rank()), batch;
  std::vector<MapVariable> variables;
  std::vector<size_t> windowDims;
  for (size_t d = 0; d < updates.rank(); ++d) {
    if (contains(g.updateWindowDims, static_cast<int64_t>(d))) {
      windowDims.push_back(d);
      continue;
    }
    at[d] = v.ctx.range(static_cast<unsigned>(batch.size()));
    batch.push_back(at[d]);
    variables.push_back(rangeVariable(at[d], updates.dims[d]));
  }
  if (batch.size() != batchRank)
    return v.malformed("updates and indices don't fit");
  OpId id = v.op.operands[count];
  std::vector<Expr> window; // d - start, by operand dim
  for (size_t k = 0; k < in.rank(); ++k)
    window.push_back(v.dim(k));
  for (size_t j = 0; j < g.scatterDimsToOperandDims.size(); ++j) {
    size_t k = static_cast<size_t>(g.scatterDimsToOperandDims[j]);
    if (k >= in.rank())
      return v.malformed("its dims don't fit");
    Expr start = runtime(v, static_cast<unsigned>(j));
    window[k] = window[k] - start;
    // Starts are not clamped: updates outside are dropped.
    variables.push_back({start, Interval{},
                         RuntimeSource{id.index, "%" + v.graph.op(id).name,
                                       indexElement(indices, hasVector ? g.indexVectorDim : rank,
                                                    batch, v.constant(static_cast<int64_t>(j)))}});
  }
  std::vector<MapConstraint> constraints;
  size_t nextWindow = 0;
  for (size_t k = 0; k < in.rank(); ++k) {
    int64_t dim = static_cast<int64_t>(k);
    auto batching = std::find(g.inputBatchingDims.begin(), g.inputBatchingDims.end(), dim);
    if (batching != g.inputBatchingDims.end()) {
      int64_t d =
          g.scatterIndicesBatchingDims[static_cast<size_t>(batching - g.inputBatchingDims.begin())];
      size_t position = batchPosition(d, hasVector ? g.indexVectorDim : rank);
      if (d < 0 || position >= batch.size())
        return v.malformed("its batching dims don't fit");
      constraints.push_back({window[k] - batch[position], Interval::point(0), 1, 0});
    } else if (contains(g.insertedWindowDims, dim)) {
      constraints.push_back({window[k], Interval::point(0), 1, 0});
    } else {
      if (nextWindow >= windowDims.size())
        return v.malformed("its window dims don't fit");
      size_t d = windowDims[nextWindow++];
      at[d] = window[k];
      constraints.push_back({window[k], Interval::ofExtent(updates.dims[d]), 1, 0});
    }
  }
  if (nextWindow != windowDims.size())
    return v.malformed("its window dims don't fit");
  OpIndexing result;
  size_t which = v.path.empty() ? 0 : static_cast<size_t>(v.path.front());
  for (size_t i = 0; i < count; ++i)
    result.operands.push_back(count > 1 && i != which && !v.path.empty() ? OperandMaps{}
                                                                         : exactly(v.identity()));
  std::vector<Expr> every;
  std::vector<MapVariable> everywhere;
  for (size_t d = 0; d < indices.rank(); ++d) {
    every.push_back(v.ctx.range(static_cast<unsigned>(d)));
    everywhere.push_back(rangeVariable(every.back(), indices.dims[d]));
  }
  result.operands.push_back(atMost(v.map(std::move(every), std::move(everywhere)),
                                   "all indices decide which updates land on the element"));
  for (size_t i = 0; i < count; ++i)
    result.operands.push_back(atMost(v.map(at, variables, constraints),
                                     "updates that lie partly outside may be dropped"));
  return result;
}

} // namespace

Maps dynamicMaps(const OpView &v) {
  if (v.operandCount() == 0)
    return v.malformed("it has no operands");
  for (size_t i = 0; i < v.operandCount(); ++i)
    if (v.operand(i).isTuple)
      return v.malformed("an operand is a tuple");
  switch (v.op.opcode) {
  case Opcode::DynamicSlice:
    return dynamicSliceMaps(v);
  case Opcode::DynamicUpdateSlice:
    return dynamicUpdateSliceMaps(v);
  case Opcode::Gather:
    return gatherMaps(v);
  default:
    return scatterMaps(v);
  }
}

} // namespace tilewright::indexing
