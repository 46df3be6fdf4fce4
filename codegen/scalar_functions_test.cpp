// f64's elementary functions and those of both types that are made of others, over all kinds of
// arguments, against the C library one precision up.
#include "analysis/ir/evaluator_scalar.h"
#include "codegen/testing/scalars.h"

#include <bit>
#include <cfloat>
#include <cmath>

namespace tilewright {
namespace {

using Exact = long double;

/// Where there is no more than double precision to compare with, that may err, too.
constexpr double slack = LDBL_MANT_DIG > 53 ? 0 : 1;

template <typename T> DType typeOf() { return sizeof(T) == 4 ? DType::F32 : DType::F64; }

double unit(uint64_t seed, uint64_t i) { // in [0, 1)
  return static_cast<double>(splitmix64(seed, i) >> 11) * 0x1p-53;
}

/// Both signs, all exponents, special values; many around where functions do something.
template <typename T> std::vector<T> allKinds() {
  constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> values;
  uint64_t tops = uint64_t(1) << (sizeof(T) * 8 - mantissa);
  for (uint64_t top = 0; top < tops; ++top)
    for (uint64_t i = 0; i < 16384 / tops; ++i) {
      uint64_t ones = (uint64_t(1) << mantissa) - 1;
      uint64_t low = i < 1 ? 0 : i < 2 ? ones : splitmix64(top, i) & ones;
      values.push_back(std::bit_cast<T>(static_cast<Bits>(top << mantissa | low)));
    }
  for (uint64_t i = 0; i < 6000; ++i)
    for (double range : {1.2, 8.0, 800.0})
      values.push_back(static_cast<T>(range * (2 * unit(5, i) - 1)));
  for (uint64_t i = 0; i < 3000; ++i) // next to ±1 and to multiples of π/2
    for (double at : {1.0, -1.0, 1.5707963267948966 * static_cast<double>(i)})
      values.push_back(
          static_cast<T>(at + std::ldexp(2 * unit(6, i) - 1, -static_cast<int>(i % 50))));
  return values;
}

/// The difference in units of the last place of the number next to `exact`; subnormals count as
/// the smallest normal number does, and the last finite number is as good as infinity.
template <typename T> double ulps(T value, Exact exact) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(exact))
    return std::isnan(value) ? 0 : INFINITY;
  if (std::isnan(value))
    return INFINITY;
  if (exact == 0)
    return value == 0 && std::signbit(value) == std::signbit(exact) ? 0 : INFINITY;
  if (std::isinf(value) || std::isinf(static_cast<T>(exact)))
    return std::signbit(value) == std::signbit(exact) &&
                   std::abs(exact) > Exact(Limits::max()) * (1 - 4 * Limits::epsilon()) &&
                   std::abs(value) > Limits::max() * (1 - 4 * Limits::epsilon())
               ? 0
               : INFINITY;
  int exponent = 0;
  std::frexp(std::max(std::abs(exact), Exact(Limits::min())), &exponent);
  return static_cast<double>(std::ldexp(std::abs(Exact(value) - exact), Limits::digits - exponent));
}

struct Unary {
  Opcode op;
  Exact (*exact)(Exact);
  double maxUlps;
};

template <typename T> void check(std::initializer_list<Unary> functions) {
  std::vector<T> x = allKinds<T>();
  for (const Unary &function : functions) {
    std::vector<T> got = runOp<T, T>(scalarOp(function.op, typeOf<T>()), typeOf<T>(), {x});
    double worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (double error = ulps(got[i], function.exact(x[i])); error > worst) {
        worst = error;
        where = i;
      }
    auto name = std::string(toString(function.op));
    EXPECT_LE(worst, function.maxUlps + slack) << name << " of " << x[where] << " is " << got[where]
                                               << ", exact " << function.exact(x[where]);
    ::testing::Test::RecordProperty(name, fmt::format("{:.3g}", worst));
  }
}

