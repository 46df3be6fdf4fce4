#include "codegen/lower.h"
#include "codegen/testing/lowering.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

const std::string reducers = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b) }
)";

std::string softmax(int64_t rows, int64_t columns) {
  std::string full = fmt::format("f32[{},{}]", rows, columns), row = fmt::format("f32[{}]", rows);
  return reducers + "ENTRY main {\n x = " + full + " parameter(0)\n low = f32[] constant(-inf)\n" +
         " zero = f32[] constant(0)\n m = " + row +
         " reduce(x, low), dimensions={1}, to_apply=max\n mb = " + full +
         " broadcast(m), dimensions={0}\n d = " + full + " subtract(x, mb)\n e = " + full +
         " exponential(d)\n s = " + row +
         " reduce(e, zero), dimensions={1}, to_apply=add\n sb = " + full +
         " broadcast(s), dimensions={0}\n ROOT y = " + full + " divide(e, sb)\n}\n";
}

// Some root elements have no row: the reduction must not read there.
TEST(LowerReduction, EpilogueThatGoesBeyondTheRows) {
  for (const char *epilogue :
       {"f32[40] pad(r, c), padding=-1_1_0", "f32[84] pad(r, c), padding=3_2_1",
        "f32[47] concatenate(e, r), dimensions={0}"})
    for (int64_t tile : {1, 16})
      expectPass(specFromHlo(std::string(R"(HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
ENTRY main {
  a = f32[40,24] parameter(0)
  e = f32[7] parameter(1)
  c = f32[] constant(5)
  z = f32[] constant(0)
  r = f32[40] reduce(a, z), dimensions={1}, to_apply=add
  ROOT p = )") + epilogue + "\n}\n",
                             {tile}));
}

TEST(LowerReduction, SoftmaxInRegistersReadsOnce) {
  for (int64_t columns : {1, 7, 32, 100, 512}) {
    for (int64_t rows : {1, 3, 8})
      for (int64_t warps : {1, 4}) {
        CheckOutcome outcome = expectPass(
            specFromHlo(softmax(5, columns), {std::min<int64_t>(rows, 5), columns}, warps));
        if (rows == 1 && columns % 128 == 0) {
          EXPECT_EQ(outcome.counts.globalReadBytes, 5 * columns * 4);
        }
      }
  }
}

TEST(LowerReduction, SoftmaxInChunks) {
  for (int64_t chunk : {64, 96, 100, 256}) {
    KernelSpec spec = specFromHlo(softmax(6, 600), {4, 600}, 4);
    spec.sequential = {{"m", 0, chunk}, {"s", 0, chunk}};
    expectPass(spec);
  }
}

TEST(LowerReduction, ColumnsOfTheRootMayBeTiled) {
  expectPass(specFromHlo(softmax(6, 96), {2, 32}, 2));
  expectPass(specFromHlo(softmax(6, 96), {4, 40}, 1));
}

TEST(LowerReduction, LayerNorm) {
  std::string hlo = reducers + R"(ENTRY main {
  x = bf16[10,192] parameter(0)
  g = bf16[192] parameter(1)
  c = f32[10,192] convert(x)
  zero = f32[] constant(0)
  n = f32[] constant(0.00520833333)
  nr = f32[10] broadcast(n), dimensions={}
  s = f32[10] reduce(c, zero), dimensions={1}, to_apply=add
  mean = f32[10] multiply(s, nr)
  mb = f32[10,192] broadcast(mean), dimensions={0}
  d = f32[10,192] subtract(c, mb)
  q = f32[10,192] multiply(d, d)
  v = f32[10] reduce(q, zero), dimensions={1}, to_apply=add
  var = f32[10] multiply(v, nr)
  eps = f32[] constant(1e-05)
  er = f32[10] broadcast(eps), dimensions={}
  ve = f32[10] add(var, er)
  r = f32[10] rsqrt(ve)
  rb = f32[10,192] broadcast(r), dimensions={0}
  y = f32[10,192] multiply(d, rb)
  gf = f32[192] convert(g)
  gb = f32[10,192] broadcast(gf), dimensions={1}
  z = f32[10,192] multiply(y, gb)
  ROOT o = bf16[10,192] convert(z)
})";
  for (int64_t rows : {1, 4, 10})
    expectPass(specFromHlo(hlo, {rows, 192}, 2));
}

