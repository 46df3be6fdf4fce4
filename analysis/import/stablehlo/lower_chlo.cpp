// Ops of the chlo dialect: functions without an op of HLO, and ops that spread their operands.
#include "analysis/import/maths.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numbers>

namespace tilewright::stablehlo {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// W. Cody, Rational Chebyshev approximations for the error function, 1969, as Cephes has it:
/// erfc(x) = exp(-x²) p(x) / q(x) for x from 1 to 8, r(x) / s(x) beyond.
OpId erfc(Maths &m, OpId x) {
  constexpr double p[] = {
      2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
      4.86371970985681366614e1,   1.96520832956077098242e2,  5.26445194995477358631e2,
      9.34528527171957607540e2,   1.02755188689515710272e3,  5.57535335369399327526e2};
  constexpr double q[] = {1.0,
                          1.32281951154744992508e1,
                          8.67072140885989742329e1,
                          3.54937778887819891062e2,
                          9.75708501743205489753e2,
                          1.82390916687909736289e3,
                          2.24633760818710981792e3,
                          1.65666309194161350182e3,
                          5.57535340817727675546e2};
  constexpr double r[] = {5.64189583547755073984e-1, 1.27536670759978104416e0,
                          5.01905042251180477414e0,  6.16021097993053585195e0,
                          7.40974269950448939160e0,  2.97886665372100240670e0};
  constexpr double s[] = {1.0,
                          2.26052863220117276590e0,
                          9.39603524938001434673e0,
                          1.20489539808096656605e1,
                          1.70814450747565897222e1,
                          9.60896809063285878198e0,
                          3.36907645100081516050e0};
  const OpId magnitude = m.unary(Opcode::Abs, x);
  const OpId decay = m.unary(Opcode::Exp, m.unary(Opcode::Negate, m.multiply(x, x)));
  const OpId middle = m.divide(m.polynomial(magnitude, p), m.polynomial(magnitude, q));
  const OpId far = m.divide(m.polynomial(magnitude, r), m.polynomial(magnitude, s));
  const OpId isMiddle = m.compare(magnitude, Comparison::Lt, m.number(8));
  const OpId ratio = m.multiply(decay, m.select(isMiddle, middle, far));
  // Where the decay is no number any more, the ratio of infinities isn't either.
  const OpId isGone = m.compare(decay, Comparison::Eq, m.number(0));
  const OpId tail = m.select(isGone, m.number(0), ratio);
  const OpId isNegative = m.compare(x, Comparison::Lt, m.number(0));
  const OpId outside = m.select(isNegative, m.subtract(m.number(2), tail), tail);
  const OpId inside = m.subtract(m.number(1), m.unary(Opcode::Erf, x));
  return m.select(m.compare(magnitude, Comparison::Gt, m.number(1)), outside, inside);
}

/// M. Giles, Approximating the erfinv function, 2011, in single precision; in double precision two
/// Newton steps follow.
OpId erfInverse(Maths &m, OpId x, DType type) {
  constexpr double central[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                -0.00417768164,  0.246640727,    1.50140941};
  constexpr double outer[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                              -0.00367342844,  0.00573950773,  -0.0076224613,
                              0.00943887047,   1.00167406,     2.83297682};
  const OpId w =
      m.unary(Opcode::Negate, m.unary(Opcode::Log1p, m.unary(Opcode::Negate, m.multiply(x, x))));
  const OpId isCentral = m.compare(w, Comparison::Lt, m.number(5));
  const OpId ofCentral = m.polynomial(m.subtract(w, m.number(2.5)), central);
  const OpId ofOuter = m.polynomial(m.subtract(m.unary(Opcode::Sqrt, w), m.number(3)), outer);
  OpId y = m.multiply(m.select(isCentral, ofCentral, ofOuter), x);
  const OpId isEnd = m.compare(m.unary(Opcode::Abs, x), Comparison::Eq, m.number(1));
  if (type == DType::F64)
    for (int step = 0; step < 2; ++step) {
      const OpId slope =
          m.multiply(m.number(2 / std::sqrt(std::numbers::pi)),
                     m.unary(Opcode::Exp, m.unary(Opcode::Negate, m.multiply(y, y))));
      y = m.subtract(y, m.divide(m.subtract(m.unary(Opcode::Erf, y), x), slope));
    }
  return m.select(isEnd, m.multiply(x, m.number(infinity)), y);
}

/// C. Lanczos, A precision approximation of the gamma function, 1964, with g = 7 and nine terms.
constexpr double lanczosBase = 0.99999999999980993227684700473478;
constexpr double lanczos[] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931155834e-7};

