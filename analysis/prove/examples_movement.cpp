// Ops that move elements.
#include "analysis/prove/examples_internal.h"

#include <numeric>

namespace tilewright::prove {

namespace {

std::vector<Example> broadcasts(Grid grid) {
  std::vector<Example> out;
  auto add = [&](const Dims &from, const Dims &to, const Dims &dims) {
    out.push_back(
        {fmt::format("[{}] to [{}]", fmt::join(from, ","), fmt::join(to, ",")),
         parameterText("x", from, 0) + fmt::format("ROOT r = {} broadcast(x), dimensions={{{}}}",
                                                   typeText(to), fmt::join(dims, ","))});
  };
  add({3, 4}, {3, 2, 4}, {0, 2});
  add({}, {3, 4}, {});
  add({5}, {5, 20}, {0});
  add({20}, {10, 20, 30}, {1});
  add({1, 4}, {1, 4, 3}, {0, 1});
  if (grid == Grid::Large) {
    add({2, 3, 5}, {2, 3, 4, 5}, {0, 1, 3});
    add({64}, {7, 64, 128}, {1});
    add({6, 10}, {10, 4, 6, 2}, {2, 0});
  }
  return out;
}

std::vector<Example> transposes(Grid grid) {
  std::vector<Example> out;
  auto add = [&](const Dims &from, const Dims &permutation) {
    Dims to;
    for (int64_t d : permutation)
      to.push_back(from[static_cast<size_t>(d)]);
    out.push_back(
        {fmt::format("[{}] by {{{}}}", fmt::join(from, ","), fmt::join(permutation, ",")),
         parameterText("x", from, 0) + fmt::format("ROOT r = {} transpose(x), dimensions={{{}}}",
                                                   typeText(to), fmt::join(permutation, ","))});
  };
  add({3, 4}, {1, 0});
  add({2, 5, 1, 3}, {2, 0, 3, 1});
  if (grid == Grid::Large) {
    Dims permutation{0, 1, 2};
    do
      add({3, 4, 5}, permutation);
    while (std::next_permutation(permutation.begin(), permutation.end()));
  }
  return out;
}

void shapesOf(int64_t count, Dims &prefix, std::vector<Dims> &out) {
  if (count == 1 && !prefix.empty())
    out.push_back(prefix);
  for (int64_t d = 2; d <= count; ++d)
    if (count % d == 0) {
      prefix.push_back(d);
      shapesOf(count / d, prefix, out);
      prefix.pop_back();
    }
}

std::vector<Example> reshapes(Grid grid) {
  std::vector<Example> out;
  auto add = [&](const Dims &from, const Dims &to) {
    out.push_back(
        {fmt::format("[{}] to [{}]", fmt::join(from, ","), fmt::join(to, ",")),
         parameterText("x", from, 0) + fmt::format("ROOT r = {} reshape(x)", typeText(to))});
  };
  add({3, 4}, {2, 6});
  add({12}, {3, 4});
  add({3, 4}, {12});
  add({4, 6}, {6, 4});
  add({2, 3}, {6});
  add({1, 6, 1}, {2, 1, 3});
  add({12, 4}, {4, 12});
  add({17, 2, 4}, {136});
  add({2, 2, 2}, {8});
  if (grid == Grid::Large)
    for (int64_t count : {4, 6, 8, 9, 10, 12, 16, 18}) {
      std::vector<Dims> shapes;
      Dims prefix;
      shapesOf(count, prefix, shapes);
      for (const Dims &from : shapes)
        for (const Dims &to : shapes)
          if (from != to)
            add(from, to);
    }
  return out;
}

std::vector<Example> bitcasts() {
  return {
      {"[3,4]{0,1} to [4,3]", "x = f32[3,4]{0,1} parameter(0)\n ROOT r = f32[4,3]{1,0} bitcast(x)"},
      {"[4,6] to [3,8]", "x = f32[4,6] parameter(0)\n ROOT r = f32[3,8] bitcast(x)"},
      {"[2,3,4]{0,2,1} to [4,6]",
       "x = f32[2,3,4]{0,2,1} parameter(0)\n ROOT r = f32[4,6]{1,0} bitcast(x)"},
      {"f32 to s16", "x = f32[3,4] parameter(0)\n ROOT r = s16[3,8] bitcast(x)"}};
}

std::vector<Example> slices(Grid grid) {
  std::vector<Example> out;
  auto add = [&](int64_t extent, int64_t start, int64_t limit, int64_t step) {
    out.push_back({fmt::format("[{}] at [{}:{}:{}]", extent, start, limit, step),
                   fmt::format("x = f32[{}] parameter(0)\n ROOT r = f32[{}] slice(x), "
                               "slice={{[{}:{}:{}]}}",
                               extent, (limit - start + step - 1) / step, start, limit, step)});
  };
  out.push_back({"[3,4] at [1:3], [0:4:2]", "x = f32[3,4] parameter(0)\n ROOT r = f32[2,2] "
                                            "slice(x), slice={[1:3], [0:4:2]}"});
  add(7, 0, 7, 2);
  add(60, 13, 43, 1);
  add(9, 1, 9, 3);
  if (grid == Grid::Large)
    for (int64_t extent : {5, 8, 13})
      for (int64_t start : {0, 1, 3})
        for (int64_t step : {1, 2, 3, 5})
          for (int64_t limit : {extent - 1, extent})
            add(extent, start, limit, step);
  return out;
}

std::vector<Example> pads(Grid grid) {
  std::vector<Example> out{{"[3,4] by 1_0_1x-1_0",
                            "x = f32[3,4] parameter(0)\n z = f32[] parameter(1)\n ROOT r = "
                            "f32[6,3] pad(x, z), padding=1_0_1x-1_0"}};
  auto add = [&](int64_t extent, int64_t low, int64_t high, int64_t interior) {
    const int64_t size = extent + (extent - 1) * interior + low + high;
    if (size < 1)
      return;
    out.push_back({fmt::format("[{}] by {}_{}_{}", extent, low, high, interior),
                   fmt::format("x = f32[{}] parameter(0)\n z = f32[] parameter(1)\n ROOT r = "
                               "f32[{}] pad(x, z), padding={}_{}_{}",
                               extent, size, low, high, interior)});
  };
  add(4, 1, 7, 0);
  add(5, -2, -1, 0);
  add(4, 2, 1, 2);
  add(7, -3, -5, 1);
  add(4, 0, 0, 0);
  if (grid == Grid::Large)
    for (int64_t extent : {1, 4, 7})
      for (int64_t low : {-2, 0, 3})
        for (int64_t high : {-1, 0, 2})
          for (int64_t interior : {0, 1, 3})
            add(extent, low, high, interior);
  return out;
}

std::vector<Example> concatenations(Grid grid) {
  std::vector<Example> out;
  auto add = [&](const Dims &parts) {
    std::string body, names;
    for (size_t i = 0; i < parts.size(); ++i) {
      body += parameterText(fmt::format("x{}", i), {2, parts[i]}, static_cast<int>(i));
      names += fmt::format("{}x{}", i ? ", " : "", i);
    }
    const int64_t whole = std::accumulate(parts.begin(), parts.end(), int64_t(0));
    out.push_back(
        {fmt::format("of {}", fmt::join(parts, ", ")),
         body + fmt::format("ROOT r = f32[2,{}] concatenate({}), dimensions={{1}}", whole, names)});
  };
  out.push_back({"[3,4], [3,4]", "x = f32[3,4] parameter(0)\n y = f32[3,4] parameter(1)\n ROOT r "
                                 "= f32[6,4] concatenate(x, y), dimensions={0}"});
  add({10, 20, 30});
  add({5, 11, 17});
  add({4});
  if (grid == Grid::Large) {
    add({1, 1, 1, 1});
    add({8, 1512, 8});
    add({3, 7, 2, 9, 1});
  }
  return out;
}

} // namespace

std::vector<Example> movementExamples(Opcode opcode, Grid grid) {
  switch (opcode) {
  case Opcode::Broadcast:
    return broadcasts(grid);
  case Opcode::Transpose:
    return transposes(grid);
  case Opcode::Reshape:
    return reshapes(grid);
  case Opcode::Bitcast:
    return bitcasts();
  case Opcode::Slice:
    return slices(grid);
  case Opcode::Reverse:
    return {
        {"[3,4] dim 1", "x = f32[3,4] parameter(0)\n ROOT r = f32[3,4] reverse(x), dimensions={1}"},
        {"[179]", "x = f32[179] parameter(0)\n ROOT r = f32[179] reverse(x), dimensions={0}"},
        {"[1,17,9] dims 1, 2",
         "x = f32[1,17,9] parameter(0)\n ROOT r = f32[1,17,9] reverse(x), dimensions={1,2}"}};
  case Opcode::Concatenate:
    return concatenations(grid);
  case Opcode::Pad:
    return pads(grid);
  default:
    return {};
  }
}

} // namespace tilewright::prove
