#include "codegen/lower.h"
#include "codegen/testing/lowering.h"

namespace tilewright {
namespace {

TEST(LowerElementwise, TailsInEveryDim) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[13,40] parameter(0)
  b = f32[13,40] parameter(1)
  s = f32[13,40] add(a, b)
  ROOT m = f32[13,40] multiply(s, a)
})";
  for (auto [t0, t1] : {std::pair(1, 1), {4, 8}, {13, 40}, {5, 12}, {2, 32}, {8, 7}, {1, 40}})
    for (int64_t warps : {1, 4})
      expectPass(specFromHlo(hlo, {t0, t1}, warps));
}

TEST(LowerElementwise, LongTilesLoop) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[3,5000] parameter(0)
  ROOT m = f32[3,5000] negate(a)
})";
  expectPass(specFromHlo(hlo, {2, 5000}, 1));
  expectPass(specFromHlo(hlo, {1, 4096}, 1));
}

TEST(LowerElementwise, Movement) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[6,8,10] parameter(0)
  t = f32[10,6,8] transpose(a), dimensions={2,0,1}
  r = f32[10,48] reshape(t)
  s = f32[5,40] slice(r), slice={[0:10:2], [4:44]}
  v = f32[5,40] reverse(s), dimensions={1}
  z = f32[] constant(7)
  p = f32[9,43] pad(v, z), padding=1_3x2_1
  n = f32[9,43] negate(p)
  c = f32[9,86] concatenate(n, p), dimensions={1}
  row = f32[86] parameter(1)
  rb = f32[9,86] broadcast(row), dimensions={1}
  ROOT out = f32[9,86] add(c, rb)
})";
  for (auto [t0, t1] : {std::pair(9, 86), {4, 32}, {1, 17}})
    expectPass(specFromHlo(hlo, {t0, t1}, 2));
}

TEST(LowerElementwise, InteriorAndNegativePadding) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = s32[5,7] parameter(0)
  z = s32[] constant(-3)
  ROOT p = s32[12,5] pad(a, z), padding=1_2_1x-1_-1
})";
  expectPass(specFromHlo(hlo, {12, 5}));
  expectPass(specFromHlo(hlo, {5, 4}));
}

TEST(LowerElementwise, LayoutsOfInputsAndResults) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = bf16[24,40]{0,1} parameter(0)
  b = bf16[24,40]{1,0} parameter(1)
  ROOT s = bf16[24,40]{0,1} add(a, b)
})";
  for (auto [t0, t1] : {std::pair(24, 40), {16, 16}, {5, 3}})
    expectPass(specFromHlo(hlo, {t0, t1}));
}

TEST(LowerElementwise, TransposesGoThroughSharedMemory) {
  for (const char *type : {"u8", "bf16", "f32", "f64"}) {
    std::string t(type);
    std::string hlo = "HloModule m\nENTRY main {\n"
                      "  a = " +
                      t +
                      "[5,40,72] parameter(0)\n"
                      "  b = " +
                      t +
                      "[72,5,40] parameter(1)\n"
                      "  x = " +
                      t +
                      "[5,72,40] transpose(a), dimensions={0,2,1}\n"
                      "  y = " +
                      t +
                      "[72,5,40] transpose(x), dimensions={1,0,2}\n"
                      "  ROOT s = " +
                      t + "[72,5,40] maximum(y, b)\n}";
    int64_t bytes = t == "u8" ? 1 : t == "bf16" ? 2 : t == "f32" ? 4 : 8;
    for (auto [t0, t1, t2] : {std::tuple(32, 1, 32), {64, 2, 8}, {7, 5, 40}, {9, 1, 3}, {16, 1, 1}})
      for (int64_t warps : {1, 4}) {
        KernelSpec spec = specFromHlo(hlo, {t0, t1, t2}, warps);
        expectPass(spec);
        auto kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
        // The tile; nothing where a tile has no columns to turn.
        EXPECT_EQ(kernel.launch.sharedBytes > 0, t2 > 1) << type << t0;
        EXPECT_LE(kernel.launch.sharedBytes, (t0 * t1 * t2 * bytes + 127) / 128 * 128);
      }
  }
}