/// Below 1/2 the series is taken at the reflected place: z = -x there, else x - 1.
OpId reflected(Maths &m, OpId x, OpId isReflected) {
  return m.select(isReflected, m.unary(Opcode::Negate, x), m.subtract(x, m.number(1)));
}

/// log(z + 7.5), exact for small z.
OpId lanczosLog(Maths &m, OpId z) {
  return m.add(m.number(std::log(7.5)), m.unary(Opcode::Log1p, m.divide(z, m.number(7.5))));
}

OpId logGamma(Maths &m, OpId x) {
  const OpId isReflected = m.compare(x, Comparison::Lt, m.number(0.5));
  const OpId z = reflected(m, x, isReflected);
  OpId series = m.number(lanczosBase);
  for (size_t i = 0; i < std::size(lanczos); ++i)
    series = m.add(series,
                   m.divide(m.number(lanczos[i]), m.add(z, m.number(static_cast<double>(i) + 1))));
  const OpId logT = lanczosLog(m, z), t = m.add(z, m.number(7.5));
  const OpId power = m.multiply(m.subtract(m.add(z, m.number(0.5)), m.divide(t, logT)), logT);
  const OpId gamma = m.add(m.number(std::log(2 * std::numbers::pi) / 2),
                           m.add(power, m.unary(Opcode::Log, series)));
  // log Γ(x) = log π - log |sin πx| - log Γ(1 - x)
  const OpId magnitude = m.unary(Opcode::Abs, x);
  const OpId part = m.subtract(magnitude, m.unary(Opcode::Floor, magnitude));
  const OpId near =
      m.select(m.compare(part, Comparison::Gt, m.number(0.5)), m.subtract(m.number(1), part), part);
  const OpId sine =
      m.unary(Opcode::Log, m.unary(Opcode::Sine, m.multiply(m.number(std::numbers::pi), near)));
  const OpId isPole = m.compare(sine, Comparison::Eq, m.number(-infinity));
  const OpId reflection =
      m.select(isPole, m.number(infinity),
               m.subtract(m.subtract(m.number(std::log(std::numbers::pi)), sine), gamma));
  const OpId isInfinite = m.compare(magnitude, Comparison::Eq, m.number(infinity));
  return m.select(isInfinite, m.number(infinity), m.select(isReflected, reflection, gamma));
}

OpId digamma(Maths &m, OpId x) {
  const OpId isReflected = m.compare(x, Comparison::Lt, m.number(0.5));
  const OpId z = reflected(m, x, isReflected);
  OpId series = m.number(lanczosBase), slope = m.number(0);
  for (size_t i = 0; i < std::size(lanczos); ++i) {
    const OpId at = m.add(z, m.number(static_cast<double>(i) + 1));
    const OpId term = m.divide(m.number(lanczos[i]), at);
    series = m.add(series, term);
    slope = m.subtract(slope, m.divide(term, at));
  }
  const OpId t = m.add(z, m.number(7.5));
  const OpId y =
      m.add(m.subtract(lanczosLog(m, z), m.divide(m.number(7), t)), m.divide(slope, series));
  // ψ(x) = ψ(1 - x) - π cot πx, at the nearest of x's shifts by whole numbers.
  const OpId near = m.add(x, m.unary(Opcode::Abs, m.unary(Opcode::Floor, m.add(x, m.number(0.5)))));
  const OpId angle = m.multiply(m.number(std::numbers::pi), near);
  const OpId cotangent = m.divide(m.unary(Opcode::Cosine, angle), m.unary(Opcode::Sine, angle));
  const OpId reflection = m.subtract(y, m.multiply(m.number(std::numbers::pi), cotangent));
  const OpId isPole = m.both(m.compare(x, Comparison::Le, m.number(0)),
                             m.compare(x, Comparison::Eq, m.unary(Opcode::Floor, x)));
  return m.select(isPole, m.number(std::numeric_limits<double>::quiet_NaN()),
                  m.select(isReflected, reflection, y));
}

