// Ops without an index map, whose shapes are checked nevertheless. Some of their attributes are
// kept as text only.
#include "analysis/ir/verifier_internal.h"

#include <algorithm>
#include <charconv>

namespace tilewright {

bool OpCheck::opaque(bool &handled) {
  switch (op.opcode) {
  case Opcode::BatchNormGrad:
  case Opcode::BatchNormInference:
  case Opcode::BatchNormTraining:
    return batchNorm();
  case Opcode::Cholesky:
    if (!operandCount(1) || !areTensors(0, 1))
      return false;
    if (size_t rank = operand(0).rank();
        rank < 2 || operand(0).dims[rank - 1] != operand(0).dims[rank - 2])
      return fail("{} does not hold square matrices", name(0));
    return resultIs(operand(0));
  case Opcode::TriangularSolve:
    return triangularSolve();
  case Opcode::Fft:
    return fft();
  case Opcode::TopK:
    return topK();
  case Opcode::RngBitGenerator:
    return rngBitGenerator();
  default:
    handled = false;
    return true;
  }
}

std::string_view OpCheck::rawText(std::string_view attribute) const {
  for (const RawAttribute &raw : op.rawAttrs)
    if (raw.name == attribute)
      return raw.text;
  return {};
}

std::vector<int64_t> OpCheck::rawIntegers(std::string_view attribute) const {
  std::vector<int64_t> result;
  std::string_view text = rawText(attribute);
  for (size_t at = text.find_first_of("-0123456789"); at != std::string_view::npos;
       at = text.find_first_of("-0123456789", at)) {
    int64_t value = 0;
    auto [rest, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc())
      return {};
    result.push_back(value);
    at = static_cast<size_t>(rest - text.data());
  }
  return result;
}

std::optional<int64_t> OpCheck::rawInteger(std::string_view attribute) const {
  const std::vector<int64_t> all = rawIntegers(attribute);
  return all.size() == 1 ? std::optional(all[0]) : std::nullopt;
}

/// a · x = b, or x · a = b: a holds square matrices, b as many with as many rows or columns.
bool OpCheck::triangularSolve() {
  if (!operandCount(2) || !areTensors(0, 2))
    return false;
  const Shape &a = operand(0), &b = operand(1);
  const size_t rank = a.rank();
  if (rank < 2 || a.dims[rank - 1] != a.dims[rank - 2])
    return fail("{} does not hold square matrices", name(0));
  if (b.rank() != rank || !std::equal(a.dims.begin(), a.dims.end() - 2, b.dims.begin()))
    return fail("{} and {} differ in batch dims", name(0), name(1));
  // XLA's text leaves out what is false.
  const size_t dim = rawText("left_side") == "true" ? rank - 2 : rank - 1;
  if (b.dims[dim] != a.dims[dim])
    return fail("dim {} of {} must be {} as {} needs", dim, name(1), a.dims[dim], name(0));
  return resultIs(b);
}

/// Of the last dims, as many as fft_length lists. Of real values, only the first n / 2 + 1 of the
/// last dim's n complex ones are kept: the others are their conjugates.
bool OpCheck::fft() {
  if (!operandCount(1) || !areTensors(0, 1))
    return false;
  const std::vector<int64_t> length = rawIntegers("fft_length");
  const std::string_view type = rawText("fft_type");
  const size_t rank = operand(0).rank();
  if (length.empty() || length.size() > 3 || length.size() > rank)
    return failIn("fft_length", "fft_length lists {} dims, 1 to 3 of the {} of {} are possible",
                  length.size(), rank, name(0));
  const bool fromReal = type == "RFFT", toReal = type == "IRFFT";
  std::vector<int64_t> given = operand(0).dims, expected = operand(0).dims;
  for (size_t i = 0; i < length.size(); ++i) {
    const size_t dim = rank - length.size() + i;
    const bool isHalf = dim == rank - 1 && (fromReal || toReal);
    const int64_t half = length[i] / 2 + 1;
    const int64_t needed = isHalf && toReal ? half : length[i];
    if (length[i] < 0 || given[dim] != needed)
      return failIn("fft_length", "length {} needs {} in dim {}, {} has {}", length[i], needed, dim,
                    name(0), given[dim]);
    if (isHalf)
      expected[dim] = fromReal ? half : length[i];
  }
  auto isComplex = [](DType dtype) { return dtypeClass(dtype) == DTypeClass::Complex; };
  if (fromReal ? !isFloat(operand(0).dtype) : !isComplex(operand(0).dtype))
    return fail("{} must be {}", name(0), fromReal ? "real" : "complex");
  if (op.shape.isTuple || (toReal ? !isFloat(op.shape.dtype) : !isComplex(op.shape.dtype)))
    return fail("the result {} must be {}", briefText(op.shape), toReal ? "real" : "complex");
  return resultDims(expected);
}

/// (values, positions), each with k in place of the last dim.
bool OpCheck::topK() {
  if (!operandCount(1) || !areTensors(0, 1))
    return false;
  Shape values = operand(0);
  if (values.dims.empty())
    return fail("{} has no dim to search", name(0));
  const int64_t k = rawInteger("k").value_or(-1);
  if (k < 0 || k > values.dims.back())
    return failIn("k", "k {} is out of range, dim {} of {} has {}", k, values.rank() - 1, name(0),
                  values.dims.back());
  values.dims.back() = k;
  return resultIs(Shape::tuple({values, Shape::tensor(DType::S32, values.dims)}));
}

bool OpCheck::batchNorm() {
  const bool isTraining = op.opcode == Opcode::BatchNormTraining;
  const bool isGrad = op.opcode == Opcode::BatchNormGrad;
  const size_t count = isTraining ? 3 : 5;
  if (!operandCount(count) || !areTensors(0, count))
    return false;
  const Shape &values = operand(0);
  const int64_t feature = rawInteger("feature_index").value_or(-1);
  if (feature < 0 || feature >= static_cast<int64_t>(values.rank()))
    return failIn("feature_index", "feature_index {} is out of range, the rank is {}", feature,
                  values.rank());
  const std::vector<int64_t> features = {values.dims[static_cast<size_t>(feature)]};
  for (size_t i = 1; i < count; ++i) {
    const bool isLikeValues = isGrad && i == 4;
    if (operand(i).dims != (isLikeValues ? values.dims : features))
      return fail("{} must have {}", name(i),
                  isLikeValues ? "the dims of the first operand"
                               : fmt::format("the {} features only", features[0]));
  }
  if (!isTraining && !isGrad)
    return resultIs(values);
  const Shape &one = operand(1);
  return resultIs(Shape::tuple({values, one, one}));
}

/// (the state afterwards, the bits)
bool OpCheck::rngBitGenerator() {
  if (!operandCount(1) || !areTensors(0, 1))
    return false;
  if (!isInteger(operand(0).dtype) || operand(0).rank() != 1)
    return fail("the state {} must be a vector of integers", name(0));
  const bool fits = op.shape.isTuple && op.shape.elements.size() == 2 &&
                    op.shape.elements[0].sameDimsAndType(operand(0)) &&
                    !op.shape.elements[1].isTuple;
  return fits ||
         fail("the result {} must be a tuple of the state and the bits", briefText(op.shape));
}

} // namespace tilewright
