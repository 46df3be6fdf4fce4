// Each rule of the verifier, by programs that break it: the message and the line that it points at.
#include "analysis/program/fold.h"
#include "analysis/program/testing/golden_programs.h"
#include "analysis/program/verify.h"

#include <set>

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

struct Broken {
  unsigned rule;
  const char *text, *message;
  unsigned line; ///< 0: of no op
};

const char *const rows = "kernel k(x: f32[M,N], n: s32[M]) -> y: f32[M,N]\n"
                         "warps 4\n"
                         "grid p < cdiv(M,8)\n"
                         "axis i < 8 at p*8 of M, j < 32 at t*32 of N, k < 64 of 64\n";
// Line 5 follows.

const char *const dots = "kernel k(a: bf16[M,K], b: bf16[K,N], f: f32[M,K]) -> c: f32[M,N]\n"
                         "warps 4 producer 1\n"
                         "grid p < cdiv(M,64), q < cdiv(N,64)\n"
                         "axis i < 64 at p*64 of M, j < 64 at q*64 of N, k < 64 at t*64 of K\n"
                         "ring A: bf16[i,k], B: bf16[k,j] x 3 swizzle 128\n"
                         "acc = full 0 f32[i,j] @ wgmma(1,1)\n";
// Line 7 follows.

std::string onRows(const char *text) { return std::string(rows) + text; }
std::string onDots(const char *text) { return std::string(dots) + text; }