/// exp(-|x|) I₁(x), the modified Bessel function: Cephes' two series.
OpId besselI1e(Maths &m, OpId x) {
  constexpr double near[] = {
      2.77791411276104639959e-18,  -2.11142121435816608115e-17, 1.55363195773620046921e-16,
      -1.10559694773538630805e-15, 7.60068429473540693410e-15,  -5.04218550472791168711e-14,
      3.22379336594557470981e-13,  -1.98397439776494371520e-12, 1.17361862988909016308e-11,
      -6.66348972350202774223e-11, 3.62559028155211703701e-10,  -1.88724975172282928790e-9,
      9.38153738649577178388e-9,   -4.44505912879632808065e-8,  2.00329475355213526229e-7,
      -8.56872026469545474066e-7,  3.47025130813767847674e-6,   -1.32731636560394358279e-5,
      4.78156510755005422638e-5,   -1.61760815825896745588e-4,  5.12285956168575772895e-4,
      -1.51357245063125314899e-3,  4.15642294431288815669e-3,   -1.05640848946261981558e-2,
      2.47264490306265168283e-2,   -5.29459812080949914269e-2,  1.02643658689847095384e-1,
      -1.76416518357834055153e-1,  2.52587186443633654823e-1};
  constexpr double far[] = {
      7.51729631084210481353e-18,  4.41434832307170791151e-18,  -4.65030536848935832153e-17,
      -3.20952592199342395980e-17, 2.96262899764595013876e-16,  3.30820231092092828324e-16,
      -1.88035477551078244854e-15, -3.81440307243700780478e-15, 1.04202769841288027642e-14,
      4.27244001671195135429e-14,  -2.10154184277266431302e-14, -4.08355111109219731823e-13,
      -7.19855177624590851209e-13, 2.03562854414708950722e-12,  1.41258074366137813316e-11,
      3.25260358301548823856e-11,  -1.89749581235054123450e-11, -5.58974346219658380687e-10,
      -3.83538038596423702205e-9,  -2.63146884688951950684e-8,  -2.51223623787020892529e-7,
      -3.88256480887769039346e-6,  -1.10588938762623716291e-4,  -9.76109749136146840777e-3,
      7.78576235018280120474e-1};
  const OpId magnitude = m.unary(Opcode::Abs, x);
  const OpId small = m.multiply(
      magnitude, m.chebyshev(m.subtract(m.multiply(magnitude, m.number(0.5)), m.number(2)), near));
  const OpId large =
      m.divide(m.chebyshev(m.subtract(m.divide(m.number(32), magnitude), m.number(2)), far),
               m.unary(Opcode::Sqrt, magnitude));
  const OpId value = m.select(m.compare(magnitude, Comparison::Le, m.number(8)), small, large);
  return m.multiply(m.unary(Opcode::Sign, x), value);
}

/// Half precision is computed in single precision, as nobody's formulas are made for it.
bool inFloat(Lowering &l, OpId (*formula)(Maths &, OpId, DType)) {
  const DType type = l.result().dtype;
  const DType wide = type == DType::F64 ? DType::F64 : DType::F32;
  Shape shape = l.result();
  shape.dtype = wide;
  Maths maths(l, shape);
  const OpId x = l.convert(l.text.operands[0], wide);
  return l.finish({l.convert(formula(maths, x, wide), type)});
}

/// The next number towards the second operand: one more or less of the bits.
bool nextAfter(Lowering &l) {
  const Shape shape = l.result();
  const unsigned width = bitWidth(shape.dtype);
  const DType word = width == 64 ? DType::S64 : width == 32 ? DType::S32 : DType::S16;
  if (width < 16)
    return l.refuse(fmt::format("{} has no integers of its width here", toString(shape.dtype)));
  Shape bits = shape;
  bits.dtype = word;
  const OpId from = l.text.operands[0], to = l.text.operands[1];
  Maths real(l, shape), whole(l, bits);
  const OpId a = l.add(Opcode::BitcastConvert, bits, {from});
  const OpId b = l.add(Opcode::BitcastConvert, bits, {to});
  const OpId zero = l.splat(bits, "0"), one = l.splat(bits, "1");
  const std::string lowest = fmt::format("{}", -(int64_t(1) << (width - 2)) * 2);
  const OpId sign = l.splat(bits, lowest);
  const OpId isZero = real.compare(from, Comparison::Eq, real.number(0));
  const OpId isOtherSign = whole.compare(whole.binary(Opcode::Xor, a, b), Comparison::Lt, zero);
  // Magnitudes compare as integers do.
  const OpId magnitude =
      real.compare(real.unary(Opcode::Abs, from), Comparison::Gt, real.unary(Opcode::Abs, to));
  const OpId shrinks =
      l.add(Opcode::Or, Shape::tensor(DType::Pred, shape.dims), {magnitude, isOtherSign});
  const OpId stepped = whole.select(shrinks, whole.subtract(a, one), whole.add(a, one));
  const OpId ofZero = whole.binary(Opcode::Or, whole.binary(Opcode::And, b, sign), one);
  const OpId next = l.add(Opcode::BitcastConvert, shape, {whole.select(isZero, ofZero, stepped)});
  const OpId isEqual = real.compare(from, Comparison::Eq, to);
  const OpId isNan =
      l.add(Opcode::Or, Shape::tensor(DType::Pred, shape.dims),
            {real.compare(from, Comparison::Ne, from), real.compare(to, Comparison::Ne, to)});
  return l.finish({real.select(isNan, real.add(from, to), real.select(isEqual, to, next))});
}

