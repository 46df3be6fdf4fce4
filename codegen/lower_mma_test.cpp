// mma.sync of every type that it takes: operand orders, tails, prologues, epilogues, split-K and
// convolutions, on the emulator; and through ptxas, where there is one.
#include "codegen/compile.h"
#include "codegen/lower.h"
#include "codegen/testing/matmul.h"

namespace tilewright {
namespace {

struct Types {
  const char *input, *result;
  int64_t bytes;     ///< of an element of the operands
  const char *shape; ///< of the instruction
  const char *target;
};
constexpr Types allTypes[] = {
    {"f32", "f32", 4, "m16n8k8", "sm_80"},    {"f32", "bf16", 4, "m16n8k8", "sm_80"},
    {"bf16", "f32", 2, "m16n8k16", "sm_80"},  {"s8", "s32", 1, "m16n8k32", "sm_80"},
    {"u8", "s32", 1, "m16n8k32", "sm_80"},    {"f8e4m3fn", "f32", 1, "m16n8k32", "sm_89"},
    {"f8e5m2", "f16", 1, "m16n8k32", "sm_90"}};

/// Passes, and as what was asked for.
CheckOutcome expectMma(const KernelSpec &spec, const std::string &what) {
  SCOPED_TRACE(what);
  auto kernel = lowerKernel(spec, CodeMode::Device);
  EXPECT_TRUE(bool(kernel)) << (kernel ? "" : takeDiag(kernel.takeError()).message);
  if (kernel) {
    EXPECT_TRUE(kernel->notes.empty()) << kernel->notes[0];
  }
  return expectPass(spec);
}

/// What of f32 products is asked for, and what is then made by mma.sync and by wgmma: the
/// instruction, and the error that a check allows.
TEST(LowerMma, ProductsAreAsExactAsIsAskedFor) {
  struct Case {
    const char *attribute;
    Instruction mma, wgmma;
    double tolerance;
  };
  constexpr double tf32 = 4e-3, whole = 5e-5;
  for (const Case &c : {
           Case{"", Instruction::MmaSync, Instruction::MmaSync, tf32},
           Case{"algorithm=dot_tf32_tf32_f32", Instruction::MmaSync, Instruction::MmaSync, tf32},
           Case{"algorithm=dot_bf16_bf16_f32", Instruction::MmaSync, Instruction::MmaSync, tf32},
           Case{"algorithm=dot_tf32_tf32_f32_x3", Instruction::MmaSync, Instruction::MmaSync,
                whole},
           Case{"algorithm=dot_bf16_bf16_f32_x3", Instruction::MmaSync, Instruction::MmaSync,
                whole},
           Case{"algorithm=dot_bf16_bf16_f32_x6", Instruction::Fma, Instruction::Fma, whole},
           Case{"algorithm=dot_bf16_bf16_f32_x9", Instruction::Fma, Instruction::Fma, whole},
           Case{"algorithm=dot_f32_f32_f32", Instruction::Fma, Instruction::Fma, whole},
           Case{"operand_precision={default,default}", Instruction::MmaSync, Instruction::MmaSync,
                tf32},
           Case{"operand_precision={high,default}", Instruction::MmaSync, Instruction::MmaSync,
                whole},
           Case{"operand_precision={HIGH,HIGH}", Instruction::MmaSync, Instruction::MmaSync, whole},
           Case{"operand_precision={highest,high}", Instruction::Fma, Instruction::Fma, whole},
           Case{"operand_precision={default,highest}", Instruction::Fma, Instruction::Fma, whole},
           // The algorithm comes first where both are given.
           Case{"operand_precision={highest,highest}, algorithm=dot_tf32_tf32_f32",
                Instruction::MmaSync, Instruction::MmaSync, tf32},
       }) {
    std::string hlo = matmul(64, 64, 128, true, true, "f32", "f32");
    if (*c.attribute)
      hlo.insert(hlo.find('\n', hlo.find(" dot(")), std::string(", ") + c.attribute);
    KernelSpec spec = dotSpec(hlo, {64, 64}, 64, 4, 3);
    for (Instruction asked : {Instruction::MmaSync, Instruction::Wgmma, Instruction::Fma}) {
      SCOPED_TRACE(fmt::format("{} by {}", c.attribute, toString(asked)));
      spec.schedule.instruction = asked;
      auto kernel = lowerKernel(spec, CodeMode::Device);
      ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
      const Instruction expected = asked == Instruction::MmaSync ? c.mma
                                   : asked == Instruction::Wgmma ? c.wgmma
                                                                 : Instruction::Fma;
      EXPECT_EQ(toString(kernel->code.instruction), toString(expected));
      EXPECT_EQ(kernel->notes.empty(), asked == expected);
      CheckOutcome outcome = expectPass(spec);
      EXPECT_EQ(outcome.tolerance, expected == Instruction::Fma ? whole : c.tolerance);
    }
  }
}

/// Products of narrower operands are exact: what is asked for changes nothing.
TEST(LowerMma, NarrowOperandsTakeAnyPrecision) {
  for (const char *type : {"bf16", "f16", "f8e4m3fn"}) {
    std::string hlo = matmul(64, 64, 128, true, true, type, "f32");
    hlo.insert(hlo.find('\n', hlo.find(" dot(")), ", operand_precision={highest,highest}");
    EXPECT_GT(expectMma(dotSpec(hlo, {32, 64}, 64, 4, 3), type).counts.mmaInstructions, 0);
  }
}

/// Three products of TF32 come nearer than one, and infinities stay what they are.
TEST(LowerMma, ThreeProductsOfTf32) {
  auto errorOf = [](const std::string &attribute) {
    std::string hlo = matmul(64, 64, 128, true, false, "f32", "f32");
    hlo.insert(hlo.find('\n', hlo.find(" dot(")), attribute);
    return expectMma(dotSpec(hlo, {32, 64}, 64, 4, 3), attribute).maxRelativeError;
  };
  const double one = errorOf(""), three = errorOf(", operand_precision={high,high}");
  EXPECT_GT(one, 100 * three);
  EXPECT_GT(three, 0);
  expectMma(dotSpec("HloModule m\nENTRY main {\n x = f32[64,64] parameter(0)\n"
                    " y = f32[64,64] parameter(1)\n z = f32[] constant(0.5)\n"
                    " zs = f32[64,64] broadcast(z), dimensions={}\n"
                    " p = pred[64,64] compare(x, zs), direction=GT\n"
                    " i = f32[] constant(inf)\n is = f32[64,64] broadcast(i), dimensions={}\n"
                    " a = f32[64,64] select(p, is, x)\n b = f32[64,64] abs(y)\n"
                    " ROOT d = f32[64,64] dot(a, b), lhs_contracting_dims={1}, "
                    "rhs_contracting_dims={0}, algorithm=dot_tf32_tf32_f32_x3\n}\n",
                    {32, 64}, 64, 4, 2),
            "infinities");
}

/// Two types of one class and width.
TEST(LowerMma, MixedTypesOfEightBits) {
  struct Pair {
    const char *left, *right, *result, *name;
  };
  for (const Pair &pair :
       {Pair{"f8e4m3fn", "f8e5m2", "f32", ".f32.e4m3.e5m2"},
        Pair{"f8e5m2", "f8e4m3fn", "bf16", ".f32.e5m2.e4m3"}, Pair{"s8", "u8", "s32", ".s32.s8.u8"},
        Pair{"u8", "s8", "s32", ".s32.u8.s8"}})
    for (bool right : {true, false})
      for (Instruction instruction : {Instruction::MmaSync, Instruction::Wgmma}) {
        if (!right && instruction == Instruction::Wgmma)
          continue; // operands of 8 bits are contiguous along k there
        KernelSpec spec =
            dotSpec(matmul(64, 64, 128, true, right, pair.left, pair.result, pair.right), {64, 64},
                    64, 4, 2, instruction);
        const std::string what = fmt::format("{} {} {}", pair.name, right, toString(instruction));
        CheckOutcome outcome = expectMma(spec, what);
        EXPECT_GT(outcome.counts.mmaInstructions + outcome.counts.warpgroupProducts, 0) << what;
        auto kernel = lowerKernel(spec, CodeMode::Device);
        ASSERT_TRUE(bool(kernel));
        auto compiled = compileKernel(
            *kernel, llvm::cantFail(findToolchain(llvm::cantFail(findTarget("sm_90a")), false)));
        ASSERT_TRUE(bool(compiled)) << takeDiag(compiled.takeError()).message;
        EXPECT_NE(compiled->ptx.find(pair.name), std::string::npos) << what;
      }
}

TEST(LowerMma, AllOperandOrdersOfEveryType) {
  for (const Types &types : allTypes)
    for (bool left : {true, false})
      for (bool right : {true, false}) {
        std::string what = fmt::format("{} left {} right {}", types.input, left, right);
        CheckOutcome outcome =
            expectMma(dotSpec(matmul(64, 64, 128, left, right, types.input, types.result), {32, 64},
                              64, 4, 3),
                      what);
        int64_t depth = 32 / types.bytes;
        EXPECT_EQ(outcome.counts.mmaInstructions, 64 / 16 * (64 / 8) * (128 / depth)) << what;
        // Everything by cp.async, but bytes that are transposed on the way; nothing in conflict.
        int64_t a = 64 * 128 * types.bytes, b = 2 * a;
        int64_t copied = (types.bytes > 1 || left ? a : 0) + (types.bytes > 1 || right ? b : 0);
        EXPECT_EQ(outcome.counts.asyncCopyBytes, copied) << what;
        EXPECT_EQ(outcome.counts.matrixLoadWavefronts, outcome.counts.matrixLoads) << what;
      }
}

TEST(LowerMma, TailsInEveryDim) {
  for (const Types &types : allTypes)
    for (bool left : {true, false})
      for (bool right : {true, false})
        for (auto [m, n, k, rows, columns, step, warps, stages] :
             {std::tuple(48, 40, 96, 32, 32, 32, 4, 3), std::tuple(37, 29, 45, 37, 29, 48, 2, 1),
              std::tuple(1, 9, 70, 32, 32, 32, 1, 2)})

          expectMma(dotSpec(matmul(m, n, k, left, right, types.input, types.result),
                            {std::min(rows, m), std::min(columns, n)}, std::min(step, k), warps,
                            stages),
                    fmt::format("{}x{}x{} of {}, {} {}, step {}", m, n, k, types.input, left, right,
                                step));
}

TEST(LowerMma, SplitK) {
  for (const Types &types : allTypes)
    for (int64_t splits : {2, 3}) {
      KernelSpec spec =
          dotSpec(matmul(40, 24, 256, true, false, types.input, types.result), {32, 24}, 32, 2, 2);
      spec.schedule.splitK = splits;
      expectMma(spec, types.input);
    }
}

/// Operands that are computed, and moved, on the way; a result that is used and transposed.
std::string fused(const char *input, const char *sum, const char *wide, bool isTransposed) {
  return fmt::format(R"(HloModule m
ENTRY main {{
  x = {0}[96,40] parameter(0)
  y = {2}[56,96] parameter(1)
  shift = {2}[] constant(2)
  shifts = {2}[56,96] broadcast(shift), dimensions={{}}
  sub = {2}[56,96] subtract(y, shifts)
  narrow = {0}[56,96] convert(sub)
  d = {1}[40,56] dot(x, narrow), lhs_contracting_dims={{0}}, rhs_contracting_dims={{1}}
  bias = {1}[56] parameter(2)
  rows = {1}[40,56] broadcast(bias), dimensions={{1}}
  e = {1}[40,56] add(d, rows)
  ROOT o = {1}[{3}] {4}
}})",
                     input, sum, wide, isTransposed ? "56,40" : "40,56",
                     isTransposed ? "transpose(e), dimensions={1,0}" : "negate(e)");
}

TEST(LowerMma, ProloguesAndEpilogues) {
  for (auto [input, sum, wide] : {std::tuple("f32", "f32", "f32"),
                                  {"f32", "f32", "bf16"},
                                  {"s8", "s32", "s32"},
                                  {"u8", "s32", "s32"},
                                  {"f8e4m3fn", "f32", "f32"},
                                  {"f8e5m2", "bf16", "f32"}})
    for (bool isTransposed : {false, true}) {
      KernelSpec spec = dotSpec(
          fused(input, sum, wide, isTransposed),
          isTransposed ? std::vector<int64_t>{56, 32} : std::vector<int64_t>{32, 56}, 32, 2, 2);
      expectMma(spec, input);
    }
}

TEST(LowerMma, BatchesAndSeveralContractedDims) {
  for (const char *type : {"f32", "f8e4m3fn"}) {
    std::string hlo = fmt::format(R"(HloModule m
ENTRY main {{
  a = {0}[3,20,4,32] parameter(0)
  b = {0}[3,4,32,24] parameter(1)
  ROOT d = f32[3,20,24] dot(a, b), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2,3}}, rhs_contracting_dims={{1,2}}
}})",
                                  type);
    KernelSpec spec = dotSpec(hlo, {1, 16, 24}, 2, 1, 2);
    spec.sequential.push_back({"d", 1, 32});
    expectMma(spec, type);
  }
}

