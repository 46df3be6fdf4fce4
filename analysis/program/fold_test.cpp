// Folds three ways: the symbolic program's at given sizes, those of the program with numbers put
// in, and what a run counts.
#include "analysis/program/fold.h"
#include "analysis/program/testing/golden_programs.h"

#include <algorithm>
#include <cstdlib>
#include <set>

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

/// Counts of tiles that are live assume that each loop goes round: in a loop of one step nothing is
/// live for the next one.
bool isExactLiveness(const RunResult &run) { return run.shortestLoop >= 2; }

/// Runs whose counts of sectors were compared for equality.
int exactSectors = 0;

void compare(const GoldenProgram &golden, const Program &symbolic, const Folds &folds,
             const SizeValues &sizes, uint64_t seed) {
  Program program = withSizes(symbolic, sizes);
  Folds numbers = foldsOf(program);
  Module module = referenceOf(golden.name, sizes);
  std::vector<Tensor> inputs = fillArguments(module, module.entryId, seed);
  RunOptions options;
  options.seed = seed;
  llvm::Expected<RunResult> run = interpret(program, inputs, options);
  ASSERT_TRUE(bool(run)) << golden.name << " " << describe(sizes)
                         << takeDiag(run.takeError()).str();
  Assignment at = assignmentOf(symbolic, sizes);
  for (size_t i = 0; i < countKinds; ++i) {
    Count count = static_cast<Count>(i);
    std::optional<int64_t> formula = folds.at(folds.counts[count], at);
    std::optional<int64_t> number = numbers.at(numbers.counts[count], {});
    ASSERT_TRUE(formula && number);
    std::string where = golden.name + " " + describe(sizes) + std::string(toString(count));
    bool isSectors = count == Count::ReadSectors || count == Count::WrittenSectors;
    bool areExact = evaluate(folds.sectorsAreExact, at) == 1;
    exactSectors += isSectors && areExact;
    if (isSectors && !areExact) { // bounds; numbers may make plain what a formula leaves open
      ASSERT_LE(run->counts[count], *number) << where;
      ASSERT_LE(*number, *formula) << where;
      continue;
    }
    ASSERT_EQ(*formula, *number) << where;
    if (count == Count::LiveRegisters && !isExactLiveness(*run)) {
      ASSERT_LE(run->counts[count], *formula) << where;
    } else {
      ASSERT_EQ(*formula, run->counts[count]) << where;
    }
  }
  for (size_t t = 0; t < program.tensors.size(); ++t)
    ASSERT_EQ(folds.at(folds.tensorBytes[t], at), run->tensorBytes[t])
        << golden.name << " " << describe(sizes) << program.tensors[t].name;
}

} // namespace

// TILEWRIGHT_PROGRAM_SIZES asks for more sizes of each program.
TEST(Folds, EqualThreeWays) {
  const char *wanted = std::getenv("TILEWRIGHT_PROGRAM_SIZES");
  int runs = wanted ? std::atoi(wanted) : 200;
  for (const GoldenProgram &golden : goldenPrograms()) {
    SizeDice dice(29);
    Program symbolic = parsed(textOf(golden.name), golden.name);
    Folds folds = foldsOf(symbolic);
    EXPECT_TRUE(folds.inexact.empty()) << golden.name;
    for (int run = 0; run < runs; ++run) {
      SizeValues sizes = golden.sizes(dice);
      compare(golden, symbolic, folds, sizes, dice.word());
      if (::testing::Test::HasFatalFailure())
        return;
    }
  }
  EXPECT_GT(exactSectors, runs / 2);
}

