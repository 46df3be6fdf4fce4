// The record of reads: which operand elements made each output element.
#include "tests/eval/eval_helpers.h"

#include <map>
#include <set>

using namespace tilewright;

namespace {
/// Reads of one op: output element to {(operand, element)}.
class Recorder : public ReadRecorder {
public:
  explicit Recorder(OpId op) : op(op) {}
  using Reads = std::set<std::pair<unsigned, int64_t>>;
  std::map<int64_t, Reads> reads;

  void onRead(const OpInstance &instance, int64_t output, unsigned operand,
              int64_t element) override {
    if (instance.op == op)
      reads[output].insert({operand, element});
  }

private:
  OpId op;
};

std::map<int64_t, Recorder::Reads> readsOfRoot(std::string text,
                                               const std::vector<Tensor> &arguments) {
  Module module = parseText(std::move(text));
  Recorder recorder(module.entry().root());
  EvalOptions options;
  options.recorder = &recorder;
  run(module, arguments, options);
  return recorder.reads;
}
using Reads = Recorder::Reads;
} // namespace

TEST(EvaluatorReads, StructuredOps) {
  Tensor x = counting(DType::F32, {2, 3});
  auto reads = readsOfRoot(entry("x = f32[2,3] parameter(0)\n"
                                 "ROOT y = f32[3,2] transpose(x), dimensions={1,0}\n"),
                           {x});
  EXPECT_EQ(reads[1], (Reads{{0, 3}}));
  reads = readsOfRoot(withReducers("f32", "x = f32[2,3] parameter(0)\nz = f32[] constant(0)\n"
                                          "ROOT y = f32[2] reduce(x, z), dimensions={1}, "
                                          "to_apply=add.f32\n"),
                      {x});
  EXPECT_EQ(reads[1], (Reads{{0, 3}, {0, 4}, {0, 5}, {1, 0}}));
  reads = readsOfRoot(entry("x = f32[2,3] parameter(0)\nROOT y = f32[2,2] dot(x, x), "
                            "lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"),
                      {x});
  EXPECT_EQ(reads[1], (Reads{{0, 0}, {0, 1}, {0, 2}, {1, 3}, {1, 4}, {1, 5}}));
  reads = readsOfRoot(entry("x = f32[2,3] parameter(0)\nz = f32[] constant(0)\n"
                            "ROOT y = f32[2,3] pad(x, z), padding=0_0x1_-1\n"),
                      {x});
  EXPECT_EQ(reads[3], (Reads{{1, 0}}));
  EXPECT_EQ(reads[4], (Reads{{0, 3}}));
}

TEST(EvaluatorReads, PaddingIsNotRead) {
  auto reads = readsOfRoot(
      withReducers("s32", "x = s32[4] parameter(0)\nz = s32[] constant(0)\n"
                          "ROOT y = s32[4] reduce-window(x, z), window={size=3 pad=1_1}, "
                          "to_apply=add.s32\n"),
      {counting(DType::S32, {4})});
  EXPECT_EQ(reads[0], (Reads{{0, 0}, {0, 1}, {1, 0}}));
  EXPECT_EQ(reads[2], (Reads{{0, 1}, {0, 2}, {0, 3}, {1, 0}}));
}

TEST(EvaluatorReads, UpdatesHideWhatTheyCover) {
  auto reads = readsOfRoot(entry("x = s32[4] parameter(0)\nu = s32[2] parameter(1)\n"
                                 "i = s32[] constant(1)\n"
                                 "ROOT y = s32[4] dynamic-update-slice(x, u, i)\n"),
                           {counting(DType::S32, {4}), counting(DType::S32, {2})});
  EXPECT_EQ(reads[0], (Reads{{0, 0}, {2, 0}}));
  EXPECT_EQ(reads[2], (Reads{{1, 1}, {2, 0}}));
}

// Changing an element that an output did not read can't change that output; in a sum, changing one
// that it read does.
TEST(EvaluatorReads, ReadsAreWhatTheResultDependsOn) {
  std::string text = entry("x = f32[1,4,4,2] parameter(0)\nw = f32[2,2,1,2] parameter(1)\n"
                           "ROOT y = f32[1,3,2,2] convolution(x, w), window={size=2x2 stride=1x2 "
                           "pad=0_0x1_0 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f, "
                           "feature_group_count=2\n");
  Module module = parseText(text);
  std::vector<Tensor> arguments = {fillTensor(Shape::tensor(DType::F32, {1, 4, 4, 2}), 1),
                                   fillTensor(Shape::tensor(DType::F32, {2, 2, 1, 2}), 2)};
  auto reads = readsOfRoot(text, arguments);
  Tensor before = run(module, arguments)[0];
  for (unsigned operand = 0; operand < 2; ++operand)
    for (int64_t element = 0; element < arguments[operand].size(); ++element) {
      std::vector<Tensor> changed = arguments;
      changed[operand].setReal(element, changed[operand].real(element) + 1);
      Tensor after = run(module, changed)[0];
      for (int64_t i = 0; i < before.size(); ++i)
        ASSERT_EQ(before.real(i) != after.real(i), reads[i].count({operand, element}) == 1)
            << operand << " " << element << " " << i;
    }
}
