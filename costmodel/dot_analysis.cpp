#include "costmodel/dot_analysis.h"

#include "analysis/tiling/resources.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

/// What an operand of a dot is made of.
struct OperandSources {
  std::vector<unsigned> inputs; ///< input instances, the first of equal ones
  std::vector<unsigned> dots;
  bool computed = false; ///< goes through a dot or a reduction
};

OperandSources sourcesOf(const PlanView &view, unsigned operand, Instruction instruction) {
  OperandSources sources;
  std::vector<unsigned> work = {operand};
  std::set<unsigned> seen;
  while (!work.empty()) {
    unsigned i = work.back();
    work.pop_back();
    if (!seen.insert(i).second)
      continue;
    const InstanceView &v = view.instances[i];
    if (v.isInput) {
      sources.inputs.push_back(v.sameAs >= 0 ? unsigned(v.sameAs) : i);
    } else if (isProductOfTiles(*v.op, instruction) || v.op->opcode == Opcode::Reduce) {
      sources.computed = true;
      if (v.op->opcode != Opcode::Reduce)
        sources.dots.push_back(i);
    } else {
      work.insert(work.end(), v.instance->operands.begin(), v.instance->operands.end());
    }
  }
  std::sort(sources.inputs.begin(), sources.inputs.end());
  return sources;
}

double sizeOf(const InstanceView &v, const std::vector<int64_t> &dims) {
  double product = 1;
  for (int64_t dim : dims)
    if (size_t(dim) < v.sizes.size())
      product *= double(v.sizes[dim]);
  return product;
}

/// Whether the dim of an input moves with a dim that the dot contracts.
bool isContracted(const InstanceView &input, size_t dim, const InstanceView &dot) {
  const auto &reduces = dot.instance->reduces;
  return dim < input.dimParameters.size() &&
         std::any_of(input.dimParameters[dim].begin(), input.dimParameters[dim].end(),
                     [&](unsigned p) {
                       return std::find(reduces.begin(), reduces.end(), p) != reduces.end();
                     });
}

DotOperandShape operandShape(const PlanView &view, const InstanceView &dot, unsigned side,
                             const OperandSources &sources) {
  DotOperandShape shape;
  shape.bytesPerElement =
      bitWidth(view.instances[dot.instance->operands[side]].op->shape.dtype) / 8.0;
  shape.fromShared = !sources.computed && !sources.inputs.empty();
  if (!shape.fromShared)
    return shape;
  unsigned main =
      *std::max_element(sources.inputs.begin(), sources.inputs.end(), [&](unsigned a, unsigned b) {
        return view.instances[a].elements < view.instances[b].elements;
      });
  int minor = view.instances[main].minorDim();
  shape.contractedMinor = minor < 0 || isContracted(view.instances[main], size_t(minor), dot);
  return shape;
}

/// The product that a convolution is: rows are batches and positions, columns output features.
void setConvolution(PlanDot &dot, const InstanceView &v, const InstanceView &image,
                    const InstanceView &kernel) {
  const ConvDims &dims = v.op->attrs.conv;
  DotShape &s = dot.shape;
  double features = double(kernel.sizes[size_t(dims.kernelInput)]);
  s.columns = double(v.sizes[size_t(dims.outputFeature)]);
  s.rows = v.elements / std::max(1.0, s.columns);
  s.depth = features * windowElements(*v.op);
  dot.gathered = s.rows * s.depth / std::max(1.0, image.elements);
  auto packed = packedConvolutionStep(*v.op, kernel.op->shape);
  dot.isPacked = packed.has_value();
  dot.staged =
      packed ? std::min(1.0, std::ceil(double(*packed) / 16) * 16 / s.depth) : features / s.depth;
}

} // namespace

bool isProductOfTiles(const Op &op, Instruction instruction) {
  if (op.opcode != Opcode::Convolution)
    return op.opcode == Opcode::Dot;
  return op.attrs.batchGroupCount == 1 &&
         (op.attrs.featureGroupCount == 1 || instruction != Instruction::Fma);
}

double windowElements(const Op &op) {
  double elements = 1;
  for (const WindowDim &dim : op.attrs.window)
    elements *= double(dim.size);
  return elements;
}

double DotAnalysis::repeats(double warps) const {
  double most = 1;
  for (const PlanDot &d : dots)
    most = std::max(most, d.shape.repeats(warps));
  return most;
}

DotAnalysis analyseDots(const KernelPlan &plan, const PlanView &view) {
  DotAnalysis result;
  std::set<unsigned> feeding;
  for (unsigned i = 0; i < view.instances.size(); ++i) {
    const InstanceView &v = view.instances[i];
    if (v.isInput || v.sameAs >= 0 || !isProductOfTiles(*v.op, plan.instruction) ||
        v.instance->operands.size() < 2)
      continue;
    const DotDims &dims = v.op->attrs.dot;
    const InstanceView &lhs = view.instances[v.instance->operands[0]];
    const InstanceView &rhs = view.instances[v.instance->operands[1]];
    PlanDot dot;
    dot.instance = i;
    DotShape &s = dot.shape;
    s.type = lhs.op->shape.dtype;
    if (v.op->opcode == Opcode::Convolution) {
      setConvolution(dot, v, lhs, rhs);
    } else {
      s.batch = sizeOf(lhs, dims.lhsBatch);
      s.depth = sizeOf(lhs, dims.lhsContracting);
      s.rows = lhs.elements / std::max(1.0, s.batch * s.depth);
      s.columns = rhs.elements / std::max(1.0, s.batch * s.depth);
    }
    for (unsigned side : {0u, 1u}) {
      OperandSources sources = sourcesOf(view, v.instance->operands[side], plan.instruction);
      DotOperandShape shape = operandShape(view, v, side, sources);
      feeding.insert(sources.dots.begin(), sources.dots.end());
      if (shape.fromShared) {
        result.sharedInputs.insert(sources.inputs.begin(), sources.inputs.end());
        dot.inputs[side] = std::move(sources.inputs);
      }
      (side == 0 ? s.lhs : s.rhs) = shape;
    }
    result.dots.push_back(std::move(dot));
  }
  result.chained = !feeding.empty();
  for (PlanDot &dot : result.dots)
    dot.shape.feedsDot = feeding.count(dot.instance) > 0;
  return result;
}

} // namespace tilewright
