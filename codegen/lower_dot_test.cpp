#include "codegen/lower.h"
#include "codegen/testing/lowering.h"
#include "codegen/testing/matmul.h"

namespace tilewright {
namespace {

TEST(LowerDot, AllFourOperandOrders) {
  for (bool left : {true, false})
    for (bool right : {true, false})
      for (const char *type : {"bf16", "f16"}) {
        CheckOutcome outcome =
            expectPass(dotSpec(matmul(64, 64, 64, left, right, type), {32, 32}, 32, 4, 3));
        EXPECT_EQ(outcome.counts.mmaInstructions, 64 / 16 * (64 / 8) * (64 / 16));
        // All of A and B by cp.async, once for each tile of the other side, without conflicts.
        EXPECT_EQ(outcome.counts.asyncCopyBytes, 2 * (64 * 64 + 64 * 64) * 2);
        EXPECT_EQ(outcome.counts.matrixLoadWavefronts, outcome.counts.matrixLoads);
      }
}

TEST(LowerDot, TailsInEveryDim) {
  for (bool left : {true, false})
    for (bool right : {true, false}) {
      // Multiples of eight keep cp.async; others go element by element.
      expectPass(dotSpec(matmul(56, 72, 40, left, right), {32, 32}, 32, 4, 3));
      expectPass(dotSpec(matmul(37, 29, 45, left, right), {32, 16}, 16, 2, 2));
    }
  expectPass(dotSpec(matmul(1, 17, 100, true, false), {1, 17}, 24, 2, 2));
  expectPass(dotSpec(matmul(33, 9, 3, true, true), {33, 9}, 3, 1, 1));
}

// A reduction beside a product has its rows elsewhere than the product's sums have theirs; a batch
// of one has no axis.
TEST(LowerDot, RowsOfAReductionInAnOperand) {
  for (bool isRow : {true, false})
    for (const char *type : {"bf16", "f32"}) {
      const std::string hlo = fmt::format(R"(HloModule m
min {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] minimum(a, b)
}}
ENTRY main {{
  x = f32[1,48,24] parameter(0)
  z = f32[] constant(inf)
  r = f32[1,{1}] reduce(x, z), dimensions={{{2}}}, to_apply=min
  w = f32[1,48,24] broadcast(r), dimensions={{0,{3}}}
  s = f32[1,48,24] subtract(x, w)
  t = {0}[1,48,24] convert(s)
  y = {0}[1,24,5] parameter(1)
  d = f32[1,48,5] dot(t, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}
  e = f32[1,5] reduce(d, z), dimensions={{1}}, to_apply=min
  f = f32[1,48,5] broadcast(e), dimensions={{0,2}}
  ROOT g = f32[1,48,5] subtract(d, f)
}})",
                                          type, isRow ? 48 : 24, isRow ? 2 : 1, isRow ? 1 : 2);
      for (auto [k, columns, warps] : {std::tuple(4, 1, 1), std::tuple(24, 5, 2)}) {
        KernelSpec spec = dotSpec(hlo, {1, 48, columns}, k, warps, 2, Instruction::Fma);
        CheckOptions options;
        options.tolerance = 0x1p-6; // an operand that is rounded
        expectPass(spec, options);
      }
    }
}

TEST(LowerDot, StagesWarpsAndRaster) {
  for (int64_t stages : {1, 2, 4})
    for (int64_t warps : {1, 3, 8})
      expectPass(dotSpec(matmul(96, 64, 80, true, false), {48, 32}, 16, warps, stages));
  for (int64_t group : {1, 2, 8})
    expectPass(
        dotSpec(matmul(80, 48, 16, true, true), {16, 16}, 16, 1, 2, Instruction::MmaSync, group));
  expectPass(
      dotSpec(matmul(32, 32, 16, true, true), {32, 32}, 16, 4, 4)); // fewer tiles than stages
}

TEST(LowerDot, BatchesAndSeveralFreeDims) {
  std::string hlo = R"(HloModule m
ENTRY main {
  a = bf16[3,4,20,32] parameter(0)
  b = bf16[3,32,24] parameter(1)
  ROOT d = bf16[3,4,20,24] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_contracting_dims={1}
})";
  expectPass(dotSpec(hlo, {1, 2, 16, 24}, 16, 2, 2));
  expectPass(dotSpec(hlo, {2, 4, 8, 16}, 32, 4, 2));
}

