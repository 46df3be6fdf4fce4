// What the emulator counts against what the analysis and the cost model say of the same plan: bytes
// from and to global memory, products of tensor cores, shared memory.
#include "analysis/program/pass/resources.h"
#include "codegen/extract.h"
#include "codegen/lower.h"
#include "codegen/testing/attention.h"
#include "codegen/testing/matmul.h"
#include "costmodel/features.h"

namespace tilewright {
namespace {

struct Expected {
  bool loads = true; ///< bytes read from global memory equal the cost model's
};

/// Rows of 128 bytes at least: the cost model also counts sectors that a row's start cuts.
void compare(const KernelSpec &spec, const Expected &expected = {}) {
  SCOPED_TRACE(spec.name);
  auto plan = planOf(spec);
  ASSERT_TRUE(bool(plan)) << takeDiag(plan.takeError()).message;
  Device device = llvm::cantFail(loadDevice("h100-sxm"));
  auto features = featuresOf(*plan, device);
  ASSERT_TRUE(bool(features)) << takeDiag(features.takeError()).message;
  auto kernel = lowerKernel(spec, CodeMode::Emulation);
  ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  ASSERT_TRUE(kernel->notes.empty()) << kernel->notes[0];
  LaunchShape launch = kernel->launch;
  CheckOutcome outcome = expectPass(spec);
  const EmulationCounts &counts = outcome.counts;

  EXPECT_EQ(static_cast<double>(launch.grid), features->ctas);
  double read =
      static_cast<double>(counts.globalReadBytes + counts.asyncCopyBytes + counts.tensorCopyBytes);
  if (expected.loads) {
    EXPECT_EQ(read, features->ctas *
                        (features->iterations * features->loadBytes + features->outsideLoadBytes));
  } else {
    EXPECT_GE(read, features->readBytes);
  }
  // A counter goes back to 0 once its tile is done.
  const double resets =
      4 * features->ctas * features->counterAtomics / double(spec.schedule.splitK);
  EXPECT_EQ(static_cast<double>(counts.globalWrittenBytes),
            features->writeBytes + features->workspaceBytes + resets);
  EXPECT_EQ(static_cast<double>(counts.atomics), features->ctas * features->counterAtomics);
  if (spec.schedule.instruction != Instruction::Fma) {
    EXPECT_EQ(static_cast<double>(counts.matrixFlops), features->flops);
  }
  Resources resources = kernelResources(*plan->module, plan->ops(), *plan->tiled,
                                        spec.schedule.instruction, DeviceLimits());
  EXPECT_EQ(evaluate(resources.sharedBytes, plan->assignment()), launch.sharedBytes);
  EXPECT_EQ(evaluate(resources.threads, plan->assignment()), launch.threads);
}

KernelSpec named(KernelSpec spec, const char *name) {
  spec.name = name;
  return spec;
}

TEST(Counts, Elementwise) {
  compare(named(specFromHlo(R"(HloModule m
ENTRY main {
  a = f32[64,256] parameter(0)
  b = bf16[64,256] parameter(1)
  c = f32[64,256] convert(b)
  ROOT s = f32[64,256] add(a, c)
})",
                            {8, 128}),
                "addition"));
  compare(named(specFromHlo(R"(HloModule m
ENTRY main {
  a = bf16[128,256] parameter(0)
  ROOT t = bf16[256,128] transpose(a), dimensions={1,0}
})",
                            {64, 32}),
                "transpose"));
}

TEST(Counts, Reductions) {
  const char *hlo = R"(HloModule m
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q)
}
ENTRY main {
  a = f32[64,1024] parameter(0)
  z = f32[] constant(0)
  r = f32[64] reduce(a, z), dimensions={1}, to_apply=add
  b = f32[64,1024] broadcast(r), dimensions={0}
  ROOT d = f32[64,1024] subtract(a, b)
})";
  KernelSpec spec = named(specFromHlo(hlo, {4, 1024}), "rows");
  spec.sequential = {{"r", 0, 1024}};
  compare(spec);
}

TEST(Counts, Dots) {
  compare(named(dotSpec(matmul(128, 64, 128, true, false), {64, 32}, 32, 4, 3), "mma.sync"));
  compare(
      named(dotSpec(matmul(128, 64, 128, false, true), {32, 64}, 64, 2, 2), "mma.sync transposed"));
  compare(named(dotSpec(matmul(128, 128, 128, true, true), {64, 64}, 64, 4, 2, Instruction::Wgmma),
                "wgmma"));
}

