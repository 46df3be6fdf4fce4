// Programs of groups with several dots, and of dots beside reductions.
#include "analysis/program/build/testing/chains.h"

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

/// At random tile sizes, from the group to the interpreter.
void runAtRandom(const std::string &text, Instruction instruction, int draws) {
  ChainKernel kernel(text);
  BuiltKernel built("kernel", kernel.module, kernel.plan);
  std::mt19937_64 random(7);
  for (int i = 0; i < draws && !::testing::Test::HasFailure(); ++i)
    EXPECT_EQ(built.check(kernel.draw(random, instruction != Instruction::Fma), random(),
                          instruction),
              "");
}

} // namespace

TEST(Chains, DotsOfFma) {
  for (const ChainText &chain : chainTexts())
    runAtRandom(chain.text, Instruction::Fma, 6);
}

TEST(Chains, AttentionOfFma) {
  for (Mask mask : {Mask::None, Mask::Causal, Mask::Added})
    for (bool isFirst : {true, false})
      runAtRandom(attention(2, 20, 24, 16, 12, mask, isFirst), Instruction::Fma, 3);
}

TEST(Chains, AttentionOfMatrixInstructions) {
  for (Mask mask : {Mask::None, Mask::Causal, Mask::Window, Mask::Added})
    for (bool isFirst : {true, false})
      runAtRandom(attention(2, 48, 40, 32, 24, mask, isFirst), Instruction::MmaSync, 4);
}

TEST(Chains, DotsOfMatrixInstructions) {
  for (const ChainText &chain : chainTexts())
    runAtRandom(chain.text, Instruction::MmaSync, 8);
}
