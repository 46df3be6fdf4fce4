// reduce-window, select-and-scatter and convolution against loops over an input that is padded and
// dilated in memory first.
#include "tests/eval/eval_helpers.h"

using namespace tilewright;

namespace {
struct Window {
  int64_t size, stride, low, high, windowDilation, baseDilation;
  bool reversed;

  int64_t outputs(int64_t extent) const {
    int64_t dilated = (extent - 1) * baseDilation + 1 + low + high;
    int64_t reach = (size - 1) * windowDilation + 1;
    return dilated < reach ? 0 : (dilated - reach) / stride + 1;
  }
};

std::string windowText(const std::vector<Window> &dims, bool withReversal) {
  std::string size, stride, pad, base, window, reversal;
  for (const Window &dim : dims) {
    std::string_view cross = size.empty() ? "" : "x";
    size += fmt::format("{}{}", cross, dim.size);
    stride += fmt::format("{}{}", cross, dim.stride);
    pad += fmt::format("{}{}_{}", cross, dim.low, dim.high);
    base += fmt::format("{}{}", cross, dim.baseDilation);
    window += fmt::format("{}{}", cross, dim.windowDilation);
    reversal += fmt::format("{}{}", cross, dim.reversed ? 1 : 0);
  }
  std::string text = fmt::format("window={{size={} stride={} pad={} lhs_dilate={} rhs_dilate={}",
                                 size, stride, pad, base, window);
  return text + (withReversal ? " rhs_reversal=" + reversal : "") + "}";
}

Window randomWindow(std::mt19937 &random, bool mayReverse) {
  auto draw = [&](int low, int high) {
    return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  return {draw(1, 3),
          draw(1, 3),
          draw(-1, 2),
          draw(-1, 2),
          draw(1, 2),
          draw(1, 2),
          mayReverse && random() % 2 == 0};
}

/// A dim's cells after dilation and padding: input coordinate, or -1 where nothing lies.
std::vector<int64_t> cells(const Window &dim, int64_t extent) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < extent; ++i) {
    if (i > 0)
      result.insert(result.end(), dim.baseDilation - 1, -1);
    result.push_back(i);
  }
  auto grow = [&](int64_t count, bool atFront) {
    for (; count > 0; --count)
      result.insert(atFront ? result.begin() : result.end(), -1);
    for (; count < 0 && !result.empty(); ++count)
      result.erase(atFront ? result.begin() : result.end() - 1);
  };
  grow(dim.low, true);
  grow(dim.high, false);
  return result;
}

std::string dimsText(const std::vector<int64_t> &dims) {
  return fmt::format("{}", fmt::join(dims, ","));
}
} // namespace

TEST(EvaluatorWindows, CropBeforeAPaddedWindow) {
  Tensor x = counting(DType::S32, {6, 5}, 1);
  Tensor y = runOne(withReducers("s32", "x = s32[6,5]{1,0} parameter(0)\nzero = s32[] constant(0)\n"
                                        "cropped = s32[6,3]{1,0} pad(x, zero), padding=0_0x-2_0\n"
                                        "ROOT summed = s32[6,3]{1,0} reduce-window(cropped, zero), "
                                        "window={size=1x2 pad=0_0x1_0}, to_apply=add.s32\n"),
                    {x});
  std::vector<double> values = valuesOf(y);
  EXPECT_EQ(Values(values.begin(), values.begin() + 3), (Values{3, 7, 9}));
}

TEST(EvaluatorWindows, WindowOfOneThatCrops) {
  Tensor y = runOne(withReducers("f32", "x = f32[8,4]{1,0} parameter(0)\nzero = f32[] constant(0)\n"
                                        "ROOT kept = f32[7,4]{1,0} reduce-window(x, zero), "
                                        "window={size=1x1 pad=-1_0x0_0}, to_apply=add.f32\n"),
                    {counting(DType::F32, {8, 4})});
  EXPECT_EQ(valuesOf(y), valuesOf(counting(DType::F32, {7, 4}, 4)));
}

TEST(EvaluatorWindows, ReduceWindowAgreesWithPaddedLoops) {
  std::mt19937 random(1);
  int tried = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Window> dims = {randomWindow(random, false), randomWindow(random, false)};
    std::vector<int64_t> in = {1 + int64_t(random() % 6), 1 + int64_t(random() % 6)}, out;
    for (size_t d = 0; d < 2; ++d)
      out.push_back(dims[d].outputs(in[d]));
    if (out[0] == 0 || out[1] == 0)
      continue;
    ++tried;
    Tensor x = fillTensor(Shape::tensor(DType::S32, in), round);
    Tensor y = runOne(
        withReducers("s32", fmt::format("x = s32[{}] parameter(0)\n"
                                        "z = s32[] constant(3)\n"
                                        "ROOT y = s32[{}] reduce-window(x, z), {}, "
                                        "to_apply=add.s32\n",
                                        dimsText(in), dimsText(out), windowText(dims, false))),
        {x});
    std::vector<int64_t> rows = cells(dims[0], in[0]), columns = cells(dims[1], in[1]);
    forEachIndex(out, [&](const std::vector<int64_t> &o) {
      int64_t sum = 3;
      for (int64_t a = 0; a < dims[0].size; ++a)
        for (int64_t b = 0; b < dims[1].size; ++b) {
          int64_t row = rows[o[0] * dims[0].stride + a * dims[0].windowDilation];
          int64_t column = columns[o[1] * dims[1].stride + b * dims[1].windowDilation];
          if (row >= 0 && column >= 0)
            sum += x.integer(row * in[1] + column);
        }
      ASSERT_EQ(y.integer(y.offset(o)), sum) << windowText(dims, false);
    });
  }
  EXPECT_GT(tried, 200);
}