// Partial sums through memory: written by all, read by the last; one count a tile and split.
TEST(Counts, SplitK) {
  for (int64_t splits : {2, 4}) {
    KernelSpec spec = dotSpec(matmul(128, 64, 256, true, false), {64, 32}, 32, 4, 3);
    spec.schedule.splitK = splits;
    compare(named(std::move(spec), "mma.sync"));
    spec = dotSpec(matmul(128, 128, 256, true, true), {64, 64}, 64, 4, 2, Instruction::Wgmma);
    spec.schedule.splitK = splits;
    compare(named(std::move(spec), "wgmma"));
    spec = dotSpec(matmul(64, 64, 128, true, true, "f32", "f32"), {32, 32}, 16, 4, 2,
                   Instruction::Fma);
    spec.schedule.splitK = splits;
    compare(named(std::move(spec), "fma"));
  }
  KernelSpec batched = dotSpec(R"(HloModule m
ENTRY main {
  a = bf16[4,64,128] parameter(0)
  b = bf16[4,64,128] parameter(1)
  ROOT d = f32[4,64,64] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
})",
                               {2, 32, 32}, 32, 4, 2, Instruction::Fma);
  batched.schedule.splitK = 2;
  compare(named(std::move(batched), "two batches a CTA"));
}

TEST(Counts, DotsOfEveryType) {
  for (auto [input, result] :
       {std::pair("f32", "f32"), {"s8", "s32"}, {"u8", "s32"}, {"f8e4m3fn", "f32"}})
    for (bool isKMinor : {true, false})
      compare(named(dotSpec(matmul(128, 128, 256, isKMinor, isKMinor, input, result), {128, 128},
                            64, 4, 2),
                    input),
              {.loads = isKMinor});
  for (auto [input, result] : {std::pair("s8", "s32"), {"f8e5m2", "f32"}})
    compare(named(dotSpec(matmul(128, 128, 256, true, true, input, result), {64, 128}, 128, 4, 2,
                          Instruction::Wgmma),
                  input));
  // Two warpgroups that share their rows.
  compare(named(dotSpec(matmul(128, 256, 128, true, true), {64, 256}, 64, 8, 2, Instruction::Wgmma),
                "wgmma beside each other"));
}

TEST(Counts, Convolutions) {
  const char *hlo = R"(HloModule m
ENTRY main {
  x = bf16[2,10,18,64] parameter(0)
  k = bf16[3,3,64,64] parameter(1)
  ROOT c = bf16[2,8,16,64] convolution(x, k), window={size=3x3}, dim_labels=b01f_01io->b01f
})";
  KernelSpec spec = named(specFromHlo(hlo, {1, 4, 16, 64}), "windows");
  spec.sequential = {{"c", 0, 16}};
  spec.schedule.stages = 2;
  spec.schedule.instruction = Instruction::MmaSync;
  compare(spec);
  const char *few = R"(HloModule m
ENTRY main {
  x = bf16[2,21,37,3] parameter(0)
  k = bf16[7,7,3,16] parameter(1)
  ROOT c = bf16[2,8,16,16] convolution(x, k), window={size=7x7 stride=2x2}, dim_labels=b01f_01io->b01f
})";
  spec = named(specFromHlo(few, {1, 4, 16, 16}), "few features");
  spec.sequential = {{"c", 0, 3}};
  spec.schedule.instruction = Instruction::Fma;
  auto kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
  EXPECT_EQ(kernel.launch.sharedBytes, (64 + 16) * 32 * 2);
  spec.schedule.instruction = Instruction::MmaSync;
  auto plan = llvm::cantFail(planOf(spec));
  Expr shared =
      kernelResources(*plan.module, plan.ops(), *plan.tiled, Instruction::MmaSync, DeviceLimits())
          .sharedBytes;
  kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
  EXPECT_EQ(evaluate(shared, plan.assignment()), kernel.launch.sharedBytes);
}

TEST(Counts, Attention) {
  const char *hlo = R"(HloModule m
max {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] maximum(p, q)
}
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q)
}
ENTRY main {
  q = bf16[2,64,64] parameter(0)
  k = bf16[2,128,64] parameter(1)
  v = bf16[2,128,64] parameter(2)
  s = f32[2,64,128] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  inf = f32[] constant(-inf)
  m = f32[2,64] reduce(s, inf), dimensions={2}, to_apply=max
  mb = f32[2,64,128] broadcast(m), dimensions={0,1}
  d = f32[2,64,128] subtract(s, mb)
  e = f32[2,64,128] exponential(d)
  z = f32[] constant(0)
  l = f32[2,64] reduce(e, z), dimensions={2}, to_apply=add
  lb = f32[2,64,128] broadcast(l), dimensions={0,1}
  p = f32[2,64,128] divide(e, lb)
  pb = bf16[2,64,128] convert(p)
  ROOT o = bf16[2,64,64] dot(pb, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
})";
  KernelSpec spec = named(specFromHlo(hlo, {1, 64, 64}), "attention");
  spec.sequential = {{"o", 0, 32}};
  spec.schedule.stages = 2;
  spec.schedule.instruction = Instruction::MmaSync;
  compare(spec);
}