TEST(LowerDot, SeveralContractedDims) {
  expectPass(dotSpec(R"(HloModule m
ENTRY main {
  a = f16[24,6,8] parameter(0)
  b = f16[6,8,40] parameter(1)
  ROOT d = f32[24,40] dot(a, b), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}
})",
                     {16, 40}, 6, 2, 2));
}

const char *epilogue = R"(HloModule m
ENTRY main {
  a = bf16[40,64] parameter(0)
  b = bf16[64,48] parameter(1)
  d = bf16[40,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias = bf16[48] parameter(2)
  bb = bf16[40,48] broadcast(bias), dimensions={1}
  s = bf16[40,48] add(d, bb)
  zero = bf16[] constant(0)
  zb = bf16[40,48] broadcast(zero), dimensions={}
  r = bf16[40,48] maximum(s, zb)
  res = bf16[40,48] parameter(3)
  q = bf16[40,48] add(r, res)
  ROOT o = f32[40,48] convert(q)
})";

TEST(LowerDot, Epilogue) {
  expectPass(dotSpec(epilogue, {32, 32}, 32, 4, 3));
  expectPass(dotSpec(epilogue, {40, 48}, 64, 2, 2));
}

TEST(LowerDot, EpilogueThatMovesTheResult) {
  expectPass(dotSpec(R"(HloModule m
ENTRY main {
  a = bf16[40,64] parameter(0)
  b = bf16[64,48] parameter(1)
  d = f32[40,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[5,8,48] reshape(d)
  ROOT t = f32[5,48,8] transpose(r), dimensions={0,2,1}
})",
                     {2, 16, 8}, 32, 2, 2));
}

// Results go through the stages' memory: in passes where they don't fit, along the rows where the
// result is transposed, with warps that have no part of the tile.
TEST(LowerDot, ResultsAlongTheirFastestDim) {
  auto module = [](const char *type, bool isTransposed) {
    return fmt::format(R"(HloModule m
ENTRY main {{
  a = bf16[72,64] parameter(0)
  b = bf16[64,56] parameter(1)
  d = {0}[72,56] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  e = {0}[72,56] {2}(d)
  ROOT o = {0}[{1}] {3}
}})",
                       type, isTransposed ? "56,72" : "72,56",
                       std::string_view(type) == "s32" ? "negate" : "tanh",
                       isTransposed ? "transpose(e), dimensions={1,0}" : "copy(e)");
  };
  for (const char *type : {"bf16", "f32", "f8e5m2"})
    for (bool isTransposed : {false, true})
      for (int64_t stages : {1, 3})
        for (int64_t warps : {2, 3, 4}) {
          std::vector<int64_t> tile{64, 48};
          if (isTransposed)
            std::swap(tile[0], tile[1]);
          CheckOutcome outcome =
              expectPass(dotSpec(module(type, isTransposed), tile, 16, warps, stages));
          EXPECT_GT(outcome.counts.mmaInstructions, 0);
        }
}

// A store is as wide as the layout allows, and no access meets a bank conflict.
TEST(LowerDot, ResultsAreStoredInVectors) {
  KernelSpec spec = dotSpec(matmul(64, 64, 64, true, false, "bf16", "bf16"), {64, 64}, 32, 4, 3);
  auto kernel = lowerKernel(spec, CodeMode::Device);
  ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  std::string ir = kernel->llvmText();
  EXPECT_NE(ir.find("store <4 x i32>"), std::string::npos);
  EXPECT_EQ(ir.find("store i16"), std::string::npos);
  EXPECT_EQ(ir.find("store i32 %"), ir.find("store i32 %", ir.find("ptr addrspace(3)")));
}

