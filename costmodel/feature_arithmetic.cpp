#include "analysis/indexing/op_cost.h"
#include "costmodel/feature_extractor.h"

#include <algorithm>

namespace tilewright {

template <class Q> void FeatureExtractor<Q>::addArithmetic() {
  for (const InstanceView &v : view.instances) {
    if (v.isInput || v.sameAs >= 0 || isProductOfTiles(*v.op, code))
      continue;
    Q elements = v.elements;
    if (v.op->opcode == Opcode::ReduceWindow)
      elements *= windowElements(*v.op);
    else if (v.op->opcode == Opcode::Reduce)
      elements = v.instance->operands.empty() ? elements
                                              : view.instances[v.instance->operands[0]].elements;
    if (v.op->opcode == Opcode::Convolution || v.op->opcode == Opcode::Dot) {
      addLoops(v);
      continue;
    }
    registers.masked = registers.masked || v.op->opcode == Opcode::Iota;
    const Q done = elements * rowRepeats(v);
    const double flops = double(workPerElement(*plan.module, *v.op).flops);
    (view.isOutside(v) ? flopsOutside : flopsInLoop) +=
        view.isOutside(v) ? flops * done : view.perIteration(v) * (flops * done);
    if (!facts.work)
      addCost(v, done);
  }
  if (facts.work) {
    // A loop's steps are counted together.
    const auto &[inSteps, outside, loads] = *facts.work;
    const bool isApart = code.kind == CodeKind::Reduction && f.looped;
    f.aluOps = inSteps.alu / f.iterations;
    f.halfRateOps = inSteps.half / f.iterations;
    f.sfuOps = inSteps.sfu / f.iterations;
    (isApart ? f.outsideAluOps : f.aluOps) += outside.alu / (isApart ? Q(1) : f.iterations);
    (isApart ? f.outsideHalfRateOps : f.halfRateOps) +=
        outside.half / (isApart ? Q(1) : f.iterations);
    (isApart ? f.outsideSfuOps : f.sfuOps) += outside.sfu / (isApart ? Q(1) : f.iterations);
    f.loadInstructions = loads / f.iterations;
    return;
  }
  if (!f.matrix)
    f.aluOps += f.looped ? largestBody() : Q(0); // masks and zeros of every step
  else if (f.serial) // running sums are rescaled when the maximum of a row grows
    f.aluOps +=
        dots.dots.back().shape.batch * dots.dots.back().shape.rows * dots.dots.back().shape.columns;
}

template <class Q> void FeatureExtractor<Q>::addCost(const InstanceView &v, const Q &done) {
  const LaneOps cost = costOf(v);
  if (view.isOutside(v)) {
    f.outsideAluOps += cost.alu * done;
    f.outsideHalfRateOps += cost.half * done;
    f.outsideSfuOps += cost.sfu * done;
    return;
  }
  const Q times = view.perIteration(v);
  f.aluOps += times * (cost.alu * done);
  f.halfRateOps += times * (cost.half * done);
  f.sfuOps += times * (cost.sfu * done);
}

/// A value that divides many elements is inverted once.
template <class Q> LaneOps FeatureExtractor<Q>::costOf(const InstanceView &v) const {
  if (v.op->opcode == Opcode::Divide && v.instance->operands.size() == 2 &&
      view.instances[v.instance->operands[1]].op->opcode == Opcode::Broadcast)
    return sharedDivisor;
  if (f.serial && v.op->opcode == Opcode::Exp)
    return chainedExponential;
  return costPerElement(*plan.module, *v.op, plan.style.scalarForms);
}

/// Ops between two dots are repeated as often as the first dot.
template <class Q> Q FeatureExtractor<Q>::rowRepeats(const InstanceView &v) const {
  if (!f.serial || view.isOutside(v))
    return 1;
  return dots.repeats(f.warps);
}

template <class Q> Q FeatureExtractor<Q>::largestBody() const {
  Q body = 0;
  for (const InstanceView &v : view.instances)
    if (!view.isOutside(v))
      body = larger(body, v.elements);
  return body;
}

/// A dot or a convolution that is no product of tiles: a loop for each element. A thread loads
/// both operands of each product of a dot; those of a convolution in groups stay in registers.
template <class Q> void FeatureExtractor<Q>::addLoops(const InstanceView &v) {
  Q products = v.elements * windowElements(*v.op);
  for (unsigned p : v.instance->reduces)
    products *= view.parameters[p].size;
  const Q times = larger(view.perIteration(v), Q(0));
  flopsInLoop += times * (2.0 * products);
  if (facts.work)
    return;
  f.fmaClocks += times * products / device.fmaPerClock;
  if (v.op->opcode == Opcode::Dot)
    f.loadInstructions += times * 2.0 * products / 32.0;
  registers.accumulators = larger(registers.accumulators, v.elements / (32.0 * f.warps));
}

template <class Q> void FeatureExtractor<Q>::addReductions() {
  Q body = largestBody(), result = 0;
  for (unsigned root : plan.tiled->roots)
    result = larger(result, view.instances[root].elements);
  for (const InstanceView &v : view.instances) {
    if (v.isInput || v.sameAs >= 0 || v.op->opcode != Opcode::Reduce ||
        v.instance->operands.empty())
      continue;
    const InstanceView &operand = view.instances[v.instance->operands[0]];
    const Q perThread = larger(operand.elements / (32.0 * f.warps), Q(1));
    // Elements of a loop step are dead once they are summed.
    const bool walked =
        std::any_of(v.instance->reduces.begin(), v.instance->reduces.end(), [&](unsigned p) {
          return std::find(v.loops.begin(), v.loops.end(), p) != v.loops.end();
        });
    if (!walked && result >= operand.elements && body >= operand.elements) {
      registers.keptElements = larger(registers.keptElements, perThread);
      registers.loadedWords = 0;
    } else if (!f.matrix) {
      registers.loopAccumulators = larger(registers.loopAccumulators, perThread);
      f.looped = true; // even with one iteration: the compiler does not know the count
    }
    if (!f.matrix)
      addReductionExchange(v, operand);
    else if (!f.serial) // partial results of several warps are combined; chained dots keep rows
                        // in one warp
      f.exchanges += 1;
  }
}

/// True if partial results of several warps are combined through shared memory.
template <class Q>
void FeatureExtractor<Q>::addReductionExchange(const InstanceView &v, const InstanceView &operand) {
  int minor = operand.minorDim();
  const Q run = minor < 0 ? Q(1) : operand.sizes[minor];
  const Q rows = operand.elements / larger(run, Q(1));
  const Q vector = loadedVector(operand);
  const Q lanesAlongRow = smaller(Q(32), larger(run / vector, Q(1)));
  const Q warpsAlongRow = smaller(f.warps, larger(run / (vector * lanesAlongRow), Q(1)));
  const Q warpsOverRows = f.warps / warpsAlongRow;
  const auto &reduced = v.op->attrs.dimensions;
  bool reducesRow = std::find(reduced.begin(), reduced.end(), minor) != reduced.end();
  bool meets = reducesRow ? warpsAlongRow > 1 : warpsOverRows > 1 && rows > 32 / lanesAlongRow;
  f.exchanges += meets ? 1 : 0;
  f.sharedPerCta = larger(f.sharedPerCta, f.warps * rows * 4.0);
}

/// Consecutive elements of a row in one thread: the vector width of the widest input.
template <class Q> Q FeatureExtractor<Q>::loadedVector(const InstanceView &operand) const {
  const Q perThread = larger(operand.elements / (32.0 * f.warps), Q(1));
  Q vector = 1;
  for (const InstanceView &v : view.instances)
    if (v.isInput && v.elements == operand.elements)
      vector = larger(vector, vectorElements(v, perThread));
  return vector;
}

template void FeatureExtractor<double>::addArithmetic();
template void FeatureExtractor<Traced>::addArithmetic();
template void FeatureExtractor<double>::addReductions();
template void FeatureExtractor<Traced>::addReductions();

} // namespace tilewright