TEST(LowerReduction, ReducedResults) {
  std::string hlo = reducers + R"(ENTRY main {
  x = f32[9,5,70] parameter(0)
  zero = f32[] constant(3)
  s = f32[9] reduce(x, zero), dimensions={1,2}, to_apply=add
  ROOT n = f32[9] negate(s)
})";
  for (int64_t rows : {1, 4, 9})
    for (int64_t warps : {1, 2, 8})
      expectPass(specFromHlo(hlo, {rows}, warps));
}

TEST(LowerReduction, WholeTensorToAScalar) {
  std::string hlo = reducers + R"(ENTRY main {
  x = f32[9,130] parameter(0)
  zero = f32[] constant(0)
  ROOT s = f32[] reduce(x, zero), dimensions={0,1}, to_apply=add
})";
  expectPass(specFromHlo(hlo, {}, 4));
}

// CTAs share the steps of a row; the last adds up what all have left.
TEST(LowerReduction, RowsThatCtasShare) {
  for (const char *op : {"add", "multiply", "minimum", "maximum"})
    for (const char *shape : {"f32[3000]", "f32[60,50]", "bf16[3,2000]"}) {
      const std::string of(shape), type = of.substr(0, of.find('['));
      const bool isTotal = type == "f32";
      const std::string dims = !isTotal ? "1" : of.find(',') == std::string::npos ? "0" : "0,1";
      std::string hlo = "HloModule m\nr { a = " + type + "[] parameter(0)\n b = " + type +
                        "[] parameter(1)\n ROOT s = " + type + "[] " + op +
                        "(a, b) }\nENTRY main {\n x = " + of + " parameter(0)\n i = " + type +
                        "[] constant(1)\n ROOT s = " + type + (isTotal ? "[]" : "[3]") +
                        " reduce(x, i), dimensions={" + dims + "}, to_apply=r\n}\n";
      for (auto [warps, splits] : {std::pair<int64_t, int64_t>{1, 3}, {4, 8}}) {
        KernelSpec spec =
            specFromHlo(hlo, isTotal ? std::vector<int64_t>{} : std::vector<int64_t>{2}, warps);
        spec.sequential = dims == "0,1"
                              ? std::vector<KernelSpec::Sequential>{{"s", 0, 7}, {"s", 1, 50}}
                              : std::vector<KernelSpec::Sequential>{{"s", 0, 64}};
        spec.schedule.splitK = splits;
        CheckOutcome outcome = expectPass(spec);
        EXPECT_EQ(outcome.ctas, splits * (isTotal ? 1 : 2));
      }
    }
}

// What follows the sums is made by the CTA that has all of them.
TEST(LowerReduction, RowsThatCtasShareHaveAnEpilogue) {
  for (auto [shape, dim] : {std::pair("700,24", 0), std::pair("24,700", 1)}) {
    const std::string hlo = reducers + fmt::format(R"(ENTRY main {{
  x = bf16[{0}] parameter(0)
  y = f32[{0}] convert(x)
  s = f32[{0}] multiply(y, y)
  z = f32[] constant(0)
  r = f32[24] reduce(s, z), dimensions={{{1}}}, to_apply=add
  n = f32[] constant(700)
  m = f32[24] broadcast(n), dimensions={{}}
  q = f32[24] divide(r, m)
  w = f32[24] sqrt(q)
  t = bf16[24] convert(w)
  ROOT all = (f32[24], bf16[24]) tuple(q, t)
}})",
                                                   shape, dim);
    for (int64_t rows : {1, 8, 24}) {
      KernelSpec spec = specFromHlo(hlo, {rows}, 1);
      spec.sequential = {{"r", 0, 10}};
      spec.schedule.splitK = 3;
      EXPECT_EQ(expectPass(spec).counts.atomics, 24 / rows * 3);
    }
  }
}