/// log(z + √(z² + 1)); it is odd, and taken where nothing cancels.
OpId complexAsinh(Maths &m, Lowering &l, const Shape &shape, OpId z) {
  Shape parts = shape;
  parts.dtype = shape.dtype == DType::C64 ? DType::F32 : DType::F64;
  Maths real(l, parts);
  const OpId isLeft = real.compare(l.add(Opcode::Real, parts, {z}), Comparison::Lt, real.number(0));
  const OpId right = m.select(isLeft, m.unary(Opcode::Negate, z), z);
  const OpId root = m.unary(Opcode::Sqrt, m.add(m.multiply(right, right), m.number(1)));
  const OpId value = m.unary(Opcode::Log, m.add(right, root));
  return m.select(isLeft, m.unary(Opcode::Negate, value), value);
}

/// (log(1 + z) - log(1 - z)) / 2
OpId complexAtanh(Maths &m, OpId z) {
  return m.multiply(m.number(0.5), m.subtract(m.unary(Opcode::Log1p, z),
                                              m.unary(Opcode::Log1p, m.unary(Opcode::Negate, z))));
}

/// HLO's ops of these functions take real numbers only.
bool lowerComplex(Lowering &l, std::string_view name) {
  const Shape shape = l.result();
  Maths m(l, shape);
  const OpId z = l.text.operands[0];
  auto ofAsin = [&] { // -i asinh(iz)
    const OpId i = m.imaginaryUnit();
    return m.unary(Opcode::Negate, m.multiply(i, complexAsinh(m, l, shape, m.multiply(i, z))));
  };
  if (name == "cosh" || name == "sinh") {
    const OpId up = m.unary(Opcode::Exp, z),
               down = m.unary(Opcode::Exp, m.unary(Opcode::Negate, z));
    return l.finish(
        {m.multiply(m.number(0.5), name == "cosh" ? m.add(up, down) : m.subtract(up, down))});
  }
  if (name == "asinh")
    return l.finish({complexAsinh(m, l, shape, z)});
  if (name == "asin")
    return l.finish({ofAsin()});
  if (name == "acos")
    return l.finish({m.subtract(m.number(std::numbers::pi / 2), ofAsin())});
  if (name == "acosh") { // log(z + √(z + 1) √(z - 1))
    const OpId roots = m.multiply(m.unary(Opcode::Sqrt, m.add(z, m.number(1))),
                                  m.unary(Opcode::Sqrt, m.subtract(z, m.number(1))));
    return l.finish({m.unary(Opcode::Log, m.add(z, roots))});
  }
  if (name == "atanh")
    return l.finish({complexAtanh(m, z)});
  const OpId i = m.imaginaryUnit(); // atan: -i atanh(iz)
  return l.finish({m.unary(Opcode::Negate, m.multiply(i, complexAtanh(m, m.multiply(i, z))))});
}