TEST(LowerMma, ConvolutionsOfEveryType) {
  for (const Types &types : allTypes)
    for (int64_t features : {3, 32}) {
      std::string hlo = fmt::format(R"(HloModule m
ENTRY main {{
  x = {0}[2,9,9,{2}] parameter(0)
  k = {0}[3,3,{2},24] parameter(1)
  ROOT d = {1}[2,9,9,24] convolution(x, k), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f
}})",
                                    types.input, types.result, features);
      expectMma(dotSpec(hlo, {1, 4, 8, 24}, std::min<int64_t>(features, 32), 2, 2),
                fmt::format("{} of {} features", types.input, features));
    }
}

// What it does not take is made otherwise, with the reason.
TEST(LowerMma, OtherTypesFallToArithmetic) {
  for (auto [input, result] : {std::pair("s16", "s32"), {"s8", "f32"}, {"f64", "f64"}}) {
    KernelSpec spec = dotSpec(matmul(24, 16, 32, true, false, input, result), {24, 16}, 16, 2, 2);
    auto kernel = lowerKernel(spec, CodeMode::Device);
    ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
    ASSERT_EQ(kernel->notes.size(), 1u) << input;
    EXPECT_NE(kernel->notes[0].find("fma in place of mma.sync"), std::string::npos);
    expectPass(spec);
  }
}

