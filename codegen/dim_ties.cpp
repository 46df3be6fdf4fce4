#include "codegen/dim_ties.h"

#include "analysis/support/math.h"
#include "codegen/extract.h"

#include <algorithm>

namespace tilewright {

namespace {

/// For a tuple: the shape of its tensors if all have the same dims, else empty.
const Shape *tensorShape(const Op &op) {
  if (!op.shape.isTuple)
    return &op.shape;
  for (const Shape &element : op.shape.elements)
    if (element.isTuple || element.dims != op.shape.elements[0].dims)
      return nullptr;
  return op.shape.elements.empty() ? nullptr : &op.shape.elements[0];
}

size_t at(int64_t dim) { return static_cast<size_t>(dim); }

} // namespace

bool windowFollowsExtent(const WindowDim &window, int64_t extent) {
  return window.size == extent && extent > 1 && window.stride == 1 && window.baseDilation == 1 &&
         window.windowDilation == 1;
}

WindowDim resizedWindow(const WindowDim &window, int64_t size) {
  WindowDim result = window;
  result.size = size;
  for (int64_t *pad : {&result.padLow, &result.padHigh})
    if (*pad == window.size - 1 && window.size > 1)
      *pad = size - 1;
  return result;
}

DimTies::DimTies(const Graph &graph) : graph(graph), groups(graph.size()) {
  for (const Op &op : graph.all()) {
    Lists lists;
    if (const Shape *shape = tensorShape(op))
      for (int64_t extent : shape->dims)
        lists.push_back({dims.add(extent)});
    extents.push_back(std::move(lists));
  }
  for (uint32_t i = 0; i < graph.size(); ++i)
    tie(OpId{i});
  tieResults();
}

/// Results of the same dims are tiled together.
void DimTies::tieResults() {
  const std::vector<OpId> results = resultsOf(graph);
  for (OpId id : results)
    if (!graph[id].shape.isTuple && graph[id].shape.dims == graph[results[0]].shape.dims)
      for (size_t d = 0; d < extents[id.index].size(); ++d)
        same(extents[results[0].index][d], extents[id.index][d]);
}

void DimTies::atMost(const DimFactors::List &part, const DimFactors::List &whole, bool isWhole,
                     int64_t step) {
  if (isWhole)
    return same(part, whole);
  DimRelation relation{DimRelation::Kind::AtMost, part, {whole}, {}, {}, step};
  all.push_back(std::move(relation));
}

void DimTies::freezeAround(OpId id) {
  for (const DimFactors::List &list : extents[id.index])
    dims.freeze(list);
  for (OpId operand : graph[id].operands)
    for (const DimFactors::List &list : extents[operand.index])
      dims.freeze(list);
}

void DimTies::tieElementwise(OpId id) {
  const Op &op = graph[id];
  for (size_t i = 0; i < op.operands.size(); ++i)
    if (operand(op, i).size() == extents[id.index].size())
      for (size_t d = 0; d < extents[id.index].size(); ++d)
        same(extents[id.index][d], operand(op, i)[d]);
}

/// A reshape keeps the row-major order of elements, a bitcast the physical one.
void DimTies::tieReshape(OpId id) {
  const Op &op = graph[id];
  const Op &from = graph[op.operands[0]];
  if (op.shape.isTuple || from.shape.isTuple ||
      bitWidth(op.shape.dtype) != bitWidth(from.shape.dtype))
    return freezeAround(id);
  auto inOrder = [&](OpId of) {
    const Shape &shape = graph[of].shape;
    DimFactors::List list;
    if (op.opcode == Opcode::Bitcast) {
      std::vector<int64_t> order = shape.minorToMajorOrDefault();
      for (auto dim = order.rbegin(); dim != order.rend(); ++dim)
        list.insert(list.end(), extents[of.index][at(*dim)].begin(),
                    extents[of.index][at(*dim)].end());
    } else {
      for (const DimFactors::List &factors : extents[of.index])
        list.insert(list.end(), factors.begin(), factors.end());
    }
    return list;
  };
  same(inOrder(id), inOrder(op.operands[0]));
}

void DimTies::tieDot(OpId id) {
  const Op &op = graph[id];
  const DotDims &dot = op.attrs.dot;
  const Lists &lhs = operand(op, 0), &rhs = operand(op, 1), &out = extents[id.index];
  for (size_t i = 0; i < dot.lhsContracting.size(); ++i)
    same(lhs[at(dot.lhsContracting[i])], rhs[at(dot.rhsContracting[i])]);
  size_t next = 0;
  for (size_t i = 0; i < dot.lhsBatch.size(); ++i) {
    same(lhs[at(dot.lhsBatch[i])], rhs[at(dot.rhsBatch[i])]);
    same(out[next++], lhs[at(dot.lhsBatch[i])]);
  }
  for (size_t d = 0; d < lhs.size(); ++d)
    if (auto dim = static_cast<int64_t>(d);
        !contains(dot.lhsBatch, dim) && !contains(dot.lhsContracting, dim))
      same(out[next++], lhs[d]);
  for (size_t d = 0; d < rhs.size(); ++d)
    if (auto dim = static_cast<int64_t>(d);
        !contains(dot.rhsBatch, dim) && !contains(dot.rhsContracting, dim))
      same(out[next++], rhs[d]);
}

void DimTies::tieConvolution(OpId id) {
  const Op &op = graph[id];
  const ConvDims &conv = op.attrs.conv;
  const Lists &input = operand(op, 0), &kernel = operand(op, 1), &out = extents[id.index];
  int64_t groupCount = op.attrs.featureGroupCount;
  if (op.attrs.batchGroupCount != 1)
    return freezeAround(id);
  same(out[at(conv.outputBatch)], input[at(conv.inputBatch)]);
  same(out[at(conv.outputFeature)], kernel[at(conv.kernelOutput)]);
  // The input has `groups` times the kernel's input features; output features are split into
  // groups, too.
  int group = dims.add(groupCount);
  groups[id.index] = {group};
  DimFactors::List features{group};
  const DimFactors::List &channels = kernel[at(conv.kernelInput)];
  features.insert(features.end(), channels.begin(), channels.end());
  same(input[at(conv.inputFeature)], features);
  int64_t outputs = graph[op.operands[1]].shape.dims[at(conv.kernelOutput)];
  same(out[at(conv.outputFeature)], {group, dims.add(outputs / groupCount)});
  for (size_t i = 0; i < op.attrs.window.size(); ++i) {
    DimRelation relation{DimRelation::Kind::Window,
                         out[at(conv.outputSpatial[i])],
                         {input[at(conv.inputSpatial[i])], kernel[at(conv.kernelSpatial[i])]},
                         {},
                         op.attrs.window[i]};
    // Small windows are part of the structure; only windows as long as a tensor's dim shrink.
    constexpr int64_t smallWindow = 16;
    if (op.attrs.window[i].size <= smallWindow)
      dims.freeze(relation.sources[1]);
    all.push_back(std::move(relation));
  }
}

void DimTies::tieWindow(OpId id) {
  const Op &op = graph[id];
  const Lists &out = extents[id.index];
  // In select-and-scatter the window slides over the result.
  bool isScatter = op.opcode == Opcode::SelectAndScatter;
  size_t inputs = isScatter ? 1 : op.operands.size() / 2;
  for (size_t d = 0; d < out.size(); ++d) {
    const WindowDim &window = op.attrs.window[d];
    const DimFactors::List &whole = isScatter ? out[d] : operand(op, 0)[d];
    for (size_t i = 0; i < inputs; ++i)
      same(whole, operand(op, i)[d]);
    const DimFactors::List &positions = isScatter ? operand(op, 1)[d] : out[d];
    int64_t extent = graph[op.operands[0]].shape.dims[d];
    if (window.size == 1 && window == WindowDim{}) {
      same(positions, whole);
      continue;
    }
    DimFactors::List size = windowFollowsExtent(window, extent) ? whole : DimFactors::List{};
    if (size.empty()) {
      size = {dims.add(window.size)};
      dims.freeze(size);
    }
    all.push_back({DimRelation::Kind::Window, positions, {whole, size}, {}, window});
  }
}

void DimTies::tieGather(OpId id) {
  const Op &op = graph[id];
  const GatherDims &gather = op.attrs.gather;
  const Lists &from = operand(op, 0), &indices = operand(op, 1), &out = extents[id.index];
  const Shape &fromShape = graph[op.operands[0]].shape;
  size_t offset = 0, batch = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    auto dim = static_cast<int64_t>(d);
    if (contains(gather.collapsedSliceDims, dim) || contains(gather.operandBatchingDims, dim))
      continue;
    atMost(out[at(gather.offsetDims[offset++])], from[d],
           gather.sliceSizes[d] == fromShape.dims[d]);
  }
  std::vector<size_t> batchDims; // of the result
  for (size_t d = 0; d < out.size(); ++d)
    if (!contains(gather.offsetDims, static_cast<int64_t>(d)))
      batchDims.push_back(d);
  for (size_t d = 0; d < indices.size(); ++d) {
    if (static_cast<int64_t>(d) == gather.indexVectorDim)
      dims.freeze(indices[d]);
    else
      same(indices[d], out[batchDims[batch++]]);
  }
  for (size_t i = 0; i < gather.operandBatchingDims.size(); ++i)
    same(from[at(gather.operandBatchingDims[i])], indices[at(gather.startIndicesBatchingDims[i])]);
}

