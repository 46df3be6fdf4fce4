// ONNX's ops by family: values computed by hand, and what changed between opsets.
#include "analysis/import/onnx/node.h"
#include "analysis/import/onnx/testing/onnx_models.h"
#include "analysis/support/testing/document.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::test;

namespace {

void expectNear(const Numbers &actual, const Numbers &expected, double tolerance = 1e-6) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

const Numbers sixNumbers = {1, 2, 3, 4, 5, 6};

/// The table of the ops.
std::string onnxDocument() {
  std::string text = R"(# ONNX

Written by `scripts/update_docs.sh`; a test fails when it is out of date.

ONNX is read through libonnx (Debian's `libonnx-dev`): binary files (`.onnx`) and ONNX's own text form, which begins
with `<`. Opsets up to 24 of the domain `ai.onnx`; what later opsets changed (axes, bounds and sizes that became
inputs, `Softmax` over one dim) is read as the file's opset means it.

- **Names**: an op is called as its result in the file, with `_` for what HLO's names can't have; the ops that it
  becomes on the way begin with that name. The node's name is the `op_name` of their metadata, as of HLO.
- **Weights** are parameters behind the inputs, in the order of their first use. Those of one element, and lists of up
  to 1024 integers, are constants. `eval` takes their values from the file. Values in files beside the model are read
  when they are needed; that the file is there and large enough is checked at once.
- **Shapes** must be known. What follows from constants and shapes alone and has up to 4096 elements (`Shape`,
  `Gather`, `Concat` in front of a `Reshape`) is computed on import. The size of a dim that has a name (`batch`) is
  given with `--dim batch=8`; one without a name is called by its input and number (`--dim x.0=8`). A value that decides
  a shape and is known at run time only is refused.
- **Functions**, of the model and those that ONNX defines, stand in place of their calls, those of ONNX by the
  library's own bodies.
- **Branches** whose condition is known stand in place; others are a `conditional`. `Loop` and `Scan` are a `while`;
  a `Loop` whose values change their shapes is unrolled where it has up to 64 steps. Sequences of known length are gone
  once they are read; others, optional values, sparse tensors and text are refused.

| op | becomes |
|---|---|
)";
  for (const onnx_format::OpRow *row : onnx_format::allOnnxOps())
    text += !row->refusal.empty() ? fmt::format("| {} | refused: {} |\n", row->name, row->refusal)
            : row->opcode == Opcode::Parameter
                ? fmt::format("| {} | several ops, or none |\n", row->name)
                : fmt::format("| {} | `{}` |\n", row->name, toString(row->opcode));
  return text;
}

} // namespace

TEST(OnnxOps, AreDocumented) { expectDocument("docs/onnx.md", onnxDocument()); }

TEST(OnnxOps, ElementwiseSpreadsItsOperands) {
  EXPECT_EQ(onnxResult("(float[2,3] x, float[2,1] y) => (float[2,3] z)", "z = Add(x, y)",
                       {sixNumbers, {10, 20}}),
            (Numbers{11, 12, 13, 24, 25, 26}));
  EXPECT_EQ(onnxResult("(float[3] x, float[2,1] y) => (float[2,3] z)", "z = Mul(x, y)",
                       {{1, 2, 3}, {1, 10}}),
            (Numbers{1, 2, 3, 10, 20, 30}));
  EXPECT_EQ(onnxResult("(float[2] a, float[2] b, float[1] c) => (float[2] m)", "m = Mean(a, b, c)",
                       {{1, 2}, {3, 5}, {5}}),
            (Numbers{3, 4}));
  EXPECT_EQ(onnxResult("(bool[2] c, int64[2] a, int64[1] b) => (int64[2] y)", "y = Where(c, a, b)",
                       {{1, 0}, {7, 8}, {9}}),
            (Numbers{7, 9}));
}

// Before opset 7 the second operand had its place said by an attribute.
TEST(OnnxOps, OldBroadcastHasAnAxis) {
  EXPECT_EQ(onnxResult("(float[2,3] x, float[2] y) => (float[2,3] z)",
                       "z = Add <broadcast = 1, axis = 0> (x, y)", {sixNumbers, {10, 20}}, 6),
            (Numbers{11, 12, 13, 24, 25, 26}));
}

