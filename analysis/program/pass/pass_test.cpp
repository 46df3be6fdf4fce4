// Passes on texts: what becomes of them, and what they say where nothing does.
#include "analysis/program/pass/pipeline.h"
#include "analysis/program/pass/stage.h"
#include "analysis/program/pass/vectorise.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"
#include "analysis/program/verify.h"
#include "analysis/support/diag.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::program;

namespace {

Program programOf(const std::string &text) {
  auto program = parseProgram(text);
  if (!program) {
    ADD_FAILURE() << takeDiag(program.takeError()).str();
    return {};
  }
  return std::move(*program);
}

/// A kernel of one load and a store, in tiles of t0 x t1.
std::string copyOf(const std::string &tensor, const std::string &load, const std::string &extents) {
  return "kernel copy(x: " + tensor + ") -> y: " + extents + R"(
let V = 1
warps W
grid p < cdiv(64, t0), q < cdiv(96, t1)
axis i < t0 at t0 * p of 64, j < t1 at t1 * q of 96
a = load )" +
         load + R"( @ flat(V)
store y[i, j] = a
)";
}

struct Outcome {
  std::string width, limits;
};

Outcome vectorsOf(const std::string &text) {
  auto made = vectorise(programOf(text));
  if (!made)
    return {takeDiag(made.takeError()).message, ""};
  Outcome outcome;
  for (const Let &let : made->program.lets)
    outcome.width += printExpr(made->program, let.value);
  for (const VectorLimit &limit : made->limits)
    outcome.limits += limit.access + ": " + limit.reason + "\n";
  EXPECT_TRUE(verify(made->program).violations.empty());
  return outcome;
}

} // namespace

TEST(Vectorise, SixteenBytesWhereTilesAllow) {
  EXPECT_EQ(vectorsOf(copyOf("f32[64, 96]", "x[i, j]", "f32[64, 96]")).width,
            "min(pow2divisor(t1), 4)");
  EXPECT_EQ(vectorsOf(copyOf("bf16[64, 96]", "x[i, j]", "bf16[64, 96]")).width,
            "min(pow2divisor(t1), 8)");
  // The widest type decides.
  EXPECT_EQ(vectorsOf(copyOf("bf16[64, 96]", "x[i, j]", "f32[64, 96]")).width,
            "min(pow2divisor(t1), 4)");
}

TEST(Vectorise, SaysWhatBlocksIt) {
  Outcome shifted = vectorsOf(copyOf("f32[64, 200]", "x[i, j + 6]", "f32[64, 96]"));
  EXPECT_EQ(shifted.width, "min(pow2divisor(t1), 2)");
  EXPECT_EQ(shifted.limits, "a = load x[i, j + 6]: it starts 6 elements into a vector\n");
  Outcome rows = vectorsOf(copyOf("f32[64, 99]", "x[i, j]", "f32[64, 96]"));
  EXPECT_EQ(rows.width, "1");
  EXPECT_EQ(rows.limits, "a = load x[i, j]: it starts at any multiple of 99 with i\n");
  Outcome cut = vectorsOf(copyOf("f32[64, 96]", "x[i, j] if j in [0, 34) else 1", "f32[64, 96]"));
  EXPECT_EQ(cut.width, "min(pow2divisor(t1), 2)");
  EXPECT_EQ(cut.limits,
            "a = load x[i, j] if j in [0, 34) else 1: a condition holds for 34 elements\n");
  // The lanes of padding begin within a vector, too.
  EXPECT_EQ(vectorsOf(copyOf("f32[64, 94]", "x[i, j - 2]", "f32[64, 96]")).width,
            "min(pow2divisor(t1), 2)");
}

TEST(Vectorise, StridesDoNotCount) {
  // Loaded element by element, whatever the width: the store alone decides.
  EXPECT_EQ(vectorsOf(copyOf("f32[96, 64]", "x[j, i]", "f32[64, 96]")).width,
            "min(pow2divisor(t1), 4)");
  EXPECT_EQ(vectorsOf(copyOf("f32[64, 192]", "x[i, j * 2]", "f32[64, 96]")).width,
            "min(pow2divisor(t1), 4)");
  // Rows that follow each other without gaps are one.
  EXPECT_EQ(vectorsOf(copyOf("f32[6144]", "x[i * 96 + j]", "f32[64, 96]")).width,
            "min(pow2divisor(t1), 4)");
}