// Shared memory of a chain is known before it is made: whole tiles and padded ones, both
// instructions, also where the code takes another instruction than the plan's.
TEST(Counts, SharedMemoryOfChains) {
  struct Size {
    int64_t depth, columns, columnTile;
  };
  int chains = 0, warpgroups = 0;
  for (Instruction instruction : {Instruction::Fma, Instruction::MmaSync, Instruction::Wgmma})
    for (Size size : {Size{64, 64, 64}, {128, 64, 32}, {40, 72, 72}, {24, 128, 128}, {72, 40, 8}})
      for (int64_t rows : {16, 48, 64, 128})
        for (int64_t step : {16, 32, 64, 96})
          for (int64_t warps : {1, 4, 8})
            for (int64_t stages : {1, 2, 3}) {
              KernelSpec spec = chainSpec(
                  attention(2, 256, 200, size.depth, size.columns, Mask::Causal, stages % 2 == 0),
                  {1, rows, size.columnTile}, step, warps, stages, instruction);
              auto kernel = lowerKernel(spec, CodeMode::Device);
              if (!kernel) { // more registers than there are
                EXPECT_EQ(takeDiag(kernel.takeError()).cls, DiagClass::Unsupported);
                continue;
              }
              ++chains;
              const bool isWgmma = instruction == Instruction::Wgmma && kernel->notes.empty();
              warpgroups += isWgmma;
              auto plan = llvm::cantFail(planOf(spec));
              Expr shared = kernelResources(*plan.module, plan.ops(), *plan.tiled,
                                            isWgmma ? Instruction::Wgmma : Instruction::MmaSync,
                                            DeviceLimits())
                                .sharedBytes;
              EXPECT_EQ(evaluate(shared, plan.assignment()), kernel->launch.sharedBytes)
                  << toString(instruction) << " rows " << rows << " step " << step << " depth "
                  << size.depth << " columns " << size.columnTile << " warps " << warps
                  << " stages " << stages;
            }
  EXPECT_GT(chains, 500);
  EXPECT_GT(warpgroups, 100);
}

// Also where columns are less than a line of the operand.
TEST(Counts, SharedMemoryOfWarpgroups) {
  int warpgroups = 0;
  for (const char *type : {"bf16", "s8"})
    for (bool isRhsKMinor : {false, true})
      for (int64_t columns = 16; columns <= 144; columns += 16)
        for (int64_t stages : {1, 2, 3}) {
          const std::string sums = type == std::string("s8") ? "s32" : "f32";
          KernelSpec spec = dotSpec(matmul(128, 1088, 128, true, isRhsKMinor, type, sums),
                                    {64, columns}, 64, 4, stages);
          spec.schedule.instruction = Instruction::Wgmma;
          auto kernel = lowerKernel(spec, CodeMode::Device);
          if (!kernel) {
            EXPECT_EQ(takeDiag(kernel.takeError()).cls, DiagClass::Unsupported);
            continue;
          }
          if (!kernel->notes.empty())
            continue; // not by wgmma
          ++warpgroups;
          auto plan = llvm::cantFail(planOf(spec));
          Expr shared = kernelResources(*plan.module, plan.ops(), *plan.tiled, Instruction::Wgmma,
                                        DeviceLimits())
                            .sharedBytes;
          EXPECT_EQ(evaluate(shared, plan.assignment()), kernel->launch.sharedBytes)
              << type << (isRhsKMinor ? " k" : " n") << " minor, " << columns << " columns, "
              << stages << " stages";
        }
  EXPECT_GT(warpgroups, 70);
}

// Elements of results go through shared memory without bank conflicts, and back.
TEST(Counts, ResultsMeetNoBankConflicts) {
  for (const char *type : {"bf16", "f32"}) {
    KernelSpec spec = dotSpec(matmul(64, 64, 32, true, true, "bf16", type), {64, 64}, 32, 4, 3);
    auto kernel = EmulatedKernel::compile(llvm::cantFail(lowerKernel(spec, CodeMode::Emulation)));
    ASSERT_TRUE(bool(kernel));
    std::vector<std::vector<double>> memory;
    std::vector<EmulatorBuffer> buffers;
    for (const KernelParameter &parameter : kernel->parameters()) {
      int64_t bytes = *parameter.shape.byteSize();
      memory.emplace_back(static_cast<size_t>(bytes / 8 + 32));
      auto address = reinterpret_cast<uintptr_t>(memory.back().data());
      buffers.push_back(
          {reinterpret_cast<std::byte *>((address + 255) / 256 * 256), bytes, parameter.isOutput});
    }
    EmulationOptions options;
    options.countBankConflicts = true;
    EmulationCounts counts = llvm::cantFail(kernel->run(buffers, options));
    EXPECT_GT(counts.sharedAccesses, 0);
    EXPECT_EQ(counts.sharedWavefronts, counts.sharedAccesses) << type;
  }
}

} // namespace
} // namespace tilewright
