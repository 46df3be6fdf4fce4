// Float types between memory and registers, against analysis/ir/numeric.
#include "analysis/ir/numeric.h"
#include "analysis/ir/tensor.h"
#include "codegen/testing/scalars.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

const DType narrowTypes[] = {DType::F4E2M1FN, DType::F8E3M4,        DType::F8E4M3,
                             DType::F8E4M3FN, DType::F8E4M3B11FNUZ, DType::F8E4M3FNUZ,
                             DType::F8E5M2,   DType::F8E5M2FNUZ,    DType::F8E8M0FNU};

/// Every float at which one of these types' roundings changes, its neighbours, and what is special.
std::vector<float> boundaries(DType type) {
  std::vector<double> values;
  for (unsigned code = 0; code < 1u << bitWidth(type); ++code)
    if (double value = decodeFloat(type, code); std::isfinite(value))
      values.push_back(value);
  std::sort(values.begin(), values.end());
  // Beyond the ends by one step and more, and halfway down from the smallest.
  double last = values.back(), step = last - values[values.size() - 2];
  for (double beyond : {last + step, last + 2 * step, 2 * last, 4 * last})
    values.push_back(beyond);
  values.push_back(*std::upper_bound(values.begin(), values.end(), 0.0) / 2);
  std::sort(values.begin(), values.end());
  std::vector<float> result{0.0f,
                            INFINITY,
                            NAN,
                            std::bit_cast<float>(0x7f800001u),
                            std::bit_cast<float>(0x7fffffffu),
                            0x1p-149f,
                            0x1p-126f,
                            3.4e38f};
  for (size_t i = 0; i < values.size(); ++i)
    for (double value : {values[i], i ? (values[i] + values[i - 1]) / 2 : values[i]}) {
      auto at = static_cast<float>(value);
      for (float x : {at, std::nextafter(at, -INFINITY), std::nextafter(at, INFINITY)})
        result.push_back(x);
    }
  for (size_t i = result.size(); i-- > 0;)
    result.push_back(-result[i]);
  return result;
}

TEST(ScalarFormats, EveryEncodingIsDecoded) {
  for (DType type : narrowTypes) {
    std::vector<uint8_t> codes(size_t(1) << bitWidth(type));
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<uint8_t>(i);
    auto got = runScalar<uint32_t, uint8_t>({codes}, [&](KernelBuilder &k, const Values &x) {
      ScalarOps ops(k);
      return k.b.CreateBitCast(ops.fromMemory(type, x[0]), k.i32);
    });
    for (size_t i = 0; i < codes.size(); ++i)
      ASSERT_EQ(got[i], encodeFloat(DType::F32, decodeFloat(type, i)))
          << toString(type) << " " << i;
  }
}

TEST(ScalarFormats, EveryBoundaryIsEncoded) {
  for (DType type : narrowTypes) {
    std::vector<float> x = boundaries(type);
    auto got = runScalar<uint8_t, float>({x}, [&](KernelBuilder &k, const Values &values) {
      return ScalarOps(k).toMemory(type, values[0]);
    });
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(got[i], encodeFloat(type, decodeFloat(DType::F32, std::bit_cast<uint32_t>(x[i]))))
          << toString(type) << " of " << x[i];
  }
}

/// From a double or a wide integer, rounding by way of f32 would round twice.
TEST(ScalarFormats, WideValuesAreRoundedOnce) {
  std::vector<double> doubles;
  std::vector<int64_t> integers;
  for (uint64_t i = 0; i < 4096; ++i) {
    uint64_t random = splitmix64(7, i);
    doubles.push_back(std::bit_cast<double>(random));
    integers.push_back(static_cast<int64_t>(random) >> (i % 64));
    // A tie of some type, and a bit far below that breaks it.
    double tie = std::ldexp(1 + static_cast<double>(2 * (random & 1023) + 1) / 2048,
                            static_cast<int>(i % 64) - 32);
    for (double factor : {1.0, 1 + 0x1p-52, 1 - 0x1p-53, -1 - 0x1p-50})
      doubles.push_back(tie * factor);
    double bf16Tie = 1 + static_cast<double>(2 * (random & 127) + 1) / 256;
    for (int64_t delta : {-1, 0, 1})
      integers.push_back(static_cast<int64_t>(std::ldexp(bf16Tie, static_cast<int>(i % 54) + 8)) +
                         delta);
  }
  for (DType type : {DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2, DType::F8E3M4}) {
    auto isSame = [&](uint64_t got, double exact) {
      double value = decodeFloat(type, got);
      return value == exact || (std::isnan(value) && std::isnan(exact));
    };
    Op op = scalarOp(Opcode::Convert, type);
    auto check = [&](auto got, const auto &in, const auto &expected) {
      for (size_t i = 0; i < in.size(); ++i)
        ASSERT_TRUE(isSame(got[i], expected(in[i]))) << toString(type) << " of " << in[i];
    };
    auto fromDouble = [&](double x) { return roundFloat(type, x); };
    auto fromInteger = [&](auto from) {
      return [&, from](auto x) { return floatFromInteger(type, from, static_cast<int64_t>(x)); };
    };
    std::vector<int32_t> small(integers.begin(), integers.end());
    std::vector<uint32_t> natural(integers.begin(), integers.end());
    std::vector<uint64_t> large(integers.begin(), integers.end());
    if (bitWidth(type) == 16) {
      check(runOp<uint16_t, double>(op, DType::F64, {doubles}), doubles, fromDouble);
      check(runOp<uint16_t, int64_t>(op, DType::S64, {integers}), integers,
            fromInteger(DType::S64));
      check(runOp<uint16_t, uint64_t>(op, DType::U64, {large}), large, fromInteger(DType::U64));
      check(runOp<uint16_t, int32_t>(op, DType::S32, {small}), small, fromInteger(DType::S32));
      check(runOp<uint16_t, uint32_t>(op, DType::U32, {natural}), natural, fromInteger(DType::U32));
    } else {
      check(runOp<uint8_t, double>(op, DType::F64, {doubles}), doubles, fromDouble);
      check(runOp<uint8_t, int64_t>(op, DType::S64, {integers}), integers, fromInteger(DType::S64));
      check(runOp<uint8_t, int32_t>(op, DType::S32, {small}), small, fromInteger(DType::S32));
    }
  }
}

