#include "costmodel/dot_analysis.h"

#include "analysis/ir/dot_algorithm.h"
#include "analysis/tiling/matrix_product.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

/// Where an operand of a dot comes from.
struct OperandSources {
  std::vector<unsigned> inputs; ///< input instances, the first of equal ones
  std::vector<unsigned> dots;
  bool computed = false; ///< goes through a dot or a reduction
  bool changed = false;  ///< goes through arithmetic: threads write it to shared memory
};

template <class Q>
OperandSources sourcesOf(const PlanViewOf<Q> &view, unsigned operand, const CodeChoice &code) {
  OperandSources sources;
  std::vector<unsigned> work = {operand};
  std::set<unsigned> seen;
  while (!work.empty()) {
    unsigned i = work.back();
    work.pop_back();
    if (!seen.insert(i).second)
      continue;
    const InstanceViewOf<Q> &v = view.instances[i];
    if (v.isInput) {
      sources.inputs.push_back(v.sameAs >= 0 ? unsigned(v.sameAs) : i);
    } else if (isProductOfTiles(*v.op, code) || v.op->opcode == Opcode::Reduce) {
      sources.computed = true;
      if (v.op->opcode != Opcode::Reduce)
        sources.dots.push_back(i);
    } else {
      sources.changed = sources.changed || (opClass(v.op->opcode) == OpClass::Elementwise &&
                                            v.op->opcode != Opcode::Copy);
      work.insert(work.end(), v.instance->operands.begin(), v.instance->operands.end());
    }
  }
  std::sort(sources.inputs.begin(), sources.inputs.end());
  return sources;
}

/// Elements of a tile outside the batch and contracted dims of a dot. (A product over the other
/// dims instead of a division, because divisions dominate when many plans are priced.)
template <class Q>
Q freeSizeOf(const InstanceViewOf<Q> &v, const std::vector<int64_t> &batch,
             const std::vector<int64_t> &contracting) {
  auto holds = [](const std::vector<int64_t> &dims, size_t dim) {
    return std::find(dims.begin(), dims.end(), int64_t(dim)) != dims.end();
  };
  Q product = 1;
  for (size_t dim = 0; dim < v.sizes.size(); ++dim)
    if (!holds(batch, dim) && !holds(contracting, dim))
      product *= v.sizes[dim];
  return product;
}

template <class Q> Q sizeOf(const InstanceViewOf<Q> &v, const std::vector<int64_t> &dims) {
  Q product = 1;
  for (int64_t dim : dims)
    if (size_t(dim) < v.sizes.size())
      product *= v.sizes[dim];
  return product;
}

/// True if the dim of an input moves with a contracted dim of the dot.
template <class Q>
bool isContracted(const InstanceViewOf<Q> &input, size_t dim, const InstanceViewOf<Q> &dot) {
  const auto &reduces = dot.instance->reduces;
  return dim < input.dimParameters.size() &&
         std::any_of(input.dimParameters[dim].begin(), input.dimParameters[dim].end(),
                     [&](unsigned p) {
                       return std::find(reduces.begin(), reduces.end(), p) != reduces.end();
                     });
}

template <class Q>
DotOperandShape operandShape(const PlanViewOf<Q> &view, const InstanceViewOf<Q> &dot, unsigned side,
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
  // Threads that write an operand choose its layout.
  shape.contractedMinor =
      minor < 0 || sources.changed || isContracted(view.instances[main], size_t(minor), dot);
  return shape;
}

/// A convolution as a matrix product: rows are batches and positions, columns output features.
template <class Q>
void setConvolution(PlanDot<Q> &dot, const InstanceViewOf<Q> &v, const InstanceViewOf<Q> &image,
                    const InstanceViewOf<Q> &kernel) {
  const ConvDims &dims = v.op->attrs.conv;
  DotShape<Q> &s = dot.shape;
  const Q features = kernel.sizes[size_t(dims.kernelInput)];
  s.columns = v.sizes[size_t(dims.outputFeature)];
  s.rows = v.elements / larger(Q(1), s.columns);
  s.depth = features * windowElements(*v.op);
  dot.gathered = s.rows * s.depth / larger(Q(1), image.elements);
  auto packed = packedConvolutionStep(*v.op, kernel.op->shape);
  dot.isPacked = packed.has_value();
  dot.staged =
      packed ? smaller(Q(1), std::ceil(double(*packed) / 16) * 16 / s.depth) : features / s.depth;
}

} // namespace

