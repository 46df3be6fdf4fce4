// Random programs of the expression engine from a fixed seed. TILEWRIGHT_FUZZ_PROGRAMS asks for
// more of them, TILEWRIGHT_FUZZ_SEED for others.
#include "tests/fuzz/expr_program.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <vector>

TEST(ExprFuzz, RandomPrograms) {
  auto setting = [](const char *name, uint64_t otherwise) {
    const char *text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  uint64_t programs = setting("TILEWRIGHT_FUZZ_PROGRAMS", 4000),
           seed = setting("TILEWRIGHT_FUZZ_SEED", 1);
  tilewright::fuzz::RuleTotals applied{};
  for (uint64_t n = 0; n < programs; ++n) {
    std::mt19937_64 random(seed * 1'000'003 + n);
    std::vector<uint8_t> bytes(8 + random() % 120);
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(random());
    std::string wrong = tilewright::fuzz::checkExprProgram(bytes, &applied);
    ASSERT_EQ(wrong, "") << "seed " << seed << ", program " << n;
  }
  for (const tilewright::RuleInfo &rule : tilewright::rules())
    EXPECT_GT(applied[static_cast<size_t>(rule.rule)], 0u) << rule.name << " was never applied";
}
