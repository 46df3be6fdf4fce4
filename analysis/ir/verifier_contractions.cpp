// dot and its relatives, reduce, sort, map, scan.
#include "analysis/ir/contraction_dims.h"
#include "analysis/ir/verifier_internal.h"

namespace tilewright {

bool OpCheck::contractions(bool &handled) {
  switch (op.opcode) {
  case Opcode::Dot:
    return operandCountAtLeast(2) && dot();
  case Opcode::ScaledDot:
    return operandCount(4) && areTensors(2, 4) && dot();
  case Opcode::RaggedDot: // lhs, rhs, group sizes
    return operandCount(3) && areTensors(0, 3) && dotDimsInRange();
  case Opcode::Reduce:
    return reduce();
  case Opcode::Sort:
    return sort();
  case Opcode::Map:
    return applyToAll();
  case Opcode::Scan: // any number of inputs and carries
    return operandCountAtLeast(1) && areTensors(0, operands()) &&
           exactlyOneDimension(operand(0).rank()) &&
           callee(CallRole::ToApply, "to_apply").isValid();
  default:
    handled = false;
    return true;
  }
}

bool OpCheck::dotDimsInRange() {
  const DotDims &dims = op.attrs.dot;
  auto inRange = [&](std::string_view attribute, const std::vector<int64_t> &batch,
                     const std::vector<int64_t> &contracting, const Shape &shape) {
    std::vector<int64_t> both = batch;
    both.insert(both.end(), contracting.begin(), contracting.end());
    return dimsInRange(attribute, both, shape.rank());
  };
  return inRange("lhs_contracting_dims", dims.lhsBatch, dims.lhsContracting, operand(0)) &&
         inRange("rhs_contracting_dims", dims.rhsBatch, dims.rhsContracting, operand(1));
}

bool OpCheck::dot() {
  if (!areTensors(0, 2) || !dotDimsInRange())
    return false;
  const Shape &lhs = operand(0), &rhs = operand(1);
  const DotDims &dims = op.attrs.dot;
  auto paired = [&](std::string_view attribute, const std::vector<int64_t> &left,
                    const std::vector<int64_t> &right) {
    if (left.size() != right.size())
      return failIn(attribute, "lhs has {} and rhs {} {} dims", left.size(), right.size(),
                    attribute == "lhs_batch_dims" ? "batch" : "contracting");
    for (size_t i = 0; i < left.size(); ++i) {
      int64_t l = lhs.dims[static_cast<size_t>(left[i])];
      int64_t r = rhs.dims[static_cast<size_t>(right[i])];
      if (l != r)
        return failIn(attribute, "dim {} of {} and dim {} of {} differ", left[i], name(0), right[i],
                      name(1));
    }
    return true;
  };
  if (!paired("lhs_batch_dims", dims.lhsBatch, dims.rhsBatch) ||
      !paired("lhs_contracting_dims", dims.lhsContracting, dims.rhsContracting))
    return false;
  std::vector<int64_t> expected;
  for (int64_t dim : dims.lhsBatch)
    expected.push_back(lhs.dims[static_cast<size_t>(dim)]);
  auto addFree = [&](const Shape &shape, const std::vector<int64_t> &batch,
                     const std::vector<int64_t> &contracting) {
    std::vector<bool> used(shape.rank());
    for (const auto *list : {&batch, &contracting})
      for (int64_t dim : *list)
        used[static_cast<size_t>(dim)] = true;
    for (size_t dim = 0; dim < shape.rank(); ++dim)
      if (!used[dim])
        expected.push_back(shape.dims[dim]);
  };
  addFree(lhs, dims.lhsBatch, dims.lhsContracting);
  addFree(rhs, dims.rhsBatch, dims.rhsContracting);
  if (op.opcode == Opcode::ScaledDot) // a scale covers a block of its operand
    for (size_t i = 0; i < 2; ++i) {
      const Shape &scale = operand(i + 2);
      bool fits = scale.rank() == operand(i).rank() || scale.isScalar();
      for (size_t dim = 0; fits && dim < scale.rank(); ++dim)
        fits = scaleBlock(operand(i).dims[dim], scale.dims[dim]).has_value();
      if (!fits)
        return fail("{} does not divide {}", name(i + 2), name(i));
    }
  return resultDims(expected);
}

/// The inputs, then one initial value for each.
bool OpCheck::inputsWithInitialValues() {
  size_t count = operands() / 2;
  if (operands() == 0 || operands() % 2 != 0)
    return fail("needs an initial value for each input, {} operands given", operands());
  if (!areTensors(0, operands()))
    return false;
  for (size_t i = 0; i < count; ++i) {
    if (operand(i).dims != operand(0).dims)
      return fail("{} and {} differ in dims", name(0), name(i));
    if (!isScalar(count + i))
      return false;
    if (!typesAgree(operand(i).dtype, operand(count + i).dtype))
      return fail("{} and {} differ in element type", name(i), name(count + i));
  }
  return true;
}

bool OpCheck::reduce() {
  if (!inputsWithInitialValues())
    return false;
  size_t count = operands() / 2;
  if (!dimsInRange("dimensions", op.attrs.dimensions, operand(0).rank()))
    return false;
  std::vector<bool> isReduced(operand(0).rank());
  for (int64_t dim : op.attrs.dimensions)
    isReduced[static_cast<size_t>(dim)] = true;
  std::vector<int64_t> kept;
  for (size_t dim = 0; dim < isReduced.size(); ++dim)
    if (!isReduced[dim])
      kept.push_back(operand(0).dims[dim]);
  GraphId body = callee(CallRole::ToApply, "to_apply");
  return body.isValid() && combines(body, "to_apply", operandTypes(count)) &&
         resultsLikeInputs(count, kept);
}

/// One result a input, a tuple if there are several, all of those dims.
bool OpCheck::resultsLikeInputs(size_t count, const std::vector<int64_t> &dims) {
  if (count == 1)
    return resultDims(dims) && resultTypeLike(0);
  bool fits = op.shape.isTuple && op.shape.elements.size() == count;
  for (size_t i = 0; fits && i < count; ++i)
    fits = !op.shape.elements[i].isTuple && op.shape.elements[i].dims == dims &&
           typesAgree(op.shape.elements[i].dtype, operand(i).dtype);
  return fits || fail("the result {} must be a tuple of {} like {}", briefText(op.shape), count,
                      briefText(Shape::tensor(operand(0).dtype, dims)));
}

bool OpCheck::sort() {
  if (!operandCountAtLeast(1) || !areTensors(0, operands()) ||
      !exactlyOneDimension(operand(0).rank()))
    return false;
  for (size_t i = 1; i < operands(); ++i)
    if (operand(i).dims != operand(0).dims)
      return fail("{} and {} differ in dims", name(0), name(i));
  std::vector<DType> types; // two of each operand
  for (size_t i = 0; i < operands(); ++i)
    types.insert(types.end(), 2, operand(i).dtype);
  GraphId less = callee(CallRole::ToApply, "to_apply");
  if (!less.isValid() || !takesScalars(less, "to_apply", types))
    return false;
  return resultsIn(less, "to_apply", Shape::tensor(DType::Pred, {})) &&
         resultsLikeInputs(operands(), operand(0).dims);
}

bool OpCheck::applyToAll() {
  if (!operandCountAtLeast(1) || !areTensors(0, operands()))
    return false;
  for (size_t i = 0; i < operands(); ++i)
    if (operand(i).dims != op.shape.dims || op.shape.isTuple)
      return fail("{} and the result {} differ in dims", name(i), briefText(op.shape));
  if (const std::vector<int64_t> &dims = op.attrs.dimensions; !dims.empty())
    for (size_t i = 0; i < std::max<size_t>(dims.size(), op.shape.rank()); ++i)
      if (dims.size() != op.shape.rank() || dims[i] != static_cast<int64_t>(i))
        return failIn("dimensions", "dimensions must list the {} dims in order", op.shape.rank());
  GraphId body = callee(CallRole::ToApply, "to_apply");
  return body.isValid() && takesScalars(body, "to_apply", operandTypes(operands())) &&
         resultsInScalar(body, "to_apply", op.shape.dtype);
}

} // namespace tilewright
