// Internal to the evaluator: shared by the files evaluate_*.cpp.
#pragma once

#include "analysis/ir/evaluator.h"
#include "analysis/ir/evaluator_scalar.h"
#include "analysis/support/math.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

namespace tilewright::eval {

using Leaf = std::shared_ptr<const Tensor>;
/// The leaves of an op's shape in order; one for a tensor.
using Value = std::vector<Leaf>;

/// One evaluate() call: budgets, caches and the recursion over computations.
class Context {
public:
  Context(const Module &module, const EvalOptions &options)
      : module(module), options(options), workLeft(options.maxWork) {}

  const Module &module;
  const EvalOptions &options;

  llvm::Error charge(uint64_t work);
  /// A tensor of zeros that counts against the memory budget while it exists.
  llvm::Expected<std::shared_ptr<Tensor>> allocate(const Shape &shape);
  llvm::Expected<Value> runGraph(GraphId graph, std::span<const Value> arguments);
  /// The computation as a scalar program, or Unsupported if it isn't made of scalars.
  llvm::Expected<ScalarProgram *> scalarProgram(GraphId graph, Rounding rounding);

  /// Rounding of plain ops, and of the arithmetic inside reducers.
  Rounding rounding() const { return options.roundEachStep ? Rounding::All : Rounding::None; }
  Rounding reducerRounding() const {
    return options.roundEachStep ? Rounding::ConvertsOnly : Rounding::None;
  }

private:
  /// Facts about a graph that are computed once before it runs.
  struct GraphInfo {
    std::vector<uint32_t> uses; ///< by live ops, plus one for the root; 0: not needed
    uint64_t runs = 0;
    std::string refusal; ///< why it can't be run; empty if it can
    OpId refused;        ///< the op that the refusal is about
  };
  GraphInfo &info(GraphId graph);

  uint64_t workLeft;
  std::shared_ptr<uint64_t> liveElements = std::make_shared<uint64_t>(0);
  unsigned depth = 0;
  std::map<uint32_t, GraphInfo> infos;
  std::map<std::pair<uint32_t, Rounding>, std::unique_ptr<ScalarProgram>> programs;
};

/// An op about to be evaluated, with its operands' values.
struct OpRun {
  Context &context;
  const Graph &graph;
  const Op &op;
  OpInstance instance;
  std::vector<Value> operands;

  const Tensor &operand(size_t i) const { return *operands[i][0]; }
  const Shape &operandShape(size_t i) const { return operands[i][0]->shape(); }

  bool isRecording() const { return context.options.recorder != nullptr; }
  void read(int64_t outputElement, size_t operandNumber, int64_t element) const {
    context.options.recorder->onRead(instance, outputElement, static_cast<unsigned>(operandNumber),
                                     element);
  }
  /// Charges for an op that makes `count` elements of `each` operations; more when recording.
  llvm::Error charge(int64_t count, int64_t each = 1) const;

  /// The computation called in that role.
  llvm::Expected<GraphId> called(CallRole role, size_t number = 0) const;