const std::vector<Broken> &brokenRows() {
  static const std::vector<Broken> list{
      {1, "a = load x[i]", "1 coordinates for 2 dims of x", 5},
      {1, "shared S: f32[i,i]\nbarrier", "buffer S has axis i twice", 0},
      {2, "a = full 0 f32[i]\nfor t < 2\n  a = map a < 1", "a is f32[i] and would become pred[i]",
       7},
      {2, "a = full 0 f32[i]\nfor t < 2\n  a = load x[i,j]", "of another axes", 7},
      {2,
       "a = full 0 f32[i] @ rows(1,32)\nfor t < 2\n  b = load x[i,j] @ rows(1,16)\n"
       "  a = reduce max b over j",
       "of another layout", 8},
      {3, "a = load x[i,0]\nb = reduce add a over k", "what is reduced has no axis k", 6},
      {3, "a = load x[i,0]\nb = join a, a, a over k", "axis k has 64 lanes for 3 parts", 6},
      {4, "for t < cdiv(N,32)\n  a = load x[i,j]\n  store y[i,j] = a + k",
       "the value has axis k, which moves along no dim of y", 7},
      {4, "for t < cdiv(N,32)\n  for u < 2\n    a = load x[i,j]\n    store y[i,j] = a",
       "u does not move the store, which is made for each of its 2 values", 8},
      {4, "for t < 0\n  a = load x[i,j]\n  store y[i,j] = a", "cover less than the N elements", 7},
      {5, "ring A: f32[i,j] x 2\nfor t < 3 ahead 2\n  issue copy A <- x[i,j]\n  b = read A",
       "2 steps ahead need 3 stages of A, which has 2", 6},
      {5, "ring A: f32[i,j] x 2\nfor t < 3\n  copy A <- x[i,j]",
       "A is filled outside of an issue block", 7},
      {5, "ring A: f32[i,j] x 2\nfor t < 3 ahead 1\n  issue copy A <- x[i,j]\nb = read A",
       "A is read outside of the loop that fills it", 8},
      {5, "ring A: f32[i,j] x 4\nfor t < 3 ahead 1\n  issue copy A <- x[i,j]\n  b = read A@(t+2)",
       "A is read 2 steps ahead, and 1 are on their way", 8},
      {5, "ring A: f32[i,j] x 2\nfor t < 3 ahead 1\n  issue\n    a = load x[i,j]",
       "load in an issue block, which holds copies", 8},
      {6,
       "shared S: f32[i,j]\nshared T: f32[i,j] in S\nw = full 0 f32[i,j]\nwrite S <- w\n"
       "write T <- w\nb = read S",
       "T is in use while S is, in the same memory", 9},
      {6, "shared S: f32[i,j]\nshared T: f32[i,k] in S\nw = full 0 f32[i,k]\nwrite T <- w",
       "T takes 2048 bytes, S has 1024", 8},
      {6,
       "shared S: f32[i,k]\nshared T: f32[i,k] in S\ncopy S <- x[i,k]\nb = read S\n"
       "copy T <- x[i,k]\nc = read T",
       "T is filled where S may still be read", 9},
      {3,
       "axis e < 4 at (p*3 + u)*4 of M\nshared S: f32[i,k]\nw = full 0 f32[i,k]\nwrite S <- w\n"
       "for u < 3\n  b = read S[e,k]",
       "parts along e have 12 lanes together, i has 8", 10},
      {3,
       "axis e < 4 at u*4 of M\nshared S: f32[i,k]\nw = full 0 f32[i,k]\nwrite S <- w\n"
       "for u < 2\n  b = read S[e,k]",
       "e goes along no part of i", 10},
      {1, "shared S: f32[i,k]\nw = full 0 f32[i,k]\nwrite S <- w\nb = read S[i]",
       "S is read along other axes than its own", 8},
      {6,
       "shared S: f32[i,j]\nshared U: f32[i,j]\nshared T: f32[i,j] in S,U\n"
       "w = full 0 f32[i,j]\nwrite U <- w\nwrite T <- w\nb = read U",
       "T is in use while U is, in the same memory", 10},
      {7, "for t < cdiv(N,32)\n  a = load x[i,j]\n  m = reduce max a over j",
       "lanes of j beyond N hold 0 where the reduction needs -inf", 7},
      {7,
       "for t < cdiv(N,32)\n  a = load x[i,j] else -inf\n  m = reduce max a over j\n"
       "  e = map exp(a - m) + 1\n  s = reduce add e over j",
       "lanes of j beyond N hold 1 where the reduction needs 0", 9},
      {7, "s = full 0 f32[j]\nfor t < cdiv(N,32)\n  a = load x[0,j] else 1\n  s = map s + a",
       "a step changes s in lanes of j that do not count", 6},
      {8, "a = full 0 f32[i] @ flat(1)\nb = full 0 f32[i,k] @ rows(1,32)\nc = map a + b",
       "a is held by other threads than the result", 7},
      {8, "roles a < 1, b < 3\na = load x[i,0]\nrole b\n  c = map a + 1",
       "a is held by warps of another role", 8},
      {10, "shared S: bf16[i,j]\ncopy S <- x[i,j]", "S holds bf16, and x is f32", 6},
      {11, "shared S: f32[i,j] swizzle 64\nshared T: bf16[i] swizzle 32\nbarrier",
       "rows of T are 8 elements of 16 bits, no whole panels of 32 bytes", 0},
      {11, "shared S: f32[i,j] swizzle 64 pad 4\nbarrier", "4 elements of padding beside a swizzle",
       0},
      {12, "roles a < 8 registers 240, b < 4 registers 128\nbarrier",
       "roles have 77824 registers, an SM has 65536", 0},
      {13, "if i\n  barrier", "i differs between the threads of a role", 5},
      {13, "if p\n  cluster.barrier", "a barrier of the cluster that not all warps reach", 6},
      {14, "a = load x[i,0]\nfor t < 2\n  b = sum.splits a over p", "sum.splits inside a loop", 7},
      {14, "a = load x[i,0]\nb = sum.splits a over p\nc = sum.splits b over p",
       "a second sum.splits", 7},
      {14, "a = load x[i,0]\nb = sum.splits argmax a over p",
       "sum.splits argmax takes a value and its place", 6},
      {14, "a = load x[i,0]\nb, c = sum.splits argmin a, a over p", "the place a is no s32", 6},
      {14,
       "a = load x[i,0] @ flat(1)\nn = full 0 s32[] @ flat(1)\nb, c = sum.splits argmax a, n over "
       "p",
       "a and n are not held alike", 7},
      {15, "a = load x[i,0]\natomic max y[i,0] = a", "there is no atomic max of f32", 6},
      {15, "a = load x[i,0]\natomic mul y[i,0] = a", "there is no atomic mul", 6},
      {16, "shared S: f32[i,k]\na = load n[i]\ncopy S <- x[a,k]",
       "a is a value and stands in a copy", 7},
      {18, "for t < p - 1 - p\n  barrier", "trips of a loop", 5},
      {18, "axis l < 0\nbarrier", "the extent of axis l is 0, at least 1 is needed", 0},
  };
  return list;
}

