#include "codegen/kernel_steps.h"
#include "codegen/lower.h"
#include "codegen/testing/matmul.h"

namespace tilewright {
namespace {

std::string stepsOf(const KernelSpec &spec) {
  auto kernel = lowerKernel(spec, CodeMode::Device);
  EXPECT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  return kernel ? printSteps(*kernel) : "";
}

TEST(KernelSteps, PlacesAreFunctionsOfTheThread) {
  EXPECT_EQ(stepsOf(specFromHlo(R"(HloModule m
ENTRY main {
  a = f32[64,256] parameter(0)
  b = bf16[64,256] parameter(1)
  c = f32[64,256] convert(b)
  ROOT s = f32[64,256] add(a, c)
})",
                                {1, 256}, 2)),
            R"(tw_kernel: elementwise, 64 CTAs of 64 threads, 0 bytes of shared memory
  input  %a f32[64,256]
  input  %b bf16[64,256]
  result %s f32[64,256]
    0  load 4 of f32 from %a: (cta*256 + tid*4)*4
    1  load 2 of 32 bits from %b: (cta*256 + tid*4)*2
    2  store 4 of f32 to %s: (cta*256 + tid*4)*4
)");
}

TEST(KernelSteps, LoopsCopiesAndProducts) {
  std::string steps = stepsOf(dotSpec(matmul(64, 64, 128, true, true), {64, 64}, 32, 4, 3));
  auto count = [&](const std::string &what) {
    size_t found = 0;
    for (size_t at = steps.find(what); at != std::string::npos; at = steps.find(what, at + 1))
      ++found;
    return found;
  };
  // 64 x 32 elements of each operand in chunks of eight by 128 threads, two stages ahead.
  EXPECT_EQ(count("2 x copy 16 bytes from %a to shared memory: "), 3u) << steps;
  EXPECT_EQ(count("2 x copy 16 bytes from %b to shared memory: "), 3u) << steps;
  EXPECT_EQ(count("\n       loop i0, 33 carried\n"
                  "   10    wait for copies, 1 groups may be in flight\n"
                  "   11    barrier\n         if (i0 + 2) < 4\n"),
            1u)
      << steps;
  // A warp has 32 x 32 of the tile: 2 x 4 products for each of two steps of sixteen.
  EXPECT_EQ(count("    8 x mma.m16n8k16.row.col.bf16\n"), 2u) << steps;
}

TEST(KernelSteps, BranchesOfWarps) {
  std::string steps =
      stepsOf(dotSpec(matmul(64, 64, 128, true, true), {64, 64}, 64, 4, 2, Instruction::Wgmma));
  EXPECT_NE(steps.find("\n       else\n"), std::string::npos) << steps;
  EXPECT_NE(steps.find("4 x wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\n"),
            std::string::npos)
      << steps;
}

} // namespace
} // namespace tilewright
