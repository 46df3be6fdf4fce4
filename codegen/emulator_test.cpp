// The emulator's rules, each with a kernel that keeps it and one that breaks it.
#include "codegen/emulator.h"
#include "codegen/kernel_builder.h"

#include <functional>
#include <gtest/gtest.h>
#include <numeric>

namespace tilewright {
namespace {

constexpr int64_t threads = 64;

struct Outcome {
  std::string error; ///< empty when it ran
  EmulationCounts counts;
  std::vector<float> output;
};

/// Builds a kernel (input: 1024 floats 0, 1, 2 …; output: 1024 floats) and runs one CTA.
Outcome runKernel(int64_t sharedBytes, const std::function<void(KernelBuilder &)> &build) {
  KernelBuilder builder("kernel", CodeMode::Emulation, threads, {{false, true}});
  build(builder);
  KernelModule module = std::move(builder).finish();
  module.launch = {1, threads, sharedBytes};
  Shape shape = Shape::tensor(DType::F32, {1024});
  module.parameters = {{"in", shape, false}, {"out", shape, true}};
  auto kernel = EmulatedKernel::compile(std::move(module));
  if (!kernel)
    return {llvm::toString(kernel.takeError()), {}, {}};
  struct alignas(256) Memory {
    float values[1024] = {};
  };
  auto input = std::make_unique<Memory>(), output = std::make_unique<Memory>();
  std::iota(std::begin(input->values), std::end(input->values), 0.0f);
  auto bytes = [](Memory &memory) { return reinterpret_cast<std::byte *>(memory.values); };
  EmulatorBuffer buffers[] = {{bytes(*input), 4096, false}, {bytes(*output), 4096, true}};
  auto counts = kernel->run(buffers);
  if (!counts)
    return {takeDiag(counts.takeError()).message, {}, {}};
  return {"", *counts, {std::begin(output->values), std::end(output->values)}};
}

llvm::Value *bytes64(KernelBuilder &k, llvm::Value *element) {
  return k.b.CreateMul(k.b.CreateZExt(element, k.i64), k.c64(4));
}

TEST(Emulator, CopiesAndCounts) {
  Outcome outcome = runKernel(0, [](KernelBuilder &k) {
    llvm::Value *offset = bytes64(k, k.threadId());
    k.storeGlobal(k.b.CreateFMul(k.loadGlobal(k.f32, 0, offset, 4), k.cf(2)), 1, offset, 4);
  });
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.output[63], 126);
  EXPECT_EQ(outcome.counts.globalReadBytes, 256);
  EXPECT_EQ(outcome.counts.globalWrittenBytes, 256);
}

TEST(Emulator, OutOfBoundsIsCaught) {
  Outcome outcome = runKernel(0, [](KernelBuilder &k) {
    llvm::Value *element = k.b.CreateAdd(k.threadId(), k.c32(1024 - threads + 1));
    k.storeGlobal(k.cf(1), 1, bytes64(k, element), 4);
  });
  EXPECT_EQ(outcome.error, "CTA 0, thread 63: writes 4 bytes outside every buffer");
}

TEST(Emulator, WritingAnInputIsCaught) {
  Outcome outcome = runKernel(0, [](KernelBuilder &k) { k.storeGlobal(k.cf(1), 0, k.c64(0), 4); });
  EXPECT_NE(outcome.error.find("writes to an input"), std::string::npos) << outcome.error;
}

TEST(Emulator, MisalignedVectorIsCaught) {
  Outcome outcome = runKernel(0, [](KernelBuilder &k) {
    auto *four = llvm::FixedVectorType::get(k.f32, 4);
    k.storeGlobal(k.loadGlobal(four, 0, k.c64(4), 16), 1, k.c64(0), 16);
  });
  EXPECT_NE(outcome.error.find("multiple of 16"), std::string::npos) << outcome.error;
}

/// Each thread writes shared memory and reads its neighbour's word.
void exchange(KernelBuilder &k, bool withBarrier) {
  llvm::Value *mine = k.b.CreateMul(k.threadId(), k.c32(4));
  llvm::Value *other = k.b.CreateXor(mine, k.c32(128));
  k.storeShared(k.loadGlobal(k.f32, 0, bytes64(k, k.threadId()), 4), mine, 4);
  if (withBarrier)
    k.barrier();
  k.storeGlobal(k.loadShared(k.f32, other, 4), 1, bytes64(k, k.threadId()), 4);
}

TEST(Emulator, BarrierOrdersSharedMemory) {
  Outcome outcome = runKernel(256, [](KernelBuilder &k) { exchange(k, true); });
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.output[0], 32);
  EXPECT_EQ(outcome.output[33], 1);
}

TEST(Emulator, MissingBarrierIsCaught) {
  Outcome outcome = runKernel(256, [](KernelBuilder &k) { exchange(k, false); });
  EXPECT_NE(outcome.error.find("shared byte"), std::string::npos) << outcome.error;
}

