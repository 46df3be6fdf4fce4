// Element types that are more, or less, than one number of whole bytes.
#include "codegen/testing/lowering.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

KernelSpec spec(const std::string &body, std::vector<int64_t> tile, int64_t warps = 2) {
  return specFromHlo("HloModule m\n"
                     "add { x = c64[] parameter(0)\n y = c64[] parameter(1)\n"
                     " ROOT s = c64[] add(x, y) }\n"
                     "ENTRY main {\n" +
                         body + "}\n",
                     std::move(tile), warps);
}

/// Names an instance of a test by its type.
std::string byType(const ::testing::TestParamInfo<const char *> &info) { return info.param; }

class Complex : public ::testing::TestWithParam<const char *> {};

TEST_P(Complex, EveryOp) {
  std::string type = GetParam(), part = type == "c64" ? "f32" : "f64";
  for (const char *op : {"add", "subtract", "multiply", "divide"})
    for (std::vector<int64_t> tile : {std::vector<int64_t>{4, 32}, {3, 5}})
      expectPass(spec(fmt::format("  a = {0}[20,64] parameter(0)\n  b = {0}[20,64] parameter(1)\n"
                                  "  ROOT r = {0}[20,64] {1}(a, b)\n",
                                  type, op),
                      tile));
  for (const char *op : {"negate", "sign"})
    expectPass(
        spec(fmt::format("  a = {0}[20,63] parameter(0)\n  ROOT r = {0}[20,63] {1}(a)\n", type, op),
             {4, 32}));
  for (const char *op : {"real", "imag", "abs"})
    expectPass(spec(fmt::format("  a = {0}[20,64] parameter(0)\n  ROOT r = {2}[20,64] {1}(a)\n",
                                type, op, part),
                    {4, 32}));
  expectPass(spec(fmt::format("  a = {1}[20,64] parameter(0)\n  b = {1}[20,64] parameter(1)\n"
                              "  z = {0}[20,64] complex(a, b)\n  w = {0}[20,64] convert(a)\n"
                              "  e = pred[20,64] compare(z, w), direction=NE\n"
                              "  s = {0}[20,64] select(e, z, w)\n"
                              "  ROOT t = {0}[64,20] transpose(s), dimensions={{1,0}}\n",
                              type, part),
                  {8, 20}));
}
INSTANTIATE_TEST_SUITE_P(Types, Complex, ::testing::Values("c64", "c128"), byType);

// Turning pairs by an angle, as models do to positions.
TEST(Complex, Rotations) {
  expectPass(spec(R"(
  x = bf16[2,24,8,64] parameter(0)
  x32 = f32[2,24,8,64] convert(x)
  f = f32[2,24,8,32,2] reshape(x32)
  r0 = f32[2,24,8,32,1] slice(f), slice={[0:2], [0:24], [0:8], [0:32], [0:1]}
  i0 = f32[2,24,8,32,1] slice(f), slice={[0:2], [0:24], [0:8], [0:32], [1:2]}
  r = f32[2,24,8,32] reshape(r0)
  i = f32[2,24,8,32] reshape(i0)
  z = c64[2,24,8,32] complex(r, i)
  t = f32[24,32] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[24,32] broadcast(zero), dimensions={}
  w = c64[24,32] complex(zeros, t)
  e = c64[24,32] exponential(w)
  eb = c64[2,24,8,32] broadcast(e), dimensions={1,3}
  m = c64[2,24,8,32] multiply(z, eb)
  a = f32[2,24,8,32] real(m)
  b = f32[2,24,8,32] imag(m)
  ROOT c = f32[2,24,8,64] concatenate(a, b), dimensions={3}
)",
                  {1, 4, 8, 64}));
}

TEST(Complex, Constants) {
  expectPass(spec(R"(
  a = c64[20,3] parameter(0)
  one = c64[] constant((2, -3))
  ones = c64[20,3] broadcast(one), dimensions={}
  row = c64[3] constant({(1, 2), (1, 2), (3, 4)})
  rows = c64[20,3] broadcast(row), dimensions={1}
  m = c64[20,3] multiply(a, ones)
  ROOT s = c64[20,3] add(m, rows)
)",
                  {4, 3}));
}

TEST(Complex, SumsAndProducts) {
  expectPass(spec(R"(
  a = c64[20,300] parameter(0)
  zero = c64[] constant((0, 0))
  ROOT s = c64[20] reduce(a, zero), dimensions={1}, to_apply=add
)",
                  {2}));
  expectPass(spec(R"(
  a = c64[24,40] parameter(0)
  b = c64[40,16] parameter(1)
  ROOT d = c64[24,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)",
                  {8, 16}));
}

