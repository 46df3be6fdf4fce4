// Ops that no golden program has: conditions, roles, slices, joins, scans, steps ahead. Each
// program is verified, run with several orders of its CTAs and copies, and its folds are compared
// with the run.
#include "analysis/program/fold.h"
#include "analysis/program/testing/golden_programs.h"
#include "analysis/program/verify.h"

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

/// Runs a program at sizes; the parameters are filled. Folds must equal what is counted.
std::vector<Tensor> runChecked(const std::string &text, const SizeValues &sizes,
                               const std::vector<Tensor> &inputs, uint64_t seed) {
  Program symbolic = parsed(text), program = withSizes(symbolic, sizes);
  for (const Violation &violation : verify(program).violations)
    ADD_FAILURE() << "V" << violation.rule << ": " << violation.message;
  RunOptions options;
  options.seed = seed;
  llvm::Expected<RunResult> run = interpret(program, inputs, options);
  if (!run) {
    ADD_FAILURE() << takeDiag(run.takeError()).str();
    return {};
  }
  Folds folds = foldsOf(symbolic);
  for (size_t i = 0; i < countKinds; ++i) {
    Count count = static_cast<Count>(i);
    std::optional<int64_t> formula = folds.at(folds.counts[count], assignmentOf(symbolic, sizes));
    bool isBound = count == Count::LiveRegisters || count == Count::ReadSectors ||
                   count == Count::WrittenSectors;
    if (isBound)
      EXPECT_LE(run->counts[count], formula) << toString(count);
    else
      EXPECT_EQ(run->counts[count], formula) << toString(count) << " " << describe(sizes);
  }
  return std::move(run->results);
}

Tensor filled(std::vector<int64_t> dims, uint64_t seed) {
  return fillTensor(Shape::tensor(DType::F32, std::move(dims)), seed);
}

} // namespace

TEST(ProgramOps, SlicesJoinsScansAndConditions) {
  const std::string text = R"(
kernel parts(x: f32[M,16]) -> y: f32[M,2], z: f32[M,16], w: f32[M]
warps W
roles all < 2 registers 64
grid p < cdiv(M,8) cluster 2, 1
axis i < 8 at p*8 of M, j < 16 of 16, h < 2
a = load x[i,j] @ rows(1,16)
s = scan add a over j
l = select.axis s, j = 15
r = reduce max a over j
d = join l, r over h
store y[i,h] = d
store z[i,j] = s
if eq(p % 2, 0)
  v = map l + r
else
  barrier
  v = map l - r
u = relayout v @ flat(1)
cluster.barrier
store w[i] = u
)";
  SizeDice dice(5);
  for (int64_t m : {1, 8, 21, 40}) {
    Tensor x = filled({m, 16}, dice.word());
    std::vector<Tensor> got = runChecked(text, {{"M", m}, {"W", 2}}, {x}, dice.word());
    ASSERT_EQ(got.size(), 3u);
    for (int64_t i = 0; i < m; ++i) {
      float sum = 0, most = -INFINITY;
      for (int64_t j = 0; j < 16; ++j) {
        sum += static_cast<float>(x.real(i * 16 + j));
        most = std::max(most, static_cast<float>(x.real(i * 16 + j)));
        ASSERT_NEAR(got[1].real(i * 16 + j), sum, 1e-5);
      }
      ASSERT_NEAR(got[0].real(i * 2), sum, 1e-5);
      ASSERT_EQ(got[0].real(i * 2 + 1), most);
      ASSERT_NEAR(got[2].real(i), i / 8 % 2 == 0 ? sum + most : sum - most, 1e-5);
    }
  }
}