TEST(LowerReduction, AcrossRows) {
  std::string hlo = reducers + R"(ENTRY main {
  x = f32[70,50] parameter(0)
  zero = f32[] constant(0)
  ROOT s = f32[50] reduce(x, zero), dimensions={0}, to_apply=add
})";
  for (int64_t columns : {1, 16, 50})
    for (int64_t warps : {1, 4})
      expectPass(specFromHlo(hlo, {columns}, warps));
  KernelSpec chunked = specFromHlo(hlo, {32}, 4);
  chunked.sequential = {{"s", 0, 16}};
  expectPass(chunked);
}

TEST(LowerReduction, MiddleDim) {
  std::string hlo = reducers + R"(ENTRY main {
  x = f32[4,33,20] parameter(0)
  low = f32[] constant(-inf)
  m = f32[4,20] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[4,33,20] broadcast(m), dimensions={0,2}
  ROOT y = f32[4,33,20] subtract(x, mb)
})";
  expectPass(specFromHlo(hlo, {1, 33, 20}, 4));
  expectPass(specFromHlo(hlo, {2, 33, 8}, 2));
}

TEST(LowerReduction, EveryTypeAndReducer) {
  for (const char *type : {"s32", "u8", "s64", "f16", "bf16", "f32", "f64"})
    for (const char *op : {"add", "multiply", "minimum", "maximum"}) {
      std::string t(type);
      std::string hlo = "HloModule m\nr { a = " + t + "[] parameter(0)\n b = " + t +
                        "[] parameter(1)\n ROOT s = " + t + "[] " + op +
                        "(a, b) }\nENTRY main {\n x = " + t + "[6,44] parameter(0)\n i = " + t +
                        "[] constant(1)\n ROOT s = " + t +
                        "[6] reduce(x, i), dimensions={1}, to_apply=r\n}\n";
      expectPass(specFromHlo(hlo, {4}, 2));
    }
}

TEST(LowerReduction, KeptAsAColumnAndWithStatistics) {
  std::string hlo = reducers + R"(ENTRY main {
  x = f32[12,64] parameter(0)
  zero = f32[] constant(0)
  s = f32[12] reduce(x, zero), dimensions={1}, to_apply=add
  c = f32[12,1] reshape(s)
  ROOT n = f32[12,1] negate(c)
})";
  expectPass(specFromHlo(hlo, {4, 1}, 2));
  std::string both = reducers + R"(ENTRY main {
  x = f32[12,64] parameter(0)
  zero = f32[] constant(0)
  s = f32[12] reduce(x, zero), dimensions={1}, to_apply=add
  sb = f32[12,64] broadcast(s), dimensions={0}
  d = f32[12,64] divide(x, sb)
  ROOT t = (f32[12,64], f32[12]) tuple(d, s)
})";
  CheckOptions loose; // sums near zero make large quotients
  loose.tolerance = 1e-3;
  expectPass(specFromHlo(both, {4, 64}, 2), loose);
}

