// Passes on texts: what becomes of them, and what they say where nothing does.
#include "analysis/program/pass/copies.h"
#include "analysis/program/pass/epilogue.h"
#include "analysis/program/pass/hand_over.h"
#include "analysis/program/pass/pipeline.h"
#include "analysis/program/pass/quotients.h"
#include "analysis/program/pass/roles.h"
#include "analysis/program/pass/split.h"
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

namespace {

/// A product whose operands are copied through registers.
std::string productOf(const std::string &left, const std::string &copyLeft,
                      const std::string &right, const std::string &how) {
  return "kernel gemm(a: " + left + ", b: " + right + R"() -> c: f32[64, 48]
warps W
grid p < cdiv(64, t0), q < cdiv(48, t1)
axis i < t0 at t0 * p of 64, j < t1 at t1 * q of 48, k < k0 at k0 * t of 96
ring A: )" +
         left.substr(0, left.find('[')) +
         R"([i,k]
ring B: )" +
         right.substr(0, right.find('[')) +
         R"([k,j]
s = full 0 f32[i,j] @ )" +
         (how == "fma" ? "flat(1)" : "mma(1, W)") + R"(
for t < cdiv(96, k0)
  issue
    copy A <- a[)" +
         copyLeft + R"(] via regs
    copy B <- b[k, j] via regs
  s += dot(A, B) over k )" +
         how + R"(
store c[i, j] = s
)";
}

std::string messageOf(llvm::Error error) { return takeDiag(std::move(error)).message; }

} // namespace