// The next step's slot is read a step early: the same warps wait for it, a producer is ahead by
// one.
TEST(ProgramOps, StepsAheadOfTheOneAtHand) {
  for (bool hasProducer : {false, true}) {
    const std::string text =
        fmt::format(R"(
kernel rotated(x: f32[M,K]) -> y: f32[M]
warps 1 {}
grid p < cdiv(M,8)
axis i < 8 at p*8 of M, k < 16 at t*16 of K
ring A: f32[i,k] x S
m = full 0 f32[i] @ rows(1,4)
for t < cdiv(K,16) {}
  issue copy A <- x[i,k] {}
  if eq(t,0)
    a = read A @ rows(1,4)
    r = reduce add a over k
    m = map m + r
  if ge(cdiv(K,16), t + 2)
    n = read A@(t+1) @ rows(1,4)
    s = reduce add n over k
    m = map m + s
store y[i] = m
)",
                    hasProducer ? "producer 1" : "", hasProducer ? "" : "ahead S - 1",
                    hasProducer ? "via tma" : "");
    SizeDice dice(11);
    for (int run = 0; run < 30; ++run) {
      int64_t m = dice.in(1, 20), k = 4 * dice.in(1, 20);
      Tensor x = filled({m, k}, dice.word());
      SizeValues sizes{{"M", m}, {"K", k}, {"S", dice.in(2, 4)}};
      std::vector<Tensor> got = runChecked(text, sizes, {x}, dice.word());
      ASSERT_EQ(got.size(), 1u);
      for (int64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < k; ++j)
          sum += x.real(i * k + j);
        ASSERT_NEAR(got[0].real(i), sum, 1e-4) << describe(sizes) << hasProducer;
      }
    }
  }
}

// Regions of roles, atomics of integers, a lower bound of an axis, a condition of an access.
TEST(ProgramOps, RolesBoundsAndConditions) {
  const std::string text = R"(
kernel bounded(x: f32[N]) -> y: f32[N], n: s32[4]
warps 4
roles first < 1 registers 40, rest < 3 registers 40
grid p < cdiv(N,16)
axis i < 16 at p*16 of N, j < 16 at p*16 from 3 of N
role first
  a = load x[i] if i in [2, N - 2) else 7
  store y[i] = a * 2
role rest
  b = load x[j] else -inf
  atomic add n[0] = s32(1)
  c = map where(b > 0, 1, 0)
  atomic add n[j % 3 + 1] = s32(c)
)";
  SizeDice dice(2);
  for (int64_t n : {1, 16, 45}) {
    Tensor x = filled({n}, dice.word());
    Program program = withSizes(parsed(text), {{"N", n}});
    llvm::Expected<RunResult> run = interpret(program, std::vector<Tensor>{x});
    ASSERT_TRUE(bool(run)) << takeDiag(run.takeError()).str();
    std::vector<int64_t> counts{(n + 15) / 16, 0, 0, 0};
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(run->results[0].real(i), 2 * (i >= 2 && i < n - 2 ? x.real(i) : 7.0));
      if (i >= 3 && x.real(i) > 0)
        ++counts[static_cast<size_t>(i % 3 + 1)];
    }
    for (size_t i = 0; i < counts.size(); ++i)
      ASSERT_EQ(run->results[1].integer(static_cast<int64_t>(i)), counts[i]);
    // No rule counts the lanes of an axis with a lower bound: bytes are marked as a bound.
    Folds folds = foldsOf(program);
    EXPECT_FALSE(folds.inexact.empty());
    // Layouts are those of a role's own warps: 16 lanes in one warp, and in each of three.
    EXPECT_EQ(folds.at(folds.counts[Count::Stores], {}), run->counts[Count::Stores]);
    EXPECT_EQ(run->counts[Count::Stores], counts[0]);
    EXPECT_EQ(folds.registers.size(), 3u);
  }
}

TEST(ProgramOps, BudgetIsKept) {
  Program program = parsed("kernel k(x: f32[64]) -> y: f32[64]\naxis i < 64\n"
                           "a = load x[i]\nfor t < 1000000000\n  a = map a + 1\nstore y[i] = a\n");
  RunOptions options;
  options.maxWork = 10000;
  llvm::Expected<RunResult> run = interpret(program, std::vector<Tensor>{filled({64}, 1)}, options);
  ASSERT_FALSE(bool(run));
  Diag diag = takeDiag(run.takeError());
  EXPECT_EQ(diag.cls, DiagClass::BudgetSpent);
  EXPECT_EQ(diag.line, 5u);
}