// A number that nothing else gives a type keeps all of its digits.
TEST(WideConstants, AreStoredExactly) {
  for (auto [type, value] : {std::pair("f64", "0.1"),
                             {"f64", "-1e300"},
                             {"s32", "123456789"},
                             {"s32", "-2147483647"},
                             {"u32", "4123456789"},
                             {"s64", "-9007199254740991"},
                             {"c128", "(0.1, -0.3)"}})
    expectPass(spec(fmt::format("  c = {0}[] constant({1})\n"
                                "  ROOT r = {0}[6] broadcast(c), dimensions={{}}\n",
                                type, value),
                    {4}));
}

// Tables of constants: NaN equals nothing, and zeros have signs.
TEST(Constants, NaNsAndZerosInTables) {
  for (const char *values : {"nan, 1, 2, nan, nan", "0, -0, 0, -0, -0", "1, inf, -inf, nan, -0",
                             "-0, -0, -0, -0, -0", "nan, nan, nan, nan, nan"})
    for (const char *type : {"f32", "f64", "bf16"})
      expectPass(spec(fmt::format("  a = {0}[3,5] parameter(0)\n  c = {0}[5] constant({{{1}}})\n"
                                  "  r = {0}[3,5] broadcast(c), dimensions={{1}}\n"
                                  "  one = {0}[] constant(1)\n"
                                  "  ones = {0}[3,5] broadcast(one), dimensions={{}}\n"
                                  "  d = {0}[3,5] divide(ones, r)\n"
                                  "  ROOT m = {0}[3,5] add(a, d)\n",
                                  type, values),
                      {2, 5}));
}

class Narrow : public ::testing::TestWithParam<const char *> {};
class Packed : public Narrow {};

TEST_P(Narrow, ReadInAnyOrder) {
  std::string type = GetParam();
  for (int64_t columns : {64, 37})
    for (std::vector<int64_t> tile : {std::vector<int64_t>{4, 32}, {3, 5}}) {
      expectPass(spec(fmt::format("  a = {0}[20,{1}] parameter(0)\n"
                                  "  ROOT r = f32[20,{1}] convert(a)\n",
                                  type, columns),
                      tile));
      expectPass(spec(fmt::format("  a = {0}[{1},20] parameter(0)\n"
                                  "  c = s32[{1},20] convert(a)\n"
                                  "  ROOT r = s32[20,{1}] transpose(c), dimensions={{1,0}}\n",
                                  type, columns),
                      tile));
      expectPass(spec(fmt::format("  a = {0}[20,{2}] parameter(0)\n"
                                  "  v = {0}[20,{1}] slice(a), slice={{[0:20], [3:{2}]}}\n"
                                  "  ROOT r = bf16[20,{1}] convert(v)\n",
                                  type, columns, columns + 3),
                      tile));
    }
}

TEST_P(Packed, WrittenByWholeBytes) {
  std::string type = GetParam();
  std::string text = fmt::format("  a = s32[20,64] parameter(0)\n"
                                 "  c = {0}[20,64] convert(a)\n  b = {0}[20,64] parameter(1)\n"
                                 "  ROOT r = {0}[20,64] {1}(b, c)\n",
                                 type, type[1] == '1' ? "xor" : "add");
  expectPass(spec(text, {4, 32}));
  expectPass(spec(text, {3, 64}));
  // Two threads would write one byte.
  CheckOutcome outcome = checkKernel(spec(text, {4, 1}));
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Skipped);
  EXPECT_NE(outcome.reason.find("share a byte"), std::string::npos) << outcome.reason;
  // Turned around in memory: what is read is staged, a byte each.
  expectPass(spec(fmt::format("  a = {0}[64,48] parameter(0)\n"
                              "  ROOT r = {0}[48,64] transpose(a), dimensions={{1,0}}\n",
                              type),
                  {16, 32}));
}

TEST_P(Narrow, WeightsOfAProduct) {
  std::string type = GetParam();
  for (Instruction instruction : {Instruction::Fma, Instruction::MmaSync}) {
    KernelSpec product =
        spec(fmt::format("  a = bf16[32,64] parameter(0)\n"
                         "  w = {0}[64,48] parameter(1)\n"
                         "  c = bf16[64,48] convert(w)\n"
                         "  ROOT d = f32[32,48] dot(a, c), "
                         "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
                         type),
             {16, 16});
    product.schedule.instruction = instruction;
    expectPass(product);
  }
}
INSTANTIATE_TEST_SUITE_P(Types, Narrow,
                         ::testing::Values("s4", "u4", "s2", "u2", "s1", "u1", "f4e2m1fn", "f8e3m4",
                                           "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e4m3fnuz",
                                           "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"),
                         byType);
INSTANTIATE_TEST_SUITE_P(Types, Packed,
                         ::testing::Values("s4", "u4", "s2", "u2", "s1", "u1", "f4e2m1fn"), byType);

} // namespace
} // namespace tilewright