TEST(Split, SumsOfProducts) {
  auto made = split(programOf(productOf("bf16[64, 96]", "i, k", "bf16[96, 48]", "mma.sync")));
  ASSERT_TRUE(bool(made)) << messageOf(made.takeError());
  std::string printed = printProgram(*made);
  EXPECT_NE(printed.find("grid p < cdiv(64, t0), q < cdiv(48, t1), s1 < split_k\n"),
            std::string::npos)
      << printed;
  EXPECT_NE(printed.find("for t < cdiv(96, k0) split s1/split_k\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("s = sum.splits s over s1\nstore c[i, j] = s\n"), std::string::npos)
      << printed;
  EXPECT_TRUE(verify(*made).violations.empty());
  EXPECT_EQ(printProgram(programOf(printed)), printed);
  auto twice = split(*made);
  ASSERT_FALSE(bool(twice));
  EXPECT_EQ(messageOf(twice.takeError()), "gemm: its sums are split already");
  auto ahead = pipeline(*made);
  ASSERT_TRUE(bool(ahead));
  EXPECT_TRUE(verify(*ahead).violations.empty());
}

TEST(Split, SaysWhyNot) {
  auto why = [](const std::string &text) {
    auto made = split(programOf(text));
    return made ? std::string() : messageOf(made.takeError());
  };
  EXPECT_EQ(why(copyOf("f32[64, 96]", "x[i, j]", "f32[64, 96]")), "copy: no loop sums anything up");
  const std::string head = R"(kernel sums(x: f32[64, 96]) -> y: f32[64]
warps W
grid p < cdiv(64, t0)
axis i < t0 at t0 * p of 64, j < r0 at r0 * t of 96
)";
  EXPECT_EQ(why(head + R"(a = full 0 f32[i] @ flat(1)
for t < cdiv(96, r0)
  b = load x[i, j] @ flat(1) of i,j
  c = reduce add b over j
  a = map a + c
store y[i] = a
)"),
            "sums: split_k needs sums: a is no sum");
  EXPECT_EQ(why(head + R"(for t < cdiv(96, r0)
  b = load x[i, j] @ flat(1) of i,j
  c = reduce add b over j
  store y[i] = c
)"),
            "sums: split_k needs sums: y is written in every step");
}

TEST(Split, SharesPlacesOut) {
  auto textOf = [](const std::string &body, const std::string &behind) {
    return "kernel rows(x: f32[64, 96]) -> y: s32[64]\nwarps W\ngrid p < cdiv(64, t0)\n"
           "axis i < t0 at t0 * p of 64, j < r0 at r0 * t of 96\n"
           "a = full inf f32[i,j] @ flat(1)\nb = full 0 s32[i,j] @ flat(1)\n"
           "for t < cdiv(96, r0)\n  c = load x[i, j] @ flat(1)\n" +
           body + "d = reduce min a over j\n" + behind + "store y[i] = e\n";
  };
  const std::string place = "  b = map where(c < a & j < 96, j, b)\n";
  const std::string best = "  a = map where(c < a & j < 96, c, a)\n";
  const std::string first = "e = reduce min where(a == d, b, 2147483647) over j\n";
  auto made = split(programOf(textOf(place + best, first)));
  ASSERT_TRUE(bool(made)) << messageOf(made.takeError());
  const std::string printed = printProgram(*made);
  EXPECT_NE(printed.find(first + "d, e = sum.splits argmin d, e over s\nstore"), std::string::npos)
      << printed;
  EXPECT_EQ(printProgram(programOf(printed)), printed);
  EXPECT_TRUE(verify(*made).violations.empty());
  EXPECT_TRUE(bool(split(programOf(textOf("  e = map c < a & j < 96\n"
                                          "  a = map where(e, c, a)\n  b = map where(e, j, b)\n",
                                          first)))));
  // Anything else is no best value with its place.
  for (const auto &[body, behind] : {
           std::pair(best + place, first), // the place by the new value
           std::pair(place + "  a = map where(c > a & j < 96, c, a)\n", first),
           std::pair(std::string("  b = map where(c < a, j, b)\n") + best, first),
           std::pair(place + "  a = map where(c < a & j < 96, c + 1, a)\n", first),
           std::pair(place + best + "  b = map b + 1\n", first),
           std::pair(place + best, std::string("e = reduce max where(a == d, b, 0) over j\n")),
           std::pair(place + best, std::string("e = reduce min where(a == d, b, 96) over j\n")),
           std::pair(place + best, std::string("e = reduce min b over j\n")),
       }) {
    auto other = split(programOf(textOf(body, behind)));
    ASSERT_FALSE(bool(other)) << body << behind;
    EXPECT_NE(messageOf(other.takeError()).find("is no sum"), std::string::npos);
  }
}

TEST(Split, SharesRowsOut) {
  for (const char *choice : {"max(a, b)", "where(j < 96, max(a, b), a)"}) {
    const std::string text = R"(kernel rows(x: f32[64, 96]) -> y: f32[64]
warps W
grid p < cdiv(64, t0)
axis i < t0 at t0 * p of 64, j < r0 at r0 * t of 96
a = full -inf f32[i,j] @ flat(1)
for t < cdiv(96, r0)
  b = load x[i, j] else -inf @ flat(1)
  a = map )" + std::string(choice) +
                             "\nc = reduce max a over j\nstore y[i] = c\n";
    auto made = split(programOf(text));
    ASSERT_TRUE(bool(made)) << messageOf(made.takeError());
    const std::string printed = printProgram(*made);
    EXPECT_NE(printed.find("c = reduce max a over j\nc = sum.splits max c over s\nstore"),
              std::string::npos)
        << printed;
    EXPECT_EQ(printProgram(programOf(printed)), printed);
    EXPECT_TRUE(verify(*made).violations.empty());
  }
}

