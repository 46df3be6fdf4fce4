// wgmma with TMA copies: operand orders, tails, views, and what the emulator notices when a
// step of the protocol is left out.
#include "codegen/kernel_mutation.h"
#include "codegen/lower.h"
#include "codegen/testing/lowering.h"
#include "codegen/testing/matmul.h"

namespace tilewright {
namespace {

KernelSpec wgmmaSpec(const std::string &hlo, std::vector<int64_t> tile, int64_t k, int64_t warps,
                     int64_t stages) {
  return dotSpec(hlo, std::move(tile), k, warps, stages, Instruction::Wgmma);
}

/// Passes, and by wgmma.
CheckOutcome expectWgmma(const KernelSpec &spec) {
  auto kernel = lowerKernel(spec, CodeMode::Device);
  EXPECT_TRUE(bool(kernel)) << (kernel ? "" : takeDiag(kernel.takeError()).message);
  if (kernel) {
    EXPECT_TRUE(kernel->notes.empty()) << kernel->notes[0];
    EXPECT_EQ(kernel->target, "sm_90a");
    EXPECT_GT(kernel->launch.threads, spec.schedule.warps * 32);
  }
  CheckOutcome outcome = expectPass(spec);
  EXPECT_GT(outcome.counts.warpgroupProducts, 0);
  return outcome;
}

TEST(LowerWgmma, AllFourOperandOrders) {
  for (bool left : {true, false})
    for (bool right : {true, false})
      for (const char *type : {"bf16", "f16"}) {
        CheckOutcome outcome =
            expectWgmma(wgmmaSpec(matmul(128, 192, 192, left, right, type), {128, 96}, 64, 8, 3));
        EXPECT_EQ(outcome.counts.warpgroupProducts, 2 * 2 * (192 / 16));
        EXPECT_EQ(outcome.counts.tensorCopyBytes, (2 * 128 + 192) * 192 * 2);
      }
}

TEST(LowerWgmma, TailsInEveryDim) {
  for (bool left : {true, false})
    for (bool right : {true, false}) {
      expectWgmma(wgmmaSpec(matmul(200, 104, 152, left, right), {128, 64}, 64, 4, 3));
      expectWgmma(wgmmaSpec(matmul(72, 40, 88, left, right), {64, 40}, 32, 4, 2));
    }
}

TEST(LowerWgmma, WidthsOfSwizzle) {
  for (bool left : {true, false})
    for (bool right : {true, false})
      for (int64_t k : {16, 32, 48, 64, 128})
        for (int64_t columns : {16, 32, 64})
          expectWgmma(wgmmaSpec(matmul(64, 64, 2 * k, left, right), {64, columns}, k, 4, 2));
}

TEST(LowerWgmma, StagesWarpgroupsAndRaster) {
  for (int64_t stages : {1, 2, 5})
    for (int64_t warps : {4, 12})
      expectWgmma(wgmmaSpec(matmul(192, 48, 320, true, false), {192, 48}, 64, warps, stages));
  KernelSpec grouped = wgmmaSpec(matmul(320, 96, 64, true, true), {64, 32}, 64, 4, 2);
  grouped.schedule.groupM = 2;
  expectWgmma(grouped);
  expectWgmma(wgmmaSpec(matmul(128, 320, 64, true, true), {64, 320}, 64, 4, 2)); // two products
}

TEST(LowerWgmma, ManySumsGetTheRegistersOfTheProducerWarps) {
  KernelSpec spec = wgmmaSpec(matmul(128, 256, 128, true, false), {128, 256}, 64, 8, 2);
  expectWgmma(spec);
  auto kernel = lowerKernel(spec, CodeMode::Device);
  ASSERT_TRUE(bool(kernel));
  EXPECT_EQ(kernel->launch.threads, 384);
  std::string text = kernel->llvmText();
  EXPECT_NE(text.find("setmaxnreg.inc.sync.aligned.u32(i32 232)"), std::string::npos);
  EXPECT_NE(text.find("setmaxnreg.dec.sync.aligned.u32(i32 40)"), std::string::npos);
  expectPass(wgmmaSpec(matmul(192, 256, 64, true, true), {192, 128}, 64, 12, 2));
}

// A warpgroup that asks for more than the CTA was started with waits for ever.
TEST(LowerWgmma, RegistersThatMoveAreThere) {
  size_t moved = 0;
  for (int64_t warps : {4, 8, 12, 16, 20, 24})
    for (int64_t columns : {64, 96, 128, 192, 256})
      for (int64_t rows : {64, 128, 256, 384}) {
        if (rows % (warps * 16) != 0)
          continue;
        KernelSpec spec =
            wgmmaSpec(matmul(rows, columns, 64, true, true), {rows, columns}, 32, warps, 2);
        auto kernel = lowerKernel(spec, CodeMode::Emulation);
        if (!kernel) { // too many sums, or too much shared memory
          llvm::consumeError(kernel.takeError());
          continue;
        }
        moved += kernel->launch.threads == warps * 32 + 128;
        CheckOutcome outcome = checkKernel(spec, std::move(*kernel), {});
        EXPECT_EQ(outcome.status, CheckOutcome::Status::Pass)
            << rows << " x " << columns << ", " << warps << " warps: " << outcome.reason;
      }
  EXPECT_GT(moved, 2u);
}

TEST(LowerWgmma, EveryType) {
  struct Types {
    const char *input, *result;
    int64_t perProduct; ///< K of one instruction
  };
  for (Types types :
       {Types{"f8e4m3fn", "f32", 32}, {"f8e5m2", "bf16", 32}, {"s8", "s32", 32}, {"u8", "s32", 32}})
    for (int64_t k : {128, 64, 32}) {
      CheckOutcome outcome = expectWgmma(wgmmaSpec(
          matmul(72, 48, 2 * k, true, true, types.input, types.result), {64, 32}, k, 4, 2));
      EXPECT_EQ(outcome.counts.warpgroupProducts, 2 * 2 * 2 * k / types.perProduct);
    }
  // Only 16-bit types may have their contracted dim outermost.
  auto kernel =
      lowerKernel(wgmmaSpec(matmul(64, 64, 64, true, false, "s8", "s32"), {64, 64}, 64, 4, 2),
                  CodeMode::Device);
  ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  EXPECT_EQ(kernel->notes[0].substr(0, 27), "mma.sync in place of wgmma:") << kernel->notes[0];
}

// More warpgroups than rows for them: they share rows and part the columns.
TEST(LowerWgmma, WarpgroupsBesideEachOther) {
  for (bool left : {true, false})
    for (bool right : {true, false})
      for (auto [rows, columns, warps] : {std::tuple(64, 128, 8), std::tuple(64, 384, 8),
                                          std::tuple(128, 128, 16), std::tuple(64, 256, 16)}) {
        KernelSpec spec = wgmmaSpec(matmul(136, 2 * columns - 24, 96, left, right, "bf16", "bf16"),
                                    {rows, columns}, 32, warps, 3);
        SCOPED_TRACE(fmt::format("{} x {}, {} warps, {} {}", rows, columns, warps, left, right));
        expectWgmma(spec);
        spec.schedule.splitK = 2;
        expectWgmma(spec);
      }
}

TEST(LowerWgmma, SplitsAddUp) {
  for (int64_t splits : {2, 3, 9}) {
    KernelSpec spec = wgmmaSpec(matmul(128, 64, 448, true, true), {64, 64}, 64, 4, 2);
    spec.schedule.splitK = splits;
    EXPECT_EQ(expectWgmma(spec).counts.atomics, 2 * splits);
  }
}

TEST(LowerWgmma, BatchesSeveralDimsAndViews) {
  expectWgmma(wgmmaSpec(R"(HloModule m
ENTRY main {
  a = bf16[3,4,16,64] parameter(0)
  b = bf16[3,64,24] parameter(1)
  ROOT d = bf16[3,4,16,24] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_contracting_dims={1}
})",
                        {1, 4, 16, 24}, 32, 4, 2));
  expectWgmma(wgmmaSpec(R"(HloModule m
ENTRY main {
  a = f16[64,6,8] parameter(0)
  b = f16[6,8,40] parameter(1)
  ROOT d = f32[64,40] dot(a, b), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}
})",
                        {64, 40}, 6, 4, 2));
  expectWgmma(wgmmaSpec(R"(HloModule m
ENTRY main {
  a = bf16[100,80] parameter(0)
  s = bf16[80,64] slice(a), slice={[16:96], [8:72]}
  b = bf16[48,64] parameter(1)
  t = bf16[64,48] transpose(b), dimensions={1,0}
  ROOT d = f32[80,48] dot(s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
                        {64, 48}, 32, 4, 2));
  // Rows or columns of a dim behind one with a single element.
  for (bool isRows : {true, false})
    expectWgmma(
        wgmmaSpec(fmt::format(R"(HloModule m
ENTRY main {{
  a = bf16[2,64,192] parameter(0)
  b = bf16[192,128] parameter(1)
  ROOT d = bf16[{}] dot({}), lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}
}})",
                              isRows ? "2,64,128" : "128,2,64", isRows ? "a, b" : "b, a",
                              isRows ? 2 : 0, isRows ? 0 : 2),
                  isRows ? std::vector<int64_t>{1, 64, 64} : std::vector<int64_t>{64, 1, 32}, 64,
                  isRows ? 8 : 4, 2));
  // Heads taken out of a row of the operands, and put back behind each other by the epilogue.
  expectWgmma(wgmmaSpec(R"(HloModule m
ENTRY main {
  x = bf16[64,192] parameter(0)
  h = bf16[64,3,64] reshape(x)
  q = bf16[3,64,64] transpose(h), dimensions={1,0,2}
  k = bf16[3,64,32] parameter(1)
  d = f32[3,64,32] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  t = f32[64,3,32] transpose(d), dimensions={1,0,2}
  ROOT c = bf16[64,3,32] convert(t)
})",
                        {64, 1, 32}, 64, 4, 2));
}

