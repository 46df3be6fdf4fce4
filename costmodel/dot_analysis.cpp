#include "costmodel/dot_analysis.h"

#include <algorithm>

namespace tilewright {

namespace {

/// What an operand of a dot is made of.
struct OperandSources {
  std::vector<unsigned> inputs; ///< input instances, the first of equal ones
  std::vector<unsigned> dots;
  bool computed = false; ///< goes through a dot or a reduction
};

OperandSources sourcesOf(const PlanView &view, unsigned operand) {
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
    } else if (v.op->opcode == Opcode::Dot || v.op->opcode == Opcode::Reduce) {
      sources.computed = true;
      if (v.op->opcode == Opcode::Dot)
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

} // namespace

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
    if (v.isInput || v.sameAs >= 0 || v.op->opcode != Opcode::Dot ||
        v.instance->operands.size() < 2)
      continue;
    const DotDims &dims = v.op->attrs.dot;
    const InstanceView &lhs = view.instances[v.instance->operands[0]];
    const InstanceView &rhs = view.instances[v.instance->operands[1]];
    PlanDot dot;
    dot.instance = i;
    DotShape &s = dot.shape;
    s.type = lhs.op->shape.dtype;
    s.batch = sizeOf(lhs, dims.lhsBatch);
    s.depth = sizeOf(lhs, dims.lhsContracting);
    s.rows = lhs.elements / std::max(1.0, s.batch * s.depth);
    s.columns = rhs.elements / std::max(1.0, s.batch * s.depth);
    for (unsigned side : {0u, 1u}) {
      OperandSources sources = sourcesOf(view, v.instance->operands[side]);
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
