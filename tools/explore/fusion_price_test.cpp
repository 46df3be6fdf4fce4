// A fusion with one op more is never cheaper than without it, whatever code is left for it: another
// kind, or none, which is said.
#include "tools/explore/explore.h"
#include "tools/explore/testing/explore.h"

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

} // namespace

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
