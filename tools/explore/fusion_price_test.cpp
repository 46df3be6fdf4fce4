// A fusion with one op more is never cheaper than without it, whatever code is left for it: another
// kind, or none, which is said.
#include "tools/explore/explore.h"
#include "tools/explore/testing/explore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>

using namespace tilewright;

namespace {

struct FusionPair {
  const char *name;
  const char *parameters; ///< one a line, of the entry and of the fusion alike
  const char *less, *more;
  const char *lessShape, *moreShape;
  const char *whyNot = ""; ///< why there is no kernel with one op more; empty if there is
};

constexpr FusionPair pairs[] = {
    {"a sum of the rows beside the product",
     "x = bf16[64,196,384] parameter(0)\n w = bf16[384,768] parameter(1)\n"
     " r = bf16[64,196,768] parameter(2)\n",
     "d = bf16[64,196,768] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
     " ROOT s = bf16[64,196,768] add(d, r)\n",
     "d = bf16[64,196,768] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
     " s = bf16[64,196,768] add(d, r)\n f = f32[64,196,768] convert(s)\n z = f32[] constant(0)\n"
     " q = f32[64,196] reduce(f, z), dimensions={2}, to_apply=sum\n"
     " ROOT t = (bf16[64,196,768], f32[64,196]) tuple(s, q)\n",
     "bf16[64,196,768]", "(bf16[64,196,768], f32[64,196])"},
    {"another product of the same rows",
     "x = bf16[512,1024] parameter(0)\n g = bf16[1024,1024] parameter(1)\n"
     " u = bf16[1024,1024] parameter(2)\n r = bf16[512,1024] parameter(3)\n",
     "a = bf16[512,1024] dot(x, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     " ROOT m = bf16[512,1024] multiply(a, r)\n",
     "a = bf16[512,1024] dot(x, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     " b = bf16[512,1024] dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     " n = bf16[512,1024] multiply(a, r)\n ROOT m = bf16[512,1024] multiply(n, b)\n",
     "bf16[512,1024]", "bf16[512,1024]"},
    {"the product read at two places",
     "x = bf16[512,1024] parameter(0)\n w = bf16[1024,128] parameter(1)\n",
     "d = f32[512,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     " ROOT c = bf16[512,128] convert(d)\n",
     "d = f32[512,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     " h = f32[512,64] slice(d), slice={[0:512],[0:64]}\n"
     " i = f32[512,64] slice(d), slice={[0:512],[64:128]}\n"
     " j = f32[512,128] concatenate(i, h), dimensions={1}\n a = f32[512,128] add(d, j)\n"
     " ROOT c = bf16[512,128] convert(a)\n",
     "bf16[512,128]", "bf16[512,128]"},
    {"the product repeated", "x = bf16[512,1024] parameter(0)\n w = bf16[1024,128] parameter(1)\n",
     "ROOT d = bf16[512,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     "d = bf16[512,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     " ROOT b = bf16[8,512,128] broadcast(d), dimensions={1,2}\n",
     "bf16[512,128]", "bf16[8,512,128]", "dim 0 of %b repeats the result of %d 8 times"},
    {"an op before rows of four bits", "x = s32[4096,1024] parameter(0)\n",
     "z = s32[] constant(0)\n s = s32[4096] reduce(x, z), dimensions={1}, to_apply=isum\n"
     " ROOT r = s4[4096] convert(s)\n",
     "n = s32[4096,1024] negate(x)\n z = s32[] constant(0)\n"
     " s = s32[4096] reduce(n, z), dimensions={1}, to_apply=isum\n ROOT r = s4[4096] convert(s)\n",
     "s4[4096]", "s4[4096]"},
};

std::string moduleOf(const FusionPair &pair, bool isMore) {
  std::string arguments;
  for (std::string_view rest = pair.parameters; !rest.empty();) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    line.remove_prefix(line.find_first_not_of(' '));
    arguments += (arguments.empty() ? "" : ", ") + std::string(line.substr(0, line.find(' ')));
    rest.remove_prefix(end + 1);
  }
  std::string text = "HloModule m\n";
  for (auto [name, type] : {std::pair("sum", "f32"), std::pair("isum", "s32")})
    text += fmt::format("{0} {{\n a = {1}[] parameter(0)\n b = {1}[] parameter(1)\n"
                        " ROOT c = {1}[] add(a, b)\n}}\n",
                        name, type);
  return text + fmt::format("body {{\n {}{}}}\nENTRY e {{\n {} ROOT f = {} fusion({}), kind=kLoop, "
                            "calls=body\n}}\n",
                            pair.parameters, isMore ? pair.more : pair.less, pair.parameters,
                            isMore ? pair.moreShape : pair.lessShape, arguments);
}

/// The body of a fusion over squares, in which everything is read or a result.
struct RandomBody {
  std::string ops;
  std::vector<std::string> results, inner; ///< names of what nobody reads, and of the others
  std::map<std::string, std::string> shapes;

