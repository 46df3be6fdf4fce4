// Programs around windows and around reads and writes at computed places.
#include "tests/fuzz/random_generator.h"

namespace tilewright::fuzz {

namespace {

/// Positions of a window over an extent, as HLO counts them.
int64_t positions(int64_t extent, int64_t size, int64_t stride, int64_t padding, int64_t dilation,
                  int64_t baseDilation) {
  int64_t room = (extent - 1) * baseDilation + 1 + padding - ((size - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

struct Window {
  std::string sizes, strides, paddings, baseDilations, dilations;
  Dims extents, result;

  std::string text() const {
    return fmt::format("{{size={} stride={} pad={} lhs_dilate={} rhs_dilate={}}}", sizes, strides,
                       paddings, baseDilations, dilations);
  }
};

/// A window over every one of `dims` that has at least one position.
Window randomWindow(Dice &dice, const Dims &dims, int64_t largest) {
  Window window;
  for (int64_t extent : dims) {
    int64_t size, stride, low, high, dilation, base, count;
    do {
      auto up = static_cast<uint64_t>(largest);
      size = 1 + static_cast<int64_t>(dice.below(up));
      stride = 1 + static_cast<int64_t>(dice.below(2));
      low = static_cast<int64_t>(dice.below(static_cast<uint64_t>(size)));
      high = static_cast<int64_t>(dice.below(static_cast<uint64_t>(size)));
      dilation = 1 + dice.oneIn(4);
      base = 1 + dice.oneIn(6);
      count = positions(extent, size, stride, low + high, dilation, base);
    } while (count < 1);
    const char *x = window.sizes.empty() ? "" : "x";
    window.sizes += fmt::format("{}{}", x, size);
    window.strides += fmt::format("{}{}", x, stride);
    window.paddings += fmt::format("{}{}_{}", x, low, high);
    window.dilations += fmt::format("{}{}", x, dilation);
    window.baseDilations += fmt::format("{}{}", x, base);
    window.extents.push_back(size);
    window.result.push_back(count);
  }
  return window;
}

} // namespace

Value Generator::window() {
  Value a = some(
      parameter(dice.of<std::string>({"f32", "bf16", "s32"}), randomDims(1 + dice.below(3), 1500)),
      2);
  if (a.type != "f32" && a.type != "bf16" && a.type != "s32")
    a = convert(a, a.isFloat() ? "f32" : "s32");
  std::string opcode = dice.of<std::string>({"add", "maximum", "minimum"});
  if (opcode == "add" && a.type == "bf16") // sums of narrow floats differ by how they are rounded
    a = convert(a, "f32");
  std::string reducer = fmt::format("reducer{}", reducers++);
  subcomputations += fmt::format(
      "{} {{\n  x = {}[] parameter(0)\n  y = {}[] parameter(1)\n  ROOT r = {}[] {}(x, y)\n}}\n",
      reducer, a.type, a.type, a.type, opcode);
  Value start = constant(a.type, opcode == "add" ? "0" : opcode == "maximum" ? "-100" : "100");
  Window window = randomWindow(dice, a.dims, 4);
  if (dice.oneIn(4) && !a.dims.empty()) { // a running sum along the last dim
    size_t last = a.dims.size() - 1;
    window = {};
    for (size_t d = 0; d < a.dims.size(); ++d) {
      const char *x = d == 0 ? "" : "x";
      int64_t size = d == last ? a.dims[d] : 1;
      window.sizes += fmt::format("{}{}", x, size);
      window.strides += fmt::format("{}1", x);
      window.dilations += fmt::format("{}1", x);
      window.baseDilations += fmt::format("{}1", x);
      window.paddings += fmt::format("{}{}_0", x, size - 1);
    }
    window.result = a.dims;
  }
  Value result = a;
  result.dims = window.result;
  result.isExact = a.isExact && (opcode != "add" || !a.isFloat());
  result = emit(result, fmt::format("reduce-window({}, {}), window={}, to_apply={}", a.name,
                                    start.name, window.text(), reducer));
  return some(result, 2);
}

Value Generator::convolution() {
  std::string type = dice.of<std::string>({"f32", "bf16", "s32"});
  size_t spatial = 1 + dice.below(2);
  Dims extents = randomDims(spatial, 150);
  Window window = randomWindow(dice, extents, 3);
  int64_t groups = dice.oneIn(3) ? 2 + static_cast<int64_t>(dice.below(2)) : 1;
  int64_t channels = dice.of<int64_t>({1, 3, 4, 8}), outputs = dice.of<int64_t>({1, 3, 5, 8, 16});
  int64_t batch = 1 + static_cast<int64_t>(dice.below(3));
  bool isLast = dice.oneIn(2); // features last, as TPUs and GPUs like it, or first
  auto labelled = [&](int64_t outer, int64_t feature, const Dims &inner) {
    Dims dims{outer};
    if (!isLast)
      dims.push_back(feature);
    dims.insert(dims.end(), inner.begin(), inner.end());
    if (isLast)
      dims.push_back(feature);
    return dims;
  };
  std::string digits = spatial == 1 ? "0" : "01";
  std::string labels = isLast ? fmt::format("b{0}f_{0}io->b{0}f", digits)
                              : fmt::format("bf{0}_oi{0}->bf{0}", digits);
  Value input = parameter(type, labelled(batch, groups * channels, extents));
  Dims kernel = window.extents;
  if (isLast)
    kernel.insert(kernel.end(), {channels, groups * outputs});
  else
    kernel.insert(kernel.begin(), {groups * outputs, channels});
  Value weights = parameter(type, kernel);
  Value result{"", type, labelled(batch, groups * outputs, window.result), type == "s32"};
  std::string grouping = groups > 1 ? fmt::format(", feature_group_count={}", groups) : "";
  result = emit(result, fmt::format("convolution({}, {}), window={}, dim_labels={}{}", input.name,
                                    weights.name, window.text(), labels, grouping));
  return some(result, 2);
}

Value Generator::indexed() {
  Value a = some(parameter(randomType(), randomDims(1 + dice.below(3), 1500)), 2);
  size_t rank = a.dims.size();
  auto starts = [&] {
    std::string names;
    for (size_t d = 0; d < rank; ++d)
      names += ", " + parameter("s32", {}).name;
    return names;
  };
  Dims part;
  for (int64_t extent : a.dims)
    part.push_back(1 + static_cast<int64_t>(dice.below(static_cast<uint64_t>(extent))));
  Value result = a;
  switch (rank == 0 ? 0 : dice.below(3)) {
  case 0: {
    std::string at = starts();
    result.dims = part;
    return some(emit(result, fmt::format("dynamic-slice({}{}), dynamic_slice_sizes={{{}}}", a.name,
                                         at, fmt::join(part, ","))),
                2);
  }
  case 1: {
    Value update = parameter(a.type, part);
    std::string at = starts();
    return some(
        emit(result, fmt::format("dynamic-update-slice({}, {}{})", a.name, update.name, at)), 2);
  }
  default: { // rows by index along one or two dims, the index vectors' dim anywhere
    size_t indexed = 1 + dice.below(std::min<size_t>(rank, 2));
    Dims batch = randomDims(1 + dice.below(2), 40), sizes = a.dims, collapsed, map, offsets, kept;
    for (size_t d = 0; d < indexed; ++d) {
      map.push_back(static_cast<int64_t>(d));
      if (dice.oneIn(3)) {
        sizes[d] = part[d];
      } else {
        sizes[d] = 1;
        collapsed.push_back(static_cast<int64_t>(d));
      }
    }
    for (size_t d = 0; d < rank; ++d)
      if (std::find(collapsed.begin(), collapsed.end(), static_cast<int64_t>(d)) == collapsed.end())
        kept.push_back(sizes[d]);
    size_t vectorDim = dice.below(batch.size() + 1);
    Dims indexDims = batch;
    indexDims.insert(indexDims.begin() + static_cast<ptrdiff_t>(vectorDim),
                     static_cast<int64_t>(indexed));
    bool offsetsLast = dice.oneIn(2);
    result.dims = offsetsLast ? batch : kept;
    const Dims &behind = offsetsLast ? kept : batch;
    result.dims.insert(result.dims.end(), behind.begin(), behind.end());
    for (size_t i = 0; i < kept.size(); ++i)
      offsets.push_back(static_cast<int64_t>(offsetsLast ? batch.size() + i : i));
    if (result.count() > maxElements)
      return a;
    Value indices = parameter("s32", indexDims);
    return some(
        emit(result,
             fmt::format("gather({}, {}), offset_dims={{{}}}, collapsed_slice_dims={{{}}}, "
                         "start_index_map={{{}}}, index_vector_dim={}, slice_sizes={{{}}}",
                         a.name, indices.name, fmt::join(offsets, ","), fmt::join(collapsed, ","),
                         fmt::join(map, ","), vectorDim, fmt::join(sizes, ","))),
        2);
  }
  }
}

} // namespace tilewright::fuzz