  template <typename... Args>
  llvm::Error error(DiagClass cls, fmt::format_string<Args...> format, Args &&...args) const {
    return makeError(
        context.module.diagAt(op.loc,
                              fmt::format("{} %{}: {}", toString(op.opcode), op.name,
                                          fmt::format(format, std::forward<Args>(args)...)),
                              cls));
  }
  /// The text of an attribute that has no typed field; empty if it isn't there.
  std::string_view rawAttribute(std::string_view name) const;
};

/// The tensors of a shape in order: itself, or its elements' leaves.
void collectLeaves(const Shape &shape, std::vector<const Shape *> &leaves);
std::vector<const Shape *> leavesOf(const Shape &shape);

/// May an element of one type stand for one of the other? Float operands of an op may differ in
/// precision, all being held as doubles.
inline bool areHeldAlike(DType a, DType b) { return a == b || (isFloat(a) && isFloat(b)); }

/// Rounds (floats) or wraps (integers) all elements to the dtype, as far as the options say.
void finish(const Context &context, Tensor &tensor);

llvm::Expected<Value> evaluateElementwise(OpRun &run);
llvm::Expected<Value> evaluateMap(OpRun &run);
llvm::Expected<Value> evaluateMovement(OpRun &run);
llvm::Expected<Value> evaluateDynamicSlice(OpRun &run);
llvm::Expected<Value> evaluateDynamicUpdateSlice(OpRun &run);
llvm::Expected<Value> evaluateReduce(OpRun &run);
llvm::Expected<Value> evaluateReduceWindow(OpRun &run);
llvm::Expected<Value> evaluateSelectAndScatter(OpRun &run);
llvm::Expected<Value> evaluateScan(OpRun &run);
llvm::Expected<Value> evaluateSort(OpRun &run);
llvm::Expected<Value> evaluateTopK(OpRun &run);
llvm::Expected<Value> evaluateDot(OpRun &run); ///< and scaled-dot
llvm::Expected<Value> evaluateRaggedDot(OpRun &run);
llvm::Expected<Value> evaluateConvolution(OpRun &run);
llvm::Expected<Value> evaluateFft(OpRun &run);
llvm::Expected<Value> evaluateCholesky(OpRun &run);
llvm::Expected<Value> evaluateTriangularSolve(OpRun &run);
llvm::Expected<Value> evaluateRngBitGenerator(OpRun &run);
llvm::Expected<Value> evaluateGather(OpRun &run);
llvm::Expected<Value> evaluateScatter(OpRun &run);
llvm::Expected<Value> evaluateControl(OpRun &run);
llvm::Expected<Value> evaluateLeaf(OpRun &run);

/// Calls `body(offsets)` at each point of a box in row-major order, where offset n moves by
/// strides[n][d] along dim d, from base[n]. Nothing for an empty box, once for rank 0.
template <size_t N, typename Body>
void walkBox(const std::vector<int64_t> &dims, const std::array<int64_t, N> &base,
             const std::array<std::vector<int64_t>, N> &strides, Body body) {
  for (int64_t dim : dims)
    if (dim <= 0)
      return;
  std::array<int64_t, N> at = base;
  if (dims.empty()) {
    body(at);
    return;
  }
  size_t last = dims.size() - 1;
  std::array<int64_t, N> step;
  for (size_t n = 0; n < N; ++n)
    step[n] = strides[n][last];
  std::vector<int64_t> index(dims.size());
  while (true) {
    std::array<int64_t, N> inner = at;
    for (int64_t i = 0; i < dims[last]; ++i) {
      body(inner);
      for (size_t n = 0; n < N; ++n)
        inner[n] += step[n];
    }
    size_t d = last;
    while (d-- > 0) {
      for (size_t n = 0; n < N; ++n)
        at[n] += strides[n][d];
      if (++index[d] < dims[d])
        break;
      for (size_t n = 0; n < N; ++n)
        at[n] -= strides[n][d] * dims[d];
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

/// Row-major strides of a tensor that exists, so that they can't overflow.
inline std::vector<int64_t> stridesOf(const Shape &shape) { return *rowMajorStrides(shape.dims); }

/// Advances a row-major index within `dims`; false after the last one.
bool advance(std::vector<int64_t> &index, const std::vector<int64_t> &dims);

/// N tensors filled with the initial values that follow the N inputs among the operands.
llvm::Expected<std::vector<std::shared_ptr<Tensor>>> newAccumulators(const OpRun &run);

/// A reducer of `results` accumulators and as many elements, checked.
llvm::Expected<ScalarProgram *> reducerOf(const OpRun &run, CallRole role, size_t results);

/// Is `list` made of distinct numbers in [0, rank)?
bool areDistinctDims(const std::vector<int64_t> &list, size_t rank);

} // namespace tilewright::eval