  explicit RandomBody(unsigned seed) {
    std::mt19937 random(seed);
    const size_t count = 3 + seed % 4;
    std::vector<std::string> squares{"x", "y"};
    auto add = [&](const std::string &name, const std::string &shape, const std::string &value) {
      ops += fmt::format("  {} = {} {}\n", name, shape, value);
      shapes[name] = shape;
      results.push_back(name);
    };
    auto read = [&] {
      const std::string name =
          squares[squares.size() - 1 - random() % std::min<size_t>(squares.size(), 3)];
      if (std::erase(results, name) > 0)
        inner.push_back(name);
      return name;
    };
    for (size_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("v{}", i), a = read();
      switch (random() % 7) {
      case 0:
        add(name, square, fmt::format("transpose({}), dimensions={{1,0}}", a));
        break;
      case 1:
        add(name + "s", "f32[256]",
            fmt::format("reduce({}, zero), dimensions={{1}}, to_apply=sum", a));
        if (random() % 2 == 0)
          continue;
        inner.push_back(results.back());
        results.pop_back();
        add(name, square, fmt::format("broadcast({}s), dimensions={{0}}", name));
        break;
      case 2:
        add(name, square, fmt::format("exponential({})", a));
        break;
      case 3:
        add(name, square,
            fmt::format("dot({}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}", a));
        break;
      default:
        add(name, square, fmt::format("add({}, {})", a, read()));
      }
      squares.push_back(name);
    }
  }

  std::string module(const std::vector<std::string> &stored) const {
    std::vector<std::string> types;
    for (const std::string &name : stored)
      types.push_back(shapes.at(name));
    const std::string type =
        types.size() == 1 ? types[0] : fmt::format("({})", fmt::join(types, ", "));
    const std::string parameters = fmt::format("  x = {0} parameter(0)\n  y = {0} parameter(1)\n"
                                               "  w = {0} parameter(2)\n",
                                               square);
    return fmt::format("HloModule m\nsum {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                       "  ROOT c = f32[] add(a, b)\n}}\nbody {{\n{0}  zero = f32[] constant(0)\n{1}"
                       "  ROOT t = {2} {3}({4})\n}}\nENTRY e {{\n{0}"
                       "  ROOT f = {2} fusion(x, y, w), kind=kLoop, calls=body\n}}\n",
                       parameters, ops, type, types.size() == 1 ? "copy" : "tuple",
                       fmt::join(stored, ", "));
  }

private:
  static constexpr const char *square = "f32[256,256]";
};

/// A plan's sizes for another group, where that one's parameters are the same.
std::optional<KernelPlan> planLike(const KernelPlan &plan, KernelPlan other) {
  const auto &from = plan.tiled->space.parameters, &to = other.tiled->space.parameters;
  if (from.size() != to.size())
    return std::nullopt;
  for (size_t i = 0; i < to.size(); ++i) {
    if (from[i].name != to[i].name)
      return std::nullopt;
    other.values[i] = plan.values[i];
  }
  other.instruction = plan.instruction;
  return other;
}

} // namespace

// Searches that can't price all plans may miss one of the smaller group: then the plan of the
// larger one is no dearer there.
TEST(FusionPrice, OneResultMoreIsNeverCheaper) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));
  ExploreOptions options;
  options.search.maxPriced = 300;
  auto explored = [&](const std::string &text) {
    return llvm::cantFail(exploreModel(parseVerified(text), device, calibration, options));
  };
  size_t compared = 0, missed = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const RandomBody body(seed);
    const ExploredModel less = explored(body.module(body.results));
    if (!less.isComplete() || less.kernels.size() > 1)
      continue;
    for (const std::string &name : body.inner) {
      std::vector<std::string> stored = body.results;
      stored.push_back(name);
      const ExploredModel more = explored(body.module(stored));
      if (!more.isComplete() || more.kernels.size() > 1)
        continue; // no such kernel
      ++compared;
      if (more.totalTimeNs >= less.totalTimeNs)
        continue;
      ++missed;
      const std::optional<KernelPlan> same =
          planLike(more.kernels[0].plans[0].plan, less.kernels[0].plans[0].plan);
      EXPECT_FALSE(less.kernels[0].isExhaustive) << body.module(stored);
      if (same)
        EXPECT_LE(
            llvm::cantFail(estimateTime(*same, device, calibration, {.cache = CacheState::Warm}))
                .timeNs,
            more.totalTimeNs)
            << body.module(stored);
    }
  }
  EXPECT_GE(compared, 40u);
  EXPECT_LE(missed * 20, compared);
}

TEST(FusionPrice, OneOpMoreIsNeverCheaper) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));
  ExploreOptions options;
  options.search.maxPriced = 1000;
  for (const FusionPair &pair : pairs) {
    SCOPED_TRACE(pair.name);
    ExploredModel less = llvm::cantFail(
        exploreModel(parseVerified(moduleOf(pair, false)), device, calibration, options));
    ExploredModel more = llvm::cantFail(
        exploreModel(parseVerified(moduleOf(pair, true)), device, calibration, options));
    EXPECT_TRUE(less.isComplete());
    EXPECT_GT(less.totalTimeNs, 0);
    EXPECT_EQ(more.isComplete(), std::string_view(pair.whyNot).empty());
    if (more.isComplete()) {
      EXPECT_GE(more.totalTimeNs, less.totalTimeNs);
      continue;
    }
    ASSERT_EQ(more.unsupported.size(), 1u);
    EXPECT_NE(more.unsupported[0].reason.find(pair.whyNot), std::string::npos)
        << more.unsupported[0].reason;
  }
}