TEST(ProgramOps, FaultsOfAProgramAreLocated) {
  struct Fault {
    const char *text, *message;
    unsigned line;
  };
  const Fault faults[] = {
      {"a = load x[i]\nstore y[0] = 1", "element 1 of y is stored 0 times, once is right", 4},
      {"a = load x[i]\nb = map i // (i - 3)\nstore y[i] = b",
       "an index has no value: a divisor is not positive", 4},
      {"a = load x[i]\nb = select.axis a, i = 64\nstore y[i] = b",
       "lane 64 of axis i, which has 64", 4},
  };
  for (const Fault &fault : faults) {
    Program program =
        parsed("kernel k(x: f32[64]) -> y: f32[64]\naxis i < 64\n" + std::string(fault.text));
    llvm::Expected<RunResult> run = interpret(program, std::vector<Tensor>{filled({64}, 1)});
    ASSERT_FALSE(bool(run)) << fault.text;
    Diag diag = takeDiag(run.takeError());
    EXPECT_NE(diag.message.find(fault.message), std::string::npos) << diag.str();
    EXPECT_EQ(diag.line, fault.line) << diag.str();
    EXPECT_EQ(diag.cls, DiagClass::BadInput);
  }
  Program program = parsed("kernel k(x: f32[M]) -> y: f32[M]\naxis i < M\nstore y[i] = i\n");
  llvm::Expected<RunResult> open = interpret(program, {});
  ASSERT_FALSE(bool(open));
  EXPECT_EQ(takeDiag(open.takeError()).message,
            "k has sizes without a number, M among them: set them");
  Program whole = withSizes(program, {{"M", 4}});
  llvm::Expected<RunResult> missing = interpret(whole, {});
  ASSERT_FALSE(bool(missing));
  EXPECT_EQ(takeDiag(missing.takeError()).message,
            "parameter x is f32[4], the input given is missing");
}

/// What the verifier refuses still has folds, which a report shows beside the lines.
TEST(ProgramOps, FoldsOfAccessesWithOtherIndicesThanDims) {
  for (const char *index : {"i", "i, j, i", "i, j, i, j"}) {
    const std::string text = fmt::format("kernel k(x: f32[8, 4]) -> y: f32[8, 4]\n"
                                         "warps 1\n"
                                         "axis i < 8, j < 4\n"
                                         "a = load x[{}] @ flat(1)\n"
                                         "store y[i, j] = a\n",
                                         index);
    llvm::Expected<Program> program = parseProgram(text, "k");
    ASSERT_TRUE(bool(program)) << takeDiag(program.takeError()).str();
    EXPECT_FALSE(verify(*program).violations.empty()) << index;
    EXPECT_FALSE(foldsOf(*program).requestsAreExact) << index;
  }
}

/// Numbers that no machine has are counted up to a bound, and never wrap around.
TEST(ProgramOps, PaddingBeyondAllMemoryIsCounted) {
  const Program program = parsed("kernel k(x: f32[8]) -> y: f32[8]\n"
                                 "warps 1\n"
                                 "axis i < 8\n"
                                 "shared S: f32[i] pad 9223372036854775807\n"
                                 "a = load x[i] @ flat(1)\n"
                                 "write S <- a\n"
                                 "b = read S @ flat(1)\n"
                                 "store y[i] = b\n");
  SizeDice dice(1);
  llvm::Expected<RunResult> run = interpret(program, std::vector<Tensor>{filled({8}, dice.word())});
  ASSERT_TRUE(bool(run)) << takeDiag(run.takeError()).str();
  EXPECT_GT(run->counts[Count::SharedBytes], int64_t{1} << 40);
}
