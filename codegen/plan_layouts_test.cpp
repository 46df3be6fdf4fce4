// Plans that record layouts: written, read again, lowered, run; and those that don't fit.
#include "analysis/program/inference/infer_layouts.h"
#include "analysis/program/inference/plan_layouts.h"
#include "codegen/lower.h"
#include "codegen/pack_manifest.h"
#include "codegen/shrink.h"
#include "codegen/testing/matmul.h"
#include "codegen/testing/misfit.h"

namespace tilewright {
namespace {

/// Kernels whose builders' layouts are not the cheapest.
struct LayoutCase {
  const char *name, *hlo;
  std::vector<int64_t> tile;
  int64_t warps;
};
const LayoutCase layoutCases[] = {
    {"transposed sum",
     R"(HloModule m
ENTRY e {
  x = f32[96,64]{1,0} parameter(0)
  y = f32[64,96]{1,0} parameter(1)
  t = f32[64,96]{1,0} transpose(x), dimensions={1,0}
  ROOT out = f32[64,96]{1,0} add(t, y)
})",
     {1, 96},
     4},
    {"transposed narrow sum",
     R"(HloModule m
ENTRY e {
  x = bf16[48,80]{1,0} parameter(0)
  t = bf16[80,48]{1,0} transpose(x), dimensions={1,0}
  ROOT out = f32[80,48]{1,0} convert(t)
})",
     {16, 48},
     2},
};

/// The spec with inferred layouts, whether or not they are cheaper.
KernelSpec inferredSpec(const LayoutCase &each) {
  KernelSpec spec = specFromHlo(each.hlo, each.tile, each.warps);
  const KernelPlan plan = llvm::cantFail(planOf(spec));
  const program::PlanProgram made = llvm::cantFail(program::programOfPlan(plan));
  const program::Program concrete = llvm::cantFail(program::concreteProgram(made));
  auto problem = llvm::cantFail(inference::LayoutProblem::make(concrete, {}));
  inference::InferenceAnswer answer = inference::inferLayouts(*problem);
  EXPECT_EQ(answer.outcome, inference::InferenceAnswer::Outcome::Found) << each.name;
  inference::priceGiven(*problem, answer);
  EXPECT_TRUE(answer.given && answer.layouts.cost < answer.given->cost) << each.name;
  spec.layouts = inference::planLayouts(*problem, answer.layouts);
  EXPECT_FALSE(spec.layouts.empty());
  // What is recorded is all that was chosen.
  const inference::InferredLayouts again =
      llvm::cantFail(inference::layoutsOfPlan(*problem, spec.layouts));
  EXPECT_EQ(again.cost, answer.layouts.cost);
  return spec;
}

TEST(PlanLayouts, AreWrittenReadEmittedAndRight) {
  for (const LayoutCase &each : layoutCases) {
    const KernelSpec spec = inferredSpec(each);
    const std::string text = printPlan(spec);
    llvm::Expected<KernelSpec> read = parsePlan("plan", text);
    ASSERT_TRUE(bool(read)) << takeDiag(read.takeError()).str();
    EXPECT_EQ(read->layouts, spec.layouts);
    EXPECT_EQ(printPlan(*read), text);
    expectPass(*read);
    KernelSpec without = spec;
    without.layouts.clear();
    expectPass(without);
    EXPECT_EQ(printPlan(without).find("layouts"), std::string::npos);
    EXPECT_NE(llvm::cantFail(lowerKernel(*read, CodeMode::Device)).llvmText(),
              llvm::cantFail(lowerKernel(without, CodeMode::Device)).llvmText())
        << each.name;
    // Tiles of other sizes have other layouts.
    EXPECT_TRUE(llvm::cantFail(shrinkSpec(spec, ShrunkSizes::Odd)).layouts.empty());
  }
}

TEST(PlanLayouts, ThatDontFitAreErrorsWhereTheyStand) {
  const KernelSpec good = inferredSpec(layoutCases[0]);
  struct Wrong {
    std::function<void(KernelSpec &)> spoil;
    const char *at, *words;
  };
  const std::string first = good.layouts[0].of;
  const Wrong all[] = {
      {[](KernelSpec &spec) { spec.layouts[1].of = "nobody"; }, "plan.layouts[1]",
       "no value or op of the plan's program is named nobody"},
      {[](KernelSpec &spec) { spec.layouts[1].of = spec.layouts[0].of; }, "plan.layouts[1]",
       "has a layout already"},
      {[](KernelSpec &spec) { spec.layouts[0].layout = "registers 3:1@q"; }, "plan.layouts[0]",
       "registers 3:1@q is none of the"},
      {[](KernelSpec &spec) { spec.layouts.pop_back(); }, "plan.layouts", "there is no layout of"},
      // Those of the same kernel in other tiles.
      {[](KernelSpec &spec) {
         spec.rootTile = {16, 64};
       },
       "plan.layouts[0]", "is none of the"},
      {[](KernelSpec &spec) { spec.schedule.warps = 8; }, "plan.layouts[0]", "is none of the"},
  };
  for (const Wrong &wrong : all) {
    KernelSpec spec = good;
    wrong.spoil(spec);
    expectMisfit(spec, wrong.at, wrong.words);
  }
}

// Code by another instruction, or by loops of one thread, is of another program than the plan's.
TEST(PlanLayouts, AreLeftOutOfOtherPrograms) {
  const KernelSpec byOther =
      dotSpec(matmul(24, 16, 32, true, false, "s16", "s32"), {24, 16}, 16, 2, 2);
  const KernelSpec byLoops = specFromHlo(
      "HloModule m\nboth { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
      " c = f32[] parameter(2)\n d = f32[] parameter(3)\n e = f32[] add(a, c)\n"
      " f = f32[] maximum(b, c)\n ROOT t = (f32[], f32[]) tuple(e, f) }\n"
      "ENTRY main {\n x = f32[6,44] parameter(0)\n y = f32[6,44] parameter(1)\n"
      " z = f32[] constant(0)\n r = (f32[6], f32[6]) reduce(x, y, z, z), dimensions={1}, "
      "to_apply=both\n ROOT g = f32[6] get-tuple-element(r), index=1\n}\n",
      {6});
  for (KernelSpec spec : {byOther, byLoops}) {
    const KernelModule plain = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
    ASSERT_EQ(plain.notes.size(), 1u);
    spec.layouts = {{"a", "registers 2:1@i"}};
    llvm::Expected<KernelModule> code = lowerKernel(spec, CodeMode::Device);
    ASSERT_TRUE(bool(code)) << takeDiag(code.takeError()).message;
    EXPECT_EQ(code->llvmText(), plain.llvmText());
    const bool isSaid =
        std::any_of(code->notes.begin(), code->notes.end(), [](const std::string &note) {
          return note.find("without the plan's layouts") != std::string::npos;
        });
    EXPECT_TRUE(isSaid);
  }
}

} // namespace
} // namespace tilewright