void DimTies::tieScatter(OpId id) {
  const Op &op = graph[id];
  const ScatterDims &scatter = op.attrs.scatter;
  size_t inputs = (op.operands.size() - 1) / 2;
  const Lists &out = extents[id.index], &indices = operand(op, inputs);
  const Shape &outShape = graph[op.operands[0]].shape;
  for (size_t i = 0; i < inputs; ++i) {
    const Lists &updates = operand(op, inputs + 1 + i);
    const Shape &updateShape = graph[op.operands[inputs + 1 + i]].shape;
    for (size_t d = 0; d < out.size(); ++d)
      same(out[d], operand(op, i)[d]);
    size_t window = 0, batch = 0;
    for (size_t d = 0; d < out.size(); ++d) {
      auto dim = static_cast<int64_t>(d);
      if (contains(scatter.insertedWindowDims, dim) || contains(scatter.inputBatchingDims, dim))
        continue;
      size_t from = at(scatter.updateWindowDims[window++]);
      atMost(updates[from], out[d], updateShape.dims[from] == outShape.dims[d]);
    }
    std::vector<size_t> batchDims;
    for (size_t d = 0; d < updates.size(); ++d)
      if (!contains(scatter.updateWindowDims, static_cast<int64_t>(d)))
        batchDims.push_back(d);
    for (size_t d = 0; d < indices.size(); ++d) {
      if (static_cast<int64_t>(d) == scatter.indexVectorDim)
        dims.freeze(indices[d]);
      else
        same(indices[d], updates[batchDims[batch++]]);
    }
  }
  for (size_t i = 0; i < scatter.inputBatchingDims.size(); ++i)
    same(out[at(scatter.inputBatchingDims[i])], indices[at(scatter.scatterIndicesBatchingDims[i])]);
}

