// The reference evaluator: computes a graph element by element, in the simplest way.
//
// It is the authority that index maps, tile rules and generated kernels are checked against, so
// each op is written from HLO's definition and nothing is shared with those analyses.
//
// Numbers. Floats are held as doubles. With `roundEachStep`, each op's result is rounded to its
// dtype (once: sums inside dot, convolution and reductions stay in double, and a reducer's
// arithmetic isn't rounded between elements, though its converts are). Without it nothing is
// rounded but constants, arguments being taken as they are: the result is the exact maths up to
// double precision. Integers always wrap to their width; x / 0 is -1 and x % 0 is x; shifts by
// the width or more give 0 or the sign. NaN propagates through minimum, maximum and clamp.
//
// Out-of-bounds starts of dynamic-slice, dynamic-update-slice and gather are clamped; elements of
// a scatter's updates that fall outside the operand are dropped. Padding of a reduce-window or
// select-and-scatter is skipped, not combined.
//
// Refused as Unsupported: collectives (they need other replicas' values), custom calls, rng
// (rng-bit-generator makes XLA's bits), batch-norm, infeed and the like, each by name.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/ir/tensor.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tilewright {

/// One execution of an op: a while's body runs its ops many times.
struct OpInstance {
  GraphId graph;
  OpId op;
  uint64_t run = 0; ///< how often the graph had been entered before
};

/// Observes which operand elements each output element is computed from. Elements are logical
/// row-major positions. All results of an op with several (a variadic reduce, sort, scan) share the
/// same reads, except that scan's carries are not reported. Elementwise and structured ops report;
/// calls and tuples don't (the ops inside do). Sort and top-k report whole lines. Masked positions
/// (padding, out of bounds) are not reads; the padding value is one where used. Gather, scatter and
/// the dynamic slices report their index operands' elements too.
class ReadRecorder {
public:
  virtual ~ReadRecorder() = default;
  virtual void onRead(const OpInstance &instance, int64_t outputElement, unsigned operand,
                      int64_t operandElement) = 0;
};

struct EvalOptions {
  bool roundEachStep = true;

  /// Element operations (an element made, a multiply-add, a reducer call) before BudgetSpent.
  uint64_t maxWork = uint64_t(1) << 33;

  /// Elements held at one time, each of 8 bytes (complex 16), before BudgetSpent.
  uint64_t maxLiveElements = uint64_t(1) << 28;

  ReadRecorder *recorder = nullptr;

  /// Called with each op's result when it is computed: the leaves of its shape in order.
  std::function<void(const OpInstance &, std::span<const Tensor *const>)> onResult = {};
};

/// Runs a computation. `arguments` are the leaves of its parameters by parameter number (a tuple
/// parameter takes as many as it has leaves); the result holds the leaves of the root's shape.
/// Precondition: operands, attributes and called graphs are there; shapes that don't fit together
/// are BadInput. Errors name the op and its place in the file.
llvm::Expected<std::vector<Tensor>> evaluate(const Module &module, GraphId graph,
                                             std::span<const Tensor> arguments,
                                             const EvalOptions &options = {});

/// Deterministic arguments for a computation: parameter leaf number k is filled with fillTensor
/// and seed + k. Integer parameters that reach an index operand (of gather, scatter or a dynamic
/// slice) through data movement get values that are in bounds there.
std::vector<Tensor> fillArguments(const Module &module, GraphId graph, uint64_t seed);

/// What fillArguments() fills, leaf by leaf, without the tensors.
struct ArgumentFill {
  Shape shape;
  FillRange range;
};
std::vector<ArgumentFill> argumentFills(const Module &module, GraphId graph);

} // namespace tilewright
