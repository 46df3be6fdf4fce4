// A training step takes minutes, so that this is a soak test.
#include "tests/tilings/chosen_kernels.h"

#include <gtest/gtest.h>

using namespace tilewright;

TEST(ChosenKernels, OfATrainingStepAreRight) {
  const CheckedKernels checked = checkChosenKernels({"gpt2_block_train"});
  EXPECT_EQ(checked.better, 1u);
  EXPECT_GE(checked.fused, 15u);
  EXPECT_EQ(checked.passed, checked.kernels);
}
