// Loops that become one, and why others do not.
#include "analysis/program/pass/online.h"
#include "analysis/program/text.h"
#include "analysis/program/verify.h"
#include "analysis/support/diag.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::program;

namespace {

/// Two loops over the rows of x: a reduction r, then a second one of `term` into y.
std::string twoLoops(const std::string &first, const std::string &term,
                     const std::string &monoid = "add", const std::string &start = "0") {
  std::string isMax = first == "max" ? "-inf" : "0";
  return "kernel two(x: f32[M, N]) -> y: f32[M]\n"
         "warps W\n"
         "grid p < cdiv(M, R)\n"
         "axis i < R at R * p of M, j < C at C * t of N\n"
         "a = full " +
         isMax +
         " f32[i,j] @ rows(1, 32)\n"
         "for t < cdiv(N, C)\n"
         "  x1 = load x[i, j] else " +
         isMax +
         " @ rows(1, 32)\n"
         "  a = map " +
         (first == "max" ? "max(a, x1)" : "a + x1") +
         "\n"
         "r = reduce " +
         first +
         " a over j\n"
         "b = full " +
         start +
         " f32[i,j] @ rows(1, 32)\n"
         "for t < cdiv(N, C)\n"
         "  x2 = load x[i, j] else " +
         isMax +
         " @ rows(1, 32)\n"
         "  b = map " +
         (monoid == "add" ? "b + " + term : "max(b, " + term + ")") +
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
  EXPECT_EQ(reasonOf(twoLoops("max", "x2 - r", "max", "-inf")), "");
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
  EXPECT_EQ(refusal(twoLoops("add", "x2 / r", "max", "-inf")),
            "max does not commute with a factor of unknown sign, r");
  // Through a buffer, by a read, as an operand or in a loop of the step's own, it is no more known.
  const std::string held = "it reads H, which holds a reduction that is not complete";
  EXPECT_EQ(refusal(throughBuffer("  h = read H @ rows(1, 32)\n  store y[i, j] = x2 - h\n")), held);
  EXPECT_EQ(refusal(throughBuffer("  store y[i, j] = x2 - H\n")), held);
  EXPECT_EQ(refusal(throughBuffer("  for u < 2\n    h = read H @ rows(1, 32)\n"
                                  "    store y[i, j] = x2 - h\n")),
            "a loop inside of it depends on its reductions");
}