TEST(LowerReduction, WhatIsReducedIsAResultToo) {
  // Along and across rows, whole and in chunks; before and after the sum is known.
  for (auto [dim, other] : {std::pair(1, 0), {0, 1}}) {
    std::string kept = dim == 1 ? "24" : "80";
    std::string hlo = reducers +
                      "ENTRY main {\n"
                      "  x = bf16[24,80] parameter(0)\n"
                      "  c = f32[24,80] convert(x)\n"
                      "  e = f32[24,80] multiply(c, c)\n"
                      "  h = bf16[24,80] convert(e)\n"
                      "  zero = f32[] constant(0)\n"
                      "  s = f32[" +
                      kept + "] reduce(e, zero), dimensions={" + std::to_string(dim) +
                      "}, to_apply=add\n" + "  b = f32[24,80] broadcast(s), dimensions={" +
                      std::to_string(other) +
                      "}\n"
                      "  d = f32[24,80] divide(e, b)\n"
                      "  ROOT t = (f32[24,80], bf16[24,80], f32[" +
                      kept + "]) tuple(d, h, s)\n}";
    for (int64_t chunk : {8, 80}) {
      std::vector<int64_t> tile =
          dim == 1 ? std::vector<int64_t>{5, 80} : std::vector<int64_t>{24, 5};
      KernelSpec spec = specFromHlo(hlo, tile, 2);
      spec.sequential = {{"s", 0, chunk}};
      expectPass(spec);
    }
  }
}

TEST(LowerReduction, AnyReducerInOrder) {
  std::string hlo = "HloModule m\nr { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                    " ROOT s = f32[] subtract(a, b) }\nENTRY main {\n x = f32[6,44] parameter(0)\n"
                    " i = f32[] constant(1)\n ROOT odd = f32[6] reduce(x, i), dimensions={1}, "
                    "to_apply=r\n}\n";
  expectPass(specFromHlo(hlo, {6}));
}

// A step that leaves threads idle, or is more than they can hold, is no reason to leave a row to
// one thread.
TEST(LowerReduction, StepsOfAnySizeAreShared) {
  std::string sums = "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                     " ROOT s = f32[] add(a, b) }\nENTRY main {\n x = f32[3,20000] parameter(0)\n"
                     " z = f32[] constant(0)\n ROOT s = f32[3] reduce(x, z), dimensions={1}, "
                     "to_apply=add\n}\n";
  for (int64_t warps : {1, 4})
    for (int64_t chunk : {1, 6, 512, 20000}) {
      KernelSpec spec = specFromHlo(sums, {2}, warps);
      spec.sequential = {{"s", 0, chunk}};
      auto kernel = lowerKernel(spec, CodeMode::Emulation);
      ASSERT_TRUE(bool(kernel));
      EXPECT_EQ(kernel->kind, "reduction");
      EXPECT_TRUE(kernel->notes.empty());
      expectPass(spec);
    }
  expectPass(specFromHlo(softmax(2, 8192), {1, 8192}, 1));
}

// Beside a reduction, what it is made of, in a shape of its own: reshaped, turned, converted.
TEST(LowerReduction, WhatIsReducedIsAResultInItsOwnShape) {
  std::string head =
      "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
      " ROOT s = f32[] add(a, b) }\nENTRY main {\n x = bf16[32,40] parameter(0)\n"
      " y = f32[32,40] convert(x)\n z = f32[] constant(0)\n w = f32[32,40] exponential(y)\n";
  for (const char *rest :
       {" v = f32[8,4,40] reshape(w)\n r = f32[8,40] reduce(v, z), dimensions={1}, to_apply=add\n"
        " ROOT t = (f32[8,40], f32[32,40]) tuple(r, w)\n}\n",
        " v = f32[4,8,40] bitcast(w)\n r = f32[8,40] reduce(v, z), dimensions={0}, to_apply=add\n"
        " ROOT t = (f32[8,40], f32[32,40]) tuple(r, w)\n}\n",
        " u = f32[8,4,40] reshape(w)\n v = f32[8,40,4] transpose(u), dimensions={0,2,1}\n"
        " n = f32[8,40,4] negate(v)\n r = f32[8,40] reduce(n, z), dimensions={2}, to_apply=add\n"
        " ROOT t = (f32[8,40], f32[32,40]) tuple(r, w)\n}\n"})
    for (std::vector<int64_t> tile : {std::vector<int64_t>{1, 32}, {3, 8}, {8, 40}}) {
      KernelSpec spec = specFromHlo(head + rest, tile, 2);
      spec.sequential = {{"r", 0, 2}};
      auto kernel = lowerKernel(spec, CodeMode::Emulation);
      ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
      EXPECT_EQ(kernel->kind, "reduction");
      EXPECT_TRUE(kernel->notes.empty());
      expectPass(spec);
    }
}

