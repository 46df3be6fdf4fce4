#include "tests/tilings/chosen_kernels.h"

#include <gtest/gtest.h>

using namespace tilewright;

TEST(ChosenKernels, AreRight) {
  const CheckedKernels checked = checkChosenKernels(
      {"resnet50_bottleneck", "dlrm", "mlp_mixer_b16", "bert_base_layer", "gpt2_block"});
  EXPECT_GE(checked.better, 4u); // or the kernels were the greedy ones
  EXPECT_GE(checked.fused, 10u);
  EXPECT_GE(checked.kernels, 20u);
  EXPECT_EQ(checked.passed, checked.kernels);
}
