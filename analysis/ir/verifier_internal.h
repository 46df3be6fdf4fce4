// Shared by the verifier's files: one op under check, and the phrases of its errors.
#pragma once

#include "analysis/ir/graph.h"

#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tilewright {

/// Shared by the checks of all ops. Both members keep the work linear if many calls name one
/// computation.
struct VerifyContext {
  explicit VerifyContext(const Module &module);

  const Module &module;
  std::vector<std::vector<OpId>> parameters; ///< of each computation, by number
  /// Pairs of ops with tuples that were found to have the same shape.
  std::set<std::pair<const Op *, const Op *>> sameTuples;

  /// True if two ops have the same shape apart from the layout.
  bool sameShape(const Op &a, const Op &b);
};

/// One op of a module under check. Checks return true when all is well; else they have recorded
/// the error and their callers return at once.
class OpCheck {
public:
  OpCheck(VerifyContext &context, const Graph &graph, const Op &op)
      : context(context), module(context.module), graph(graph), op(op) {}

  VerifyContext &context;
  const Module &module;
  const Graph &graph;
  const Op &op;
  SourceLoc where;     ///< of the error
  std::string message; ///< empty: no error

  /// Checks the op by its opcode.
  bool run();

  // --- refusals ---

  /// An error at the op; its text begins with the opcode.
  template <typename... Args> bool fail(fmt::format_string<Args...> format, Args &&...args) {
    return failAt(op.loc, fmt::format(format, std::forward<Args>(args)...));
  }
  /// An error at that attribute, or at the op where it is missing.
  template <typename... Args>
  bool failIn(std::string_view attribute, fmt::format_string<Args...> format, Args &&...args) {
    return failAt(attributeLoc(attribute), fmt::format(format, std::forward<Args>(args)...));
  }
  bool failAt(SourceLoc where, std::string text);
  SourceLoc attributeLoc(std::string_view name) const;

  // --- phrases ---

  size_t operands() const { return op.operands.size(); }
  const Op &operandOp(size_t i) const { return graph.op(op.operands[i]); }
  const Shape &operand(size_t i) const { return operandOp(i).shape; }
  /// "operand %a f32[4,8]"
  std::string name(size_t i) const;

  bool operandCount(size_t count);
  bool operandCountAtLeast(size_t count);
  /// Operands [from, to) are tensors, no tuples.
  bool areTensors(size_t from, size_t to);
  bool isScalar(size_t i);
  bool isIntegerScalar(size_t i);
  /// The result is a tensor of these dims.
  bool resultDims(const std::vector<int64_t> &dims);
  /// The result is exactly that.
  bool resultIs(const Shape &expected);
  /// The result's dtype is operand i's, or both are floats.
  bool resultTypeLike(size_t i);
  /// Each value is in [0, rank) and none is listed twice.
  bool dimsInRange(std::string_view attribute, const std::vector<int64_t> &dims, size_t rank);
  bool exactlyOneDimension(size_t rank);
  /// Same dtype, or two floats, which may differ in precision.
  static bool typesAgree(DType a, DType b);

  /// The one computation called in that role; an invalid id with an error if there isn't exactly
  /// one.
  GraphId callee(CallRole role, std::string_view attribute);
  /// The computation's parameters are scalars of those types, floats of any precision.
  bool takesScalars(GraphId callee, std::string_view attribute, const std::vector<DType> &types);
  /// It makes one value of each type from two: takes (a…, b…), results in a scalar or a tuple.
  bool combines(GraphId callee, std::string_view attribute, const std::vector<DType> &types);
  /// Its result is a scalar of that type, floats of any precision.
  bool resultsInScalar(GraphId callee, std::string_view attribute, DType type);
  /// Types of operands [0, count).
  std::vector<DType> operandTypes(size_t count) const;
  /// The operand is that op's result, or its origin is hidden by a tuple, a loop or a barrier.
  bool isResultOf(std::initializer_list<Opcode> starts);
  /// Its parameters are operands [from, from + their number) and its result is `result`.
  bool takesOperands(GraphId callee, std::string_view attribute, size_t from, size_t to);
  /// Its result is `result`, or the op's own result if requested.
  bool resultsIn(GraphId callee, std::string_view attribute, const Shape &result);
  bool resultsInOwn(GraphId callee, std::string_view attribute);

private:
  /// Whether an extent of its result or of an operand is `?`.
  bool isAboutUnbounded() const;
  bool elementwise();
  bool convertLike();
  bool shapeOps(bool &handled);
  bool broadcast();
  bool transpose();
  bool reshape();
  bool bitcast();
  bool iota();
  bool concatenate();
  bool slice();
  bool dynamicSlice(bool isUpdate);
  bool pad();
  bool dimensionSize();

  bool contractions(bool &handled);
  bool dotDimsInRange();
  bool dot();
  bool reduce();
  bool sort();
  bool applyToAll();
  bool inputsWithInitialValues();
  bool resultsLikeInputs(size_t count, const std::vector<int64_t> &dims);

  bool windows(bool &handled);
  bool convolution();
  bool reduceWindow();
  bool selectAndScatter();
  bool windowMakesSense();
  bool positionsOfWindow(std::vector<int64_t> &out);
  static std::vector<int64_t> dimsOf(int64_t a, int64_t b, const std::vector<int64_t> &spatial);

  bool indexed(bool &handled);
  bool gather();
  bool scatter();
  bool sortedInRange(std::string_view attribute, const std::vector<int64_t> &dims, size_t rank);
  bool batchingFits(std::string_view attribute, const std::vector<int64_t> &operandDims,
                    const std::vector<int64_t> &indexDims, const Shape &from, const Shape &indices,
                    int64_t vectorDim);
  bool indexVector(const Shape &indices, int64_t dim, size_t needed, std::string_view attribute);

  bool tuplesAndCalls(bool &handled);
  bool tupleElement();
  bool whileLoop();
  bool conditional();
  bool async();
  bool countsOnly(bool &handled);

  bool opaque(bool &handled);
  bool triangularSolve();
  bool fft();
  bool topK();
  bool batchNorm();
  bool rngBitGenerator();
  std::optional<int64_t> rawInteger(std::string_view attribute) const;
  std::vector<int64_t> rawIntegers(std::string_view attribute) const;
  std::string_view rawText(std::string_view attribute) const;

  bool collectives(bool &handled);
  bool gatherLike(const Shape &result, bool isScatter);
  bool sameShapes(const Shape &result);
  bool startResult();
  bool reducesWith();
};

} // namespace tilewright