TEST(Emulator, WriteAfterReadWithoutBarrierIsCaught) {
  Outcome outcome = runKernel(256, [](KernelBuilder &k) {
    exchange(k, true);
    k.storeShared(k.cf(0), k.b.CreateMul(k.threadId(), k.c32(4)), 4);
  });
  EXPECT_NE(outcome.error.find("with no barrier in between"), std::string::npos) << outcome.error;
}

TEST(Emulator, SharedBoundsAreChecked) {
  Outcome outcome = runKernel(252, [](KernelBuilder &k) { exchange(k, true); });
  EXPECT_NE(outcome.error.find("of 252 bytes"), std::string::npos) << outcome.error;
}

TEST(Emulator, DivergentBarrierIsCaught) {
  Outcome outcome = runKernel(0, [](KernelBuilder &k) {
    k.ifThen(k.b.CreateICmpULT(k.threadId(), k.c32(33)), [&] { k.barrier(); });
  });
  EXPECT_NE(outcome.error.find("33 of 64 threads wait at a barrier"), std::string::npos)
      << outcome.error;
}

TEST(Emulator, DivergentShuffleIsCaught) {
  Outcome outcome = runKernel(0, [](KernelBuilder &k) {
    k.ifThen(k.b.CreateICmpULT(k.threadId(), k.c32(7)), [&] { k.shuffleXor(k.threadId(), 1); });
  });
  EXPECT_NE(outcome.error.find("divergent"), std::string::npos) << outcome.error;
}

TEST(Emulator, ShufflesOfEveryWidth) {
  Outcome outcome = runKernel(0, [](KernelBuilder &k) {
    llvm::Value *x = k.loadGlobal(k.f32, 0, bytes64(k, k.threadId()), 4);
    llvm::Value *narrow = k.shuffleXor(k.b.CreateFPToUI(x, k.i8), 16);
    llvm::Value *wide = k.shuffleXor(k.b.CreateFPExt(x, k.f64), 1);
    llvm::Value *sum = k.b.CreateFAdd(k.b.CreateFPTrunc(wide, k.f32),
                                      k.b.CreateFMul(k.b.CreateUIToFP(narrow, k.f32), k.cf(100)));
    k.storeGlobal(sum, 1, bytes64(k, k.threadId()), 4);
  });
  ASSERT_EQ(outcome.error, "");
  for (int i = 0; i < threads; ++i)
    EXPECT_EQ(outcome.output[i], (i ^ 1) + 100 * (i ^ 16));
}

/// Two pipelined copies of 16 bytes a thread; `pending` groups may be in flight at the first use.
void pipelined(KernelBuilder &k, unsigned pending) {
  auto *four = llvm::FixedVectorType::get(k.f32, 4);
  llvm::Value *offset = k.b.CreateMul(k.threadId(), k.c32(16));
  for (int stage = 0; stage < 2; ++stage) {
    llvm::Value *from = k.b.CreateAdd(k.b.CreateZExt(offset, k.i64), k.c64(stage * 1024));
    k.copyAsync16(k.b.CreateAdd(offset, k.c32(stage * 1024)), 0, from, nullptr);
    k.copyAsyncCommit();
  }
  for (int stage = 0; stage < 2; ++stage) {
    k.copyAsyncWait(stage == 0 ? pending : 0);
    k.barrier();
    llvm::Value *other = k.b.CreateXor(offset, k.c32(16));
    llvm::Value *to = k.b.CreateAdd(k.b.CreateZExt(offset, k.i64), k.c64(stage * 1024));
    k.storeGlobal(k.loadShared(four, k.b.CreateAdd(other, k.c32(stage * 1024)), 16), 1, to, 16);
  }
}

TEST(Emulator, AsyncCopiesLandAtTheWait) {
  Outcome outcome = runKernel(2048, [](KernelBuilder &k) { pipelined(k, 1); });
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.output[0], 4);
  EXPECT_EQ(outcome.output[256], 260);
  EXPECT_EQ(outcome.counts.asyncCopyBytes, 2048);
}

TEST(Emulator, TooWeakAWaitIsCaught) {
  Outcome outcome = runKernel(2048, [](KernelBuilder &k) { pipelined(k, 2); });
  EXPECT_NE(outcome.error.find("asynchronous copy may still write"), std::string::npos)
      << outcome.error;
}

TEST(Emulator, BudgetEndsLongRuns) {
  KernelBuilder k("kernel", CodeMode::Emulation, threads, KernelSignature());
  k.forLoop(k.c32(0), k.c32(1 << 20), k.c32(1), {}, [&](llvm::Value *, const Values &) -> Values {
    k.barrier();
    return {};
  });
  KernelModule module = std::move(k).finish();
  module.launch = {1, threads, 0};
  auto kernel = llvm::cantFail(EmulatedKernel::compile(std::move(module)));
  EmulationOptions options;
  options.maxEvents = 1000;
  auto counts = kernel.run({}, options);
  ASSERT_FALSE(bool(counts));
  EXPECT_EQ(takeDiag(counts.takeError()).cls, DiagClass::BudgetSpent);
}

} // namespace
} // namespace tilewright