// The instruction stands in what LLVM writes; ptxas takes it without spills, where there is one.
TEST(LowerMma, HasItsInstructionAndAssemblesWithoutSpills) {
  for (const Types &types : allTypes)
    for (const char *name : {types.target, "sm_90a"})
      for (bool isKMinor : {true, false}) {
        auto toolchain = findToolchain(llvm::cantFail(findTarget(name)));
        ASSERT_TRUE(bool(toolchain)) << takeDiag(toolchain.takeError()).message;
        auto kernel = llvm::cantFail(lowerKernel(
            dotSpec(matmul(2048, 2048, 2048, isKMinor, isKMinor, types.input, types.result),
                    {128, 128}, 64 / types.bytes, 8, 3),
            CodeMode::Device));
        EXPECT_EQ(targetProblem(kernel, *toolchain), "");
        auto compiled = llvm::cantFail(compileKernel(kernel, *toolchain));
        std::string what = fmt::format("{} {} for {}", types.input, isKMinor, name);
        EXPECT_NE(compiled.ptx.find(types.shape), std::string::npos) << what;
        if (!toolchain->ptxas)
          continue;
        ASSERT_TRUE(compiled.assembled) << what << ": " << compiled.assemblyError;
        EXPECT_FALSE(compiled.assembled->report.spills()) << what;
        EXPECT_TRUE(compiled.assembled->report.warnings.empty()) << what;
      }
}

TEST(LowerMma, EightBitFloatsNeedTheirTarget) {
  Toolchain toolchain{llvm::cantFail(findTarget("sm_80")), {8, 5}, std::nullopt, ""};
  auto kernel = llvm::cantFail(lowerKernel(
      dotSpec(matmul(64, 64, 64, true, true, "f8e4m3fn"), {32, 32}, 32, 4, 2), CodeMode::Device));
  EXPECT_EQ(targetProblem(kernel, toolchain),
            "needs sm_89 or newer and PTX 8.4, not sm_80 and PTX 8.5");
  toolchain.target = llvm::cantFail(findTarget("sm_89"));
  EXPECT_EQ(targetProblem(kernel, toolchain), "");
  toolchain.version = {8, 3};
  EXPECT_EQ(targetProblem(kernel, toolchain),
            "needs sm_89 or newer and PTX 8.4, not sm_89 and PTX 8.3");
}

} // namespace
} // namespace tilewright