TEST(LowerElementwise, TransposesMeetNoBankConflicts) {
  for (const char *type : {"bf16", "f32", "f64"})
    for (auto [t0, t1] : {std::pair(32, 32), {64, 64}, {16, 64}, {128, 16}, {64, 8}, {256, 32}}) {
      std::string t(type);
      KernelSpec spec = specFromHlo("HloModule m\nENTRY main {\n  a = " + t +
                                        "[256,256] parameter(0)\n  ROOT x = " + t +
                                        "[256,256] transpose(a), dimensions={1,0}\n}",
                                    {t0, t1}, 4);
      auto kernel = EmulatedKernel::compile(llvm::cantFail(lowerKernel(spec, CodeMode::Emulation)));
      ASSERT_TRUE(bool(kernel));
      std::vector<double> from(256 * 256, 1.0), to(256 * 256 + 32);
      // Aligned as a GPU's allocations are.
      auto aligned = [](std::vector<double> &memory) {
        auto address = reinterpret_cast<uintptr_t>(memory.data());
        return reinterpret_cast<std::byte *>((address + 255) / 256 * 256);
      };
      from.resize(256 * 256 + 32);
      int64_t bytes = 256 * 256 * (t == "bf16" ? 2 : t == "f32" ? 4 : 8);
      EmulatorBuffer buffers[] = {{aligned(from), bytes, false}, {aligned(to), bytes, true}};
      EmulationOptions options;
      options.countBankConflicts = true;
      options.ctas = {0};
      EmulationCounts counts = llvm::cantFail(kernel->run(buffers, options));
      EXPECT_GT(counts.sharedAccesses, 0);
      double passes =
          static_cast<double>(counts.sharedWavefronts) / static_cast<double>(counts.sharedAccesses);
      EXPECT_LE(passes, 1.0) << type << " " << t0 << "x" << t1;
    }
}

// Heads are split behind a transpose: two dims of the root follow each other in one of the input.
TEST(LowerElementwise, TransposedAndSplitDims) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = bf16[70,36] parameter(0)
  s = bf16[64,36] slice(a), slice={[6:70], [0:36]}
  t = bf16[36,64] transpose(s), dimensions={1,0}
  ROOT r = bf16[36,4,16] bitcast(t)
})";
  for (auto [tile, bytes] : {std::pair(std::vector<int64_t>{8, 2, 16}, 8 * 32 * 2),
                             {{5, 4, 16}, 5 * 64 * 2},
                             {{8, 1, 8}, 8 * 8 * 2},
                             {{1, 2, 16}, 0},
                             {{8, 2, 8}, 8 * 2 * 8 * 2}}) {
    KernelSpec spec = specFromHlo(hlo, tile);
    expectPass(spec);
    EXPECT_EQ(llvm::cantFail(lowerKernel(spec, CodeMode::Emulation)).launch.sharedBytes, bytes);
  }
}

TEST(LowerElementwise, SlicedAndPaddedTransposes) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[50,60] parameter(0)
  s = f32[40,33] slice(a), slice={[5:45], [20:53]}
  t = f32[33,40] transpose(s), dimensions={1,0}
  z = f32[] constant(2)
  p = f32[37,41] pad(t, z), padding=1_3x0_1
  i = f32[37,41] iota(), iota_dimension=1
  ROOT m = f32[37,41] multiply(p, i)
})";
  for (auto [t0, t1] : {std::pair(37, 41), {8, 16}, {32, 32}, {5, 7}})
    expectPass(specFromHlo(hlo, {t0, t1}, 2));
}

TEST(LowerElementwise, IotaConstantSelectCompare) {
  const char *hlo = R"(HloModule m
ENTRY main {
  i = s32[8,33] iota(), iota_dimension=1
  j = s32[8,33] iota(), iota_dimension=0
  lt = pred[8,33] compare(i, j), direction=LT
  a = f32[8,33] parameter(0)
  inf = f32[] constant(-inf)
  ib = f32[8,33] broadcast(inf), dimensions={}
  table = f32[8] constant({0.5, 1, 2, 3, 4, 5, 6, 7})
  tb = f32[8,33] broadcast(table), dimensions={0}
  x = f32[8,33] multiply(a, tb)
  ROOT s = f32[8,33] select(lt, x, ib)
})";
  expectPass(specFromHlo(hlo, {8, 33}));
  expectPass(specFromHlo(hlo, {3, 32}));
}

TEST(LowerElementwise, SeveralResults) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[64,32] parameter(0)
  n = f32[64,32] negate(a)
  h = bf16[64,32] convert(a)
  ROOT t = (f32[64,32], bf16[64,32]) tuple(n, h)
})";
  expectPass(specFromHlo(hlo, {16, 32}));
}