TEST(ScalarMathDouble, UnaryFunctions) {
  check<double>({{Opcode::Exp, [](Exact x) { return std::exp(x); }, 1},
                 {Opcode::Expm1, [](Exact x) { return std::expm1(x); }, 2},
                 {Opcode::Log, [](Exact x) { return std::log(x); }, 1},
                 {Opcode::Log1p, [](Exact x) { return std::log1p(x); }, 1},
                 {Opcode::Logistic, [](Exact x) { return 1 / (1 + std::exp(-x)); }, 4},
                 {Opcode::Tanh, [](Exact x) { return std::tanh(x); }, 4},
                 {Opcode::Erf, [](Exact x) { return std::erf(x); }, 2},
                 {Opcode::Sqrt, [](Exact x) { return std::sqrt(x); }, 0.51},
                 {Opcode::Rsqrt, [](Exact x) { return 1 / std::sqrt(x); }, 1.5},
                 {Opcode::Cbrt, [](Exact x) { return std::cbrt(x); }, 1}});
}

/// Over the whole range: the largest doubles are as good as small ones.
TEST(ScalarMathDouble, CircularFunctions) {
  check<double>({{Opcode::Sine, [](Exact x) { return std::sin(x); }, 1},
                 {Opcode::Cosine, [](Exact x) { return std::cos(x); }, 1},
                 {Opcode::Tan, [](Exact x) { return std::tan(x); }, 3},
                 {Opcode::Asin, [](Exact x) { return std::asin(x); }, 4},
                 {Opcode::Acos, [](Exact x) { return std::acos(x); }, 4}});
}

TEST(ScalarMathDouble, HyperbolicFunctions) {
  check<double>({{Opcode::Sinh, [](Exact x) { return std::sinh(x); }, 4},
                 {Opcode::Cosh, [](Exact x) { return std::cosh(x); }, 4},
                 {Opcode::Asinh, [](Exact x) { return std::asinh(x); }, 4},
                 {Opcode::Acosh, [](Exact x) { return std::acosh(x); }, 4},
                 {Opcode::Atanh, [](Exact x) { return std::atanh(x); }, 4}});
}

TEST(ScalarMathSingle, CircularFunctions) {
  check<float>({{Opcode::Tan, [](Exact x) { return std::tan(x); }, 6},
                {Opcode::Asin, [](Exact x) { return std::asin(x); }, 5},
                {Opcode::Acos, [](Exact x) { return std::acos(x); }, 5}});
}

/// Beyond what is reduced with π/2 in three parts.
TEST(ScalarMathSingle, LargeAngles) {
  std::vector<float> x;
  for (float value : allKinds<float>())
    if (std::abs(value) > 1e4f && std::isfinite(value))
      x.push_back(value);
  for (Opcode op : {Opcode::Sine, Opcode::Cosine}) {
    std::vector<float> got = runOp<float, float>(scalarOp(op, DType::F32), DType::F32, {x});
    for (size_t i = 0; i < x.size(); ++i) {
      Exact exact = op == Opcode::Sine ? std::sin(Exact(x[i])) : std::cos(Exact(x[i]));
      ASSERT_LE(std::abs(got[i] - exact), 1.2e-7) << toString(op) << " of " << x[i];
    }
  }
}

TEST(ScalarMathSingle, HyperbolicFunctions) {
  check<float>({{Opcode::Sinh, [](Exact x) { return std::sinh(x); }, 10},
                {Opcode::Cosh, [](Exact x) { return std::cosh(x); }, 10},
                {Opcode::Asinh, [](Exact x) { return std::asinh(x); }, 10},
                {Opcode::Acosh, [](Exact x) { return std::acosh(x); }, 10},
                {Opcode::Atanh, [](Exact x) { return std::atanh(x); }, 10}});
}

