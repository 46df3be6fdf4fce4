#include "tests/fuzz/random_group.h"

#include "tests/fuzz/random_generator.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <vector>

namespace tilewright {

namespace {

using fuzz::Dice;

struct GroupValue {
  std::string name, type;
  std::vector<int64_t> dims;
  bool isExact = true; ///< no rounding so far

  std::string shape() const { return fmt::format("{}[{}]", type, fmt::join(dims, ",")); }
};

/// Grows a graph from one tensor; each step uses a value that nothing uses yet where there is one,
/// so that the group hangs together.
class GroupGenerator {
public:
  explicit GroupGenerator(uint64_t seed) : dice(seed) {}

  std::string run() {
    dotType = dice.of<std::string>({"bf16", "bf16", "f16", "f32"});
    const auto ops = 2 + static_cast<unsigned>(dice.below(15));
    dots = static_cast<unsigned>(dice.below(4));
    reductions = static_cast<unsigned>(dice.below(4));
    if (dice.oneIn(3))
      batch = 1 + static_cast<int64_t>(dice.below(3));
    add(parameter(dice.oneIn(2) ? dotType : "f32", tensorDims()));
    while (count < ops)
      step();
    keepResults();
    return text();
  }

private:
  static constexpr unsigned mostOps = 16;
  static constexpr size_t mostResults = 3;

  int64_t extent() { return dice.of<int64_t>({16, 16, 24, 32, 32, 48, 64, 17, 40, 8, 5, 1}); }
  std::vector<int64_t> tensorDims() {
    std::vector<int64_t> dims{extent(), extent()};
    if (batch > 0)
      dims.insert(dims.begin(), batch);
    return dims;
  }

  GroupValue emit(GroupValue value, const std::string &expression, bool isOp = true) {
    value.name = fmt::format("v{}", next++);
    body += fmt::format("  {} = {} {}\n", value.name, value.shape(), expression);
    count += isOp;
    return value;
  }
  GroupValue parameter(const std::string &type, std::vector<int64_t> dims) {
    return emit({"", type, std::move(dims)}, fmt::format("parameter({})", parameters++), false);
  }
  GroupValue constant(const std::string &type, const std::string &number) {
    return emit({"", type, {}}, fmt::format("constant({})", number), false);
  }
  void add(GroupValue value) { open.push_back(std::move(value)); }

  /// A value that nothing uses yet, or now and then one that something does.
  GroupValue take() {
    if (!used.empty() && dice.oneIn(5))
      return dice.of(used);
    const auto at = static_cast<ptrdiff_t>(dice.below(open.size()));
    GroupValue value = open[static_cast<size_t>(at)];
    open.erase(open.begin() + at);
    used.push_back(value);
    return value;
  }

  GroupValue converted(const GroupValue &a, const std::string &type) {
    if (a.type == type)
      return a;
    GroupValue result = a;
    result.type = type;
    return emit(result, fmt::format("convert({})", a.name));
  }

  void step() {
    GroupValue a = take();
    if (dots > 0 && a.dims.size() >= 2 && dice.oneIn(2)) {
      --dots;
      add(dot(a));
    } else if (reductions > 0 && !a.dims.empty() && dice.oneIn(2)) {
      --reductions;
      add(reduction(a));
    } else {
      add(pointwise(a));
    }
  }

  /// With a matrix that is read, or one that is computed; contracted along either of its dims.
  GroupValue dot(const GroupValue &value) {
    const GroupValue a = converted(value, dotType);
    const size_t rank = a.dims.size(), outer = rank - 2;
    const size_t contracted = outer + dice.below(2), kept = outer + (contracted == outer ? 1 : 0);
    GroupValue other;
    size_t otherContracted = outer + dice.below(2);
    for (const GroupValue &each : used)
      if (each.name != value.name && each.dims.size() == rank &&
          each.dims[otherContracted] == a.dims[contracted] &&
          std::equal(each.dims.begin(), each.dims.begin() + static_cast<ptrdiff_t>(outer),
                     a.dims.begin()))
        other = each;
    if (other.name.empty() || dice.oneIn(2)) {
      std::vector<int64_t> dims = a.dims;
      dims[otherContracted] = a.dims[contracted];
      dims[outer + (otherContracted == outer ? 1 : 0)] = extent();
      other = parameter(dice.oneIn(6) && dotType != "f32" ? "s8" : dotType, dims);
    }
    other = converted(other, dotType);
    const bool isLeft = dice.oneIn(2);
    std::vector<int64_t> batches, dims;
    for (size_t i = 0; i < outer; ++i) {
      batches.push_back(static_cast<int64_t>(i));
      dims.push_back(a.dims[i]);
    }
    const int64_t mine = a.dims[kept],
                  theirs = other.dims[outer + (otherContracted == outer ? 1 : 0)];
    dims.push_back(isLeft ? mine : theirs);
    dims.push_back(isLeft ? theirs : mine);
    std::string attributes =
        fmt::format("lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}",
                    isLeft ? contracted : otherContracted, isLeft ? otherContracted : contracted);
    if (outer > 0)
      attributes += fmt::format(", lhs_batch_dims={{{}}}, rhs_batch_dims={{{}}}",
                                fmt::join(batches, ","), fmt::join(batches, ","));
    return emit({"", dice.oneIn(3) ? dotType : "f32", dims, false},
                fmt::format("dot({}, {}), {}", (isLeft ? a : other).name, (isLeft ? other : a).name,
                            attributes));
  }