TEST(LowerElementwise, ScalarsAndEmptyRank) {
  expectPass(specFromHlo(R"(HloModule m
ENTRY main {
  a = f32[] parameter(0)
  ROOT n = f32[] negate(a)
})",
                         {}));
}

TEST(LowerElementwise, GatherAndDynamicSlice) {
  const char *hlo = R"(HloModule m
ENTRY main {
  table = f32[32,24] parameter(0)
  ids = s32[5,1] parameter(1)
  g = f32[5,24] gather(table, ids), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,24}
  i = s32[] parameter(2)
  z = s32[] constant(0)
  d = f32[5,24] dynamic-slice(table, i, z), dynamic_slice_sizes={5,24}
  ROOT s = f32[5,24] add(g, d)
})";
  for (auto [t0, t1] : {std::pair(5, 24), {2, 16}})
    expectPass(specFromHlo(hlo, {t0, t1}));
}

/// Every supported type through arithmetic that is exact or rounds once.
TEST(LowerElementwise, EveryType) {
  for (const char *type :
       {"s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"}) {
    std::string t(type), shape = t + "[7,48]";
    std::string hlo = "HloModule m\nENTRY main {\n a = " + shape + " parameter(0)\n b = " + shape +
                      " parameter(1)\n s = " + shape + " subtract(a, b)\n m = " + shape +
                      " multiply(s, a)\n x = " + shape + " maximum(m, b)\n d = " + shape +
                      " divide(x, b)\n ROOT r = " + shape + " minimum(d, s)\n}\n";
    expectPass(specFromHlo(hlo, {4, 48}, 2));
    expectPass(specFromHlo(hlo, {7, 5}, 2));
  }
}

TEST(LowerElementwise, Conversions) {
  std::vector<std::string> types{"pred", "s8",  "s32",  "s64", "u8",
                                 "u32",  "f16", "bf16", "f32", "f64"};
  for (const std::string &from : types) {
    std::string hlo = "HloModule m\nENTRY main {\n a = " + from + "[64] parameter(0)\n";
    std::string names, shapes;
    for (const std::string &to : types) {
      hlo += " to_" + to + " = " + to + "[64] convert(a)\n";
      names += (names.empty() ? "to_" : ", to_") + to;
      shapes += (shapes.empty() ? "" : ", ") + to + "[64]";
    }
    hlo += " ROOT r = (" + shapes + ") tuple(" + names + ")\n}\n";
    CheckOptions exact;
    exact.tolerance = 1e-12;
    expectPass(specFromHlo(hlo, {48}, 1), exact);
  }
}

/// Every f16 value, which covers overflow, subnormals, ties, infinities and NaNs of both types.
TEST(LowerElementwise, EightBitFloatsRoundOnce) {
  for (const char *type : {"f8e5m2", "f8e4m3fn"}) {
    std::string t(type);
    std::string hlo = "HloModule m\nENTRY main {\n i = u16[65536] iota(), iota_dimension=0\n"
                      " h = f16[65536] bitcast-convert(i)\n e = " +
                      t + "[65536] convert(h)\n x = f32[65536] parameter(0)\n n = " + t +
                      "[65536] convert(x)\n s = " + t + "[65536] add(e, n)\n w = f32[65536] " +
                      "convert(s)\n ROOT r = (" + t + "[65536], f32[65536], " + t +
                      "[65536]) tuple(e, w, n)\n}\n";
    CheckOptions exact;
    exact.tolerance = 1e-12;
    expectPass(specFromHlo(hlo, {4096}, 8), exact);
  }
}

TEST(LowerElementwise, Functions) {
  for (const char *op :
       {"exponential", "exponential-minus-one", "log", "log-plus-one", "tanh", "logistic", "erf",
        "rsqrt", "sqrt", "cbrt", "sine", "cosine", "floor", "ceil", "round-nearest-afz",
        "round-nearest-even", "sign", "abs", "negate"}) {
    for (const char *scale : {"1", "0.001", "20"}) {
      std::string hlo = std::string("HloModule m\nENTRY main {\n a = f32[512] parameter(0)\n") +
                        " c = f32[] constant(" + scale +
                        ")\n cb = f32[512] broadcast(c), dimensions={}\n" +
                        " x = f32[512] multiply(a, cb)\n ROOT r = f32[512] " + op + "(x)\n}\n";
      CheckOutcome outcome = checkKernel(specFromHlo(hlo, {512}, 1));
      EXPECT_EQ(outcome.status, CheckOutcome::Status::Pass) << op << " " << outcome.reason;
    }
  }
}