/// What the evaluator evaluates on one type, or from one type to another, has code.
TEST(ScalarMath, EveryElementwiseOpHasCode) {
  std::vector<DType> types;
#define TILEWRIGHT_DTYPE(name, text, bits, cls)                                                    \
  if (DTypeClass::cls != DTypeClass::NonNumeric && DTypeClass::cls != DTypeClass::Complex)         \
    types.push_back(DType::name);
#include "analysis/ir/dtypes.def"
  std::vector<Opcode> opcodes;
#define TILEWRIGHT_OPCODE(name, text, cls)                                                         \
  if (OpClass::cls == OpClass::Elementwise)                                                        \
    opcodes.push_back(Opcode::name);
#include "analysis/ir/opcodes.def"
  size_t tried = 0;
  KernelBuilder k("kernel", CodeMode::Device, 32, {{true}});
  ScalarOps ops(k);
  auto attempt = [&](Opcode opcode, DType from, DType to) {
    Op op = scalarOp(opcode, to);
    op.attrs.exponentBits = 5;
    op.attrs.mantissaBits = 3;
    for (size_t arity = 1; arity <= 3; ++arity) {
      std::vector<DType> operands(arity, from);
      if (opcode == Opcode::Select)
        operands[0] = DType::Pred;
      auto evaluated = eval::ScalarOp::make(op, operands, eval::Rounding::All);
      if (!evaluated) {
        llvm::consumeError(evaluated.takeError());
        continue;
      }
      Values values;
      for (DType type : operands)
        values.push_back(ops.constant(type, int64_t(1)));
      auto result = ops.apply(op, from, values);
      EXPECT_TRUE(bool(result)) << (result ? "" : takeDiag(result.takeError()).message);
      ++tried;
    }
  };
  for (Opcode opcode : opcodes)
    for (DType from : types)
      for (DType to : types) {
        bool isTruth = opcode == Opcode::Compare || opcode == Opcode::IsFinite;
        bool isAnyType = opcode == Opcode::Convert || opcode == Opcode::BitcastConvert;
        if (isTruth ? to != DType::Pred : from != to && !isAnyType)
          continue;
        if (from == DType::Pred && !isTruth && !isAnyType) // numbers' ops are no HLO there
          continue;
        attempt(opcode, from, to);
      }
  for (Opcode opcode : {Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Not, Opcode::Select,
                        Opcode::Minimum, Opcode::Maximum, Opcode::Add, Opcode::Multiply})
    attempt(opcode, DType::Pred, DType::Pred);
  EXPECT_GT(tried, 1000u);
}

/// Odd functions keep the sign of a zero.
TEST(ScalarMath, SignsOfZero) {
  for (Opcode op : {Opcode::Expm1, Opcode::Log1p, Opcode::Tanh, Opcode::Erf, Opcode::Sqrt,
                    Opcode::Cbrt, Opcode::Sine, Opcode::Tan, Opcode::Asin, Opcode::Sinh,
                    Opcode::Asinh, Opcode::Atanh, Opcode::Floor, Opcode::RoundNearestEven}) {
    auto small = runOp<float, float>(scalarOp(op, DType::F32), DType::F32, {{0.0f, -0.0f}});
    auto large = runOp<double, double>(scalarOp(op, DType::F64), DType::F64, {{0.0, -0.0}});
    EXPECT_TRUE(small[0] == 0 && !std::signbit(small[0]) && large[0] == 0 &&
                !std::signbit(large[0]))
        << toString(op);
    EXPECT_TRUE(small[1] == 0 && std::signbit(small[1]) && large[1] == 0 && std::signbit(large[1]))
        << toString(op);
  }
}

template <typename T> void checkIntegerPowers(DType type) {
  std::vector<T> base, exponent;
  for (int i = 0; i < 20; ++i)
    for (int64_t power : {-3, -2, -1, 0, 1, 2, 3, 5, 8, 31, 64, 77}) {
      base.push_back(static_cast<T>(i < 10 ? i - 5 : static_cast<int64_t>(splitmix64(12, i))));
      exponent.push_back(static_cast<T>(power));
    }
  auto got = runOp<T, T>(scalarOp(Opcode::Power, type), type, {base, exponent});
  for (size_t i = 0; i < got.size(); ++i) {
    T expected = 1;
    if (std::is_signed_v<T> && exponent[i] < 0) {
      expected = base[i] == 1 ? 1 : base[i] == T(-1) ? (exponent[i] % 2 ? T(-1) : 1) : 0;
    } else {
      uint64_t product = 1, square = static_cast<uint64_t>(base[i]);
      for (uint64_t left = static_cast<uint64_t>(exponent[i]); left; left >>= 1) {
        product *= left & 1 ? square : 1;
        square *= square;
      }
      expected = static_cast<T>(product);
    }
    EXPECT_EQ(got[i], expected) << int64_t(base[i]) << " ^ " << int64_t(exponent[i]);
  }
}

