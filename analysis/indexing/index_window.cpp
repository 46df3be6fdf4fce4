// convolution, reduce-window and select-and-scatter.
#include "analysis/indexing/indexing_internal.h"

namespace tilewright::indexing {

WindowVariables windowVariables(ExprContext &ctx, const std::vector<WindowDim> &window,
                                unsigned first) {
  WindowVariables result;
  for (const WindowDim &dim : window) {
    if (dim.size == 1) {
      result.at.push_back(ctx.constant(0));
      continue;
    }
    result.at.push_back(ctx.range(first + static_cast<unsigned>(result.variables.size())));
    result.variables.push_back(rangeVariable(result.at.back(), dim.size));
  }
  return result;
}

namespace {

/// Where position `output` of a window, element `element` of it, falls in an input of `extent`:
///   p = stride·output + dilation·element - low;  index p / base dilation, if that is whole and
///   in the input.
Expr windowIndex(const WindowDim &dim, Expr output, Expr element, int64_t extent,
                 std::vector<MapConstraint> &constraints) {
  Expr p = output * dim.stride + element * dim.windowDilation - dim.padLow;
  Expr index = p.floorDiv(dim.baseDilation);
  constraints.push_back({index, Interval::ofExtent(extent), 1, 0});
  if (dim.baseDilation > 1)
    constraints.push_back({p, {}, dim.baseDilation, 0});
  return index;
}

bool isSound(const std::vector<WindowDim> &window) {
  for (const WindowDim &dim : window)
    if (dim.size < 0 || dim.stride < 1 || dim.windowDilation < 1 || dim.baseDilation < 1)
      return false;
  return true;
}

Maps convolutionMaps(const OpView &v) {
  const ConvDims &dims = v.op.attrs.conv;
  const std::vector<WindowDim> &window = v.op.attrs.window;
  if (v.operandCount() != 2)
    return v.malformed("needs two operands");
  const Shape &input = v.operand(0), &kernel = v.operand(1);
  size_t spatial = window.size(), rank = spatial + 2;
  auto sound = [&](std::vector<int64_t> list, int64_t a, int64_t b) {
    list.insert(list.end(), {a, b});
    std::vector<bool> seen(rank);
    for (int64_t d : list) {
      if (d < 0 || static_cast<size_t>(d) >= rank || seen[static_cast<size_t>(d)])
        return false;
      seen[static_cast<size_t>(d)] = true;
    }
    return list.size() == rank;
  };
  if (input.rank() != rank || kernel.rank() != rank || v.out.rank() != rank || !isSound(window) ||
      !sound(dims.inputSpatial, dims.inputBatch, dims.inputFeature) ||
      !sound(dims.kernelSpatial, dims.kernelInput, dims.kernelOutput) ||
      !sound(dims.outputSpatial, dims.outputBatch, dims.outputFeature))
    return v.malformed("its dim labels don't fit");
  auto extent = [](const Shape &shape, int64_t d) { return shape.dims[static_cast<size_t>(d)]; };
  int64_t groups = v.op.attrs.featureGroupCount, batchGroups = v.op.attrs.batchGroupCount;
  if (groups < 1 || batchGroups < 1)
    return v.malformed("its groups don't fit");
  int64_t outputs = extent(kernel, dims.kernelOutput);
  int64_t channels = extent(kernel, dims.kernelInput); // of one feature group

  WindowVariables element = windowVariables(v.ctx, window, 0);
  Expr channel = v.ctx.range(static_cast<unsigned>(element.variables.size()));
  std::vector<MapVariable> ranges = element.variables;
  ranges.push_back(rangeVariable(channel, channels));
  std::vector<Expr> lhs(rank, v.constant(0)), rhs(rank, v.constant(0));
  std::vector<MapConstraint> constraints;
  for (size_t i = 0; i < spatial; ++i) {
    size_t in = static_cast<size_t>(dims.inputSpatial[i]);
    Expr out = v.dim(static_cast<size_t>(dims.outputSpatial[i]));
    lhs[in] = windowIndex(window[i], out, element.at[i], input.dims[in], constraints);
    rhs[static_cast<size_t>(dims.kernelSpatial[i])] =
        window[i].reversed ? v.constant(window[i].size - 1) - element.at[i] : element.at[i];
  }
  Expr feature = v.dim(static_cast<size_t>(dims.outputFeature));
  Expr batch = v.dim(static_cast<size_t>(dims.outputBatch));
  // Output features of group g read the inputs of feature group g, or the batches of batch group g.
  if (groups > 1 && outputs >= groups)
    lhs[static_cast<size_t>(dims.inputFeature)] =
        feature.floorDiv(outputs / groups) * channels + channel;
  else
    lhs[static_cast<size_t>(dims.inputFeature)] = channel;
  if (batchGroups > 1 && outputs >= batchGroups)
    batch =
        feature.floorDiv(outputs / batchGroups) * (extent(input, dims.inputBatch) / batchGroups) +
        batch;
  lhs[static_cast<size_t>(dims.inputBatch)] = batch;
  rhs[static_cast<size_t>(dims.kernelInput)] = channel;
  rhs[static_cast<size_t>(dims.kernelOutput)] = feature;
  OpIndexing result;
  // A kernel element that meets padding only is not read, hence the same constraints.
  result.operands.push_back(exactly(v.map(std::move(lhs), ranges, constraints)));
  result.operands.push_back(exactly(v.map(std::move(rhs), ranges, std::move(constraints))));
  return result;
}

Maps reduceWindowMaps(const OpView &v) {
  const std::vector<WindowDim> &window = v.op.attrs.window;
  size_t inputs = v.operandCount() / 2;
  if (inputs == 0 || v.operandCount() % 2 != 0 || window.size() != v.out.rank() ||
      v.operand(0).rank() != v.out.rank() || !isSound(window))
    return v.malformed("its window doesn't fit");
  WindowVariables element = windowVariables(v.ctx, window, 0);
  std::vector<Expr> at;
  std::vector<MapConstraint> constraints;
  for (size_t i = 0; i < window.size(); ++i)
    at.push_back(
        windowIndex(window[i], v.dim(i), element.at[i], v.operand(0).dims[i], constraints));
  OpIndexing result;
  for (size_t k = 0; k < v.operandCount(); ++k)
    result.operands.push_back(
        exactly(k < inputs ? v.map(at, element.variables, constraints) : v.scalar()));
  return result;
}

/// Output dims are the operand's. An element gets the source values of all windows that select it;
/// which do depends on values, so that all windows over it are taken.
Maps selectAndScatterMaps(const OpView &v) {
  const std::vector<WindowDim> &window = v.op.attrs.window;
  if (v.operandCount() != 3 || window.size() != v.out.rank() || !isSound(window) ||
      v.operand(0).rank() != v.out.rank() || v.operand(1).rank() != v.out.rank())
    return v.malformed("its window doesn't fit");
  WindowVariables element = windowVariables(v.ctx, window, 0);
  WindowVariables other =
      windowVariables(v.ctx, window, static_cast<unsigned>(element.variables.size()));
  std::vector<Expr> source, operand;
  std::vector<MapConstraint> covers, both;
  for (size_t i = 0; i < window.size(); ++i) {
    // The window at p covers d with its element s: p·stride + dilation·s - low = base·d.
    Expr base = v.dim(i) * window[i].baseDilation;
    Expr p = base + window[i].padLow - element.at[i] * window[i].windowDilation;
    source.push_back(p.floorDiv(window[i].stride));
    covers.push_back({source.back(), Interval::ofExtent(v.operand(1).dims[i]), 1, 0});
    if (window[i].stride > 1)
      covers.push_back({p, {}, window[i].stride, 0});
    Expr seen = base + (other.at[i] - element.at[i]) * window[i].windowDilation;
    operand.push_back(seen.floorDiv(window[i].baseDilation));
    both.push_back({operand.back(), Interval::ofExtent(v.operand(0).dims[i]), 1, 0});
    if (window[i].baseDilation > 1)
      both.push_back({seen, {}, window[i].baseDilation, 0});
  }
  both.insert(both.end(), covers.begin(), covers.end());
  std::vector<MapVariable> ranges = element.variables;
  ranges.insert(ranges.end(), other.variables.begin(), other.variables.end());
  OpIndexing result;
  result.operands.push_back(atMost(v.map(std::move(operand), std::move(ranges), both),
                                   "all windows over the element decide what it gets"));
  result.operands.push_back(atMost(v.map(std::move(source), element.variables, covers),
                                   "only of the windows that select the element"));
  result.operands.push_back(exactly(v.scalar()));
  return result;
}

} // namespace

Maps windowMaps(const OpView &v) {
  for (size_t i = 0; i < v.operandCount(); ++i)
    if (v.operand(i).isTuple)
      return v.malformed("an operand is a tuple");
  switch (v.op.opcode) {
  case Opcode::Convolution:
    return convolutionMaps(v);
  case Opcode::ReduceWindow:
    return reduceWindowMaps(v);
  default:
    return selectAndScatterMaps(v);
  }
}

} // namespace tilewright::indexing