TEST(Vectorise, SymbolicRows) {
  auto made = vectorise(programOf(R"(kernel scale(x: f32[M, N]) -> y: f32[M, N]
warps W
grid p < cdiv(M, BM), q < cdiv(N, BN)
axis i < BM at BM * p of M, j < BN at BN * q of N
a = load x[i, j] @ flat(1)
store y[i, j] = a * 2
)"));
  ASSERT_TRUE(bool(made));
  EXPECT_NE(printProgram(made->program)
                .find("load x[i, j] @ flat(min(min(pow2divisor(N), pow2divisor(BN)), 4))"),
            std::string::npos)
      << printProgram(made->program);
}

TEST(Vectorise, NothingToDo) {
  EXPECT_EQ(vectorsOf(R"(kernel one(x: f32[64]) -> y: f32[64]
warps W
axis i < 64
a = load x[i] @ flat(4)
store y[i] = a
)")
                .width,
            "one has no layout whose threads hold one element in a row");
}

TEST(Stage, TransposedLoads) {
  std::string text = copyOf("bf16[96, 64]", "x[j, i]", "f32[64, 96]");
  auto made = stage(programOf(text));
  ASSERT_TRUE(bool(made)) << takeDiag(made.takeError()).message;
  EXPECT_EQ(made->staged, std::vector<std::string>{"a = load x[j, i]"});
  auto wide = vectorise(made->program);
  ASSERT_TRUE(bool(wide));
  std::string printed = printProgram(wide->program);
  EXPECT_EQ(printed, R"(kernel copy(x: bf16[96, 64]) -> y: f32[64, 96]
let V = min(pow2divisor(t1), 4)
let VS = min(pow2divisor(t0), 8)
let GS = min(pow2ceil(cdiv(t0, VS)), 8)
warps W
grid p < cdiv(64, t0), q < cdiv(96, t1)
axis i < t0 at t0 * p of 64, j < t1 at t1 * q of 96
shared S: bf16[i,j] permute VS
a1 = load x[j, i] @ rows(VS, GS) of j,i
write S <- a1
a = read S @ flat(V)
store y[i, j] = a
)");
  EXPECT_TRUE(verify(wide->program).violations.empty());
  EXPECT_EQ(printProgram(programOf(printed)), printed);
}

TEST(Stage, SaysWhyNot) {
  auto plain = stage(programOf(copyOf("f32[64, 96]", "x[i, j]", "f32[64, 96]")));
  ASSERT_FALSE(bool(plain));
  EXPECT_EQ(takeDiag(plain.takeError()).message, "copy: no load is transposed");
  auto looped = stage(programOf(R"(kernel sums(x: f32[98, 64]) -> y: f32[64, 96]
warps W
grid p < cdiv(64, t0), q < cdiv(96, t1)
axis i < t0 at t0 * p of 64, j < t1 at t1 * q of 96
a = full 0 f32[i,j] @ flat(1)
for w < 3
  b = load x[j + w, i] @ flat(1)
  a = map a + b
store y[i, j] = a
)"));
  ASSERT_FALSE(bool(looped));
  EXPECT_EQ(takeDiag(looped.takeError()).message,
            "sums: no load is transposed; b = load x[j + w, i]: a loop reads parts of it again and "
            "again");
  auto thin = stage(programOf(copyOf("bf16[96, 64]", "x[j, i]", "bf16[64, 96]")), {{"t1", 1}});
  ASSERT_FALSE(bool(thin));
  EXPECT_EQ(takeDiag(thin.takeError()).message,
            "copy: no load is transposed; a = load x[j, i]: a tile of one element along j is read "
            "along memory as it is");
}

TEST(Pipeline, CopiesRunAhead) {
  std::string text = R"(kernel gemm(a: bf16[64, 96], b: bf16[96, 48]) -> c: f32[64, 48]
warps W
grid p < cdiv(64, t0), q < cdiv(48, t1)
axis i < t0 at t0 * p of 64, j < t1 at t1 * q of 48, k < k0 at k0 * t of 96
ring A: bf16[i,k]
ring B: bf16[k,j]
s = full 0 f32[i,j] @ flat(1)
for t < cdiv(96, k0)
  issue
    copy A <- a[i, k] via regs
    copy B <- b[k, j] via regs
  s += dot(A, B) over k fma
store c[i, j] = s
)";
  auto made = pipeline(programOf(text));
  ASSERT_TRUE(bool(made)) << takeDiag(made.takeError()).message;
  std::string printed = printProgram(*made);
  EXPECT_NE(printed.find("ring A: bf16[i,k] x stages\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("for t < cdiv(96, k0) ahead stages - 1\n"), std::string::npos) << printed;
  EXPECT_TRUE(verify(*made).violations.empty());
  EXPECT_EQ(printProgram(programOf(printed)), printed);
  auto twice = pipeline(*made);
  ASSERT_FALSE(bool(twice));
  EXPECT_EQ(takeDiag(twice.takeError()).message, "gemm: it has a size named stages already");
  auto plain = pipeline(programOf(copyOf("f32[64, 96]", "x[i, j]", "f32[64, 96]")));
  ASSERT_FALSE(bool(plain));
  EXPECT_EQ(takeDiag(plain.takeError()).message, "copy: no loop copies what it reads");
}