TEST(EvaluatorWindows, ConvolutionAgreesWithPaddedLoops) {
  std::mt19937 random(2);
  int tried = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Window> dims = {randomWindow(random, true), randomWindow(random, true)};
    int64_t featureGroups = 1 + random() % 2,
            batchGroups = featureGroups == 1 ? 1 + random() % 2 : 1;
    int64_t batch = batchGroups * (1 + random() % 2), inner = 1 + random() % 3;
    int64_t features = featureGroups * inner;
    int64_t outputs = featureGroups * batchGroups * (1 + random() % 2);
    std::vector<int64_t> in = {1 + int64_t(random() % 5), 1 + int64_t(random() % 5)};
    std::vector<int64_t> out = {dims[0].outputs(in[0]), dims[1].outputs(in[1])};
    if (out[0] == 0 || out[1] == 0)
      continue;
    ++tried;
    // Labels b01f_01io->b01f or fb10_oi10->10fb, so that no order is taken for granted.
    bool isUsual = round % 2 == 0;
    Tensor x, w;
    std::vector<int64_t> outDims;
    int64_t outBatch = batch / batchGroups;
    if (isUsual) {
      x = fillTensor(Shape::tensor(DType::S32, {batch, in[0], in[1], features}), round);
      w = fillTensor(Shape::tensor(DType::S32, {dims[0].size, dims[1].size, inner, outputs}), 999);
      outDims = {outBatch, out[0], out[1], outputs};
    } else {
      x = fillTensor(Shape::tensor(DType::S32, {features, batch, in[1], in[0]}), round);
      w = fillTensor(Shape::tensor(DType::S32, {outputs, inner, dims[1].size, dims[0].size}), 999);
      outDims = {out[1], out[0], outputs, outBatch};
    }
    Tensor y = runOne(
        entry(fmt::format("x = s32[{}] parameter(0)\nw = s32[{}] parameter(1)\n"
                          "ROOT y = s32[{}] convolution(x, w), {}, dim_labels={}, "
                          "feature_group_count={}, batch_group_count={}\n",
                          dimsText(x.shape().dims), dimsText(w.shape().dims), dimsText(outDims),
                          windowText(dims, true), isUsual ? "b01f_01io->b01f" : "fb10_oi10->10fb",
                          featureGroups, batchGroups)),
        {x, w});
    std::vector<int64_t> rows = cells(dims[0], in[0]), columns = cells(dims[1], in[1]);
    forEachIndex({outBatch, outputs, out[0], out[1]}, [&](const std::vector<int64_t> &o) {
      int64_t group = o[1] / (outputs / featureGroups), batchGroup = o[1] / (outputs / batchGroups);
      int64_t sum = 0, b = batchGroup * outBatch + o[0];
      for (int64_t i = 0; i < dims[0].size; ++i)
        for (int64_t j = 0; j < dims[1].size; ++j)
          for (int64_t z = 0; z < inner; ++z) {
            int64_t row = rows[o[2] * dims[0].stride + i * dims[0].windowDilation];
            int64_t column = columns[o[3] * dims[1].stride + j * dims[1].windowDilation];
            if (row < 0 || column < 0)
              continue;
            int64_t ki = dims[0].reversed ? dims[0].size - 1 - i : i;
            int64_t kj = dims[1].reversed ? dims[1].size - 1 - j : j;
            int64_t f = group * inner + z;
            using Index = std::vector<int64_t>;
            int64_t left =
                x.integer(x.offset(isUsual ? Index{b, row, column, f} : Index{f, b, column, row}));
            int64_t right =
                w.integer(w.offset(isUsual ? Index{ki, kj, z, o[1]} : Index{o[1], z, kj, ki}));
            sum += left * right;
          }
      std::vector<int64_t> at = isUsual ? std::vector<int64_t>{o[0], o[2], o[3], o[1]}
                                        : std::vector<int64_t>{o[3], o[2], o[1], o[0]};
      ASSERT_EQ(y.integer(y.offset(at)), sum) << windowText(dims, true);
    });
  }
  EXPECT_GT(tried, 200);
}

TEST(EvaluatorWindows, SelectAndScatterSendsEachSourceToItsMaximum) {
  // Overlapping windows of 3 with stride 2 over 1 9 2 8 3: both pick a maximum; ties keep the
  // first.
  Tensor y =
      runOne(withReducers("s32", "x = s32[5] parameter(0)\ns = s32[2] parameter(1)\n"
                                 "z = s32[] constant(0)\n"
                                 "ROOT y = s32[5] select-and-scatter(x, s, z), "
                                 "window={size=3 stride=2}, select=ge.s32, "
                                 "scatter=add.s32\n"),
             {tensorOf(DType::S32, {5}, "{1, 9, 2, 8, 8}"), tensorOf(DType::S32, {2}, "{10, 20}")});
  EXPECT_EQ(valuesOf(y), (Values{0, 10, 0, 20, 0}));
}