TEST(LowerWgmma, Epilogues) {
  expectWgmma(wgmmaSpec(R"(HloModule m
ENTRY main {
  a = bf16[72,64] parameter(0)
  b = bf16[64,48] parameter(1)
  d = bf16[72,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias = bf16[48] parameter(2)
  bb = bf16[72,48] broadcast(bias), dimensions={1}
  s = bf16[72,48] add(d, bb)
  zero = bf16[] constant(0)
  zb = bf16[72,48] broadcast(zero), dimensions={}
  r = bf16[72,48] maximum(s, zb)
  res = bf16[72,48] parameter(3)
  q = bf16[72,48] add(r, res)
  ROOT o = f32[72,48] convert(q)
})",
                        {64, 48}, 32, 4, 3));
}

TEST(LowerWgmma, OtherInstructionsStandInWithTheReason) {
  auto notes = [](const KernelSpec &spec) {
    auto kernel = lowerKernel(spec, CodeMode::Device);
    EXPECT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
    expectPass(spec);
    return kernel && !kernel->notes.empty() ? kernel->notes[0] : "";
  };
  // Rows of 66 bytes can't be copied by the accelerator.
  EXPECT_EQ(notes(wgmmaSpec(matmul(64, 32, 33, true, true), {64, 32}, 16, 4, 2)),
            "mma.sync in place of wgmma: %d: operand %a of bf16[64,33] can't be copied by TMA: the "
            "stride of dim 0, 66 bytes, is not a positive multiple of 16; mma.sync takes it");
  EXPECT_EQ(
      notes(wgmmaSpec(R"(HloModule m
ENTRY main {
  x = f32[64,64] parameter(0)
  a = bf16[64,64] convert(x)
  b = bf16[64,32] parameter(1)
  ROOT d = f32[64,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
                      {64, 32}, 32, 4, 2)),
      "mma.sync in place of wgmma: %d: operand %a of bf16[64,64] can't be copied by TMA: %a is "
      "computed, not read from memory; mma.sync takes it");
}

/// What the emulator says when calls of a function are left out.
std::string without(const char *function, std::optional<size_t> which = std::nullopt,
                    int64_t splits = 1) {
  KernelSpec spec = wgmmaSpec(matmul(64, 64, 384, true, true), {64, 64}, 64, 4, 2);
  spec.schedule.splitK = splits;
  KernelModule kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Emulation));
  size_t removed = 0;
  kernel = withoutCalls(std::move(kernel), function, which, removed);
  EXPECT_GT(removed, 0u) << function;
  CheckOutcome outcome = checkKernel(spec, std::move(kernel), {});
  EXPECT_NE(outcome.status, CheckOutcome::Status::Pass) << function;
  return outcome.reason;
}