void DimTies::tie(OpId id) {
  const Op &op = graph[id];
  Lists &out = extents[id.index];
  for (bool flag : op.shape.dynamic)
    if (flag)
      return freezeAround(id);
  if (opClass(op.opcode) == OpClass::Elementwise)
    return tieElementwise(id);
  switch (op.opcode) {
  case Opcode::Parameter:
  case Opcode::Constant:
  case Opcode::Iota:
  case Opcode::Tuple:
    return;
  case Opcode::GetTupleElement:
  case Opcode::Sort:
  case Opcode::Reverse:
  case Opcode::OptimizationBarrier:
    if (operand(op, 0).size() != out.size())
      return freezeAround(id);
    return tieElementwise(id);
  case Opcode::Broadcast:
    for (size_t i = 0; i < op.attrs.dimensions.size(); ++i)
      same(out[at(op.attrs.dimensions[i])], operand(op, 0)[i]);
    return;
  case Opcode::Reshape:
  case Opcode::Bitcast:
    return tieReshape(id);
  case Opcode::Transpose:
    for (size_t i = 0; i < out.size(); ++i)
      same(out[i], operand(op, 0)[at(op.attrs.dimensions[i])]);
    return;
  case Opcode::Slice:
    for (size_t d = 0; d < out.size(); ++d) {
      const SliceDim &slice = op.attrs.slice[d];
      atMost(out[d], operand(op, 0)[d],
             slice.start == 0 && slice.step == 1 &&
                 slice.limit == graph[op.operands[0]].shape.dims[d],
             slice.step);
    }
    return;
  case Opcode::Pad:
    for (size_t d = 0; d < out.size(); ++d) {
      if (op.attrs.padding[d] == PadDim{})
        same(out[d], operand(op, 0)[d]);
      else
        all.push_back(
            {DimRelation::Kind::Pad, out[d], {operand(op, 0)[d]}, op.attrs.padding[d], {}});
    }
    return;
  case Opcode::Concatenate: {
    size_t along = at(op.attrs.dimensions[0]);
    DimRelation relation{DimRelation::Kind::Sum, out[along], {}, {}, {}};
    for (size_t i = 0; i < op.operands.size(); ++i) {
      for (size_t d = 0; d < out.size(); ++d)
        if (d != along)
          same(out[d], operand(op, i)[d]);
      relation.sources.push_back(operand(op, i)[along]);
    }
    all.push_back(std::move(relation));
    return;
  }
  case Opcode::Reduce: {
    size_t inputs = op.operands.size() / 2;
    for (size_t i = 0; i < inputs; ++i) {
      size_t kept = 0;
      for (size_t d = 0; d < operand(op, i).size(); ++d) {
        same(operand(op, 0)[d], operand(op, i)[d]);
        if (!contains(op.attrs.dimensions, static_cast<int64_t>(d)))
          same(out[kept++], operand(op, i)[d]);
      }
    }
    return;
  }
  case Opcode::Dot:
    return tieDot(id);
  case Opcode::Convolution:
    return tieConvolution(id);
  case Opcode::ReduceWindow:
  case Opcode::SelectAndScatter:
    return tieWindow(id);
  case Opcode::DynamicSlice:
  case Opcode::DynamicUpdateSlice: {
    bool isUpdate = op.opcode == Opcode::DynamicUpdateSlice;
    OpId part = isUpdate ? op.operands[1] : id;
    for (size_t d = 0; d < out.size(); ++d) {
      if (isUpdate)
        same(out[d], operand(op, 0)[d]);
      atMost(extents[part.index][d], operand(op, 0)[d],
             graph[part].shape.dims[d] == graph[op.operands[0]].shape.dims[d]);
    }
    return;
  }
  case Opcode::Gather:
    return tieGather(id);
  case Opcode::Scatter:
    return tieScatter(id);
  default:
    return freezeAround(id);
  }
}

} // namespace tilewright
