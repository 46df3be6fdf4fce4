// Loops that become one, and why others do not.
#include "analysis/program/pass/online.h"
#include "analysis/program/testing/golden_programs.h"
#include "analysis/program/text.h"
#include "analysis/program/verify.h"
#include "analysis/support/diag.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

/// Where a reduction starts.
std::string startOf(const std::string &monoid) {
  return monoid == "max" ? "-inf" : monoid == "min" ? "inf" : "0";
}
std::string combined(const std::string &monoid, const std::string &a, const std::string &b) {
  return monoid == "add" ? a + " + " + b : monoid + "(" + a + ", " + b + ")";
}

/// Two loops over the rows of x: a reduction r, then a second one of `term` into y.
std::string twoLoops(const std::string &first, const std::string &term,
                     const std::string &monoid = "add") {
  const std::string start = startOf(first);
  return "kernel two(x: f32[M, N]) -> y: f32[M]\n"
         "warps W\n"
         "grid p < cdiv(M, R)\n"
         "axis i < R at R * p of M, j < C at C * t of N\n"
         "a = full " +
         start +
         " f32[i,j] @ rows(1, 32)\n"
         "for t < cdiv(N, C)\n"
         "  x1 = load x[i, j] else " +
         start +
         " @ rows(1, 32)\n"
         "  a = map " +
         combined(first, "a", "x1") +
         "\n"
         "r = reduce " +
         first +
         " a over j\n"
         "b = full " +
         startOf(monoid) +
         " f32[i,j] @ rows(1, 32)\n"
         "for t < cdiv(N, C)\n"
         "  x2 = load x[i, j] else " +
         start +
         " @ rows(1, 32)\n"
         "  b = map " +
         combined(monoid, "b", term) +
         "\n"
         "c = reduce " +
         monoid +
         " b over j\n"
         "store y[i] = c\n";
}

/// Two loops over the rows of x: a minimum, then `rest` of each step, behind a write of it to H.
std::string throughBuffer(const std::string &rest) {
  return "kernel two(x: f32[M, N]) -> y: f32[M, N]\n"
         "warps W\n"
         "grid p < cdiv(M, R)\n"
         "axis i < R at R * p of M, j < C at C * t of N\n"
         "shared H: f32[i]\n"
         "a = full inf f32[i,j] @ rows(1, 32)\n"
         "for t < cdiv(N, C)\n"
         "  x1 = load x[i, j] else inf @ rows(1, 32)\n"
         "  a = map min(a, x1)\n"
         "r = reduce min a over j\n"
         "for t < cdiv(N, C)\n"
         "  x2 = load x[i, j] else inf @ rows(1, 32)\n"
         "  write H <- r\n" +
         rest;
}

/// The reason why the second loop stays; empty where it does not.
std::string reasonOf(const std::string &text) {
  auto program = parseProgram(text);
  if (!program)
    return takeDiag(program.takeError()).str() + text;
  auto fused = online(*program);
  if (!fused)
    return takeDiag(fused.takeError()).message;
  EXPECT_EQ(fused->fused, 1u);
  for (const Violation &violation : verify(fused->program).violations)
    ADD_FAILURE() << violation.message << printProgram(fused->program);
  return "";
}

} // namespace

TEST(Online, WhatIsCorrected) {
  EXPECT_EQ(reasonOf(twoLoops("max", "exp(x2 - r)")), "");
  EXPECT_EQ(reasonOf(twoLoops("max", "where(j < N, exp(2 * x2 - 2 * r), 0)")), "");
  EXPECT_EQ(reasonOf(twoLoops("add", "x2 * rsqrt(r / 64 + 0.001)")), "");
  EXPECT_EQ(reasonOf(twoLoops("add", "x2 / (1 + r)")), "");
  EXPECT_EQ(reasonOf(twoLoops("max", "x2 - r", "max")), "");
}

/// Loops that become one compute what they did apart, whichever extremes they take from rows.
TEST(Online, Shifts) {
  struct Case {
    std::string first, term, monoid;
  };
  const Case cases[] = {{"max", "exp(x2 - r)", "add"},
                        {"min", "exp(r - x2)", "add"},
                        {"max", "x2 - r", "max"},
                        {"min", "x2 - r", "max"},
                        {"max", "x2 - r", "min"},
                        {"min", "x2 - r", "min"},
                        {"min", "-(x2 - r)", "max"},
                        {"max", "r - x2", "max"},
                        {"min", "exp(2 * r - 2 * x2)", "add"}};
  for (const Case &each : cases) {
    SCOPED_TRACE(each.first + " " + each.term + " " + each.monoid);
    auto apart = parseProgram(twoLoops(each.first, each.term, each.monoid));
    ASSERT_TRUE(bool(apart)) << takeDiag(apart.takeError()).str();
    auto fused = online(*apart);
    ASSERT_TRUE(bool(fused)) << takeDiag(fused.takeError()).message;
    ASSERT_EQ(fused->fused, 1u);
    const SizeValues sizes{{"M", 5}, {"N", 48}, {"R", 2}, {"C", 16}, {"W", 1}};
    for (uint64_t seed : {1, 2}) {
      Tensor x = fillTensor(Shape::tensor(DType::F32, {5, 48}), seed);
      RunOptions options; // of what lies beyond the end of a row, the verifier is asked apart
      options.checksPadding = false;
      auto expected = interpret(withSizes(*apart, sizes), std::vector<Tensor>{x}, options);
      ASSERT_TRUE(bool(expected)) << takeDiag(expected.takeError()).str();
      auto got = interpret(withSizes(fused->program, sizes), std::vector<Tensor>{x}, options);
      ASSERT_TRUE(bool(got)) << takeDiag(got.takeError()).str();
      for (int64_t i = 0; i < 5; ++i)
        EXPECT_NEAR(got->results[0].real(i), expected->results[0].real(i), 1e-4)
            << printProgram(fused->program);
    }
  }
}

TEST(Online, WhatIsRefused) {
  auto refusal = [](const std::string &text) {
    std::string why = reasonOf(text), start = "two: no loops become one: ";
    size_t at = why.find(": ", start.size());
    return at == std::string::npos ? why : why.substr(at + 2);
  };
  EXPECT_EQ(refusal(twoLoops("add", "(x2 - r) * (x2 - r)")),
            "'(x1 - r) * (x1 - r)' depends on a reduction in a way that no factor corrects");
  EXPECT_EQ(refusal(twoLoops("add", "where(x2 < r, x2, 0)")),
            "'x1 < r' depends on a reduction in a way that no factor corrects");
  EXPECT_EQ(refusal(twoLoops("add", "x2 / r", "max")),
            "max does not commute with a factor of unknown sign, r");
  // From nothing such a sum would be 0 times infinity.
  EXPECT_EQ(refusal(twoLoops("max", "exp(r - x2)")), "a factor that grows with r from nothing");
  EXPECT_EQ(refusal(twoLoops("min", "exp(x2 - r)")), "a factor that grows with r from nothing");
  // Through a buffer, by a read, as an operand or in a loop of the step's own, it is no more known.
  const std::string held = "it reads H, which holds a reduction that is not complete";
  EXPECT_EQ(refusal(throughBuffer("  h = read H @ rows(1, 32)\n  store y[i, j] = x2 - h\n")), held);
  EXPECT_EQ(refusal(throughBuffer("  store y[i, j] = x2 - H\n")), held);
  EXPECT_EQ(refusal(throughBuffer("  for u < 2\n    h = read H @ rows(1, 32)\n"
                                  "    store y[i, j] = x2 - h\n")),
            "a loop inside of it depends on its reductions");
}