// Rows of one reduction are columns of the other: what one has of a row the threads of a result
// need through shared memory.
TEST(LowerReduction, ReductionsOverDifferentAxes) {
  for (auto [first, second] : {std::pair(1, 0), std::pair(2, 0), std::pair(1, 2)}) {
    std::string hlo = reducers + "ENTRY main {\n  x = f32[2,40,24] parameter(0)\n"
                                 "  y = f32[2,40,24] tanh(x)\n  z = f32[] constant(0)\n";
    const char *kept[] = {"1,2", "0,2", "0,1"}, *dims[] = {"40,24", "2,24", "2,40"};
    for (auto [name, dim] : {std::pair("a", first), std::pair("b", second)})
      hlo += fmt::format("  {0} = f32[{1}] reduce(y, z), dimensions={{{2}}}, to_apply=add\n"
                         "  w{0} = f32[2,40,24] broadcast({0}), dimensions={{{3}}}\n"
                         "  r{0} = f32[2,40,24] subtract(y, w{0})\n",
                         name, dims[dim], dim, kept[dim]);
    hlo += "  ROOT all = (f32[2,40,24], f32[2,40,24]) tuple(ra, rb)\n}\n";
    for (const std::vector<int64_t> &tile : {std::vector<int64_t>{1, 2, 4}, {2, 40, 1}, {2, 8, 24}})
      expectPass(specFromHlo(hlo, tile, tile[2] == 1 ? 4 : 1));
  }
}

/// argmax or argmin as jax.numpy has them, whose first NaN comes before all numbers, of what
/// `input` makes of w.
std::string bestPlace(const char *type, bool isMax, const std::string &input) {
  return fmt::format(R"(HloModule m
best {{
  a = {0}[] parameter(0)
  i = s32[] parameter(1)
  b = {0}[] parameter(2)
  j = s32[] parameter(3)
  better = pred[] compare(a, b), direction={1}
  nan = pred[] compare(a, a), direction=NE
  left = pred[] or(better, nan)
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(same, before)
  first = pred[] or(left, tie)
  v = {0}[] select(first, a, b)
  k = s32[] select(first, i, j)
  ROOT t = ({0}[], s32[]) tuple(v, k)
}}
ENTRY main {{
  w = {0}[6,300] parameter(0)
  s = {0}[] constant(2)
  t = {0}[6,300] broadcast(s), dimensions={{}}
  x = {0}[6,300] {3}
  at = s32[6,300] iota(), iota_dimension=1
  c = {0}[] constant({2})
  z = s32[] constant(0)
  r = ({0}[6], s32[6]) reduce(x, at, c, z), dimensions={{1}}, to_apply=best
  p = {0}[6] get-tuple-element(r), index=0
  q = s32[6] get-tuple-element(r), index=1
  ROOT o = ({0}[6], s32[6]) tuple(p, q)
}})",
                     type, isMax ? "GT" : "LT", isMax ? "-inf" : "inf", input);
}

/// Rows of threads, no loops of one.
void expectRows(const KernelSpec &spec) {
  auto kernel = lowerKernel(spec, CodeMode::Emulation);
  ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  EXPECT_TRUE(kernel->notes.empty());
  expectPass(spec);
}

TEST(LowerReduction, ArgMaxThatTakesNaN) {
  for (const char *type : {"f32", "bf16"})
    for (bool isMax : {true, false})
      for (int64_t step : {300, 40}) {
        KernelSpec spec = specFromHlo(bestPlace(type, isMax, "log(w)"), {2}, 1);
        spec.sequential = {{"r", 0, step}};
        expectRows(spec);
      }
}