TEST(OnnxOps, RemaindersHaveTheSignThatIsAskedFor) {
  const std::string signature = "(int32[4] x, int32[4] y) => (int32[4] z)";
  const std::vector<Numbers> inputs = {{-4, 7, 5, -7}, {3, -3, 3, -3}};
  EXPECT_EQ(onnxResult(signature, "z = Mod(x, y)", inputs), (Numbers{2, -2, 2, -1}));
  EXPECT_EQ(onnxResult(signature, "z = Mod <fmod = 1> (x, y)", inputs), (Numbers{-1, 1, 2, -1}));
}

TEST(OnnxOps, ActivationsAreFormulas) {
  const std::string signature = "(float[3] x) => (float[3] y)";
  const std::vector<Numbers> inputs = {{-2, 0, 3}};
  EXPECT_EQ(onnxResult(signature, "y = Relu(x)", inputs), (Numbers{0, 0, 3}));
  expectNear(onnxResult(signature, "y = LeakyRelu <alpha = 0.5> (x)", inputs), {-1, 0, 3});
  expectNear(onnxResult(signature, "y = Elu <alpha = 2.0> (x)", inputs),
             {2 * (std::exp(-2.0) - 1), 0, 3});
  expectNear(onnxResult(signature, "y = HardSigmoid(x)", inputs), {0.1, 0.5, 1}, 1e-6);
  expectNear(onnxResult(signature, "y = Softplus(x)", inputs),
             {std::log1p(std::exp(-2.0)), std::log(2.0), std::log1p(std::exp(3.0))});
  expectNear(
      onnxResult(signature, "y = Gelu(x)", inputs, 20),
      {-2 * 0.5 * std::erfc(std::sqrt(2.0)), 0, 3 * (1 - 0.5 * std::erfc(3 / std::sqrt(2.0)))});
  // A function of ONNX's own: max(0, x) + min(0, α (exp(x / α) - 1)).
  expectNear(onnxResult(signature, "y = Celu <alpha = 2.0> (x)", inputs),
             {2 * (std::exp(-1.0) - 1), 0, 3});
}

TEST(OnnxOps, ClipHasItsBoundsAsAttributesOrInputs) {
  EXPECT_EQ(onnxResult("(float[3] x) => (float[3] y)", "y = Clip <min = 0.0, max = 2.0> (x)",
                       {{-1, 1, 3}}, 6),
            (Numbers{0, 1, 2}));
  EXPECT_EQ(onnxResult("(float[3] x, float high) => (float[3] y)", "y = Clip(x, , high)",
                       {{-1, 1, 3}, {2}}),
            (Numbers{-1, 1, 2}));
}

TEST(OnnxOps, SoftmaxWasOverAllDimsFromItsAxisOn) {
  const std::string signature = "(float[1,2,2] x) => (float[1,2,2] y)";
  const Numbers inputs = {0, 0, 0, 0};
  expectNear(onnxResult(signature, "y = Softmax <axis = 1> (x)", {inputs}, 11),
             {0.25, 0.25, 0.25, 0.25});
  expectNear(onnxResult(signature, "y = Softmax <axis = 1> (x)", {inputs}, 13),
             {0.5, 0.5, 0.5, 0.5});
}