TEST(GroupRows, NeedsRowsAndColumns) {
  auto made = groupRows(programOf(productOf("bf16[64, 96]", "i, k", "bf16[96, 48]", "fma")));
  ASSERT_TRUE(bool(made)) << messageOf(made.takeError());
  EXPECT_NE(printProgram(*made).find("q < cdiv(48, t1) group group_m\n"), std::string::npos);
  auto twice = groupRows(*made);
  ASSERT_FALSE(bool(twice));
  EXPECT_EQ(messageOf(twice.takeError()), "gemm: its rows are walked in groups already");
  auto one = groupRows(programOf(R"(kernel one(x: f32[64]) -> y: f32[64]
warps W
grid p < cdiv(64, t0)
axis i < t0 at t0 * p of 64
a = load x[i] @ flat(1)
store y[i] = a
)"));
  ASSERT_FALSE(bool(one));
  EXPECT_EQ(messageOf(one.takeError()), "one: its grid has no rows and columns");
}

TEST(Copies, AsynchronousOrTheReason) {
  auto waysOf = [](const std::string &text) {
    auto made = copyAsync(programOf(text));
    if (!made)
      return messageOf(made.takeError());
    EXPECT_TRUE(verify(made->program).violations.empty());
    std::string out;
    for (const NotAsync &other : made->others)
      out += other.copy + ": " + other.reason;
    return out;
  };
  EXPECT_EQ(waysOf(productOf("bf16[64, 96]", "i, k", "bf16[96, 48]", "mma.sync")), "");
  EXPECT_EQ(waysOf(productOf("bf16[96, 64]", "k, i", "bf16[96, 48]", "mma.sync")),
            "copy A <- a[k, i]: neighbours in A are none in a");
  EXPECT_EQ(waysOf(productOf("bf16[64, 97]", "i, k", "bf16[96, 48]", "mma.sync")),
            "copy A <- a[i, k]: rows of a are 97 elements of bf16, no multiple of 4 bytes");
  EXPECT_EQ(waysOf(productOf("bf16[64, 98]", "i, k + 1", "bf16[96, 48]", "mma.sync")),
            "copy A <- a[i, k + 1]: it starts 1 elements of bf16 into a row");
  EXPECT_EQ(waysOf(productOf("bf16[64, 97]", "i, k", "bf16[96, 49]", "mma.sync")),
            "gemm: no copy goes via cp.async; copy A <- a[i, k]: rows of a are 97 elements of "
            "bf16, no multiple of 4 bytes; copy B <- b[k, j]: rows of b are 49 elements of bf16, "
            "no multiple of 4 bytes");
}

TEST(Banks, SwizzlesAndOrders) {
  auto buffersOf = [](const std::string &text, SizeValues sizes) {
    auto made = spreadOverBanks(programOf(text), sizes);
    if (!made)
      return messageOf(made.takeError());
    for (const Violation &violation : verify(*made).violations)
      ADD_FAILURE() << violation.message;
    std::string printed = printProgram(*made);
    size_t from = printed.find("ring A");
    return printed.substr(from, printed.find("s = full") - from);
  };
  std::string half = productOf("bf16[64, 96]", "i, k", "bf16[96, 48]", "mma.sync");
  EXPECT_EQ(buffersOf(half, {{"t0", 64}, {"t1", 32}, {"k0", 64}}),
            "ring A: bf16[i,k] swizzle 128\nring B: bf16[k,j] swizzle 64\n");
  EXPECT_EQ(buffersOf(half, {{"t0", 64}, {"t1", 24}, {"k0", 16}}),
            "ring A: bf16[i,k] swizzle 32\nring B: bf16[k,j]\n");
  // Threads of fma read along one contracted element.
  EXPECT_EQ(buffersOf(productOf("f32[64, 96]", "i, k", "f32[96, 48]", "mma.sync"),
                      {{"t0", 64}, {"t1", 32}, {"k0", 16}}),
            "ring A: f32[i,k] swizzle 64\nring B: f32[k,j] swizzle 128\n");
  EXPECT_EQ(buffersOf(productOf("f32[64, 96]", "i, k", "f32[96, 48]", "fma"),
                      {{"t0", 64}, {"t1", 32}, {"k0", 16}}),
            "ring A: f32[k,i]\nring B: f32[k,j]\n");
  EXPECT_EQ(buffersOf(copyOf("f32[64, 96]", "x[i, j]", "f32[64, 96]"), {}),
            "copy: no dot reads shared memory");
}

TEST(Epilogue, APartAtATimeOrTheReason) {
  auto made = [](const std::string &text, SizeValues sizes) {
    auto result = epilogueThroughShared(programOf(text), sizes, {8, 16});
    if (!result)
      return messageOf(result.takeError());
    EXPECT_TRUE(verify(*result).violations.empty());
    auto concrete = substituteSizes(*result, sizes);
    EXPECT_TRUE(concrete && verify(*concrete).violations.empty());
    std::string printed = printProgram(*result);
    size_t buffer = printed.find("shared X"), behind = printed.find("write X");
    return printed.substr(buffer, printed.find('\n', buffer) + 1 - buffer) + printed.substr(behind);
  };
  const SizeValues sizes{{"t0", 32}, {"t1", 16}, {"k0", 32}, {"W", 1}};
  std::string plain = productOf("bf16[64, 96]", "i, k", "bf16[96, 48]", "mma.sync");
  const std::string loop = "for u < NX\n  x = read X[e,j] @ flat(VX) of e,j\n";
  EXPECT_EQ(made(plain, sizes), "shared X: f32[i,j] in A,B pad 8\nwrite X <- s\n" + loop +
                                    "  store c[e, j] = x @ flat(VX) of e,j\n");
  auto with = [&](const std::string &ops) {
    std::string text = plain;
    return text.replace(text.find("store"), std::string::npos, ops);
  };
  // Stored as what they are used as; along the rows where the result is.
  EXPECT_EQ(made(with("store c[i, j] = exp(bf16(s))\n"), sizes),
            "shared X: bf16[i,j] in A,B pad 8\nwrite X <- bf16(s)\n" + loop +
                "  store c[e, j] = exp(x) @ flat(VX) of e,j\n");
  std::string turned = with("store c[j, i] = s\n");
  turned.replace(turned.find("f32[64, 48]"), 11, "f32[48, 64]");
  EXPECT_EQ(made(turned, sizes), "shared X: f32[j,i] in A,B pad 8\nwrite X <- s\n"
                                 "for u < NX\n  x = read X[e,i] @ flat(VX) of e,i\n"
                                 "  store c[e, i] = x @ flat(VX) of e,i\n");
  EXPECT_EQ(made(with("r = reduce add s over j\nstore c[i, 0] = r\n"), sizes),
            "gemm: reduce behind the product needs the whole tile");
  EXPECT_EQ(made(productOf("bf16[64, 96]", "i, k", "bf16[96, 48]", "fma"), sizes),
            "gemm: no loop of one product by a matrix instruction");
  EXPECT_EQ(made(plain, {{"t0", 64}, {"t1", 48}, {"k0", 16}, {"W", 1}}),
            "gemm: a tile of 12288 bytes does not fit into the 3584 bytes of the rings");
}

TEST(Quotients, ByWhatIsTheSameAlongAnAxis) {
  auto made = [](const std::string &ops) {
    auto result = quickQuotients(programOf("kernel mean(x: f32[64, 96]) -> y: f32[64, 96]\n"
                                           "warps 2\n"
                                           "axis i < 64, j < 96\n"
                                           "a = load x[i, j] @ rows(1, 32)\n"
                                           "s = reduce add a over j\n" +
                                           ops));
    if (!result)
      return messageOf(result.takeError());
    EXPECT_TRUE(verify(*result).violations.empty());
    std::string printed = printProgram(*result);
    return printed.substr(printed.find("s = reduce"));
  };
  const std::string sum = "s = reduce add a over j\n";
  EXPECT_EQ(made("store y[i, j] = a / s\n"), sum + "r = map 1 / s\nstore y[i, j] = a * r\n");
  // One reciprocal for all, until the divisor is another one.
  EXPECT_EQ(made("b = map a / s + 1\nc = map b / s\ns = map s + 1\nstore y[i, j] = c / s\n"),
            sum + "r = map 1 / s\nb = map a * r + 1\nc = map b * r\ns = map s + 1\n"
                  "r1 = map 1 / s\nstore y[i, j] = c * r1\n");
  const std::string none = "mean: nothing is divided by what is the same along an axis";
  EXPECT_EQ(made("store y[i, j] = a / (a + s)\n"), none);
  EXPECT_EQ(made("store y[i, j] = s / a\n"), none);
  EXPECT_EQ(made("t = map s / 3\nstore y[i, j] = a + t\n"), none);
}

TEST(Produce, CopiesOutsideOfLoopsAndHeldOperands) {
  auto made = [](const std::string &q) {
    auto result =
        produce(programOf("kernel two(q: " + q +
                          ", k: bf16[192, 64], v: bf16[192, 64]) -> o: f32[64, 64]\n"
                          "warps W\n"
                          "axis i < 64, j < 64, l < k0 at k0 * t of 192, m < 64\n"
                          "shared A: bf16[i,m]\n"
                          "ring C: bf16[l,m]\n"
                          "ring E: bf16[l,j]\n"
                          "copy A <- q[i, m] via regs\n"
                          "a = full 0 f32[i,j] @ wgmma(1, 1)\n"
                          "for t < cdiv(192, k0)\n"
                          "  issue copy C <- k[l, m] via regs; copy E <- v[l, j] via regs\n"
                          "  d = dot(A, C) over m wgmma @ wgmma(1, 1)\n"
                          "  a += dot(bf16(d), E) over l wgmma\n"
                          "store o[i, j] = a\n"));
    if (!result)
      return messageOf(result.takeError());
    std::string printed = printProgram(*result), shown;
    for (const char *start : {"let ", "warps ", "ring ", "copy ", "    copy ", "  a += "})
      for (size_t at = printed.find(start); at != std::string::npos;
           at = printed.find(start, at + 1))
        if (printed[at - 1] == '\n')
          shown += printed.substr(at, printed.find('\n', at) + 1 - at);
    return shown;
  };
  // Scores, their words as an operand, outputs: 64 x k0, half as much, 64 x 64.
  EXPECT_EQ(made("bf16[64, 64]"),
            "let NP = sel(ge(min(65536 // (cdiv(W + 1, 4) * 128) // 8 * 8, 255), "
            "cdiv(k0 * 2048, W * 32 * 32) + cdiv(131072, W * 32 * 32) + "
            "cdiv(k0 * 1024, W * 32 * 32) + 36), 1, 4)\n"
            "warps W producer NP\n"
            "ring C: bf16[l,m] x stages\nring E: bf16[l,j] x stages\n"
            "copy A <- q[i, m] via tma\n"
            "    copy C <- k[l, m] via tma\n    copy E <- v[l, j] via tma\n"
            "  a += dot(bf16(d), E) over l wgmma wait 1\n");
  EXPECT_EQ(made("s4[64, 64]"),
            "two: copy A <- q[i, m] via tma: tma takes whole bytes and rows without padding");
}

/// How many values are held by others than those that need them; and how many buffers they take.
static std::string heldElsewhere(const std::string &ops) {
  const Program before = programOf("kernel held(x: f32[16,8], y: f32[8,4]) -> z: f32[16,4]\n"
                                   "warps 1\naxis i < 16, j < 4, k < 8\nshared A: f32[i,k]\n" +
                                   ops + "store z[i, j] = d\n");
  auto count = [](const Program &program) {
    size_t found = 0;
    for (const Violation &violation : verify(program).violations)
      found += violation.rule == 8;
    return found;
  };
  auto after = handOver(before);
  if (!after)
    return fmt::format("{}: {}", count(before), takeDiag(after.takeError()).message);
  EXPECT_EQ(count(*after), 0u) << printProgram(*after);
  return fmt::format("{}, {} more", count(before), after->buffers.size() - before.buffers.size());
}

// A sum by fma multiplies what its own threads hold, and goes over lanes in shared memory alone.
TEST(HandOver, OperandsOfSumsByFma) {
  const std::string head = "a = load x[i, k] @ rows(1, 8)\nb = reduce max a over k\n"
                           "copy A <- x[i, k] via regs\nc = load y[k, j] @ flat(1) of k,j\n"
                           "e = map c * 2\n";
  EXPECT_EQ(heldElsewhere(head + "d = dot(A - b, c) over k fma @ flat(1) of i,j\n"), "1, 2 more");
  EXPECT_EQ(heldElsewhere(head + "d = dot(A, e) over k fma @ flat(1) of i,j\n"), "1, 1 more");
  EXPECT_EQ(heldElsewhere(head + "d = full 0 f32[i,j] @ flat(1)\nd += dot(A - b, e) over k fma\n"),
            "2, 2 more");
  EXPECT_EQ(heldElsewhere(head + "f = load y[0, j] @ flat(1) of i,j\n"
                                 "d = dot(A * f, A) over k fma @ flat(1) of i,j\n"),
            "0: held: values are held where they are needed");
}