/// Operand `i` with the dims of the result: its dims are the result's last ones, or those that
/// `dims` lists for the operand of the lower rank; dims of extent 1 are spread.
bool spread(Lowering &l, size_t i, const Shape &shape, const std::vector<int64_t> &dims,
            OpId &out) {
  out = l.text.operands[i];
  const Shape from = l.operand(i);
  if (from.isTuple || from.dims == shape.dims)
    return !from.isTuple || l.fail("a tuple is no operand here");
  if (from.rank() > shape.rank() ||
      (!dims.empty() && from.rank() < shape.rank() && dims.size() != from.rank()))
    return l.fail(
        fmt::format("operand {} {} does not spread over {}", i, briefText(from), briefText(shape)));
  std::vector<int64_t> places, kept;
  Shape dense = Shape::tensor(from.dtype, {});
  for (size_t d = 0; d < from.rank(); ++d) {
    const int64_t place = dims.empty() || from.rank() == shape.rank()
                              ? static_cast<int64_t>(shape.rank() - from.rank() + d)
                              : dims[d];
    if (place < 0 || place >= shape.rank() ||
        (from.dims[d] != 1 && from.dims[d] != shape.dims[static_cast<size_t>(place)]))
      return l.fail(fmt::format("dim {} of operand {} {} does not spread over {}", d, i,
                                briefText(from), briefText(shape)));
    if (from.dims[d] == shape.dims[static_cast<size_t>(place)]) {
      dense.dims.push_back(from.dims[d]);
      places.push_back(place);
    }
  }
  OpId squeezed = out;
  if (dense.dims != from.dims)
    squeezed = l.add(Opcode::Reshape, dense, {out});
  Shape spreadShape = Shape::tensor(from.dtype, shape.dims);
  out = l.broadcast(squeezed, spreadShape, places);
  return true;
}

} // namespace

bool lowerChloUnary(Lowering &l) {
  if (!l.hasResults(1) || !l.hasOperands(l.row.name == "chlo.next_after" ? 2 : 1))
    return false;
  const std::string_view name = l.row.name.substr(5);
  const bool hasComplexForm = l.row.opcode != Opcode::Parameter && name != "square";
  if (hasComplexForm && !l.result().isTuple &&
      dtypeClass(l.result().dtype) == DTypeClass::Complex) {
    if (!l.operand(0).sameDimsAndType(l.result()))
      return l.fail(fmt::format("the operand is {}, the result {}", briefText(l.operand(0)),
                                briefText(l.result())));
    if (l.result().isDynamic())
      return l.refuse("extents that are known at run time only are not read here");
    return lowerComplex(l, name);
  }
  if (hasComplexForm && l.row.opcode != Opcode::Atan2)
    return lowerDirect(l);
  if (l.result().isTuple || !isFloat(l.result().dtype))
    return l.refuse(fmt::format("of {} is not read, of real numbers it is", briefText(l.result())));
  for (size_t i = 0; i < l.text.operands.size(); ++i)
    if (!l.operand(i).sameDimsAndType(l.result()))
      return l.fail(fmt::format("operand {} is {}, the result {}", i, briefText(l.operand(i)),
                                briefText(l.result())));
  if (l.result().isDynamic())
    return l.refuse("extents that are known at run time only are not read here");
  if (name == "next_after")
    return nextAfter(l);
  if (name == "atan")
    return inFloat(l,
                   [](Maths &m, OpId x, DType) { return m.binary(Opcode::Atan2, x, m.number(1)); });
  if (name == "erf_inv")
    return inFloat(l, erfInverse);
  if (name == "erfc")
    return inFloat(l, [](Maths &m, OpId x, DType) { return erfc(m, x); });
  if (name == "lgamma")
    return inFloat(l, [](Maths &m, OpId x, DType) { return logGamma(m, x); });
  if (name == "digamma")
    return inFloat(l, [](Maths &m, OpId x, DType) { return digamma(m, x); });
  if (name == "bessel_i1e")
    return inFloat(l, [](Maths &m, OpId x, DType) { return besselI1e(m, x); });
  if (name == "square")
    return inFloat(l, [](Maths &m, OpId x, DType) { return m.multiply(x, x); });
  return l.refuse("is not read");
}

/// Operands are spread over the result as NumPy does.
bool lowerChloBroadcast(Lowering &l) {
  std::vector<int64_t> dims;
  if (!l.hasResults(1) || !l.integers("broadcast_dimensions", dims))
    return false;
  const Shape shape = l.result();
  if (shape.isTuple || shape.isDynamic())
    return l.refuse(
        fmt::format("over {} is not read: its extents must be known", briefText(shape)));
  for (size_t i = 0; i < l.text.operands.size(); ++i)
    if (!spread(l, i, shape, dims, l.text.operands[i]))
      return false;
  if (l.row.opcode == Opcode::Compare)
    return lowerCompare(l);
  return lowerDirect(l);
}

} // namespace tilewright::stablehlo