TEST(OnnxOps, SlicesCountFromTheEndAndBackwards) {
  auto sliced = [](const char *starts, const char *ends, const char *steps, int64_t count) {
    return onnxResult(fmt::format("(float[6] x) => (float[{}] y)", count),
                      fmt::format("s = Constant <value = int64[1] {{{}}}> ()\n"
                                  "e = Constant <value = int64[1] {{{}}}> ()\n"
                                  "a = Constant <value = int64[1] {{0}}> ()\n"
                                  "t = Constant <value = int64[1] {{{}}}> ()\n"
                                  "y = Slice(x, s, e, a, t)",
                                  starts, ends, steps),
                      {sixNumbers});
  };
  EXPECT_EQ(sliced("1", "4", "1", 3), (Numbers{2, 3, 4}));
  EXPECT_EQ(sliced("-2", "1000", "1", 2), (Numbers{5, 6}));
  EXPECT_EQ(sliced("0", "6", "4", 2), (Numbers{1, 5}));
  EXPECT_EQ(sliced("-1", "-1000", "-1", 6), (Numbers{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(sliced("4", "0", "-3", 2), (Numbers{5, 2}));
  EXPECT_EQ(sliced("5", "2", "1", 0), Numbers{});
  EXPECT_EQ(onnxResult("(float[6] x) => (float[2] y)", "y = Slice <starts = [1], ends = [3]> (x)",
                       {sixNumbers}, 9),
            (Numbers{2, 3}));
}

TEST(OnnxOps, PaddingByEveryMode) {
  auto padded = [](const char *mode) {
    return onnxResult("(float[3] x) => (float[6] y)",
                      fmt::format("p = Constant <value = int64[2] {{2, 1}}> ()\n"
                                  "y = Pad <mode = \"{}\"> (x, p)",
                                  mode),
                      {{1, 2, 3}}, 19);
  };
  EXPECT_EQ(padded("constant"), (Numbers{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(padded("edge"), (Numbers{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(padded("reflect"), (Numbers{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(padded("wrap"), (Numbers{2, 3, 1, 2, 3, 1}));
}

TEST(OnnxOps, MovementOfDims) {
  EXPECT_EQ(onnxResult("(float[2,3] x) => (float[3,2] y)", "y = Transpose(x)", {sixNumbers}),
            (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(onnxResult("(float[2,3] x, float[2,1] z) => (float[2,4] y)",
                       "y = Concat <axis = -1> (x, z)", {sixNumbers, {7, 8}}),
            (Numbers{1, 2, 3, 7, 4, 5, 6, 8}));
  EXPECT_EQ(onnxResults(onnxText("(float[5] x) => (float[3] y, float[2] z)",
                                 "y, z = Split <num_outputs = 2> (x)", 18),
                        {{1, 2, 3, 4, 5}}),
            (std::vector<Numbers>{{1, 2, 3}, {4, 5}}));
  EXPECT_EQ(onnxResult("(float[2] x) => (float[2,4] y)",
                       "r = Constant <value_ints = [2, 2]> ()\n"
                       "u = Unsqueeze <axes = [0]> (x)\ny = Tile(u, r)",
                       {{1, 2}}, 12),
            (Numbers{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(onnxResult("(float[1,4,1,1] x) => (float[1,1,2,2] y)",
                       "y = DepthToSpace <blocksize = 2> (x)", {{1, 2, 3, 4}}),
            (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(
      onnxResult("(float[2,2] x) => (float[2,2] y)", "y = Trilu <upper = 0> (x)", {{1, 2, 3, 4}}),
      (Numbers{1, 0, 3, 4}));
}

TEST(OnnxOps, ReductionsTakeAxesAsAttributeOrInput) {
  EXPECT_EQ(onnxResult("(float[2,3] x) => (float[2,1] y)", "y = ReduceSum <axes = [1]> (x)",
                       {sixNumbers}, 11),
            (Numbers{6, 15}));
  EXPECT_EQ(onnxResult("(float[2,3] x) => (float[3] y)",
                       "a = Constant <value_ints = [-2]> ()\n"
                       "y = ReduceMax <keepdims = 0> (x, a)",
                       {sixNumbers}, 18),
            (Numbers{4, 5, 6}));
  expectNear(onnxResult("(float[2,3] x) => (float[1,1] y)", "y = ReduceLogSumExp(x)",
                        {{0, 0, 0, 0, 0, 0}}),
             {std::log(6.0)});
  EXPECT_EQ(onnxResult("(float[2,3] x) => (int64[2,1] y)", "y = ArgMax <axis = 1> (x)",
                       {{1, 3, 3, 9, 2, 9}}),
            (Numbers{1, 0}));
  EXPECT_EQ(onnxResult("(float[2,3] x) => (int64[2] y)",
                       "y = ArgMin <axis = 1, keepdims = 0, select_last_index = 1> (x)",
                       {{1, 3, 1, 9, 2, 2}}),
            (Numbers{2, 2}));
  EXPECT_EQ(onnxResult("(float[4] x) => (float[4] y)",
                       "a = Constant <value = int64 {0}> ()\n"
                       "y = CumSum <exclusive = 1, reverse = 1> (x, a)",
                       {{1, 2, 3, 4}}),
            (Numbers{9, 7, 4, 0}));
  EXPECT_EQ(onnxResults(onnxText("(float[4] x) => (float[2] v, int64[2] i)",
                                 "k = Constant <value_ints = [2]> ()\nv, i = TopK(x, k)"),
                        {{3, 9, 1, 9}}),
            (std::vector<Numbers>{{9, 9}, {1, 3}}));
}

TEST(OnnxOps, ProductsOfEveryRank) {
  const Numbers four = {1, 2, 3, 4};
  EXPECT_EQ(onnxResult("(float[2,2] a, float[2,2] b) => (float[2,2] y)", "y = MatMul(a, b)",
                       {four, {5, 6, 7, 8}}),
            (Numbers{19, 22, 43, 50}));
  EXPECT_EQ(
      onnxResult("(float[2] a, float[2,2] b) => (float[2] y)", "y = MatMul(a, b)", {{1, 10}, four}),
      (Numbers{31, 42}));
  EXPECT_EQ(onnxResult("(float[2,2] a, float[1,2,2] b) => (float[1,2,2] y)", "y = MatMul(a, b)",
                       {four, {5, 6, 7, 8}}),
            (Numbers{19, 22, 43, 50}));
  EXPECT_EQ(onnxResult("(float[2,1,1,2] a, float[2,2,1] b) => (float[2,2,1,1] y)",
                       "y = MatMul(a, b)", {four, {1, 1, 2, 0}}),
            (Numbers{3, 2, 7, 6}));
  EXPECT_EQ(onnxResult("(float[2,2] a, float[2,2] b, float[2] c) => (float[2,2] y)",
                       "y = Gemm <transA = 1, alpha = 2.0, beta = 0.5> (a, b, c)",
                       {four, {1, 0, 0, 1}, {10, 20}}),
            (Numbers{7, 16, 9, 18}));
  EXPECT_EQ(onnxResult("(float[2,2] a, float[2,2] b) => (float[2] y)",
                       "y = Einsum <equation = \"ij, kj -> k\"> (a, b)", {four, {1, 0, 0, 1}}),
            (Numbers{4, 6}));
  EXPECT_EQ(onnxResult("(float[1,2,2] a) => (float[1,2] y)",
                       "y = Einsum <equation = \"...ii -> ...i\"> (a)", {four}),
            (Numbers{1, 4}));
}

TEST(OnnxOps, ConvolutionsAndTheirTransposes) {
  const Numbers nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(onnxResult("(float[1,1,3,3] x, float[1,1,2,2] w, float[1] b) => (float[1,1,2,2] y)",
                       "y = Conv(x, w, b)", {nine, {1, 0, 0, 1}, {100}}),
            (Numbers{106, 108, 112, 114}));
  EXPECT_EQ(onnxResult("(float[1,1,3,3] x, float[1,1,3,3] w) => (float[1,1,2,2] y)",
                       "y = Conv <auto_pad = \"SAME_LOWER\", strides = [2, 2]> (x, w)",
                       {nine, {0, 0, 0, 0, 1, 0, 0, 0, 0}}),
            (Numbers{1, 3, 7, 9}));
  EXPECT_EQ(onnxResult("(float[1,2,2] x, float[2,1,1] w) => (float[1,2,2] y)",
                       "y = Conv <group = 2> (x, w)", {{1, 2, 3, 4}, {10, 100}}),
            (Numbers{10, 20, 300, 400}));
  EXPECT_EQ(onnxResult("(float[1,1,2] x, float[1,1,3] w) => (float[1,1,5] y)",
                       "y = ConvTranspose <strides = [2]> (x, w)", {{1, 2}, {1, 10, 100}}),
            (Numbers{1, 10, 102, 20, 200}));
}

TEST(OnnxOps, PoolsCountWhatTheyCover) {
  const std::string signature = "(float[1,1,4] x) => (float[1,1,3] y)";
  const Numbers inputs = {1, 2, 3, 4};
  EXPECT_EQ(onnxResult(signature,
                       "y = AveragePool <kernel_shape = [2], pads = [1, 1], strides = [2]> (x)",
                       {inputs}),
            (Numbers{1, 2.5, 4}));
  EXPECT_EQ(onnxResult(signature,
                       "y = AveragePool <kernel_shape = [2], pads = [1, 1], strides = [2], "
                       "count_include_pad = 1> (x)",
                       {inputs}),
            (Numbers{0.5, 2.5, 2}));
  EXPECT_EQ(onnxResults(onnxText("(float[1,1,2,2] x) => (float[1,1,1,1] y, int64[1,1,1,1] i)",
                                 "y, i = MaxPool <kernel_shape = [2, 2]> (x)"),
                        {{1, 4, 3, 2}}),
            (std::vector<Numbers>{{4}, {1}}));
  EXPECT_EQ(onnxResult("(float[1,1,4] x) => (float[1,1,2] y)",
                       "y = MaxPool <kernel_shape = [3], strides = [2], ceil_mode = 1> (x)",
                       {inputs}),
            (Numbers{3, 4}));
  EXPECT_EQ(
      onnxResult("(float[1,2,2] x) => (float[1,2,1] y)", "y = GlobalAveragePool(x)", {inputs}),
      (Numbers{1.5, 3.5}));
}

TEST(OnnxOps, Normalisations) {
  const Numbers four = {1, 3, 2, 6};
  expectNear(onnxResult("(float[1,2,2] x, float[2] s, float[2] b) => (float[1,2,2] y)",
                        "y = InstanceNormalization <epsilon = 0.0> (x, s, b)",
                        {four, {1, 10}, {0, 5}}),
             {-1, 1, -5, 15});
  expectNear(onnxResult("(float[1,2] x, float[2] s, float[2] b, float[2] m, float[2] v) => "
                        "(float[1,2] y)",
                        "y = BatchNormalization <epsilon = 0.0> (x, s, b, m, v)",
                        {{1, 2}, {2, 3}, {1, 1}, {0, 0}, {4, 1}}),
             {2, 7});
  // A function of ONNX's own, whose shapes are computed by nodes.
  expectNear(onnxResult("(float[2,2] x, float[2] s) => (float[2,2] y)",
                        "y = LayerNormalization <epsilon = 0.0> (x, s)", {four, {1, 2}}),
             {-1, 2, -1, 2}, 1e-5);
  expectNear(onnxResult("(float[1,2] x, float[2] s) => (float[1,2] y)",
                        "y = RMSNormalization <epsilon = 0.0> (x, s)", {{3, 4}, {1, 1}}, 23),
             {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
}

TEST(OnnxOps, QuantisedNumbers) {
  EXPECT_EQ(onnxResult("(float[4] x, float s, uint8 z) => (uint8[4] y)",
                       "y = QuantizeLinear(x, s, z)", {{0, 1, 3, 1000}, {2}, {10}}),
            (Numbers{10, 10, 12, 255}));
  EXPECT_EQ(onnxResult("(int8[2,2] x, float[2] s, int8[2] z) => (float[2,2] y)",
                       "y = DequantizeLinear <axis = 0> (x, s, z)",
                       {{1, 2, 3, 4}, {1, 10}, {0, 1}}),
            (Numbers{1, 2, 20, 30}));
  EXPECT_EQ(onnxResult("(uint8[1,2] a, uint8[2,1] b, uint8 za) => (int32[1,1] y)",
                       "y = MatMulInteger(a, b, za)", {{200, 100}, {3, 4}, {100}}),
            (Numbers{300}));
}

TEST(OnnxOps, IndicesCountFromTheEnd) {
  EXPECT_EQ(onnxResult("(float[2,3] x, int64[2] i) => (float[2,2] y)",
                       "y = Gather <axis = 1> (x, i)", {sixNumbers, {-1, 0}}),
            (Numbers{3, 1, 6, 4}));
  EXPECT_EQ(onnxResult("(float[2,3] x, int64[1,3] i) => (float[1,3] y)", "y = GatherElements(x, i)",
                       {sixNumbers, {-1, 0, 1}}),
            (Numbers{4, 2, 6}));
  EXPECT_EQ(onnxResult("(float[2,3] x, int64[2,2] i) => (float[2] y)", "y = GatherND(x, i)",
                       {sixNumbers, {0, 2, -1, -3}}),
            (Numbers{3, 4}));
  EXPECT_EQ(onnxResult("(float[3] x, int64[2] i, float[2] u) => (float[3] y)",
                       "y = ScatterElements <reduction = \"add\"> (x, i, u)",
                       {{1, 2, 3}, {-1, 0}, {10, 20}}, 16),
            (Numbers{21, 2, 13}));
  EXPECT_EQ(onnxResult("(float[2,2] x, int64[1,1] i, float[1,2] u) => (float[2,2] y)",
                       "y = ScatterND(x, i, u)", {{1, 2, 3, 4}, {-1}, {8, 9}}),
            (Numbers{1, 2, 8, 9}));
  EXPECT_EQ(onnxResult("(int64[2] i, float[2] v) => (float[2,3] y)",
                       "d = Constant <value_ints = [3]> ()\ny = OneHot(i, d, v)",
                       {{-1, 1}, {0, 7}}),
            (Numbers{0, 0, 7, 0, 7, 0}));
}

TEST(OnnxOps, ResizeByEveryMode) {
  auto resized = [](const char *attributes, const char *scale, const Numbers &x, int64_t count) {
    return onnxResult(fmt::format("(float[1,1,{}] x) => (float[1,1,{}] y)", x.size(), count),
                      fmt::format("s = Constant <value = float[3] {{1.0, 1.0, {}}}> ()\n"
                                  "y = Resize <{}> (x, , s)",
                                  scale, attributes),
                      {x}, 13);
  };
  EXPECT_EQ(resized("mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", "
                    "nearest_mode = \"floor\"",
                    "2.0", {1, 2}, 4),
            (Numbers{1, 1, 2, 2}));
  EXPECT_EQ(resized("mode = \"linear\"", "2.0", {1, 3}, 4), (Numbers{1, 1.5, 2.5, 3}));
  EXPECT_EQ(resized("mode = \"linear\", coordinate_transformation_mode = \"align_corners\"", "1.5",
                    {1, 3}, 3),
            (Numbers{1, 2, 3}));
}

TEST(OnnxOps, RecurrentLayers) {
  // h' = tanh(2 x + h), hidden 1, two steps.
  const Numbers y = onnxResult("(float[2,1,1] x, float[1,1,1] w, float[1,1,1] r) => "
                               "(float[2,1,1,1] y)",
                               "y = RNN <hidden_size = 1> (x, w, r)", {{1, -1}, {2}, {1}});
  const double first = std::tanh(2.0), second = std::tanh(-2 + first);
  expectNear(y, {first, second});
  // Backwards: the last element of the sequence is the first step.
  const Numbers back = onnxResult(
      "(float[2,1,1] x, float[1,1,1] w, float[1,1,1] r) => (float[2,1,1,1] y)",
      "y = RNN <hidden_size = 1, direction = \"reverse\"> (x, w, r)", {{1, -1}, {2}, {1}});
  expectNear(back, {std::tanh(2 + std::tanh(-2.0)), std::tanh(-2.0)});
  // All gates σ(x) = 1/2 at x = 0, c' = 1/2 · tanh(0): nothing moves.
  expectNear(onnxResult("(float[1,1,1] x, float[1,4,1] w, float[1,4,1] r) => (float[1,1,1,1] y)",
                        "y = LSTM <hidden_size = 1> (x, w, r)", {{1}, {0, 0, 0, 1}, {0, 0, 0, 0}}),
             {0.5 * std::tanh(0.5 * std::tanh(1.0))});
  expectNear(onnxResult("(float[1,1,1] x, float[1,3,1] w, float[1,3,1] r) => (float[1,1,1,1] y)",
                        "y = GRU <hidden_size = 1> (x, w, r)", {{1}, {0, 0, 1}, {0, 0, 0}}),
             {0.5 * std::tanh(1.0)});
}
