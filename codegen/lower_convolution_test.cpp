#include "codegen/extract.h"
#include "codegen/lower.h"
#include "codegen/testing/lowering.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

struct Convolution {
  std::string image, kernel, result, window, labels, more;
  std::string type = "bf16", sum = "bf16";
};

std::string hloOf(const Convolution &c, const std::string &epilogue = "ROOT o = {1}[{0}] copy(c)") {
  std::string text = fmt::format(
      "HloModule m\nENTRY main {{\n  x = {}[{}] parameter(0)\n  k = {}[{}] parameter(1)\n"
      "  c = {}[{}] convolution(x, k), window={{{}}}, dim_labels={}{}\n  ",
      c.type, c.image, c.type, c.kernel, c.sum, c.result, c.window, c.labels, c.more);
  return text + fmt::format(fmt::runtime(epilogue), c.result, c.sum) + "\n}\n";
}

KernelSpec convolutionSpec(const std::string &hlo, std::vector<int64_t> tile, int64_t features,
                           Instruction instruction = Instruction::MmaSync, int64_t warps = 4,
                           int64_t stages = 3) {
  KernelSpec spec = specFromHlo(hlo, std::move(tile), warps);
  spec.sequential = {{"c", 0, features}};
  spec.schedule.stages = stages;
  spec.schedule.instruction = instruction;
  return spec;
}

CheckOutcome expectProducts(const KernelSpec &spec) {
  auto kernel = lowerKernel(spec, CodeMode::Device);
  EXPECT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
  if (kernel) {
    EXPECT_EQ(kernel->kind, "convolution") << (kernel->notes.empty() ? "" : kernel->notes[0]);
    EXPECT_TRUE(kernel->notes.empty() || spec.schedule.instruction == Instruction::Wgmma);
  }
  CheckOutcome outcome = expectPass(spec);
  EXPECT_EQ(outcome.counts.mmaInstructions > 0, spec.schedule.instruction != Instruction::Fma);
  return outcome;
}

const Convolution padded{"2,12,14,32",           "3,3,32,24",       "2,12,14,24",
                         "size=3x3 pad=1_1x1_1", "b01f_01io->b01f", ""};

TEST(LowerConvolution, WindowsAreGatheredAsTheyAreCopied) {
  CheckOutcome outcome =
      expectProducts(convolutionSpec(hloOf(padded), {2, 4, 14, 24}, 32, Instruction::MmaSync, 1));
  // Every element of the windows of a tile, padding left out, and of the kernel; by cp.async.
  int64_t inside = 0; // positions of windows that lie in the image
  for (int64_t y = 0; y < 12; ++y)
    for (int64_t x = 0; x < 14; ++x)
      for (int64_t i = -1; i < 2; ++i)
        for (int64_t j = -1; j < 2; ++j)
          inside += y + i >= 0 && y + i < 12 && x + j >= 0 && x + j < 14;
  int64_t tiles = 3;
  EXPECT_EQ(outcome.counts.asyncCopyBytes, 2 * inside * 32 * 2 + tiles * 9 * 32 * 24 * 2);
  EXPECT_EQ(outcome.counts.mmaInstructions, tiles * 9 * (112 / 16) * (24 / 8) * (32 / 16));
  EXPECT_EQ(outcome.counts.matrixLoadWavefronts, outcome.counts.matrixLoads);
}

