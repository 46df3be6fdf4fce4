// Ops that compute each element from those at the same place.
#include "analysis/import/onnx/node.h"
#include "analysis/import/onnx/proto.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

namespace {

/// Inputs spread over each other. Before opset 7 the second had its place said by `axis`.
bool spreadInputs(Node &n, std::vector<OpId> &out) {
  std::vector<Dims> all;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    if (!n.isTensor(i))
      return false;
    all.push_back(n.dims(i));
  }
  std::vector<OpId> ids;
  for (size_t i = 0; i < n.inputCount(); ++i)
    ids.push_back(n.input(i));
  if (n.opset < 7 && n.has("axis") && all.size() == 2 && n.integer("broadcast", 0)) {
    size_t axis = 0;
    if (!n.axisOf(n.integer("axis", 0), std::max<size_t>(1, all[0].size()), axis))
      return false;
    Dims wide = all[1];
    while (!wide.empty() && axis + wide.size() < all[0].size())
      wide.push_back(1);
    ids[1] = n.reshape(ids[1], wide);
    all[1] = wide;
  }
  Dims dims;
  if (!n.commonDims(all, dims))
    return false;
  for (OpId id : ids)
    out.push_back(n.spread(id, dims));
  return true;
}

bool sameTypes(Node &n, const std::vector<OpId> &ids, size_t first = 0) {
  for (size_t i = first + 1; i < ids.size(); ++i)
    if (n.shapeOf(ids[i]).dtype != n.shapeOf(ids[first]).dtype)
      return n.fail(fmt::format("inputs are of {} and {}", toString(n.shapeOf(ids[first]).dtype),
                                toString(n.shapeOf(ids[i]).dtype)));
  return true;
}

bool needsTypes(Node &n, size_t i, bool isRight, std::string_view what) {
  return isRight ||
         n.fail(fmt::format("input {} is {}, {} needed", i, n.shape(i).str(false), what));
}

} // namespace

bool lowerUnary(Node &n) {
  if (!n.isTensor(0))
    return false;
  return n.finish(n.unary(n.row->opcode, n.input(0)));
}

bool lowerFloatUnary(Node &n) {
  if (!n.isTensor(0) || !needsTypes(n, 0, isFloat(n.dtype(0)), "real numbers are"))
    return false;
  const OpId x = n.input(0);
  if (n.type() == "Reciprocal")
    return n.finish(n.over(n.numberLike(x, 1), x));
  if (n.type() == "Atan")
    return n.finish(n.binary(Opcode::Atan2, x, 1));
  return n.finish(n.unary(n.row->opcode, x));
}

bool lowerBinary(Node &n) {
  std::vector<OpId> ids;
  if (!spreadInputs(n, ids) || !sameTypes(n, ids))
    return false;
  return n.finish(n.binary(n.row->opcode, ids[0], ids[1]));
}

/// Max, Min, Sum and Mean of any number of inputs.
bool lowerVariadic(Node &n) {
  std::vector<OpId> ids;
  if (!spreadInputs(n, ids) || !sameTypes(n, ids))
    return false;
  OpId all = ids[0];
  for (size_t i = 1; i < ids.size(); ++i)
    all = n.binary(n.row->opcode, all, ids[i]);
  if (n.type() == "Mean")
    all = n.binary(Opcode::Divide, all, static_cast<double>(ids.size()));
  return n.finish(all);
}

bool lowerComparison(Node &n) {
  std::vector<OpId> ids;
  if (!spreadInputs(n, ids) || !sameTypes(n, ids))
    return false;
  const std::string_view type = n.type();
  const Comparison comparison = type == "Equal"            ? Comparison::Eq
                                : type == "Less"           ? Comparison::Lt
                                : type == "LessOrEqual"    ? Comparison::Le
                                : type == "GreaterOrEqual" ? Comparison::Ge
                                                           : Comparison::Gt;
  return n.finish(n.compare(ids[0], comparison, ids[1]));
}

/// With `fmod` the remainder has the dividend's sign, otherwise the divisor's.
bool lowerMod(Node &n) {
  std::vector<OpId> ids;
  if (!spreadInputs(n, ids) || !sameTypes(n, ids))
    return false;
  const OpId rest = n.binary(Opcode::Remainder, ids[0], ids[1]);
  if (n.integer("fmod", 0) != 0 || dtypeClass(n.dtype(0)) == DTypeClass::Unsigned)
    return n.finish(rest);
  const OpId isOther = n.binary(Opcode::Xor, n.compare(rest, Comparison::Lt, 0.0),
                                n.compare(ids[1], Comparison::Lt, 0.0));
  const OpId isWrong = n.binary(Opcode::And, isOther, n.compare(rest, Comparison::Ne, 0.0));
  return n.finish(n.select(isWrong, n.plus(rest, ids[1]), rest));
}