  GroupValue reduction(const GroupValue &value) {
    const GroupValue a = converted(value, "f32");
    const auto over = dice.below(a.dims.size());
    const std::string opcode = dice.of<std::string>({"add", "maximum", "minimum"});
    reducers.insert(opcode);
    const GroupValue start = constant("f32", opcode == "add"       ? "0"
                                             : opcode == "maximum" ? "-inf"
                                                                   : "inf");
    GroupValue result = a;
    result.dims.erase(result.dims.begin() + static_cast<ptrdiff_t>(over));
    result.isExact = a.isExact && opcode != "add";
    result = emit(result, fmt::format("reduce({}, {}), dimensions={{{}}}, to_apply={}", a.name,
                                      start.name, over, opcode));
    if (count >= mostOps - 2 || dice.oneIn(3))
      return result;
    // Beside what it was made of: a norm, a softmax.
    std::vector<int64_t> places;
    for (size_t i = 0; i < a.dims.size(); ++i)
      if (i != over)
        places.push_back(static_cast<int64_t>(i));
    GroupValue wide = result;
    wide.dims = a.dims;
    wide = emit(
        wide, fmt::format("broadcast({}), dimensions={{{}}}", result.name, fmt::join(places, ",")));
    GroupValue both = a;
    both.isExact = false;
    both = emit(both, fmt::format("subtract({}, {})", a.name, wide.name));
    return both;
  }

  GroupValue pointwise(const GroupValue &a) {
    GroupValue result = a;
    switch (dice.below(6)) {
    case 0:
      result.isExact = false;
      return emit(result, fmt::format("tanh({})", a.name));
    case 1:
      return emit(result, fmt::format("negate({})", a.name));
    case 2:
      return converted(a, a.type == "f32" ? dotType : "f32");
    case 3: {
      if (a.dims.size() < 2)
        return emit(result, fmt::format("abs({})", a.name));
      std::swap(result.dims[a.dims.size() - 1], result.dims[a.dims.size() - 2]);
      return emit(result, fmt::format("transpose({}), dimensions={{{}}}", a.name,
                                      a.dims.size() == 3 ? "0,2,1" : "1,0"));
    }
    case 4: {
      const GroupValue other = parameter(a.type, a.dims);
      return emit(result,
                  fmt::format("{}({}, {})", dice.of<std::string>({"add", "maximum", "subtract"}),
                              a.name, other.name));
    }
    default: {
      for (const GroupValue &each : used)
        if (each.name != a.name && each.dims == a.dims && each.type == a.type) {
          result.isExact = false;
          return emit(result, fmt::format("add({}, {})", a.name, each.name));
        }
      result.isExact = false;
      return emit(result, fmt::format("tanh({})", a.name));
    }
    }
  }

  /// The last value, and others of its dims beside it; now and then some of other dims, which may
  /// be results of one kernel with it or not. The rest is dead code.
  void keepResults() {
    const std::vector<int64_t> dims = open.back().dims;
    const bool isMixed = dice.oneIn(8);
    std::vector<GroupValue> kept{open.back()};
    for (size_t i = open.size() - 1; i-- > 0 && kept.size() < mostResults;)
      if (open[i].dims == dims || isMixed)
        kept.push_back(open[i]);
    open = std::move(kept);
  }

  std::string text() const {
    std::string all = "HloModule group\n";
    for (const std::string &opcode : reducers)
      all += fmt::format("{0} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = "
                         "f32[] {0}(a, b)\n}}\n",
                         opcode);
    std::vector<std::string> shapes, names;
    for (const GroupValue &value : open) {
      shapes.push_back(value.shape());
      names.push_back(value.name);
    }
    return all + "ENTRY main {\n" + body +
           fmt::format("  ROOT all = ({}) tuple({})\n}}\n", fmt::join(shapes, ", "),
                       fmt::join(names, ", "));
  }

  Dice dice;
  std::string body, dotType;
  std::set<std::string> reducers;
  std::vector<GroupValue> open, used;
  unsigned next = 0, parameters = 0, count = 0, dots = 0, reductions = 0;
  int64_t batch = 0;
};

} // namespace

std::string randomGroup(uint64_t seed) { return GroupGenerator(seed).run(); }

} // namespace tilewright