TEST(LowerWgmma, EveryStepOfTheProtocolIsMissed) {
  auto expect = [](const std::string &reason, const char *part) {
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  };
  // Waits, in the order of the code: the producer thread for empty, the others for full.
  expect(without("twEmuWaitBarrier", 0), "more than the 1 arrivals");
  expect(without("twEmuWaitBarrier", 1), "which nothing has written");
  // Arrivals: that with the bytes, then that which gives a stage back.
  expect(without("twEmuArrive", 0), "wait for a phase of a barrier in shared memory to end");
  expect(without("twEmuArrive", 1), "wait for a phase of a barrier in shared memory to end");
  expect(without("twEmuWarpgroupFence"), "no wgmma.fence");
  expect(without("twEmuFenceBarrierInit"), "before the initialised barriers are fenced");
  expect(without("twEmuBarrier"), "initialised, with no CTA barrier in between");
  expect(without("twEmuWarpgroupCommit"), "product may still read it");
  // Stages given back too early, and sums read too early.
  expect(without("twEmuWarpgroupWait", 0), "product may still read it");
  expect(without("twEmuWarpgroupWait", 1), "product may still read it");
  // Split-K.
  expect(without("twEmuFenceGlobal", 0, 3), "no fence and atomic operation behind it");
  expect(without("twEmuFenceGlobal", 1, 3), "no atomic operation and fence before it");
  expect(without("twEmuNamedBarrier", 0, 3), "no fence and atomic operation behind it");
}

} // namespace
} // namespace tilewright