template <typename T> std::vector<T> allExponents() {
  constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> values;
  for (uint64_t top = 0; top < uint64_t(1) << (sizeof(T) * 8 - mantissa); ++top)
    for (uint64_t i = 0; i < 12; ++i) {
      uint64_t ones = (uint64_t(1) << mantissa) - 1, random = splitmix64(top, i) & ones;
      uint64_t low = i < 2   ? i
                     : i < 4 ? ones - (i - 2)
                             : random & ~((uint64_t(1) << (random % mantissa)) - 1);
      values.push_back(std::bit_cast<T>(static_cast<Bits>(top << mantissa | low)));
    }
  return values;
}

template <typename T> void checkReducePrecision(DType type, unsigned exponents, unsigned mantissa) {
  static const std::vector<T> x = allExponents<T>();
  Op op = scalarOp(Opcode::ReducePrecision, type);
  op.attrs.exponentBits = exponents;
  op.attrs.mantissaBits = mantissa;
  std::vector<T> got = runOp<T, T>(op, type, {x});
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = roundFloat(type, reducePrecision(x[i], exponents, mantissa));
    bool isSame = std::isnan(exact)
                      ? std::isnan(got[i])
                      : got[i] == exact && std::signbit(got[i]) == std::signbit(exact);
    ASSERT_TRUE(isSame) << toString(type) << " " << x[i] << " to e" << exponents << "m" << mantissa
                        << ": " << got[i] << ", expected " << exact;
  }
}

TEST(ScalarFormats, ReducePrecisionOfEveryWidth) {
  for (unsigned exponents : {1, 2, 4, 5, 7, 8, 9, 11})
    for (unsigned mantissa : {0, 1, 3, 7, 10, 21, 22, 23, 30})
      checkReducePrecision<float>(DType::F32, exponents, mantissa);
  for (unsigned exponents : {1, 5, 8, 10, 11})
    for (unsigned mantissa : {0, 2, 10, 23, 51, 52, 60})
      checkReducePrecision<double>(DType::F64, exponents, mantissa);
}

template <typename T> void checkTotalOrder(DType type) {
  std::vector<T> x{
      0, 1, INFINITY, NAN, std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max()};
  for (size_t i = x.size(); i-- > 0;)
    x.push_back(-x[i]); // NaNs of both signs
  std::sort(x.begin(), x.end(), [](T a, T b) { return std::strong_order(a, b) < 0; });
  std::vector<T> left, right;
  for (T a : x)
    for (T b : x) {
      left.push_back(a);
      right.push_back(b);
    }
  Op op = scalarOp(Opcode::Compare, DType::Pred);
  op.attrs.comparison = Comparison::Lt;
  op.rawAttrs.push_back({"type", "TOTALORDER", {}});
  auto got = runOp<uint8_t, T>(op, type, {left, right});
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(bool(got[i]), std::strong_order(left[i], right[i]) < 0)
        << left[i] << " against " << right[i];
}

TEST(ScalarFormats, TotalOrder) {
  checkTotalOrder<float>(DType::F32);
  checkTotalOrder<double>(DType::F64);
}

/// Bits that pass through a type keep their values, and pred counts as a byte.
TEST(ScalarFormats, BitsOfOtherTypes) {
  std::vector<uint8_t> codes(256);
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<uint8_t>(i);
  for (DType type : narrowTypes) {
    if (bitWidth(type) != 8)
      continue;
    auto back = runOp<uint8_t, uint8_t>(scalarOp(Opcode::BitcastConvert, DType::U8), type, {codes});
    for (size_t i = 0; i < codes.size(); ++i)
      EXPECT_EQ(back[i], encodeFloat(type, decodeFloat(type, i))) << toString(type);
  }
  auto pred =
      runOp<uint8_t, uint8_t>(scalarOp(Opcode::BitcastConvert, DType::Pred), DType::U8, {codes});
  for (size_t i = 0; i < codes.size(); ++i)
    EXPECT_EQ(pred[i], i != 0);
}

} // namespace
} // namespace tilewright
