// Layouts of the programs of tests/programs at random sizes, many of which divide nothing.
#include "analysis/program/inference/infer_layouts.h"
#include "analysis/program/testing/golden_programs.h"

using namespace tilewright;
using namespace tilewright::inference;

namespace {

class GoldenInference : public ::testing::TestWithParam<program::testing::GoldenProgram> {};

} // namespace

/// Never below the floor of all layouts, never above what the text's own cost.
TEST_P(GoldenInference, IsBetweenTheFloorAndTheText) {
  const program::testing::GoldenProgram &golden = GetParam();
  const program::Program symbolic =
      program::testing::parsed(program::testing::textOf(golden.name), golden.name + ".tile");
  constexpr int sizesOfEach = 4;
  for (int n = 0; n < sizesOfEach; ++n) {
    program::testing::SizeDice dice(static_cast<uint64_t>(n) + 1);
    const program::SizeValues sizes = golden.sizes(dice);
    const program::Program program = program::testing::withSizes(symbolic, sizes);
    llvm::Expected<std::unique_ptr<LayoutProblem>> problem = LayoutProblem::make(program, {});
    ASSERT_TRUE(bool(problem)) << program::testing::describe(sizes)
                               << takeDiag(problem.takeError()).str();
    InferenceAnswer answer = inferLayouts(**problem);
    ASSERT_EQ(answer.outcome, InferenceAnswer::Outcome::Found) << program::testing::describe(sizes);
    EXPECT_GE(answer.layouts.cost, answer.layouts.floor) << program::testing::describe(sizes);
    priceGiven(**problem, answer);
    if (answer.given)
      EXPECT_LE(answer.layouts.cost, answer.given->cost) << program::testing::describe(sizes);
    else
      ADD_FAILURE() << "nothing is said of the text's: " << program::testing::describe(sizes);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, GoldenInference,
                         ::testing::ValuesIn(program::testing::goldenPrograms()),
                         [](const auto &info) { return info.param.name; });
