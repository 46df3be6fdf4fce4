// Plans that record pipeline settings: written, read again, lowered, run on the emulator and by the
// interpreter, counted; and those that don't fit.
#include "analysis/ir/fill.h"
#include "analysis/program/pass/of_plan.h"
#include "analysis/program/pipeline/pipeline_choice.h"
#include "analysis/program/pipeline/plan_loops.h"
#include "analysis/program/pipeline/testing/times.h"
#include "codegen/emit/testing/emulate.h"
#include "codegen/lower.h"
#include "codegen/pack_manifest.h"
#include "codegen/shrink.h"
#include "codegen/testing/attention.h"
#include "codegen/testing/matmul.h"
#include "codegen/testing/misfit.h"

namespace tilewright::emit::testing {
namespace {

/// Kernels whose loop copies what it reads, that end within their tiles and steps.
struct LoopCase {
  const char *name;
  KernelSpec (*make)(int64_t stages);
};
const LoopCase loopCases[] = {
    {"product by mma.sync",
     [](int64_t stages) {
       return dotSpec(matmul(70, 72, 168, true, false), {32, 64}, 32, 4, stages);
     }},
    {"product by wgmma",
     [](int64_t stages) {
       return dotSpec(matmul(130, 72, 232, true, false), {64, 64}, 64, 4, stages,
                      Instruction::Wgmma);
     }},
    {"attention by mma.sync",
     [](int64_t stages) {
       return chainSpec(attention(1, 70, 90, 16, 32, Mask::Causal, false), {1, 64, 32}, 16, 4,
                        stages);
     }},
    {"attention by wgmma",
     [](int64_t stages) {
       return chainSpec(attention(1, 100, 150, 32, 32, Mask::None, false), {1, 64, 32}, 32, 4,
                        stages, Instruction::Wgmma);
     }},
};

program::Program runningProgram(const KernelSpec &spec) {
  return llvm::cantFail(program::concreteProgram(llvm::cantFail(programOf(spec))));
}

/// The plan with each setting that its loop can have.
std::vector<KernelSpec> allSettings(const KernelSpec &plain) {
  const std::vector<PlanLoop> own = pipeline::planLoopsOf(runningProgram(plain));
  EXPECT_EQ(own.size(), 1u);
  std::vector<KernelSpec> result;
  const int64_t most = own[0].wait ? 1 : plain.schedule.stages - 1;
  for (int64_t value = 0; value <= most; ++value) {
    result.push_back(plain);
    result.back().loops = own;
    (own[0].wait ? result.back().loops[0].wait : result.back().loops[0].ahead) = value;
  }
  return result;
}

/// By the interpreter and on the emulator; counts are those of the program's folds.
void expectAgreement(const KernelSpec &spec, const std::string &what) {
  const KernelPlan plan = llvm::cantFail(planOf(spec));
  const program::Program program = runningProgram(spec);
  const std::vector<Tensor> arguments = fillArguments(*spec.module, spec.module->entryId, 11);
  std::vector<Tensor> inputs;
  for (OpId id : plan.tiled->group.inputs)
    inputs.push_back(arguments[static_cast<size_t>(plan.ops()[id].attrs.parameterNumber)]);
  llvm::Expected<program::RunResult> wanted = interpret(program, inputs);
  ASSERT_TRUE(bool(wanted)) << what << takeDiag(wanted.takeError()).str();
  llvm::Expected<Emulated> got = emulate(program, inputs);
  ASSERT_TRUE(bool(got)) << what << takeDiag(got.takeError()).str();
  if (agree(got->results, wanted->results, 0x1p-6, what))
    expectCounts(program, *got, what);
}

TEST(PlanLoops, AreWrittenReadEmittedAndRight) {
  for (const LoopCase &each : loopCases)
    for (int64_t stages = 1; stages <= 3; ++stages)
      for (const KernelSpec &spec : allSettings(each.make(stages))) {
        const PlanLoop &loop = spec.loops[0];
        const std::string what =
            fmt::format("{}, {} stages, {} {}", each.name, stages, loop.wait ? "wait" : "ahead",
                        loop.wait ? *loop.wait : *loop.ahead);
        const std::string text = printPlan(spec);
        llvm::Expected<KernelSpec> read = parsePlan("plan", text);
        ASSERT_TRUE(bool(read)) << what << takeDiag(read.takeError()).str();
        EXPECT_EQ(read->loops, spec.loops) << what;
        EXPECT_EQ(printPlan(*read), text) << what;
        EXPECT_EQ(pipeline::planLoopsOf(runningProgram(*read)), spec.loops) << what;
        SCOPED_TRACE(what);
        expectPass(*read);
        expectAgreement(*read, what);
      }
}

/// The program's own settings, said aloud, change no code; others do.
TEST(PlanLoops, DecideTheCode) {
  for (const LoopCase &each : loopCases) {
    const KernelSpec plain = each.make(3);
    EXPECT_EQ(printPlan(plain).find("\"loops\""), std::string::npos);
    const std::vector<PlanLoop> own = pipeline::planLoopsOf(runningProgram(plain));
    const KernelModule code = llvm::cantFail(lowerKernel(plain, CodeMode::Device));
    EXPECT_TRUE(code.notes.empty()) << each.name;
    for (const KernelSpec &spec : allSettings(plain)) {
      const KernelModule other = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
      EXPECT_TRUE(other.notes.empty()) << each.name;
      EXPECT_EQ(other.llvmText() == code.llvmText(), spec.loops == own) << each.name;
    }
    // Those of tiles of other sizes may have other loops.
    EXPECT_TRUE(llvm::cantFail(shrinkSpec(allSettings(plain)[0], ShrunkSizes::Odd)).loops.empty());
  }
}

TEST(PlanLoops, ThatDontFitAreErrorsWhereTheyStand) {
  struct Wrong {
    size_t of; ///< which case
    std::function<void(KernelSpec &)> spoil;
    const char *at, *words;
  };
  const Wrong all[] = {
      {0, [](KernelSpec &spec) { spec.loops[0].loop = "nobody"; }, "plan.loops[0]",
       "the loop that copies here is t, not nobody"},
      {0, [](KernelSpec &spec) { spec.loops.push_back(spec.loops[0]); }, "plan.loops[1]",
       "loops that copy what they read: 1 in the plan's program, 2 with settings"},
      {0, [](KernelSpec &spec) { spec.loops[0].ahead.reset(); }, "plan.loops[0]",
       "how far loop t copies ahead is not said"},
      {0, [](KernelSpec &spec) { spec.loops[0].wait = 0; }, "plan.loops[0]",
       "no products of loop t can stay in flight"},
      {0, [](KernelSpec &spec) { spec.loops[0].ahead = 3; }, "plan.loops[0]",
       "V5: 3 steps ahead need 4 stages of A, which has 3"},
      {0, [](KernelSpec &spec) { spec.schedule.stages = 2; }, "plan.loops[0]",
       "V5: 2 steps ahead need 3 stages of A, which has 2"},
      {0,
       [](KernelSpec &spec) {
         const std::vector<PlanLoop> loops = spec.loops;
         spec = specFromHlo("HloModule m\nENTRY main {\n x = f32[64] parameter(0)\n"
                            " ROOT y = f32[64] negate(x)\n}\n",
                            {64});
         spec.loops = loops;
       },
       "plan.loops[0]", "loops that copy what they read: 0 in the plan's program, 1 with settings"},
      {1, [](KernelSpec &spec) { spec.loops[0].ahead = 1; }, "plan.loops[0]",
       "a producer copies for loop t, as far ahead as there are stages"},
      {1, [](KernelSpec &spec) { spec.loops[0].wait.reset(); }, "plan.loops[0]", "is not said"},
      {1, [](KernelSpec &spec) { spec.schedule.instruction = Instruction::MmaSync; },
       "plan.loops[0]", "is not said"},
  };
  for (const Wrong &wrong : all) {
    KernelSpec spec = allSettings(loopCases[wrong.of].make(3)).back();
    wrong.spoil(spec);
    expectMisfit(spec, wrong.at, wrong.words);
  }
}

// Sums leave through the memory of the rings, which few slots are too small for.
TEST(PlanLoops, AreChosenWhereFewSlotsDontFit) {
  const KernelSpec spec =
      dotSpec(matmul(256, 256, 512, false, false), {128, 128}, 32, 4, 5, Instruction::Wgmma);
  const pipeline::PipelineAnswer answer = llvm::cantFail(pipeline::choosePipeline(
      runningProgram(spec), 0,
      {.times = pipeline::testing::assumedTimes(), .limits = DeviceLimits(), .isProved = false}));
  EXPECT_NE(answer.tried.front().refusal, "");
  EXPECT_EQ(answer.given.settings.slots, 5);
  EXPECT_GE(answer.chosen().settings.slots, 3);
  EXPECT_GE(answer.gain(), 1);
}

TEST(PlanLoops, OfOtherTypesAreErrorsWhereTheyStand) {
  const std::string good = printPlan(allSettings(loopCases[1].make(2))[0]);
  struct Wrong {
    const char *from, *to, *words;
  };
  const Wrong all[] = {
      {R"("wait": 0)", R"("wait": 2)", "'plan.loops[0].wait' is 2, allowed are 0 to 1"},
      {R"("wait": 0)", R"("wait": "0")", "'plan.loops[0].wait' is not an integer"},
      {R"("wait": 0)", R"("ahead": -1)", "'plan.loops[0].ahead' is -1"},
      {R"("loop": "t")", R"("loop": 1)", "'plan.loops[0].loop' is not a string"},
      {R"("loops": [)", R"("loops": 1, "others": [)", "'plan.loops' is not a list"},
      {R"("loops": [)", R"("loops": [1, )", "is not an object"},
  };
  for (const Wrong &wrong : all) {
    std::string text = good;
    const size_t at = text.find(wrong.from);
    ASSERT_NE(at, std::string::npos) << wrong.from;
    text.replace(at, std::string(wrong.from).size(), wrong.to);
    llvm::Expected<KernelSpec> read = parsePlan("plan", text);
    ASSERT_FALSE(bool(read)) << wrong.words;
    const Diag diag = takeDiag(read.takeError());
    EXPECT_EQ(diag.cls, DiagClass::BadInput);
    EXPECT_NE(diag.message.find(wrong.words), std::string::npos) << diag.message;
  }
}

// By another instruction the loop is another one.
TEST(PlanLoops, AreLeftOutOfOtherPrograms) {
  KernelSpec spec = dotSpec(matmul(24, 16, 32, true, false, "s16", "s32"), {24, 16}, 16, 2, 2);
  const KernelModule plain = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
  ASSERT_EQ(plain.notes.size(), 1u);
  spec.loops = {{"t", 0, std::nullopt}};
  const KernelModule code = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
  EXPECT_EQ(code.llvmText(), plain.llvmText());
  ASSERT_EQ(code.notes.size(), 2u);
  EXPECT_EQ(code.notes[1],
            "without the plan's settings of loops, which are of its own instruction");
}

} // namespace
} // namespace tilewright::emit::testing