const std::vector<Broken> &brokenDots() {
  static const std::vector<Broken> list{
      {5,
       "for t < 2\n  issue copy A <- a[i,k] via tma; copy B <- b[k,j] via tma\n"
       "  acc += dot(A, B) over k wgmma\nd = read A",
       "A is read outside of the loop that fills it", 10},
      {8,
       "x = load a[i,k] @ flat(1)\nfor t < 2\n  issue copy B <- b[k,j] via tma\n"
       "  acc += dot(x, B) over k wgmma",
       "the left operand is not held as wgmma takes it", 10},
      {8,
       "for t < 2\n  y = load b[k,j] @ flat(1)\n  issue copy A <- a[i,k] via tma\n"
       "  acc += dot(A, y) over k wgmma",
       "the right operand of wgmma is a buffer", 10},
      {8,
       "d = full 0 f32[i,j] @ flat(4)\nfor t < 2\n"
       "  issue copy A <- a[i,k] via tma; copy B <- b[k,j] via tma\n"
       "  d += dot(A, B) over k wgmma",
       "d is not held as results of wgmma are", 10},
      {9,
       "d = full 0 f32[i,j] @ wgmma(2,1)\nfor t < 2\n"
       "  issue copy A <- a[i,k] via tma; copy B <- b[k,j] via tma\n"
       "  d += dot(A, B) over k wgmma",
       "64 rows are no multiple of 64 for each of 2", 10},
      {9,
       "for t < 2\n  x = load f[i,k] @ wgmma.a(1,1)\n  issue copy B <- b[k,j] via tma\n"
       "  acc += dot(x, B) over k wgmma",
       "not f32 and bf16", 10},
  };
  return list;
}

void expectBroken(const std::string &text, const Broken &broken, const DeviceLimits *limits) {
  Program program = parsed(text, "broken.tile");
  Verification found = verify(program, limits);
  std::string all;
  for (const Violation &violation : found.violations) {
    all += fmt::format("  V{}: {}\n", violation.rule, violation.message);
    if (violation.rule != broken.rule ||
        violation.message.find(broken.message) == std::string::npos)
      continue;
    LineColumn at;
    if (violation.where.isKnown())
      at = lineColumn(program.text->text(), violation.where.offset);
    EXPECT_EQ(at.line, broken.line) << text << "\n" << violation.message;
    return;
  }
  ADD_FAILURE() << text << "\nexpected V" << broken.rule << ": " << broken.message << "\nfound\n"
                << all;
}

} // namespace

TEST(Verifier, EveryRuleIsBroken) {
  std::set<unsigned> covered{17}; // below
  for (const Broken &broken : brokenRows()) {
    expectBroken(onRows(broken.text), broken, nullptr);
    covered.insert(broken.rule);
  }
  for (const Broken &broken : brokenDots()) {
    expectBroken(onDots(broken.text), broken, nullptr);
    covered.insert(broken.rule);
  }
  for (const VerifierRule &rule : verifierRules())
    EXPECT_TRUE(covered.count(rule.number)) << "V" << rule.number;
}

TEST(Verifier, LimitsOfTheDevice) {
  DeviceLimits limits;
  expectBroken("kernel k(x: f32[4096]) -> y: f32[4096]\nwarps 33\naxis i < 4096\nbarrier\n",
               {17, "", "1056 threads a CTA, the device has 1024", 0}, &limits);
  expectBroken("kernel k(x: f32[4096]) -> y: f32[4096]\nwarps 4\naxis i < 65536\n"
               "shared S: f32[i]\nbarrier\n",
               {17, "", "262144 bytes of shared memory, the device has 232448", 0}, &limits);
  expectBroken("kernel k(x: f32[65536]) -> y: f32[65536]\nwarps 4\naxis i < 65536\n"
               "a = load x[i] @ flat(4)\nstore y[i] = a\n",
               {17, "", "512 live registers a thread, the device has 255", 0}, &limits);
}

// What depends on sizes is left as a formula, with the line that it comes from.
TEST(Verifier, SymbolicSizesLeaveRequirements) {
  Program program = parsed(onDots("for t < cdiv(K,64)\n"
                                  "  issue copy A <- a[i,k] via tma; copy B <- b[k,j] via tma\n"
                                  "  acc += dot(A, B) over k wgmma\n"
                                  "store c[i,j] = acc\n"));
  Verification found = verify(program);
  EXPECT_TRUE(found.violations.empty());
  ASSERT_EQ(found.requirements.size(), 2u); // rows of a and of b in memory
  for (const Requirement &requirement : found.requirements) {
    EXPECT_EQ(requirement.rule, 10u);
    EXPECT_TRUE(requirement.where.isKnown());
  }
  SizeValues good{{"M", 100}, {"N", 72}, {"K", 80}}, bad{{"M", 100}, {"N", 71}, {"K", 80}};
  Assignment at = assignmentOf(program, good), wrong = assignmentOf(program, bad);
  int failing = 0;
  for (const Requirement &requirement : found.requirements) {
    EXPECT_EQ(requirement.formula.evaluate(at), true);
    failing += requirement.formula.evaluate(wrong) == false;
  }
  EXPECT_EQ(failing, 1);
  EXPECT_TRUE(verify(withSizes(program, good)).violations.empty());
  EXPECT_EQ(verify(withSizes(program, bad)).violations.size(), 1u);
}

