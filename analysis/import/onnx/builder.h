// Ops by what they do to shapes: one function each, for lowerings that are written like formulas.
#pragma once

#include "analysis/import/op_builder.h"

#include <functional>
#include <map>
#include <span>

namespace tilewright::onnx_format {

using Dims = std::vector<int64_t>;

/// Computations that ops call; the same one is made once.
class Computations {
public:
  explicit Computations(Module &module) : module(module) {}

  /// One op on two scalars.
  GraphId reducer(Opcode opcode, DType type);
  /// Of two pairs (value, index) the one with the larger or smaller value; of equals the one with
  /// the smaller or larger index. A NaN is larger and smaller than every number.
  GraphId extreme(bool isLargest, bool isLast, DType type, DType index);
  GraphId named(const std::string &name, const std::function<Graph(std::string)> &make);
  /// A name that no computation has yet.
  std::string freshName(const std::string &base);

  Module &module;

private:
  std::map<std::string, GraphId> known;
  std::map<std::string, unsigned> taken;
};

/// Preconditions: operands fit together, as the functions say; callers check what a file gives.
/// Shapes are taken by value: adding an op moves those of the graph.
class Builder : public OpBuilder {
public:
  Builder(Scope &scope, Computations &computations, std::string base, SourceLoc loc)
      : OpBuilder(scope, std::move(base), loc), computations(computations), loc(loc) {}

  // Elementwise, on operands of one shape.
  OpId number(Shape shape, double value);
  OpId numberLike(OpId like, double value) { return number(shapeOf(like), value); }
  OpId unary(Opcode opcode, OpId a) { return add(opcode, shapeOf(a), {a}); }
  OpId binary(Opcode opcode, OpId a, OpId b) { return add(opcode, shapeOf(a), {a, b}); }
  OpId binary(Opcode opcode, OpId a, double b) { return binary(opcode, a, numberLike(a, b)); }
  OpId plus(OpId a, OpId b) { return binary(Opcode::Add, a, b); }
  OpId minus(OpId a, OpId b) { return binary(Opcode::Subtract, a, b); }
  OpId times(OpId a, OpId b) { return binary(Opcode::Multiply, a, b); }
  OpId over(OpId a, OpId b) { return binary(Opcode::Divide, a, b); }
  OpId compare(OpId a, Comparison comparison, OpId b);
  OpId compare(OpId a, Comparison comparison, double b) {
    return compare(a, comparison, numberLike(a, b));
  }
  OpId select(OpId which, OpId a, OpId b) { return add(Opcode::Select, shapeOf(a), {which, a, b}); }
  OpId clamp(OpId least, OpId a, OpId most) {
    return add(Opcode::Clamp, shapeOf(a), {least, a, most});
  }

  // Movement.
  OpId reshape(OpId a, Dims dims);
  OpId transpose(OpId a, const Dims &permutation);
  OpId slice(OpId a, const std::vector<SliceDim> &dims);
  /// One dim of it.
  OpId slice(OpId a, size_t dim, int64_t start, int64_t limit, int64_t step = 1);
  OpId pad(OpId a, OpId value, const std::vector<PadDim> &dims);
  OpId concatenate(const std::vector<OpId> &parts, size_t dim);
  OpId reverse(OpId a, const Dims &dims);
  /// As NumPy does: `dims` end as the operand's, whose extents of 1 are repeated.
  OpId spread(OpId a, Dims dims);
  /// A vector along one dim of a shape.
  OpId along(OpId vector, Dims dims, size_t dim);
  /// The operand without those dims, spread over them again.
  OpId spreadOver(OpId reduced, Dims dims, Dims reducedDims);
  OpId iota(DType type, const Dims &dims, size_t dim);
  OpId dynamicSlice(OpId a, const std::vector<OpId> &starts, const Dims &sizes);
  OpId dynamicUpdate(OpId a, OpId update, const std::vector<OpId> &starts);

  // Reductions and contractions.
  OpId reduce(OpId a, Opcode opcode, Dims dims);
  OpId reduce(OpId a, GraphId reducer, OpId init, Dims dims);
  OpId dot(OpId lhs, OpId rhs, DotDims dims, DType type);
  /// `gather` by indices of which the last dim holds the place; see op.h.
  OpId gather(OpId a, OpId indices, GatherDims dims, Dims result);

  /// A constant of these integers.
  OpId integerList(DType type, std::span<const int64_t> values);
  /// The same of real numbers, one for each element of a vector.
  OpId realList(const Shape &shape, std::span<const double> values);

  /// What a loop does in one step with its values, given how many went before; false on an error.
  using Step = std::function<bool(Builder &, OpId count, std::vector<OpId> &values)>;
  /// Whether it goes on, beside the count; an invalid id: the count alone decides.
  using Condition =
      std::function<bool(Builder &, OpId count, std::span<const OpId> values, OpId &)>;
  /// Values after `trips` steps (a scalar s64), or fewer.
  bool loop(OpId trips, std::vector<OpId> &values, const Step &step,
            const Condition &condition = {});

  Computations &computations;

protected:
  SourceLoc loc;
};

/// What a reduction begins with: 0, 1, the lowest value, …
std::string identityOf(Opcode opcode, DType type);

/// Bits of the largest value of an integer type as text; "inf" of floats.
std::string largestText(DType type);
std::string lowestText(DType type);

/// Whether a number is between -most and most.
inline bool isWithin(int64_t value, int64_t most) { return value >= -most && value <= most; }

/// The dims that are not among `dims`.
Dims without(const Dims &all, const Dims &dims);

} // namespace tilewright::onnx_format
