// Ops that read several elements for one result: contractions, reductions, windows.
#include "analysis/prove/examples_internal.h"

namespace tilewright::prove {

namespace {

std::vector<Example> dots(Grid grid) {
  std::vector<Example> out{
      {"[3,4] x [4,5]", "x = f32[3,4] parameter(0)\n y = f32[4,5] parameter(1)\n ROOT r = f32[3,5] "
                        "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"two batch, two contracted dims",
       "x = f32[2,3,4,2] parameter(0)\n y = f32[4,2,5,2] parameter(1)\n ROOT r = f32[2,3,5] "
       "dot(x, y), lhs_batch_dims={3}, rhs_batch_dims={1}, lhs_contracting_dims={2,0}, "
       "rhs_contracting_dims={0,3}"},
      {"outer product", "x = f32[3] parameter(0)\n y = f32[4] parameter(1)\n ROOT r = f32[3,4] "
                        "dot(x, y)"}};
  if (grid == Grid::Large)
    out.push_back({"[13,17] x [11,17]",
                   "x = f32[13,17] parameter(0)\n y = f32[11,17] parameter(1)\n ROOT r = "
                   "f32[13,11] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}"});
  return out;
}

std::vector<Example> scaledDots(Grid grid) {
  std::vector<Example> out;
  auto add = [&](int64_t m, int64_t k, int64_t n, const Dims &left, const Dims &right) {
    out.push_back({fmt::format("[{},{}] by [{}], [{},{}] by [{}]", m, k, fmt::join(left, ","), k, n,
                               fmt::join(right, ",")),
                   parameterText("x", {m, k}, 0) + parameterText("y", {k, n}, 1) +
                       parameterText("s", left, 2) + parameterText("t", right, 3) +
                       fmt::format("ROOT r = f32[{},{}] scaled-dot(x, y, s, t), "
                                   "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
                                   m, n)});
  };
  add(3, 4, 5, {3, 2}, {2, 5});
  add(2, 10, 3, {2, 3}, {1, 3}); // the last block is a partial one
  add(4, 6, 2, {}, {3, 2});
  add(8, 9, 6, {2, 3}, {9, 2});
  if (grid == Grid::Large) {
    add(3, 70, 2, {3, 3}, {3, 2});
    add(6, 16, 6, {3, 4}, {4, 2});
  }
  return out;
}

std::vector<Example> raggedDots() {
  return {
      {"ragged rows", "x = f32[3,4] parameter(0)\n y = f32[2,4,5] parameter(1)\n"
                      "n = s32[2] constant({2, 1})\n"
                      "ROOT r = f32[3,5] ragged-dot(x, y, n), lhs_contracting_dims={1}, "
                      "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"},
      {"ragged rows of a batch",
       "x = f32[2,5,3] parameter(0)\n y = f32[3,2,3,4] parameter(1)\n"
       "n = s32[2,3] constant({{1, 2, 2}, {0, 3, 9}})\n"
       "ROOT r = f32[2,5,4] ragged-dot(x, y, n), lhs_contracting_dims={2}, "
       "rhs_contracting_dims={2}, lhs_batch_dims={0}, rhs_batch_dims={1}, "
       "lhs_ragged_dims={1}, rhs_group_dims={0}"},
      {"ragged contraction",
       "x = f32[2,5] parameter(0)\n y = f32[5,4] parameter(1)\n n = s32[3] constant({1, 0, 3})\n"
       "ROOT r = f32[3,2,4] ragged-dot(x, y, n), lhs_contracting_dims={1}, "
       "rhs_contracting_dims={0}, lhs_ragged_dims={1}, rhs_group_dims={}"},
      {"ragged batch",
       "x = f32[4,2,3] parameter(0)\n y = f32[4,3,2] parameter(1)\n n = s32[2] constant({1, 3})\n"
       "ROOT r = f32[4,2,2] ragged-dot(x, y, n), lhs_batch_dims={0}, rhs_batch_dims={0}, "
       "lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
       "rhs_group_dims={}"}};
}

std::vector<Example> reduceWindows(Grid grid) {
  std::vector<Example> out{
      {"2x3 over [3,4]", "x = f32[3,4] parameter(0)\n z = f32[] parameter(1)\n ROOT r = f32[2,4] "
                         "reduce-window(x, z), window={size=2x3 stride=1x1 pad=0_0x1_1}, "
                         "to_apply=add"},
      {"running sum", "x = f32[6] parameter(0)\n z = f32[] parameter(1)\n ROOT r = f32[6] "
                      "reduce-window(x, z), window={size=6 pad=5_0}, to_apply=add"}};
  auto add = [&](int64_t extent, int64_t size, int64_t stride, int64_t low, int64_t high,
                 int64_t base, int64_t dilation) {
    const int64_t span = (extent - 1) * base + 1 + low + high, reach = (size - 1) * dilation + 1;
    if (span < reach)
      return;
    const int64_t results = (span - reach) / stride + 1;
    out.push_back({fmt::format("{} over [{}], stride {}, pad {}_{}, dilations {} and {}", size,
                               extent, stride, low, high, base, dilation),
                   fmt::format("x = f32[{}] parameter(0)\n z = f32[] parameter(1)\n ROOT r = "
                               "f32[{}] reduce-window(x, z), window={{size={} stride={} pad={}_{} "
                               "lhs_dilate={} rhs_dilate={}}}, to_apply=add",
                               extent, results, size, stride, low, high, base, dilation)});
  };
  add(9, 3, 2, 1, 0, 1, 1);
  add(9, 2, 3, 0, 0, 1, 1); // gaps
  add(7, 2, 1, 0, 0, 1, 3);
  add(5, 3, 1, 2, 2, 2, 1);
  add(8, 1, 1, -1, 0, 1, 1);
  add(5, 2, 2, 0, 1, 3, 2);
  if (grid == Grid::Large)
    for (int64_t extent : {1, 5, 8})
      for (int64_t size : {1, 2, 3})
        for (int64_t stride : {1, 2, 3})
          for (int64_t low : {-1, 0, 2})
            for (int64_t base : {1, 2})
              for (int64_t dilation : {1, 2})
                add(extent, size, stride, low, 1, base, dilation);
  return out;
}

std::vector<Example> convolutions(Grid grid) {
  std::vector<Example> out;
  auto add = [&](std::string title, const Dims &image, const Dims &kernel, const Dims &result,
                 std::string_view rest) {
    out.push_back({std::move(title),
                   parameterText("x", image, 0) + parameterText("k", kernel, 1) +
                       fmt::format("ROOT r = {} convolution(x, k), {}", typeText(result), rest)});
  };
  add("3 over [1,5,2]", {1, 5, 2}, {3, 2, 4}, {1, 5, 4},
      "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f");
  add("strided", {2, 6, 3}, {3, 3, 2}, {2, 3, 2},
      "window={size=3 stride=2 pad=1_0}, dim_labels=b0f_0io->b0f");
  add("dilated kernel, reversed", {1, 6, 2}, {2, 2, 3}, {1, 4, 3},
      "window={size=2 rhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f");
  add("dilated image", {1, 4, 2}, {3, 2, 2}, {1, 7, 2},
      "window={size=3 pad=1_1 lhs_dilate=2}, dim_labels=b0f_0io->b0f");
  add("feature groups", {2, 4, 6}, {2, 3, 6}, {2, 2, 6},
      "window={size=3}, dim_labels=b0f_i0o->b0f, feature_group_count=3");
  add("batch groups", {4, 4, 3}, {3, 3, 6}, {2, 2, 6},
      "window={size=3}, dim_labels=b0f_i0o->b0f, batch_group_count=2");
  add("depthwise", {1, 6, 5, 5}, {6, 1, 3, 3}, {1, 6, 5, 5},
      "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=6");
  if (grid == Grid::Large) {
    add("2x3 over [1,6,6,2]", {1, 6, 6, 2}, {2, 2, 3, 3}, {1, 3, 3, 3},
        "window={size=2x3 stride=2x2 pad=0_0x1_1}, dim_labels=b01f_i01o->b01f");
    add("batch groups, one batch each", {2, 5, 2}, {2, 2, 4}, {1, 4, 4},
        "window={size=2}, dim_labels=b0f_i0o->b0f, batch_group_count=2");
  }
  return out;
}

} // namespace

std::vector<Example> contractionExamples(Opcode opcode, Grid grid) {
  switch (opcode) {
  case Opcode::Dot:
    return dots(grid);
  case Opcode::ScaledDot:
    return scaledDots(grid);
  case Opcode::RaggedDot:
    return raggedDots();
  case Opcode::Reduce:
    return {{"[3,4] over 1", "x = f32[3,4] parameter(0)\n z = f32[] parameter(1)\n ROOT r = f32[3] "
                             "reduce(x, z), dimensions={1}, to_apply=add"},
            {"[5,2,3] over 2, 0",
             "x = f32[5,2,3] parameter(0)\n z = f32[] parameter(1)\n ROOT r = f32[2] reduce(x, z), "
             "dimensions={2,0}, to_apply=add"},
            {"[7] over 0", "x = f32[7] parameter(0)\n z = f32[] parameter(1)\n ROOT r = f32[] "
                           "reduce(x, z), dimensions={0}, to_apply=add"}};
  case Opcode::Scan: {
    std::vector<Example> out;
    for (const char *reverse : {"false", "true"})
      out.push_back({*reverse == 't' ? "[3,5] from the end" : "[3,5]",
                     fmt::format("x = f32[3,5] parameter(0)\n z = f32[3] parameter(1)\n"
                                 "r = (f32[3,5], f32[3]) scan(x, z), dimensions={{1}}, "
                                 "num_carries=1, is_reverse={}, to_apply=step\n"
                                 "ROOT g = f32[3,5] get-tuple-element(r), index=0",
                                 reverse)});
    return out;
  }
  case Opcode::ReduceWindow:
    return reduceWindows(grid);
  case Opcode::SelectAndScatter: {
    std::vector<Example> out;
    auto add = [&](const Dims &operand, const Dims &source, std::string_view window) {
      out.push_back({fmt::format("[{}], {}", fmt::join(operand, ","), window),
                     parameterText("x", operand, 0) + parameterText("s", source, 1) +
                         fmt::format("z = f32[] parameter(2)\n ROOT r = {} select-and-scatter(x, "
                                     "s, z), window={{{}}}, select=ge, scatter=add",
                                     typeText(operand), window)});
    };
    add({3, 4}, {1, 2}, "size=3x2 stride=1x2");
    add({7}, {3}, "size=3 stride=2");
    add({6}, {3}, "size=3 stride=2 pad=1_0");
    add({6}, {2}, "size=2 stride=3");
    return out;
  }
  case Opcode::Convolution:
    return convolutions(grid);
  default:
    return {};
  }
}

} // namespace tilewright::prove