// A pipeline that runs one step too far ahead is refused; run all the same, it reads slots that
// copies are on their way to.
TEST(Verifier, WhatItRefusesReadsNaN) {
  std::string text = textOf("gemm_sync");
  std::string far = text;
  far.replace(far.find("ahead S - 1"), 11, "ahead S");
  SizeValues sizes{{"M", 32}, {"N", 64}, {"K", 256}, {"S", 3},   {"BK", 64},
                   {"WR", 1}, {"WC", 1}, {"W", 1},   {"BM", 16}, {"BN", 64}};
  Program program = withSizes(parsed(far), sizes);
  Verification found = verify(program);
  ASSERT_FALSE(found.violations.empty());
  EXPECT_EQ(found.violations[0].rule, 5u);
  std::string message = takeDiag(found.error(program)).message;
  EXPECT_EQ(message, "V5: 3 steps ahead need 4 stages of A, which has 3");
  Module module = referenceOf("gemm_sync", sizes);
  std::vector<Tensor> inputs = fillArguments(module, module.entryId, 3);
  RunOptions options;
  options.checksPadding = false;
  llvm::Expected<RunResult> run = interpret(program, inputs, options);
  ASSERT_TRUE(bool(run)) << takeDiag(run.takeError()).str();
  for (int64_t i = 0; i < run->results[0].size(); ++i)
    ASSERT_TRUE(std::isnan(run->results[0].asDouble(i)));
}

// The interpreter finds by values what the verifier finds by states.
TEST(Verifier, PaddingIsAlsoCheckedAsValuesGoBy) {
  std::string text = textOf("softmax_steps");
  for (size_t at = 0; (at = text.find(" else -inf", at)) != std::string::npos;)
    text.erase(at, 10);
  SizeValues sizes{{"M", 3}, {"D", 50}, {"C", 20}, {"R", 2}, {"W", 1}};
  Program program = withSizes(parsed(text), sizes);
  EXPECT_FALSE(verify(program).violations.empty());
  Module module = referenceOf("softmax_steps", sizes);
  std::vector<Tensor> inputs = fillArguments(module, module.entryId, 3);
  llvm::Expected<RunResult> run = interpret(program, inputs);
  ASSERT_FALSE(bool(run));
  Diag diag = takeDiag(run.takeError());
  EXPECT_NE(diag.message.find("V7: a lane that does not count holds 0"), std::string::npos)
      << diag.str();
  EXPECT_GT(diag.line, 0u);
}

TEST(Verifier, DigitsAreLayouts) {
  for (const auto &[digits, message] : std::vector<std::pair<std::string, std::string>>{
           {"4:1@j 4:16@j, 4:4@j 8:1@i, 2:0", ""},
           {"2:1@j 2:2@j 4:16@j, 4:4@j 8:1@i, 2:0", ""},
           {"4:1@j 4:16@j, 4:4@j 4:1@i, 2:0", "V8: digits of 16 lanes, a warp has 32"},
           {"4:1@j 4:16@j, 4:4@j 8:1@i, 4:0", "V8: digits of 4 warps, there are 2"},
           {"4:1@j 4:32@j, 4:4@j 8:1@i, 2:0",
            "V8: digits along j leave elements without a holder, or hold them twice"},
           {"4:1@j 4:8@j, 4:4@j 8:1@i, 2:0",
            "V8: digits along j leave elements without a holder, or hold them twice"},
           {"4:1@j 2:16@j, 4:4@j 8:1@i, 2:0", "V8: digits reach 32 elements along j, which has 64"},
           {"0:1@j, 4:4@j 8:1@i, 2:0",
            "V8: digits are numbers: extents from 1 on, strides from 0 on"},
           {"4:(0-1)@j, 4:4@j 8:1@i, 2:0",
            "V8: digits are numbers: extents from 1 on, strides from 0 on"}}) {
    Program program =
        parsed("kernel f(x: f32[8, 64]) -> y: f32[8, 64]\nwarps 2\naxis i < 8, j < 64\n"
               "a = load x[i, j] @ digits(" +
               digits + ")\nstore y[i, j] = a\n");
    llvm::Error error = verify(program).error(program);
    EXPECT_EQ(error ? takeDiag(std::move(error)).message : "", message) << digits;
  }
}
