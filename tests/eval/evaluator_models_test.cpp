// The bundled model graphs: which ops of theirs the evaluator takes. Their shapes are too large to
// run in a unit test, so only the refusal, or the work budget, is looked at.
#include "tests/eval/eval_helpers.h"

#include <filesystem>

using namespace tilewright;

TEST(EvaluatorModels, FillsArgumentsWithIndicesInBounds) {
  Module module =
      parseText("HloModule m\nf {\n t = f32[5,2] parameter(0)\n i = s32[3,1] parameter(1)\n"
                " ROOT g = f32[3,2] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, "
                "start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}\n}\n"
                "ENTRY main {\n t = f32[5,2] parameter(0)\n i = s32[3] parameter(1)\n"
                " r = s32[3,1] reshape(i)\n j = s32[300] parameter(2)\n"
                " ROOT g = f32[3,2] fusion(t, r), kind=kLoop, calls=f\n}\n");
  std::vector<Tensor> arguments = fillArguments(module, module.entryId, 42);
  ASSERT_EQ(arguments.size(), 3u);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(arguments[1].integer(i) >= 0 && arguments[1].integer(i) < 5);
  bool hasNegative = false; // an input that indexes nothing is not bounded
  for (int64_t i = 0; i < 300; ++i)
    hasNegative |= arguments[2].integer(i) < 0;
  EXPECT_TRUE(hasNegative);
  EXPECT_EQ(run(module, arguments)[0].size(), 6);
}
