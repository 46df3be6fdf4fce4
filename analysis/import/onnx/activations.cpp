// Activation functions, as formulas.
#include "analysis/import/onnx/node.h"

#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace tilewright::onnx_format {

namespace {

OpId softplus(Builder &b, OpId x) { // log(1 + exp(x)) without overflow
  const OpId decay = b.unary(Opcode::Exp, b.unary(Opcode::Negate, b.unary(Opcode::Abs, x)));
  return b.plus(b.binary(Opcode::Maximum, x, 0.0), b.unary(Opcode::Log1p, decay));
}

/// scale · (exp(x / width) - 1) below 0, gain · x above.
OpId elu(Builder &b, OpId x, double scale, double width, double gain) {
  const OpId below =
      b.binary(Opcode::Multiply,
               b.unary(Opcode::Expm1, width == 1 ? x : b.binary(Opcode::Divide, x, width)), scale);
  return b.select(b.compare(x, Comparison::Gt, 0.0),
                  gain == 1 ? x : b.binary(Opcode::Multiply, x, gain), below);
}

OpId hardSigmoid(Builder &b, OpId x, double alpha, double beta) {
  const OpId line = b.binary(Opcode::Add, b.binary(Opcode::Multiply, x, alpha), beta);
  return b.binary(Opcode::Minimum, b.binary(Opcode::Maximum, line, 0.0), 1.0);
}

OpId shrink(Node &n, OpId x) {
  const double lambd = n.real("lambd", 0.5), bias = n.real("bias", 0);
  const OpId zero = n.numberLike(x, 0);
  const OpId above =
      n.select(n.compare(x, Comparison::Gt, lambd), n.binary(Opcode::Subtract, x, bias), zero);
  return n.select(n.compare(x, Comparison::Lt, -lambd), n.binary(Opcode::Add, x, bias), above);
}

OpId activation(Node &n, std::string_view type, OpId x) {
  auto times = [&](OpId a, double factor) { return n.binary(Opcode::Multiply, a, factor); };
  if (type == "Relu")
    return n.binary(Opcode::Maximum, x, 0.0);
  if (type == "LeakyRelu")
    return n.select(n.compare(x, Comparison::Lt, 0.0), times(x, n.real("alpha", 0.01f)), x);
  if (type == "Elu")
    return elu(n, x, n.real("alpha", 1), 1, 1);
  if (type == "Selu") {
    const double alpha = n.real("alpha", 1.67326319217681884765625f),
                 gamma = n.real("gamma", 1.05070102214813232421875f);
    return elu(n, x, alpha * gamma, 1, gamma);
  }
  if (type == "Celu") {
    const double alpha = n.real("alpha", 1);
    return elu(n, x, alpha, alpha, 1);
  }
  if (type == "HardSigmoid")
    return hardSigmoid(n, x, n.real("alpha", 0.2f), n.real("beta", 0.5));
  if (type == "HardSwish")
    return n.times(x, hardSigmoid(n, x, 1.0 / 6, 0.5));
  if (type == "ThresholdedRelu")
    return n.select(n.compare(x, Comparison::Gt, n.real("alpha", 1)), x, n.numberLike(x, 0));
  if (type == "Softplus")
    return softplus(n, x);
  if (type == "Softsign")
    return n.over(x, n.binary(Opcode::Add, n.unary(Opcode::Abs, x), 1.0));
  if (type == "Mish")
    return n.times(x, n.unary(Opcode::Tanh, softplus(n, x)));
  if (type == "Swish")
    return n.times(x, n.unary(Opcode::Logistic, times(x, n.real("alpha", 1))));
  return shrink(n, x);
}

} // namespace

bool lowerActivation(Node &n) {
  if (!n.isTensor(0))
    return false;
  const DType type = n.dtype(0);
  if (!isFloat(type) && n.type() != "Relu" && n.type() != "Shrink")
    return n.fail(fmt::format("the input is {}, real numbers are needed", n.shape(0).str(false)));
  return n.finish(activation(n, n.type(), n.input(0)));
}

