#include "analysis/ir/numeric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace tilewright;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

const std::vector<DType> smallFloats = {DType::F4E2M1FN, DType::F8E3M4,        DType::F8E4M3,
                                        DType::F8E4M3FN, DType::F8E4M3B11FNUZ, DType::F8E4M3FNUZ,
                                        DType::F8E5M2,   DType::F8E5M2FNUZ,    DType::F8E8M0FNU};

uint64_t encodings(DType type) { return uint64_t(1) << bitWidth(type); }

struct Neighbour {
  double value;
  uint64_t bits;
};

/// All finite values in rising order; of the two zeros only the positive one.
std::vector<Neighbour> finiteValues(DType type) {
  std::vector<Neighbour> result;
  for (uint64_t bits = 0; bits < encodings(type); ++bits) {
    double value = decodeFloat(type, bits);
    if (std::isfinite(value) && !(value == 0 && std::signbit(value)))
      result.push_back({value, bits});
  }
  std::sort(result.begin(), result.end(),
            [](const Neighbour &a, const Neighbour &b) { return a.value < b.value; });
  return result;
}

void expectNearest(DType type, const Neighbour &below, const Neighbour &above, double value) {
  double toBelow = value - below.value, toAbove = above.value - value;
  const Neighbour *nearest = toBelow < toAbove ? &below : &above;
  if (toBelow == toAbove && type != DType::F8E8M0FNU)
    nearest = below.bits % 2 == 0 ? &below : &above;
  EXPECT_EQ(roundFloat(type, value), nearest->value)
      << toString(type) << " " << value << " between " << below.value << " and " << above.value;
}
} // namespace

TEST(Numeric, EncodeInvertsDecodeOnEverySmallEncoding) {
  for (DType type : smallFloats)
    for (uint64_t bits = 0; bits < encodings(type); ++bits) {
      double value = decodeFloat(type, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decodeFloat(type, encodeFloat(type, value)))) << toString(type);
      } else {
        EXPECT_EQ(encodeFloat(type, value), bits) << toString(type) << " " << value;
      }
    }
}

TEST(Numeric, EncodeInvertsDecodeOnEverySixteenBitEncodingWithNanPayloads) {
  for (DType type : {DType::F16, DType::BF16})
    for (uint64_t bits = 0; bits < 65536; ++bits)
      ASSERT_EQ(encodeFloat(type, decodeFloat(type, bits)), bits) << toString(type);
}

TEST(Numeric, Float32AgreesWithTheHardware) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    uint32_t bits = static_cast<uint32_t>(random());
    float value = std::bit_cast<float>(bits);
    ASSERT_EQ(encodeFloat(DType::F32, decodeFloat(DType::F32, bits)), bits);
    if (!std::isnan(value)) {
      ASSERT_EQ(decodeFloat(DType::F32, bits), static_cast<double>(value));
    }
    // Exponents around float's whole range, subnormals and overflow included.
    double wide = std::ldexp(1 + static_cast<double>(random() >> 11) / 0x1p53,
                             static_cast<int>(random() % 300) - 160);
    ASSERT_EQ(encodeFloat(DType::F32, wide), std::bit_cast<uint32_t>(static_cast<float>(wide)));
  }
}

TEST(Numeric, RoundingPicksTheNearestAndOnTiesTheEvenEncoding) {
  for (DType type : smallFloats) {
    std::vector<Neighbour> values = finiteValues(type);
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      double low = values[i].value, high = values[i + 1].value, middle = low + (high - low) / 2;
      for (double value : {low + (high - low) / 4, std::nextafter(middle, -inf), middle,
                           std::nextafter(middle, inf), low + (high - low) * 3 / 4})
        expectNearest(type, values[i], values[i + 1], value);
    }
  }
}

TEST(Numeric, RandomSixteenBitRoundingPicksTheNearest) {
  std::mt19937_64 random(5);
  for (DType type : {DType::F16, DType::BF16}) {
    std::vector<Neighbour> values = finiteValues(type);
    for (int i = 0; i < 20000; ++i) {
      size_t at = random() % (values.size() - 1);
      double low = values[at].value, high = values[at + 1].value;
      double fraction = i % 4 == 0 ? 0.5 : static_cast<double>(random() >> 11) / 0x1p53;
      expectNearest(type, values[at], values[at + 1], low + (high - low) * fraction);
    }
  }
}

TEST(Numeric, LowestFiniteIsTheLowestOfAllEncodings) {
  for (DType type : {DType::F4E2M1FN, DType::F8E3M4, DType::F8E4M3, DType::F8E4M3FN,
                     DType::F8E4M3B11FNUZ, DType::F8E4M3FNUZ, DType::F8E5M2, DType::F8E5M2FNUZ,
                     DType::F8E8M0FNU, DType::F16, DType::BF16}) {
    double lowest = inf;
    for (uint64_t code = 0; code < uint64_t(1) << bitWidth(type); ++code)
      if (double value = decodeFloat(type, code); std::isfinite(value))
        lowest = std::min(lowest, value);
    EXPECT_EQ(lowestFinite(type), lowest) << toString(type);
  }
  EXPECT_EQ(lowestFinite(DType::F32), double(std::numeric_limits<float>::lowest()));
  EXPECT_EQ(lowestFinite(DType::F64), std::numeric_limits<double>::lowest());
}