// Some root elements have no element of the dot: its operands must not be read there.
TEST(LowerDot, EpilogueThatGoesBeyondTheDot) {
  for (const char *epilogue : {"f32[2,26,19] pad(d, c), padding=0_0_0x-1_3_0x2_1_0",
                               "f32[4,47,17] pad(d, c), padding=1_1_0x0_0_1x3_-2_0"}) {
    std::string hlo = std::string(R"(HloModule m
ENTRY main {
  a = bf16[2,24,32] parameter(0)
  b = bf16[2,32,16] parameter(1)
  c = f32[] constant(5)
  d = f32[2,24,16] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  ROOT p = )") + epilogue +
                      "\n}\n";
    for (Instruction instruction : {Instruction::MmaSync, Instruction::Fma})
      for (std::vector<int64_t> tile : {std::vector<int64_t>{1, 16, 8}, {2, 26, 16}})
        expectPass(dotSpec(hlo, tile, 16, 2, 2, instruction));
  }
  for (Instruction instruction : {Instruction::MmaSync, Instruction::Fma})
    expectPass(dotSpec(R"(HloModule m
ENTRY main {
  a = f16[24,32] parameter(0)
  b = f16[32,40] parameter(1)
  above = f32[9,40] parameter(2)
  d = f32[24,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT j = f32[33,40] concatenate(above, d), dimensions={0}
})",
                       {16, 32}, 32, 2, 1, instruction));
}

TEST(LowerDot, Prologues) {
  expectPass(dotSpec(R"(HloModule m
ENTRY main {
  a = f32[40,64] parameter(0)
  ah = bf16[40,64] convert(a)
  q = s8[64,48] parameter(1)
  bh = bf16[64,48] convert(q)
  d = f32[40,48] dot(ah, bh), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT n = f32[40,48] negate(d)
})",
                     {16, 32}, 32, 4, 2));
}

TEST(LowerDot, OperandsSeenThroughMovementAreStillCopied) {
  CheckOutcome outcome = expectPass(dotSpec(R"(HloModule m
ENTRY main {
  a = bf16[64,80] parameter(0)
  s = bf16[32,64] slice(a), slice={[16:48], [8:72]}
  b = bf16[48,64] parameter(1)
  t = bf16[64,48] transpose(b), dimensions={1,0}
  ROOT d = f32[32,48] dot(s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
                                            {32, 48}, 32, 2, 2));
  EXPECT_EQ(outcome.counts.asyncCopyBytes, (32 * 64 + 64 * 48) * 2);
}

TEST(LowerDot, FmaInEveryType) {
  for (const char *type : {"f32", "f64", "s32", "bf16"}) {
    std::string result = std::string(type) == "bf16" ? "f32" : type;
    for (bool left : {true, false})
      expectPass(dotSpec(matmul(37, 29, 45, left, !left, type, result), {16, 29}, 16, 2, 2,
                         Instruction::Fma));
    expectPass(dotSpec(matmul(64, 64, 32, true, false, type, result), {64, 64}, 16, 4, 1,
                       Instruction::Fma));
  }
}

TEST(LowerDot, SplitsAddUpInOrder) {
  for (Instruction instruction : {Instruction::MmaSync, Instruction::Fma})
    for (int64_t splits : {2, 3, 7})
      for (int64_t stages : {1, 3}) {
        KernelSpec spec =
            dotSpec(matmul(40, 24, 100, true, false), {32, 16}, 16, 2, stages, instruction, 2);
        spec.schedule.splitK = splits;
        CheckOutcome outcome = expectPass(spec);
        EXPECT_EQ(outcome.ctas, 4 * splits);
        EXPECT_EQ(outcome.counts.atomics, 4 * splits);
      }
  KernelSpec batched = dotSpec(R"(HloModule m
ENTRY main {
  a = f16[3,20,96] parameter(0)
  b = f16[3,96,24] parameter(1)
  d = f32[3,20,24] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  ROOT e = f32[3,20,24] exponential(d)
})",
                               {2, 20, 24}, 16, 1, 2);
  batched.schedule.splitK = 3;
  expectPass(batched);
  KernelSpec integers =
      dotSpec(matmul(33, 20, 70, false, true, "s32", "s32"), {16, 20}, 8, 2, 2, Instruction::Fma);
  integers.schedule.splitK = 4;
  expectPass(integers);
}

// More CTAs than are run: the splits of one tile must be run together.
TEST(LowerDot, SplitsOfSomeTiles) {
  KernelSpec spec = dotSpec(matmul(512, 512, 64, true, true), {32, 32}, 16, 1, 2);
  spec.schedule.splitK = 3;
  CheckOptions options;
  options.maxEvents = 1 << 17;
  CheckOutcome outcome = expectPass(spec, options);
  EXPECT_LT(outcome.ctasRun, outcome.ctas);
  EXPECT_EQ(outcome.ctasRun % 3, 0);
}

TEST(LowerDot, TooWeakAWaitIsCaught) {
  // Copies land as late as the wait allows, so that one more group in flight must be noticed.
  KernelSpec spec = dotSpec(matmul(32, 32, 128, true, true), {32, 32}, 16, 2, 3);
  auto kernel = lowerKernel(spec, CodeMode::Emulation);
  ASSERT_TRUE(bool(kernel));
  CheckOptions options;
  options.weakenWaits = 1;
  CheckOutcome outcome = checkKernel(spec, std::move(*kernel), options);
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Fail);
  EXPECT_NE(outcome.reason.find("asynchronous copy may still write"), std::string::npos)
      << outcome.reason;
}

