#include "analysis/solve/candidates.h"
#include "analysis/support/diag.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using Sizes = std::vector<int64_t>;

Sizes sizes(std::string_view rule, int64_t dim) {
  auto parsed = parseCandidateRule(rule);
  if (!parsed) {
    ADD_FAILURE() << takeDiag(parsed.takeError()).message;
    return {};
  }
  EXPECT_EQ(parsed->str(), rule);
  auto list = candidatesFor(*parsed, dim);
  if (!list) {
    ADD_FAILURE() << takeDiag(list.takeError()).message;
    return {};
  }
  return *list;
}

Diag refusal(std::string_view rule, int64_t dim) {
  auto parsed = parseCandidateRule(rule);
  if (!parsed)
    return takeDiag(parsed.takeError());
  auto list = candidatesFor(*parsed, dim);
  if (!list)
    return takeDiag(list.takeError());
  ADD_FAILURE() << rule << " was accepted for " << dim;
  return {};
}

TEST(Candidates, PowersOfTwoBelowTheDimAndTheDim) {
  EXPECT_EQ(powersOfTwoAndDim(1), Sizes({1}));
  EXPECT_EQ(powersOfTwoAndDim(4), Sizes({1, 2, 4}));
  EXPECT_EQ(powersOfTwoAndDim(5), Sizes({1, 2, 4, 5}));
  EXPECT_EQ(powersOfTwoAndDim(11), Sizes({1, 2, 4, 8, 11}));
  EXPECT_EQ(powersOfTwoAndDim(int64_t(1) << 33).size(), 34u);
  EXPECT_EQ(powersOfTwoAndDim(int64_t(1) << 33).back(), int64_t(1) << 33);
  EXPECT_EQ(powersOfTwoAndDim(INT64_MAX).size(), 64u);
  EXPECT_EQ(powersOfTwoAndDim(0), Sizes());
}

TEST(Candidates, EachFormGivesItsList) {
  EXPECT_EQ(sizes("pow2", 11), Sizes({1, 2, 4, 8, 11}));
  EXPECT_EQ(sizes("div", 12), Sizes({1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(sizes("x16", 40), Sizes({16, 32, 40}));
  EXPECT_EQ(sizes("x16", 32), Sizes({16, 32}));
  EXPECT_EQ(sizes("x16", 5), Sizes({5}));
  EXPECT_EQ(sizes("all", 4), Sizes({1, 2, 3, 4}));
  EXPECT_EQ(sizes("64,1,256,300", 100), Sizes({1, 64, 100}));
}

TEST(Candidates, DivisorsMatchTrialDivision) {
  for (int64_t n = 1; n <= 2000; ++n) {
    Sizes expected;
    for (int64_t d = 1; d <= n; ++d)
      if (n % d == 0)
        expected.push_back(d);
    EXPECT_EQ(sizes("div", n), expected);
  }
  EXPECT_EQ(sizes("div", int64_t(1) << 62).size(), 63u);
  // 3 · 715827883, with a large prime left over after the trial divisions.
  EXPECT_EQ(sizes("div", 2147483649), Sizes({1, 3, 715827883, 2147483649}));
}

TEST(Candidates, RefusesWhatIsNoRule) {
  for (const char *text : {"", "pow3", "x", "x0", "x-1", "1,", ",1", "1,,2", "1, 2", "0", "4,0",
                           "99999999999999999999", "div ", "1;2"}) {
    Diag diag = refusal(text, 8);
    EXPECT_EQ(diag.cls, DiagClass::BadInput) << text;
    EXPECT_FALSE(diag.message.empty()) << text;
  }
}

TEST(Candidates, RefusesListsOverTheLimit) {
  EXPECT_EQ(refusal("all", int64_t(1) << 33).cls, DiagClass::BadInput);
  EXPECT_EQ(refusal("x1", INT64_MAX).cls, DiagClass::BadInput);
  EXPECT_EQ(refusal("pow2", 0).cls, DiagClass::BadInput);
  EXPECT_EQ(refusal("pow2", -3).cls, DiagClass::BadInput);
  // (2^31 - 1)² has two prime factors of 31 bits.
  EXPECT_EQ(refusal("div", 4611686014132420609).cls, DiagClass::Unsupported);
}

} // namespace
} // namespace tilewright