TEST(Numeric, SpecialsOfEachType) {
  EXPECT_EQ(encodeFloat(DType::F8E4M3FN, 464), 0x7eu); // a tie between 448 and the NaN
  EXPECT_EQ(encodeFloat(DType::F8E4M3FN, 465), 0x7fu);
  EXPECT_EQ(encodeFloat(DType::F8E4M3FN, -inf), 0xffu);
  EXPECT_EQ(encodeFloat(DType::F8E4M3FN, -0.0), 0x80u);
  EXPECT_EQ(encodeFloat(DType::F8E4M3, 248), 0x78u); // a tie that goes to infinity
  EXPECT_EQ(encodeFloat(DType::F8E4M3, notANumber), 0x7cu);
  EXPECT_EQ(encodeFloat(DType::F8E5M2, -1e9), 0xfcu);
  EXPECT_EQ(encodeFloat(DType::F8E3M4, 31), 0x70u);
  for (DType type : {DType::F8E4M3FNUZ, DType::F8E4M3B11FNUZ, DType::F8E5M2FNUZ}) {
    for (double value : {notANumber, -notANumber, inf, -inf, 1e9})
      EXPECT_EQ(encodeFloat(type, value), 0x80u);
    EXPECT_EQ(encodeFloat(type, -0.0), 0u);
    EXPECT_EQ(encodeFloat(type, -1e-30), 0u);
  }
  EXPECT_EQ(encodeFloat(DType::F8E5M2FNUZ, 240), 0x60u);
  EXPECT_EQ(decodeFloat(DType::F8E4M3B11FNUZ, 0x7f), 30);
  EXPECT_EQ(encodeFloat(DType::F4E2M1FN, -inf), 0xfu);
  EXPECT_EQ(encodeFloat(DType::F4E2M1FN, 5), 0x6u);
  EXPECT_EQ(encodeFloat(DType::F4E2M1FN, notANumber), 0x8u);
  EXPECT_EQ(encodeFloat(DType::F8E8M0FNU, 3), 0x81u); // a tie goes up
  EXPECT_EQ(encodeFloat(DType::F8E8M0FNU, 0x1p-140), 0u);
  for (double value : {0.0, -1.0, notANumber, inf, 0x1.8p127})
    EXPECT_EQ(encodeFloat(DType::F8E8M0FNU, value), 0xffu);
  EXPECT_EQ(encodeFloat(DType::BF16, 1e39), 0x7f80u);
  EXPECT_EQ(encodeFloat(DType::F16, 65520), 0x7c00u);
  EXPECT_EQ(encodeFloat(DType::F16, 65519), 0x7bffu);
  EXPECT_EQ(encodeFloat(DType::F32, 5e-324), 0u);
}

TEST(Numeric, IntegersWrapAndClamp) {
  EXPECT_EQ(wrapInteger(DType::S8, 200), -56);
  EXPECT_EQ(wrapInteger(DType::U8, -1), 255);
  EXPECT_EQ(wrapInteger(DType::S4, 8), -8);
  EXPECT_EQ(wrapInteger(DType::S1, 1), -1);
  EXPECT_EQ(wrapInteger(DType::Pred, 256), 1);
  EXPECT_EQ(wrapInteger(DType::U64, -1), -1);
  EXPECT_EQ(integerFromFloat(DType::S8, 127.9), 127);
  EXPECT_EQ(integerFromFloat(DType::S8, 1e9), 127);
  EXPECT_EQ(integerFromFloat(DType::S8, -1e9), -128);
  EXPECT_EQ(integerFromFloat(DType::S32, -2.9), -2);
  EXPECT_EQ(integerFromFloat(DType::U8, -3), 0);
  EXPECT_EQ(integerFromFloat(DType::S64, inf), INT64_MAX);
  EXPECT_EQ(integerFromFloat(DType::S64, -inf), INT64_MIN);
  EXPECT_EQ(integerFromFloat(DType::U64, 1e30), -1);
  EXPECT_EQ(static_cast<uint64_t>(integerFromFloat(DType::U64, 0x1p63)), uint64_t(1) << 63);
  EXPECT_EQ(integerFromFloat(DType::S32, notANumber), 0);
  EXPECT_EQ(integerFromFloat(DType::Pred, notANumber), 1);
}

TEST(Numeric, IntegersRoundOnceToFloats) {
  // 2^62 + 2^38 + 1 is just above a tie of float32; through a double it would fall on the tie.
  int64_t value = (int64_t(1) << 62) + (int64_t(1) << 38) + 1;
  EXPECT_EQ(floatFromInteger(DType::F32, DType::S64, value), static_cast<double>(0x1.000002p62f));
  EXPECT_EQ(floatFromInteger(DType::F32, DType::S64, -value), -static_cast<double>(0x1.000002p62f));
  EXPECT_EQ(floatFromInteger(DType::F64, DType::U64, -1), 0x1p64);
  EXPECT_EQ(floatFromInteger(DType::BF16, DType::S32, 257), 256);
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; ++i) {
    int64_t bits = static_cast<int64_t>(random()) >> (random() % 63);
    ASSERT_EQ(floatFromInteger(DType::F32, DType::S64, bits), static_cast<double>(float(bits)));
    ASSERT_EQ(floatFromInteger(DType::F32, DType::U64, bits),
              static_cast<double>(float(static_cast<uint64_t>(bits))));
  }
}

TEST(Numeric, ReducePrecisionMatchesTheTypesItNames) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    double value = std::ldexp(static_cast<double>(random() >> 11) / 0x1p53, int(random() % 20) - 8);
    EXPECT_EQ(reducePrecision(value, 8, 7), roundFloat(DType::BF16, value));
    EXPECT_EQ(reducePrecision(value, 11, 52), value);
  }
  EXPECT_EQ(reducePrecision(65520, 5, 10), inf);
  EXPECT_EQ(reducePrecision(-1e-6, 5, 10), 0); // below the smallest normal: flushed
  EXPECT_TRUE(std::isnan(reducePrecision(notANumber, 5, 10)));
}
