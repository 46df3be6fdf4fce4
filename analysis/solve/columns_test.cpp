#include "analysis/solve/columns.h"

#include <gtest/gtest.h>
#include <random>

namespace tilewright::detail {
namespace {

/// Every operation at sixteen points, numbers among its operands, equals the same at one point.
TEST(Columns, EqualOnePointAtATime) {
  constexpr size_t count = 16;
  std::mt19937_64 random(3);
  auto value = [&](bool isTruth) -> int64_t {
    if (isTruth)
      return int64_t(random() % 2);
    switch (random() % 4) {
    case 0:
      return int64_t(random());
    case 1:
      return int64_t(random() % 9) - 4;
    default:
      return int64_t(random() % 1000) - 100;
    }
  };
  for (int round = 0; round < 4000; ++round) {
    const auto code =
        static_cast<Code>(int(Code::Add) + round % (int(Code::Select) + 1 - int(Code::Add)));
    const bool isOfTruths = code == Code::And || code == Code::Or || code == Code::Not;
    int64_t data[3][count], out[count];
    PartialColumn operands[3];
    for (int i = 0; i < 3; ++i) {
      for (int64_t &each : data[i])
        each = value(isOfTruths || i == 2);
      const bool isNumber = random() % 3 == 0;
      operands[i] = {{data[i], isNumber},
                     isNumber ? (random() % 4 ? ~0u : 0u) : uint32_t(random())};
    }
    const auto &[a, b, c] = operands;
    const uint32_t known = computeColumnChecked(code, a, b, c, out, count);
    for (size_t i = 0; i < count; ++i) {
      const Concrete expected = computeChecked(code, a[i], b[i], c[i]);
      ASSERT_EQ((known >> i & 1) != 0, expected.isKnown) << int(code);
      if (expected.isKnown) {
        ASSERT_EQ(out[i], expected.value) << int(code);
      }
    }
    computeColumn(code, a.column, b.column, c.column, out, count);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(out[i], compute(code, a.column[i], b.column[i], c.column[i])) << int(code);
      // Where there is a value, both agree on it.
      const Concrete checked = computeChecked(code, {a.column[i], true}, {b.column[i], true});
      if (checked.isKnown && code != Code::Select) {
        ASSERT_EQ(out[i], checked.value) << int(code);
      }
    }
  }
}

} // namespace
} // namespace tilewright::detail