TEST(LowerDot, OtherInstructionsStandInWithTheReason) {
  auto notes = [](KernelSpec spec) {
    auto kernel = lowerKernel(spec, CodeMode::Device);
    EXPECT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
    expectPass(spec);
    return kernel && !kernel->notes.empty() ? kernel->notes[0] : "";
  };
  EXPECT_EQ(
      notes(dotSpec(matmul(32, 32, 32, true, true, "f64", "f64"), {32, 32}, 16, 2, 2)),
      "fma in place of mma.sync: %d: mma.sync takes two operands of f16, bf16 or f32, or of "
      "f8e4m3fn and f8e5m2, and sums in f32, or of s8 and u8, and sums in s32; not f64 and f64 in "
      "f64");
}

TEST(LowerDot, RefusalsSayWhy) {
  auto reason = [](KernelSpec spec) {
    CheckOutcome outcome = checkKernel(spec);
    EXPECT_EQ(outcome.status, CheckOutcome::Status::Skipped);
    return outcome.reason;
  };
  EXPECT_NE(reason(dotSpec(matmul(512, 512, 64, true, true), {256, 256}, 16, 4, 2))
                .find("512 sums a thread"),
            std::string::npos);
  EXPECT_NE(reason(dotSpec(matmul(256, 256, 512, true, true), {128, 128}, 128, 8, 8))
                .find("shared memory"),
            std::string::npos);
}

// Groups that are no tiles of rows and columns: correct all the same, and the plan says how.
TEST(LowerDot, OtherGroupsAreLoops) {
  auto passes = [](const char *body, std::vector<int64_t> tile, const std::string &reason) {
    KernelSpec spec = specFromHlo(std::string("HloModule m\n"
                                              "add { x = f32[] parameter(0)\n"
                                              " y = f32[] parameter(1)\n"
                                              " ROOT s = f32[] add(x, y) }\n"
                                              "ENTRY main {\n") +
                                      body + "}\n",
                                  std::move(tile));
    auto kernel = lowerKernel(spec, CodeMode::Device);
    ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
    ASSERT_EQ(kernel->notes.size(), 1u);
    EXPECT_EQ(kernel->notes[0], "each element by loops of one thread: " + reason);
    expectPass(spec);
  };
  passes(R"(
  a = f32[5,6,16] parameter(0)
  b = f32[5,6,16] parameter(1)
  d = f32[5,6,6] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  ROOT r = f32[5,36] reshape(d)
)",
         {2, 36}, "dim 1 of %r runs over several sides of %d at once");
}

// A reduction of a dot's result is made of its tiles.
TEST(LowerDot, RowsOfItsResultAreSummedBesideIt) {
  KernelSpec spec = specFromHlo("HloModule m\n"
                                "add { x = f32[] parameter(0)\n"
                                " y = f32[] parameter(1)\n"
                                " ROOT s = f32[] add(x, y) }\n"
                                "ENTRY main {\n"
                                " a = f32[24,16] parameter(0)\n"
                                " b = f32[16,40] parameter(1)\n"
                                " d = f32[24,40] dot(a, b), lhs_contracting_dims={1}, "
                                "rhs_contracting_dims={0}\n"
                                " zero = f32[] constant(0)\n"
                                " ROOT r = f32[24] reduce(d, zero), dimensions={1}, to_apply=add\n"
                                "}\n",
                                {8});
  auto kernel = lowerKernel(spec, CodeMode::Device);
  ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  EXPECT_TRUE(kernel->notes.empty());
  expectPass(spec);
}

} // namespace
} // namespace tilewright