// CTAs that share a row leave what is best of their steps and where: with NaNs, equal values in
// several CTAs, and rows of the worst value alone, which the first of them has.
TEST(LowerReduction, ArgMaxThatCtasShare) {
  for (bool isMax : {true, false})
    for (const std::string &input :
         {std::string("log(w)"), std::string("floor(w)"), std::string("divide(t, w)"),
          std::string("broadcast(worst), dimensions={}")})
      for (int64_t splits : {2, 5}) {
        std::string hlo = bestPlace("f32", isMax, input);
        if (input.find("worst") != std::string::npos)
          hlo.replace(hlo.find("  x = "), 0,
                      fmt::format("  worst = f32[] constant({})\n", isMax ? "-inf" : "inf"));
        KernelSpec spec = specFromHlo(hlo, {2}, 1);
        spec.sequential = {{"r", 0, 40}};
        spec.schedule.splitK = splits;
        expectRows(spec);
      }
}

TEST(LowerReduction, OneThreadForEachElementSaysWhy) {
  std::string pairs = "HloModule m\nboth { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                      " c = f32[] parameter(2)\n d = f32[] parameter(3)\n e = f32[] add(a, c)\n"
                      " f = f32[] maximum(b, d)\n ROOT t = (f32[], f32[]) tuple(e, f) }\n"
                      "ENTRY main {\n x = f32[6,44] parameter(0)\n y = f32[6,44] parameter(1)\n"
                      " z = f32[] constant(0)\n r = (f32[6], f32[6]) reduce(x, y, z, z), "
                      "dimensions={1}, to_apply=both\n"
                      " ROOT g = f32[6] get-tuple-element(r), index=1\n}\n";
  auto kernel = lowerKernel(specFromHlo(pairs, {6}), CodeMode::Emulation);
  ASSERT_TRUE(bool(kernel));
  EXPECT_EQ(kernel->kind, "reduction"); // each result has operands of its own
  EXPECT_TRUE(kernel->notes.empty());
  expectPass(specFromHlo(pairs, {6}));
  pairs.replace(pairs.find("maximum(b, d)"), 13, "maximum(b, c)");
  auto loops = lowerKernel(specFromHlo(pairs, {6}), CodeMode::Emulation);
  ASSERT_TRUE(bool(loops));
  ASSERT_EQ(loops->notes.size(), 1u);
  EXPECT_EQ(loops->notes[0].find("each element by loops of one thread: "), 0u);
}

// What a row needs again is held in registers if a thread has as many, and else read again.
TEST(LowerReduction, HeldValuesFitInRegisters) {
  constexpr int64_t rows = 2, columns = 4096;
  auto bytesRead = [&](int64_t warps) {
    return expectPass(specFromHlo(R"(HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
ENTRY main {
  a = f32[2,4096] parameter(0)
  b = f32[2,4096] parameter(1)
  c = f32[2,4096] parameter(2)
  ab = f32[2,4096] multiply(a, b)
  p = f32[2,4096] add(ab, c)
  zero = f32[] constant(0)
  sum = f32[2] reduce(p, zero), dimensions={1}, to_apply=add
  sums = f32[2,4096] broadcast(sum), dimensions={0}
  x = f32[2,4096] multiply(a, sums)
  y = f32[2,4096] multiply(b, sums)
  z = f32[2,4096] multiply(c, sums)
  ROOT all = (f32[2,4096], f32[2,4096], f32[2,4096]) tuple(x, y, z)
})",
                                  {1, columns}, warps))
        .counts.globalReadBytes;
  };
  int64_t once = rows * columns * 3 * 4;
  EXPECT_EQ(bytesRead(1), 2 * once); // 3 x 128 values a thread
  EXPECT_EQ(bytesRead(4), once);     // 3 x 32
  EXPECT_EQ(bytesRead(16), once);    // 3 x 8
}

} // namespace
} // namespace tilewright
