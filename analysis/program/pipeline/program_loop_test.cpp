// Loops of tile programs as scheduling problems, and the settings that are chosen for them.
#include "analysis/program/pipeline/pipeline_choice.h"
#include "analysis/program/pipeline/testing/times.h"
#include "analysis/program/testing/golden_programs.h"

#include <algorithm>

namespace tilewright::pipeline {
namespace {

using pipeline::testing::assumedTimes;
using program::Program;
using program::SizeValues;

Program golden(const std::string &name, const SizeValues &sizes) {
  return program::testing::withSizes(program::testing::parsed(program::testing::textOf(name), name),
                                     sizes);
}

SizeValues matrix(int64_t slots) {
  return {{"M", 1024}, {"N", 1024}, {"K", 4096}, {"BM", 128}, {"BN", 128},
          {"BK", 64},  {"W", 8},    {"WR", 2},   {"WC", 1},   {"S", slots}};
}
SizeValues attentionSizes(int64_t slots) {
  return {{"B", 8}, {"N", 4096}, {"D", 128}, {"BM", 128}, {"BN", 128}, {"W", 8}, {"S", slots}};
}

/// What ptxas, launches and wider issue add is left out, so that numbers can be worked out by hand.
InstructionTimes bareTimes() {
  InstructionTimes times = assumedTimes();
  times.stepInstructions = {0};
  times.stepBarrier = {0};
  return times;
}

LoopSchedule scheduled(const Program &p, const InstructionTimes &times, WarpOrder order) {
  LoopSchedule result;
  result.loop = llvm::cantFail(pipelineLoopOf(p, *copyingLoops(p)[0], times, order));
  result.schedule = leastInterval(result.loop.loop);
  return result;
}

std::string textOf(const Program &p) { return program::printProgram(p); }

TEST(ProgramLoop, ProductsWithAProducer) {
  // 16 KiB of A, then of B, at 64 B/clk: 256 clocks each, there 700 later; 128x128x64 products at
  // 4096: 512, a half for each warpgroup. From the copy of A to the end of the second one's
  // products: 256 + (256 + 700) + 256 + (256 + 30) = 1754, which two slots share; four have time.
  for (const auto &[slots, interval] : {std::pair<int64_t, int64_t>{2, 877}, {4, 512}}) {
    SizeValues sizes = matrix(slots);
    sizes["CTAS"] = 132;
    LoopSchedule found =
        scheduled(golden("gemm_persistent", sizes), bareTimes(), WarpOrder::AsEmitted);
    EXPECT_EQ(found.loop.groups, 2);
    EXPECT_TRUE(found.loop.isProduced);
    EXPECT_FALSE(found.loop.isFlying);
    EXPECT_EQ(found.loop.steps, 64);
    EXPECT_TRUE(found.schedule.isLeast());
    EXPECT_EQ(found.schedule.interval, interval) << slots;
    EXPECT_EQ(faultOf(found.loop.loop, found.schedule.interval, found.schedule.places), "");
  }
}

TEST(ProgramLoop, AnyOrderIsNeverSlower) {
  for (const char *name : {"gemm_roles", "gemm_sync", "gemm_triton", "attention"})
    for (int64_t slots : {2, 3}) {
      Program p =
          golden(name, std::string(name) == "attention" ? attentionSizes(slots) : matrix(slots));
      LoopSchedule code = scheduled(p, assumedTimes(), WarpOrder::AsEmitted);
      LoopSchedule any = scheduled(p, assumedTimes(), WarpOrder::Any);
      ASSERT_EQ(code.schedule.outcome, ModuloSchedule::Outcome::Found) << name;
      ASSERT_EQ(any.schedule.outcome, ModuloSchedule::Outcome::Found) << name;
      EXPECT_LE(any.schedule.interval, code.schedule.interval) << name << slots;
    }
}

TEST(ProgramLoop, CopiesRunAheadInTheWarpsOwnOrder) {
  // One slot: copy, wait, multiply, one behind the other.
  Program serial = golden("gemm_sync", [] {
    SizeValues sizes = matrix(1);
    sizes["WR"] = 4;
    sizes["WC"] = 2;
    return sizes;
  }());
  LoopSchedule one = scheduled(serial, bareTimes(), WarpOrder::AsEmitted);
  EXPECT_EQ(one.loop.ahead, 0);
  EXPECT_EQ(one.loop.groups, 1);
  EXPECT_GE(one.schedule.interval, 512 + 700 + 512);
  Program pipelined = llvm::cantFail(withSettings(serial, 0, {4, 3, false, false}, nullptr));
  LoopSchedule four = scheduled(pipelined, bareTimes(), WarpOrder::AsEmitted);
  // 4 x 2 warps read A twice and B four times, 96 KiB at 128 B/clk: 768, in which the warps do
  // nothing else, and 32 to issue copies.
  EXPECT_EQ(four.schedule.interval, 768 + 32);
  EXPECT_NE(textOf(pipelined).find("ahead 3"), std::string::npos) << textOf(pipelined);
}

TEST(PipelineChoice, ProductsGetSlotsUntilTheyAreNotWaitedFor) {
  PipelineOptions options{assumedTimes(), DeviceLimits()};
  Program p = golden("gemm_roles", matrix(2));
  PipelineAnswer answer = llvm::cantFail(choosePipeline(p, 0, options));
  const LoopSchedule &best = answer.chosen();
  EXPECT_TRUE(best.settings.isProduced);
  EXPECT_TRUE(best.settings.isAsynchronous);
  EXPECT_EQ(best.schedule.interval, 512); // tensor cores and copies, both all of the time
  EXPECT_TRUE(best.schedule.isLeast());
  EXPECT_GT(answer.gain(), 1.2);
  // One slot less is slower: the choice takes no more than it needs.
  for (const LoopSchedule &tried : answer.tried) {
    const bool isLess = tried.settings.isAsynchronous && tried.settings.slots < best.settings.slots;
    EXPECT_TRUE(!isLess || !tried.refusal.empty() || tried.time.all() > best.time.all());
  }
  EXPECT_NE(textOf(answer.program).find("wait 1"), std::string::npos);
}

TEST(PipelineChoice, AttentionRotates) {
  PipelineOptions options{assumedTimes(), DeviceLimits()};
  Program p = golden("attention", attentionSizes(2));
  PipelineAnswer answer = llvm::cantFail(choosePipeline(p, 0, options));
  EXPECT_FALSE(answer.given.loop.isRotated);
  EXPECT_TRUE(answer.chosen().settings.isAsynchronous);
  EXPECT_TRUE(answer.chosen().loop.isRotated);
  EXPECT_EQ(answer.chosen().loop.groups, 2);
  EXPECT_GT(answer.gain(), 1.0);
  EXPECT_LE(answer.any.interval, answer.chosen().schedule.interval);
}

// Four groups are 24 ops: the search ends, with a proof or without.
TEST(PipelineChoice, ManyGroupsEnd) {
  SizeValues sizes = attentionSizes(2);
  sizes["BM"] = 256;
  sizes["W"] = 16;
  sizes["D"] = 64;
  LoopSchedule four = scheduled(golden("attention", sizes), assumedTimes(), WarpOrder::AsEmitted);
  EXPECT_EQ(four.loop.groups, 4);
  EXPECT_EQ(four.schedule.outcome, ModuloSchedule::Outcome::Found);
}

TEST(PipelineChoice, WhatDoesNotFitIsRefused) {
  PipelineOptions options{assumedTimes(), DeviceLimits()};
  options.limits.sharedBytesPerCta = 100 * 1024; // three slots of 32 KiB
  PipelineAnswer answer =
      llvm::cantFail(choosePipeline(golden("gemm_roles", matrix(2)), 0, options));
  EXPECT_LE(answer.chosen().settings.slots, 3);
  EXPECT_TRUE(std::any_of(answer.tried.begin(), answer.tried.end(), [](const LoopSchedule &one) {
    return one.settings.slots == 4 && !one.refusal.empty();
  }));
}

} // namespace
} // namespace tilewright::pipeline
