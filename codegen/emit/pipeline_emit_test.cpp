// Pipelines that are chosen, emitted and run on the emulator, against the interpreter: all settings
// that have a schedule, not the best alone. Emulated warps that wait for each other without end are
// an error, so that what is called free of deadlocks is.
#include "analysis/program/pipeline/pipeline_choice.h"
#include "analysis/program/pipeline/testing/times.h"
#include "codegen/emit/testing/emulate.h"

namespace tilewright::emit::testing {
namespace {

using pipeline::LoopSchedule;
using pipeline::PipelineAnswer;
using program::Program;
using program::SizeValues;

void runsRight(const Program &p, const std::vector<Tensor> &inputs, double tolerance,
               const std::string &what) {
  llvm::Expected<program::RunResult> wanted = interpret(p, inputs);
  ASSERT_TRUE(bool(wanted)) << what << takeDiag(wanted.takeError()).str();
  llvm::Expected<Emulated> got = emulate(p, inputs);
  ASSERT_TRUE(bool(got)) << what << takeDiag(got.takeError()).str();
  if (agree(got->results, wanted->results, tolerance, what))
    expectCounts(p, *got, what);
}

/// Runs all that has a schedule, with up to `mostSlots` slots; gives the answer.
PipelineAnswer runAllSettings(const std::string &name, const SizeValues &sizes, double tolerance,
                              int64_t mostSlots) {
  Program p = program::testing::withSizes(
      program::testing::parsed(program::testing::textOf(name), name), sizes);
  Module module = program::testing::referenceOf(name, sizes);
  const std::vector<Tensor> inputs = fillArguments(module, module.entryId, 17);
  pipeline::PipelineOptions options{pipeline::testing::assumedTimes(), DeviceLimits(), mostSlots};
  PipelineAnswer answer = llvm::cantFail(choosePipeline(p, 0, options));
  for (const LoopSchedule &tried : answer.tried) {
    if (!tried.refusal.empty())
      continue;
    const std::string what = name + ": " + toString(tried.settings);
    llvm::Expected<Program> made = withSettings(p, 0, tried.settings, &options.limits);
    EXPECT_TRUE(bool(made)) << what;
    if (made)
      runsRight(*made, inputs, tolerance, what);
  }
  runsRight(answer.program, inputs, tolerance, name + ", best");
  // What it says is what the text has.
  Program again = program::testing::parsed(program::printProgram(answer.program), name);
  runsRight(again, inputs, tolerance, name + ", read again");
  return answer;
}

/// The least interval of those whose products stay in flight, or of the others.
int64_t leastIntervalOf(const PipelineAnswer &answer, bool isAsynchronous) {
  int64_t least = INT64_MAX;
  for (const LoopSchedule &tried : answer.tried)
    if (tried.refusal.empty() && (tried.loop.isFlying || tried.loop.isRotated) == isAsynchronous)
      least = std::min(least, tried.schedule.interval);
  return least;
}

/// A product by mma.sync that ends within its tiles and steps.
SizeValues sizesBySync(int64_t stages) {
  return {{"M", 70},  {"N", 130}, {"K", 330}, {"BM", 32}, {"BN", 64},
          {"BK", 64}, {"W", 4},   {"WR", 2},  {"WC", 2},  {"S", stages}};
}

TEST(PipelinesEmitted, ProductsByMmaSync) {
  PipelineAnswer answer = runAllSettings("gemm_sync", sizesBySync(1), 0x1p-7, 4);
  EXPECT_GT(answer.chosen().settings.ahead, 0);
  EXPECT_GT(answer.gain(), 1);
}

TEST(PipelinesEmitted, ProductsThatAreReadBeforeTheNextCopies) {
  PipelineAnswer answer = runAllSettings("gemm_triton", sizesBySync(2), 0x1p-7, 3);
  EXPECT_EQ(answer.chosen().settings.ahead, answer.chosen().settings.slots);
}

TEST(PipelinesEmitted, ProductsByWgmma) {
  PipelineAnswer answer = runAllSettings("gemm_roles",
                                         {{"M", 130},
                                          {"N", 72},
                                          {"K", 328},
                                          {"BM", 128},
                                          {"BN", 64},
                                          {"BK", 64},
                                          {"W", 8},
                                          {"WR", 2},
                                          {"WC", 1},
                                          {"S", 2}},
                                         0x1p-7, 4);
  EXPECT_LT(leastIntervalOf(answer, true), INT64_MAX);
  // Products in flight keep a slot longer, which steps that wait for copies miss.
  EXPECT_FALSE(answer.chosen().loop.isFlying);
}

TEST(PipelinesEmitted, Attention) {
  PipelineAnswer answer = runAllSettings(
      "attention", {{"B", 1}, {"N", 256}, {"D", 64}, {"BM", 64}, {"BN", 64}, {"W", 4}, {"S", 2}},
      0x1p-6, 3);
  EXPECT_LE(leastIntervalOf(answer, true), leastIntervalOf(answer, false));
}

} // namespace
} // namespace tilewright::emit::testing