/// The result is of the base's type; where one is a float, it is computed with floats.
bool lowerPow(Node &n) {
  std::vector<OpId> ids;
  if (!spreadInputs(n, ids))
    return false;
  const DType base = n.dtype(0), exponent = n.dtype(1);
  const DType inner = isFloat(base) || !isFloat(exponent) ? base : exponent;
  return n.finish(
      n.convert(n.binary(Opcode::Power, n.convert(ids[0], inner), n.convert(ids[1], inner)), base));
}

bool lowerShift(Node &n) {
  std::vector<OpId> ids;
  const std::string direction = n.text("direction", "");
  if (!spreadInputs(n, ids) || !sameTypes(n, ids))
    return false;
  if (direction != "LEFT" && direction != "RIGHT")
    return n.fail("the direction is neither LEFT nor RIGHT");
  return n.finish(n.binary(direction == "LEFT" ? Opcode::ShiftLeft : Opcode::ShiftRightLogical,
                           ids[0], ids[1]));
}

bool lowerWhere(Node &n) {
  std::vector<OpId> ids;
  if (!spreadInputs(n, ids) || !sameTypes(n, ids, 1) ||
      !needsTypes(n, 0, n.dtype(0) == DType::Pred, "truth values are"))
    return false;
  return n.finish(n.select(ids[0], ids[1], ids[2]));
}

/// Bounds were attributes before opset 11.
bool lowerClip(Node &n) {
  if (!n.isTensor(0))
    return false;
  OpId x = n.input(0);
  const Shape shape = n.shapeOf(x);
  for (size_t i : {1, 2}) {
    const char *name = i == 1 ? "min" : "max";
    OpId bound;
    if (n.has(name)) {
      bound = n.number(shape, n.real(name, 0));
    } else if (n.hasInput(i)) {
      if (!n.isTensor(i) || !n.spreads(n.dims(i), shape.dims) ||
          !needsTypes(n, i, n.dtype(i) == shape.dtype, "the type of input 0 is"))
        return false;
      bound = n.spread(n.input(i), shape.dims);
    } else {
      continue;
    }
    x = n.binary(i == 1 ? Opcode::Maximum : Opcode::Minimum, x, bound);
  }
  return n.finish(x);
}

bool lowerCast(Node &n) {
  const int64_t to = n.integer("to", 0);
  const std::optional<DType> type = elementType(static_cast<int>(to));
  if (!n.isTensor(0))
    return false;
  if (!type)
    return n.refuse(fmt::format("{} has no values here", elementTypeName(static_cast<int>(to))));
  return n.finish(n.convert(n.input(0), *type));
}

bool lowerCastLike(Node &n) {
  return n.isTensor(0) && n.isTensor(1) && n.finish(n.convert(n.input(0), n.dtype(1)));
}

bool lowerIsInf(Node &n) {
  if (!n.isTensor(0) || !needsTypes(n, 0, isFloat(n.dtype(0)), "real numbers are"))
    return false;
  const OpId x = n.input(0);
  const bool isUp = n.integer("detect_positive", 1) != 0,
             isDown = n.integer("detect_negative", 1) != 0;
  const double infinity = std::numeric_limits<double>::infinity();
  if (isUp && isDown)
    return n.finish(n.compare(n.unary(Opcode::Abs, x), Comparison::Eq, infinity));
  if (!isUp && !isDown)
    return n.finish(n.number(Shape::tensor(DType::Pred, n.dims(0)), 0));
  return n.finish(n.compare(x, Comparison::Eq, isUp ? infinity : -infinity));
}

bool lowerIsNan(Node &n) {
  if (!n.isTensor(0))
    return false;
  const OpId x = n.input(0);
  return n.finish(n.compare(x, Comparison::Ne, x));
}

bool lowerIdentity(Node &n) { return n.finish(std::vector<Value>{*n.inputs[0]}); }

/// As in inference: the input, and a mask of all elements.
bool lowerDropout(Node &n) {
  if (!n.isTensor(0))
    return false;
  bool isTraining = n.opset < 7 && !n.integer("is_test", 0) && n.has("is_test");
  if (n.hasInput(2)) {
    const Tensor *mode = n.known(2);
    if (!mode)
      return false;
    isTraining = mode->size() > 0 && mode->integer(0) != 0;
  }
  if (isTraining && n.hasInput(1) && n.isKnown(1) && n.known(1)->size() > 0 &&
      n.known(1)->asDouble(0) == 0)
    isTraining = false;
  if (isTraining)
    return n.refuse("in training it draws random numbers, whose bits ONNX doesn't define");
  Value value = *n.inputs[0];
  std::vector<Value> results = {value};
  if (n.wants(1)) {
    const DType type = n.opset < 10 ? n.dtype(0) : DType::Pred;
    results.push_back(n.valueOf(n.number(Shape::tensor(type, n.dims(0)), 1)));
  }
  return n.finish(std::move(results));
}

} // namespace tilewright::onnx_format