// The numbers that the study of this design gives for 4096³ with a split of 2.
TEST(Folds, OfALargeMatrixProduct) {
  Program program = parsed(R"(
kernel gemm(a: bf16[M,K], b: bf16[K,N], bias: f32[N]) -> c: bf16[M,N]
warps W producer 1
grid p < cdiv(M,BM), q < cdiv(N,BN), s < P
axis i < BM at p*BM of M, j < BN at q*BN of N, k < BK at t*BK of K
ring A: bf16[i,k], B: bf16[k,j] x S swizzle 128
shared X: bf16[i,j] in A pad 8
acc = full 0 f32[i,j] @ wgmma(WR,WC)
for t < cdiv(K,BK) split s/P
  issue copy A <- a[i,k] via tma; copy B <- b[k,j] via tma
  acc += dot(A, B) over k wgmma
sum = sum.splits acc over s
write X <- sum
y = read X @ flat(8)
z = load bias[j] @ like y
store c[i,j] = y + z
)");
  SizeValues sizes{{"M", 4096}, {"N", 4096}, {"K", 4096}, {"BM", 128}, {"BN", 128}, {"BK", 64},
                   {"S", 4},    {"P", 2},    {"W", 8},    {"WR", 2},   {"WC", 1}};
  Folds folds = foldsOf(program);
  Assignment at = assignmentOf(program, sizes);
  auto value = [&](Count count) { return folds.at(folds.counts[count], at).value_or(-1); };
  constexpr int64_t mebi = 1 << 20;
  EXPECT_EQ(value(Count::Ctas), 2048);
  EXPECT_EQ(value(Count::Threads), 288);
  EXPECT_EQ(value(Count::SharedBytes), 131072 + 2 * 4 * 16); // a pair of mbarriers a slot and ring
  EXPECT_EQ(value(Count::WorkspaceBytes), 256 * mebi);
  EXPECT_EQ(value(Count::SplitArrivals), 2048);
  EXPECT_EQ(value(Count::Copies), 2 * 65536);
  EXPECT_EQ(value(Count::CopiedBytes), 2048 * mebi);
  EXPECT_EQ(value(Count::MbarrierWaits), 589824);
  EXPECT_EQ(value(Count::Wgmmas), 524288);
  EXPECT_EQ(value(Count::WrittenBytes), 32 * mebi);
  // Each part with the line that it comes from.
  int64_t itemised = 0;
  for (const SharedItem &item : folds.shared)
    itemised += evaluate(item.bytes, at).value_or(0);
  EXPECT_EQ(itemised, value(Count::SharedBytes));
  for (const FoldItem &item : folds.items)
    EXPECT_TRUE(item.where.isKnown());
}

// Trips that depend on the CTA are summed up, not approximated.
TEST(Folds, OfTripsThatDependOnTheCta) {
  Program program = parsed(textOf("attention"));
  Folds folds = foldsOf(program);
  ASSERT_FALSE(folds.sums.empty());
  SizeValues sizes{{"B", 1}, {"N", 256}, {"D", 64}, {"BM", 64}, {"BN", 32}, {"S", 2}, {"W", 4}};
  Assignment at = assignmentOf(program, sizes);
  // 2, 4, 6 and 8 steps of the four CTAs, each of 4 + 1 waits.
  EXPECT_EQ(folds.at(folds.counts[Count::MbarrierWaits], at), (2 + 4 + 6 + 8) * 5);
  // Q once, and of K and V what the steps cover.
  EXPECT_EQ(folds.at(folds.counts[Count::CopiedBytes], at),
            (256 + 2 * (64 + 128 + 192 + 256)) * 64 * 2);
}

namespace {

size_t nodesOf(const Folds &folds) {
  std::set<uint32_t> seen;
  std::vector<Expr> stack;
  for (size_t i = 0; i < countKinds; ++i)
    stack.push_back(folds.counts[static_cast<Count>(i)]);
  while (!stack.empty()) {
    Expr e = stack.back();
    stack.pop_back();
    if (!e || !seen.insert(e.id()).second)
      continue;
    for (Expr operand : {e.lhs(), e.rhs(), e.third()})
      stack.push_back(operand);
  }
  return seen.size();
}

} // namespace

// Pricing evaluates folds for millions of plans a second: they have to stay short.
TEST(Folds, AreShort) {
  for (const GoldenProgram &golden : goldenPrograms()) {
    size_t nodes = nodesOf(foldsOf(parsed(textOf(golden.name), golden.name)));
    EXPECT_LE(nodes, golden.name == "attention" ? 450u : 350u) << golden.name;
    EXPECT_GE(nodes, 20u) << golden.name;
  }
}

// A pipeline of one program, whatever order its CTAs and copies take: the same values and counts.
TEST(Folds, DoNotDependOnTheOrderOfCopies) {
  SizeDice dice(41);
  for (const char *name : {"gemm_roles", "gemm_persistent", "attention", "gemm_split"}) {
    auto golden = std::find_if(goldenPrograms().begin(), goldenPrograms().end(),
                               [&](const GoldenProgram &g) { return g.name == name; });
    SizeValues sizes = golden->sizes(dice);
    Program program = withSizes(parsed(textOf(name)), sizes);
    Module module = referenceOf(name, sizes);
    std::vector<Tensor> inputs = fillArguments(module, module.entryId, 8);
    std::optional<RunResult> first;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      RunOptions options;
      options.seed = seed;
      llvm::Expected<RunResult> run = interpret(program, inputs, options);
      ASSERT_TRUE(bool(run)) << takeDiag(run.takeError()).str();
      if (!first) {
        first = std::move(*run);
        continue;
      }
      for (size_t r = 0; r < run->results.size(); ++r)
        ASSERT_TRUE(std::ranges::equal(run->results[r].words(), first->results[r].words())) << name;
      for (size_t i = 0; i < countKinds; ++i)
        ASSERT_EQ(run->counts[static_cast<Count>(i)], first->counts[static_cast<Count>(i)]);
    }
  }
}