TEST(LowerConvolution, WindowsOfAllKinds) {
  const Convolution kinds[] = {
      padded,
      {"2,12,14,32", "1,1,32,24", "2,12,14,24", "size=1x1", "b01f_01io->b01f", ""},
      {"1,15,13,16", "3,5,16,16", "1,7,5,16", "size=3x5 stride=2x2 pad=0_0x0_1", "b01f_01io->b01f",
       ""},
      {"1,6,7,16", "3,3,16,16", "1,11,13,16", "size=3x3 pad=1_1x1_1 lhs_dilate=2x2",
       "b01f_01io->b01f", ""},
      {"1,9,9,16", "3,3,16,16", "1,5,5,16", "size=3x3 rhs_dilate=2x2 rhs_reversal=1x0",
       "b01f_01io->b01f", ""},
      {"2,16,9,10", "24,16,3,3", "2,24,9,10", "size=3x3 pad=1_1x1_1", "bf01_oi01->bf01", ""},
      {"1,14,14,3", "7,7,3,16", "1,7,7,16", "size=7x7 stride=2x2 pad=2_3x2_3", "b01f_01io->b01f",
       ""},
      {"2,40,5", "3,5,12", "2,38,12", "size=3", "b0f_0io->b0f", ""},
      {"1,8,8,32", "3,3,16,48", "1,8,8,48", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f",
       ", feature_group_count=2"},
  };
  for (const Convolution &kind : kinds)
    for (Instruction instruction : {Instruction::MmaSync, Instruction::Fma})
      for (int64_t stages : {1, 3}) {
        auto spec = convolutionSpec(hloOf(kind), {}, 16, instruction, 1, stages);
        const Shape &shape = spec.graph()[resultsOf(spec.graph())[0]].shape;
        for (int64_t extent : shape.dims) // some tiles partial
          spec.rootTile.push_back(std::min<int64_t>(extent, extent > 12 ? 8 : 4));
        spec.rootTile[kind.labels.find("->bf") == std::string::npos ? shape.rank() - 1 : 1] = 8;
        expectProducts(spec);
      }
}

TEST(LowerConvolution, OtherTypesAndEpilogues) {
  for (auto [type, sum] : {std::pair("f32", "f32"), {"f16", "f32"}, {"f64", "f64"}}) {
    Convolution c = padded;
    c.type = type;
    c.sum = sum;
    expectProducts(convolutionSpec(
        hloOf(c), {1, 4, 8, 24}, 16,
        std::string_view(type) == "f16" ? Instruction::MmaSync : Instruction::Fma, 2));
  }
  const char *relu = R"(z = bf16[] constant(0)
  zb = bf16[{0}] broadcast(z), dimensions={{}}
  s = bf16[24] parameter(2)
  sb = bf16[{0}] broadcast(s), dimensions={{3}}
  a = bf16[{0}] add(c, sb)
  ROOT o = bf16[{0}] maximum(a, zb))";
  expectProducts(convolutionSpec(hloOf(padded, relu), {2, 4, 14, 24}, 16, Instruction::MmaSync, 1));
  expectProducts(convolutionSpec(
      hloOf(padded, "ROOT o = bf16[2,24,14,12] transpose(c), dimensions={{0,3,2,1}}"),
      {1, 24, 4, 12}, 32, Instruction::MmaSync, 1));
}

// A prologue on the image is computed for every window that reads it.
TEST(LowerConvolution, ComputedOperands) {
  expectProducts(convolutionSpec(R"(HloModule m
ENTRY main {
  y = bf16[2,8,8,16] parameter(0)
  x = bf16[2,8,8,16] tanh(y)
  k = bf16[3,3,16,16] parameter(1)
  ROOT c = bf16[2,8,8,16] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
})",
                                 {1, 8, 8, 16}, 16));
}

TEST(LowerConvolution, WhatIsNoProductTakesLoopsAndSaysSo) {
  auto notes = [](const KernelSpec &spec) {
    expectPass(spec);
    auto kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
    EXPECT_EQ(kernel.kind, "elementwise");
    return kernel.notes.empty() ? "" : kernel.notes[0];
  };
  Convolution depthwise{"1,8,8,24",        "3,3,1,24",
                        "1,8,8,24",        "size=3x3 pad=1_1x1_1",
                        "b01f_01io->b01f", ", feature_group_count=24"};
  EXPECT_EQ(notes(convolutionSpec(hloOf(depthwise), {1, 8, 8, 8}, 1)),
            "each element by loops of one thread: each of the 24 feature groups of %c has 1 "
            "output features, and products of tiles take 8 or more");
}

TEST(LowerConvolution, SplitSums) {
  KernelSpec spec = convolutionSpec(hloOf(padded), {1, 4, 8, 24}, 16, Instruction::MmaSync, 2);
  spec.schedule.splitK = 3;
  expectProducts(spec);
}

} // namespace
} // namespace tilewright