CodeChoice codeOf(const KernelPlan &plan, Instruction instruction) {
  if (plan.style.tileProducts == TileProducts::All)
    return {CodeKind::Dot, instruction};
  return codeOf(plan.ops(), *plan.tiled, instruction);
}

bool isProductOfTiles(const Op &op, const CodeChoice &code) {
  if (!hasProducts(code.kind))
    return false;
  if (op.opcode != Opcode::Convolution)
    return op.opcode == Opcode::Dot;
  return op.attrs.batchGroupCount == 1 &&
         (op.attrs.featureGroupCount == 1 || code.instruction != Instruction::Fma);
}

/// In what type operands are multiplied, and how often.
template <class Q>
static void setArithmetic(DotShape<Q> &shape, const KernelPlan &plan, const Op &op) {
  const Graph &graph = plan.ops();
  shape.type = graph[op.operands[0]].shape.dtype;
  auto algorithm = dotAlgorithm(graph, op);
  if (!algorithm)
    return;
  if (plan.style.f32Products == F32Products::Tf32 && shape.type == DType::F32) {
    shape.products = std::max(1, tf32Products(graph, op));
    shape.tensorCores = tf32Products(graph, op) > 0;
    return;
  }
  shape.type = algorithm->product;
  shape.tensorCores = algorithm->tensorCores;
  shape.products = algorithm->products;
}

double windowElements(const Op &op) {
  double elements = 1;
  for (const WindowDim &dim : op.attrs.window)
    elements *= double(dim.size);
  return elements;
}

template <class Q> Q DotAnalysis<Q>::repeats(const Q &warps) const {
  Q most = 1;
  for (const PlanDot<Q> &d : dots)
    most = larger(most, d.shape.repeats(warps));
  return most;
}

template <class Q>
DotAnalysis<Q> analyseDots(const KernelPlan &plan, const PlanViewOf<Q> &view,
                           const CodeChoice &code) {
  DotAnalysis<Q> result;
  std::set<unsigned> feeding;
  for (unsigned i = 0; i < view.instances.size(); ++i) {
    const InstanceViewOf<Q> &v = view.instances[i];
    if (v.isInput || v.sameAs >= 0 || !isProductOfTiles(*v.op, code) ||
        v.instance->operands.size() < 2)
      continue;
    const DotDims &dims = v.op->attrs.dot;
    const InstanceViewOf<Q> &lhs = view.instances[v.instance->operands[0]];
    const InstanceViewOf<Q> &rhs = view.instances[v.instance->operands[1]];
    PlanDot<Q> dot;
    dot.instance = i;
    DotShape<Q> &s = dot.shape;
    setArithmetic(s, plan, *v.op);
    if (v.op->opcode == Opcode::Convolution) {
      setConvolution(dot, v, lhs, rhs);
    } else {
      s.batch = sizeOf(lhs, dims.lhsBatch);
      s.depth = sizeOf(lhs, dims.lhsContracting);
      s.rows = freeSizeOf(lhs, dims.lhsBatch, dims.lhsContracting);
      s.columns = freeSizeOf(rhs, dims.rhsBatch, dims.rhsContracting);
    }
    for (unsigned side : {0u, 1u}) {
      OperandSources sources = sourcesOf(view, v.instance->operands[side], code);
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
  for (PlanDot<Q> &dot : result.dots)
    dot.shape.feedsDot = feeding.count(dot.instance) > 0;
  return result;
}

template struct DotAnalysis<double>;
template struct DotAnalysis<Traced>;
template DotAnalysis<double> analyseDots(const KernelPlan &, const PlanViewOf<double> &,
                                         const CodeChoice &);
template DotAnalysis<Traced> analyseDots(const KernelPlan &, const PlanViewOf<Traced> &,
                                         const CodeChoice &);

} // namespace tilewright