/// The slope is spread over the input; before opset 7 it was one number for each channel.
bool lowerPRelu(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(1))
    return false;
  const OpId x = n.input(0);
  const Dims dims = n.dims(0);
  if (n.dtype(0) != n.dtype(1))
    return n.fail("input and slope are of different types");
  OpId slope = n.input(1);
  if (n.opset < 7 && n.rank(1) == 1 && dims.size() > 1 && n.dims(1)[0] == dims[1]) {
    slope = n.along(slope, dims, 1);
  } else {
    if (!n.spreads(n.dims(1), dims))
      return false;
    slope = n.spread(slope, dims);
  }
  return n.finish(n.select(n.compare(x, Comparison::Lt, 0.0), n.times(x, slope), x));
}

/// Along one dim; before opset 13 along all dims from `axis` on.
bool lowerSoftmax(Node &n) {
  if (!n.isTensor(0))
    return false;
  const Dims dims = n.dims(0);
  size_t axis = 0;
  if (dims.empty() || !isFloat(n.dtype(0)))
    return n.fail(fmt::format("the input is {}", n.shape(0).str(false)));
  const int64_t value = n.integer("axis", n.opset < 13 ? 1 : -1);
  if (n.opset < 13 && value == static_cast<int64_t>(dims.size()))
    axis = dims.size();
  else if (!n.axisOf(value, dims.size(), axis))
    return false;
  Dims reduced = {static_cast<int64_t>(axis)};
  if (n.opset < 13) {
    reduced.clear();
    for (size_t d = axis; d < dims.size(); ++d)
      reduced.push_back(static_cast<int64_t>(d));
  }
  const OpId x = n.input(0);
  auto over = [&](OpId a) { return n.spreadOver(a, dims, reduced); };
  const OpId shifted = n.minus(x, over(n.reduce(x, Opcode::Maximum, reduced)));
  const OpId powers = n.unary(Opcode::Exp, shifted);
  const OpId sum = n.reduce(powers, Opcode::Add, reduced);
  if (n.type() == "LogSoftmax")
    return n.finish(n.minus(shifted, over(n.unary(Opcode::Log, sum))));
  return n.finish(n.over(powers, over(sum)));
}

/// 1 at the first largest element along the axis, 0 elsewhere.
bool lowerHardmax(Node &n) {
  if (!n.isTensor(0))
    return false;
  const Dims dims = n.dims(0);
  size_t axis = 0;
  if (!n.axisOf(n.integer("axis", n.opset < 13 ? 1 : -1), dims.size(), axis))
    return false;
  OpId x = n.input(0);
  Dims flat = dims;
  if (n.opset < 13) { // as a matrix
    flat = {1, 1};
    for (size_t d = 0; d < dims.size(); ++d)
      flat[d < axis ? 0 : 1] *= dims[d];
    x = n.reshape(x, flat);
    axis = 1;
  }
  const Dims reduced = {static_cast<int64_t>(axis)};
  const OpId places = n.iota(DType::S64, flat, axis);
  const OpId isMost = n.compare(x, Comparison::Eq,
                                n.spreadOver(n.reduce(x, Opcode::Maximum, reduced), flat, reduced));
  const OpId candidate =
      n.select(isMost, places, n.numberLike(places, static_cast<double>(flat[axis])));
  const OpId first = n.reduce(candidate, Opcode::Minimum, reduced);
  const OpId isFirst = n.compare(places, Comparison::Eq, n.spreadOver(first, flat, reduced));
  return n.finish(n.reshape(n.convert(isFirst, n.dtype(0)), dims));
}

bool lowerGelu(Node &n) {
  if (!n.isTensor(0) || !isFloat(n.dtype(0)))
    return n.fail("real numbers are needed");
  const OpId x = n.input(0);
  OpId inner;
  if (n.text("approximate", "none") == "tanh") {
    const OpId cube = n.times(x, n.times(x, x));
    const OpId sum = n.plus(x, n.binary(Opcode::Multiply, cube, 0.044715));
    inner = n.unary(Opcode::Tanh, n.binary(Opcode::Multiply, sum, std::sqrt(2 / std::numbers::pi)));
  } else {
    inner = n.unary(Opcode::Erf, n.binary(Opcode::Multiply, x, std::sqrt(0.5)));
  }
  const OpId half = n.binary(Opcode::Multiply, x, 0.5);
  return n.finish(n.times(half, n.binary(Opcode::Add, inner, 1.0)));
}

} // namespace tilewright::onnx_format