TEST(LowerElementwise, PowerAndRemainder) {
  expectPass(specFromHlo(R"(HloModule m
ENTRY main {
  a = f32[256] parameter(0)
  b = f32[256] parameter(1)
  two = f32[] constant(2)
  t = f32[256] broadcast(two), dimensions={}
  three = f32[] constant(3)
  h = f32[256] broadcast(three), dimensions={}
  p = f32[256] power(a, t)
  q = f32[256] power(a, h)
  m = f32[256] abs(a)
  u = f32[256] power(m, b)
  r = f32[256] remainder(a, b)
  s1 = f32[256] add(p, q)
  s2 = f32[256] add(u, r)
  ROOT s = f32[256] add(s1, s2)
})",
                         {256}));
}

TEST(LowerElementwise, VectorsWhereContiguous) {
  // 32 bytes a thread in two accesses of 16 read, the same written: counts are exact.
  CheckOutcome outcome = expectPass(specFromHlo(R"(HloModule m
ENTRY main {
  a = f32[64,64] parameter(0)
  ROOT n = f32[64,64] negate(a)
})",
                                                {8, 64}));
  EXPECT_EQ(outcome.counts.globalReadBytes, 64 * 64 * 4);
  EXPECT_EQ(outcome.counts.globalWrittenBytes, 64 * 64 * 4);
}

TEST(LowerElementwise, RefusalsNameTheOp) {
  CheckOutcome outcome = checkKernel(specFromHlo(R"(HloModule m
ENTRY main {
  a = c64[64] parameter(0)
  ROOT four = c64[64] power(a, a)
})",
                                                 {64}));
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Skipped);
  EXPECT_NE(outcome.reason.find("%"), std::string::npos) << outcome.reason;
  EXPECT_NE(outcome.reason.find("c64"), std::string::npos) << outcome.reason;
}

TEST(LowerElementwise, TuplesAreRefused) {
  for (const char *body : {"p = (f32[4], f32[4]) parameter(0)\n ROOT n = f32[4] "
                           "get-tuple-element(p), index=0",
                           "ROOT e = () tuple()",
                           "a = f32[4] parameter(0)\n t = (f32[4]) tuple(a)\n ROOT u = "
                           "((f32[4])) tuple(t)"}) {
    CheckOutcome outcome =
        checkKernel(specFromHlo(std::string("HloModule m\nENTRY main {\n ") + body + "\n}\n", {4}));
    EXPECT_EQ(outcome.status, CheckOutcome::Status::Skipped) << body << outcome.reason;
  }
}

TEST(LowerElementwise, NumbersAreCheckedFirst) {
  const char *hlo = R"(HloModule m
ENTRY main {
  a = f32[64] parameter(0)
  ROOT n = f32[64] negate(a)
})";
  for (int64_t tile : {int64_t(0), int64_t(-4), int64_t(65), INT64_MAX})
    EXPECT_EQ(checkKernel(specFromHlo(hlo, {tile})).status, CheckOutcome::Status::Fail);
  for (int64_t warps : {int64_t(0), int64_t(33), INT64_MAX})
    EXPECT_EQ(checkKernel(specFromHlo(hlo, {64}, warps)).status, CheckOutcome::Status::Fail);
  EXPECT_EQ(checkKernel(specFromHlo(hlo, {8, 8})).status, CheckOutcome::Status::Fail);
}

// Results of one size and several shapes: each element of each is made once.
TEST(LowerElementwise, ResultsOfSeveralShapes) {
  for (std::vector<int64_t> tile : {std::vector<int64_t>{1, 64}, {2, 96}, {3, 5}})
    expectPass(specFromHlo(R"(HloModule m
ENTRY main {
  a = f32[6,96] parameter(0)
  b = f32[96,6] parameter(1)
  n = f32[6,96] negate(a)
  r = f32[576,1] reshape(n)
  t = f32[6,96] transpose(b), dimensions={1,0}
  s = f32[6,96] add(n, t)
  v = f32[3,2,96] reshape(s)
  u = bf16[3,2,96] convert(v)
  c = f32[96,6] exponential(b)
  ROOT all = (f32[6,96], f32[576,1], bf16[3,2,96], f32[96,6]) tuple(s, r, u, c)
})",
                           tile));
}

} // namespace
} // namespace tilewright