TEST(ScalarMath, IntegerPowers) {
  checkIntegerPowers<int8_t>(DType::S8);
  checkIntegerPowers<uint16_t>(DType::U16);
  checkIntegerPowers<int32_t>(DType::S32);
  checkIntegerPowers<int64_t>(DType::S64);
  checkIntegerPowers<uint64_t>(DType::U64);
}

/// Pairs of all kinds, of like size, and special values with each other.
template <typename T> std::vector<std::vector<T>> pairs() {
  std::vector<T> all = allKinds<T>(), x, y;
  for (uint64_t i = 0; i < 30000; ++i) {
    T a = all[splitmix64(8, i) % all.size()];
    x.push_back(a);
    y.push_back(i % 3 == 0 ? all[splitmix64(9, i) % all.size()]
                           : a * static_cast<T>(8 * unit(10, i) - 4));
  }
  std::vector<T> special{0,
                         1,
                         2,
                         3,
                         0.5,
                         INFINITY,
                         NAN,
                         std::numeric_limits<T>::denorm_min(),
                         std::numeric_limits<T>::min(),
                         std::numeric_limits<T>::max()};
  for (size_t i = special.size(); i-- > 0;)
    special.push_back(-special[i]);
  for (T a : special)
    for (T c : special) {
      x.push_back(a);
      y.push_back(c);
    }
  return {x, y};
}

template <typename T> void checkPairs(Opcode op, Exact (*exact)(Exact, Exact), double maxUlps) {
  auto operands = pairs<T>();
  if (op == Opcode::Power) // exponents that leave something
    for (size_t i = 0; i < 30000; ++i)
      if (i % 4 != 0) {
        T &y = operands[1][i];
        Exact log = std::log(std::abs(Exact(operands[0][i])));
        y = static_cast<T>(1500 * unit(11, i) - 750) / static_cast<T>(log);
        if (i % 4 == 1)
          y = std::round(y);
      }
  auto got = runOp<T, T>(scalarOp(op, typeOf<T>()), typeOf<T>(), operands);
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    Exact expected = exact(operands[0][i], operands[1][i]);
    double error = ulps(got[i], expected);
    worst = std::max(worst, error);
    ASSERT_LE(error, maxUlps + slack)
        << toString(op) << " of " << operands[0][i] << ", " << operands[1][i] << " is " << got[i]
        << ", exact " << expected;
  }
  ::testing::Test::RecordProperty(std::string(toString(op)), fmt::format("{:.3g}", worst));
}

TEST(ScalarMathDouble, PowersOfAnySize) {
  checkPairs<double>(
      Opcode::Power, [](Exact x, Exact y) { return std::pow(x, y); }, 1.5);
}

TEST(ScalarMathDouble, AnglesOfAllQuadrants) {
  checkPairs<double>(
      Opcode::Atan2, [](Exact y, Exact x) { return std::atan2(y, x); }, 4);
}

TEST(ScalarMathSingle, AnglesOfAllQuadrants) {
  checkPairs<float>(
      Opcode::Atan2, [](Exact y, Exact x) { return std::atan2(y, x); }, 5);
}

TEST(ScalarMathDouble, RemaindersAreExact) {
  checkPairs<double>(
      Opcode::Remainder, [](Exact x, Exact y) { return std::fmod(x, y); }, 0);
  checkPairs<double>(
      Opcode::Divide, [](Exact x, Exact y) { return x / y; }, 0.51);
}

TEST(ScalarMathSingle, RemaindersAreExact) {
  checkPairs<float>(
      Opcode::Remainder, [](Exact x, Exact y) { return std::fmod(x, y); }, 0);
}

} // namespace
} // namespace tilewright
