// Why there are no layouts.
#include "analysis/program/inference/explain.h"
#include "analysis/program/inference/testing/study_programs.h"
#include "analysis/program/layout/testing/random_layouts.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

using namespace tilewright;
using namespace tilewright::inference;
using tilewright::layout::testing::valueOf;

namespace {

InferenceAnswer answerFor(const std::string &text, const InferenceOptions &options = {}) {
  program::Program program =
      valueOf(program::substituteSizes(valueOf(program::parseProgram(text)), {}));
  return inferLayouts(*valueOf(LayoutProblem::make(program, options)));
}

const char *twoCasts = "kernel k(x: f32[64, 64]) -> y: f32[64, 64]\n"
                       "warps 4\n"
                       "axis i < 64, j < 64\n"
                       "v = load x[i, j]\n"
                       "a = relayout v @ wgmma(1, 1)\n"
                       "s = map a * 2\n"
                       "b = relayout s @ rows(4, 16)\n"
                       "store y[i, j] = b\n";

} // namespace

TEST(Explain, CapacityIsArithmetic) {
  std::string text;
  for (const inference::testing::StudyProgram &study : inference::testing::studyPrograms())
    if (study.name == "middle axis of [4, 128, 32]")
      text = study.text;
  InferenceOptions options;
  options.registers = 96;
  InferenceAnswer answer = answerFor(text, options);
  EXPECT_EQ(answer.outcome, InferenceAnswer::Outcome::Impossible);
  ASSERT_FALSE(answer.reasons.empty());
  EXPECT_EQ(answer.reasons[0],
            "a [4, 128, 32] of 32 bits: 16,384 values / 128 threads = 128 registers a thread, 96 "
            "allowed; that holds for every layout, 192 threads would do");
  options.registers = 128;
  EXPECT_EQ(answerFor(text, options).outcome, InferenceAnswer::Outcome::Found);
}

TEST(Explain, ContradictingCastsAreASmallestCoreWithRepairs) {
  InferenceOptions options;
  options.mayConvert = false;
  InferenceAnswer answer = answerFor(twoCasts, options);
  ASSERT_EQ(answer.outcome, InferenceAnswer::Outcome::NoneInFamily);
  EXPECT_EQ(answer.reasons, (std::vector<std::string>{
                                "a is cast to @ wgmma(1, 1)", "b is cast to @ rows(4, 16)",
                                "s (map) takes a as it is: no conversion is allowed there",
                                "b (relayout) takes s as it is: no conversion is allowed there"}));
  EXPECT_TRUE(answer.isCertified);
  ASSERT_EQ(answer.repairs.size(), 4u);
  EXPECT_LE(answer.repairs[0].cost, answer.repairs[1].cost);
  EXPECT_EQ(answerFor(twoCasts).outcome, InferenceAnswer::Outcome::Found);
}

TEST(Explain, AnOpWithoutLabelsIsNamed) {
  const std::string text = "kernel k(a: bf16[96, 64], b: bf16[64, 64]) -> c: f32[96, 64]\n"
                           "warps 4\n"
                           "axis i < 96, j < 64, k < 64\n"
                           "shared A: bf16[i,k] swizzle 128\n"
                           "shared B: bf16[j,k] swizzle 128\n"
                           "copy A <- a[i, k]\n"
                           "copy B <- b[j, k]\n"
                           "s = dot(A, B) over k wgmma\n"
                           "store c[i, j] = s\n";
  InferenceAnswer answer = answerFor(text);
  EXPECT_EQ(answer.outcome, InferenceAnswer::Outcome::NoLabel);
  ASSERT_EQ(answer.reasons.size(), 1u);
  EXPECT_EQ(answer.reasons[0],
            "s (dot): 96 x 64 results for 1 warpgroups: wgmma takes multiples of "
            "64 x 8 for each, of 16 bits");
}

TEST(Explain, ASpentBudgetIsNoRefusal) {
  InferenceOptions options;
  options.labels.maxCells = 1;
  InferenceAnswer answer = answerFor(twoCasts, options);
  EXPECT_EQ(answer.outcome, InferenceAnswer::Outcome::BudgetSpent);
  EXPECT_TRUE(answer.reasons.empty());
}

TEST(Explain, CastsOfResultsAreConversionsBehindThem) {
  const std::string text = "kernel k(x: f32[64, 64]) -> y: f32[64]\nwarps 4\n"
                           "axis i < 64, j < 64\nv = load x[i, j]\n"
                           "s = reduce add v over j\nstore y[i] = s\n";
  InferenceOptions options;
  options.wishes.push_back({"s", "@ flat(2)", true});
  InferenceAnswer answer = answerFor(text, options), free = answerFor(text);
  ASSERT_EQ(answer.outcome, InferenceAnswer::Outcome::Found);
  EXPECT_GT(answer.layouts.cost, free.layouts.cost);
  EXPECT_EQ(answer.layouts.nodes.size(), free.layouts.nodes.size() + 1);
}

TEST(Explain, WishesForWhatIsNotThereAreRefused) {
  program::Program program =
      valueOf(program::substituteSizes(valueOf(program::parseProgram(twoCasts)), {}));
  InferenceOptions options;
  options.wishes.push_back({"q", "@ flat(1)", true});
  llvm::Expected<std::unique_ptr<LayoutProblem>> made = LayoutProblem::make(program, options);
  ASSERT_FALSE(made);
  EXPECT_EQ(takeDiag(made.takeError()).message, "no value q to give a layout to");
  for (bool isHard : {true, false}) { // a layout of fewer lanes than a warp has
    options.wishes = {{"s", "@ digits(64:1@j 2:32@i, 8:1@i, 4:8@i)", isHard}};
    auto other = LayoutProblem::make(program, options);
    ASSERT_FALSE(other);
    EXPECT_EQ(takeDiag(other.takeError()).message,
              "@ digits(64:1@j 2:32@i, 8:1@i, 4:8@i) is of 8 lanes, a warp has 32");
  }
}
