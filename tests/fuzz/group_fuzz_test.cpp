// Random groups of dots and reductions as one kernel each: emitted and right on the emulator, or
// refused by what the search can say of hardware and tiles, never for want of code.
//
// TILEWRIGHT_FUZZ_PROGRAMS sets how many there are, TILEWRIGHT_FUZZ_SEED where their seeds start;
// the test of label `soak` has many more than the usual one.
#include "codegen/check.h"
#include "codegen/extract.h"
#include "codegen/lower.h"
#include "tests/fuzz/random_group.h"
#include "tools/explore/kernel_plans.h"
#include "tools/explore/testing/explore.h"

#include <cstdlib>
#include <iostream>
#include <set>

namespace tilewright {
namespace {

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// All that results need, in one kernel.
llvm::Expected<KernelSource> asOneKernel(const Module &module) {
  const Graph &graph = module.entry();
  const std::vector<OpId> roots = resultsOf(graph);
  std::set<OpId> ops;
  std::vector<OpId> work = roots;
  while (!work.empty()) {
    const OpId id = work.back();
    work.pop_back();
    if (graph[id].opcode != Opcode::Parameter && ops.insert(id).second)
      work.insert(work.end(), graph[id].operands.begin(), graph[id].operands.end());
  }
  llvm::Expected<Group> group = makeGroup(graph, std::vector<OpId>(ops.begin(), ops.end()), roots);
  if (!group)
    return group.takeError();
  KernelSource source;
  source.name = "group";
  source.graph = module.entryId;
  source.group = std::move(*group);
  source.kind = kindOf(graph, source.group);
  return source;
}

class GroupFuzz : public ::testing::Test {
protected:
  void run(uint64_t seed);
  void check(const KernelPlan &plan);

  std::map<std::string, size_t> kinds, refusals;
  size_t emitted = 0, refused = 0, warpgroups = 0;
};

void GroupFuzz::check(const KernelPlan &plan) {
  std::string text(toString(plan.instruction));
  for (size_t i = 0; i < plan.values.size(); ++i)
    text += fmt::format(" {}={}", plan.tiled->space.parameters[i].name, plan.values[i]);
  SCOPED_TRACE(text);
  auto spec = specOf(plan);
  ASSERT_TRUE(bool(spec)) << takeDiag(spec.takeError()).message;
  CheckOptions options;
  constexpr double roundedOnTheWay = 0x1p-5; // operands of one dot that are results of another
  options.tolerance = std::max(toleranceOf(spec->graph(), plan.instruction), roundedOnTheWay);
  if (plan.instruction == Instruction::Wgmma) { // by no other in its place
    auto code = lowerPlan(plan, CodeMode::Device);
    ASSERT_TRUE(bool(code)) << takeDiag(code.takeError()).message;
    EXPECT_TRUE(code->notes.empty()) << code->notes.front();
  }
  CheckOutcome outcome = checkKernel(*spec, options);
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Pass) << outcome.reason;
}

void GroupFuzz::run(uint64_t seed) {
  const std::string text = randomGroup(seed);
  SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
  const bool isVerbose = std::getenv("TILEWRIGHT_FUZZ_VERBOSE") != nullptr;
  Module parsed = parseVerified(text);
  ASSERT_TRUE(parsed.entryId.isValid());
  auto module = std::make_shared<const Module>(std::move(parsed));
  auto source = asOneKernel(*module);
  ASSERT_TRUE(bool(source)) << takeDiag(source.takeError()).message;
  auto device = loadDevice("h100-sxm");
  ASSERT_TRUE(bool(device));
  auto refuse = [&](const std::string &why) {
    ++refused;
    if (isVerbose)
      std::cout << "seed " << seed << " refused: " << why << "\n";
    for (const char *absent : {"no code", "no program"})
      EXPECT_EQ(why.find(absent), std::string::npos) << why;
  };
  const Calibration calibration = priorCalibration(*device);
  auto plans = kernelPlans(module, *source, *device, calibration, {});
  if (!plans)
    return refuse(takeDiag(plans.takeError()).message);
  ++kinds[std::string(toString(
      codeOf(module->entry(), *plans->spaces().front().tiled, Instruction::MmaSync).kind))];
  PlanSearchOptions searching;
  searching.maxPriced = 30;
  searching.top = 8;
  // Groups of three dots and three reductions have millions of tilings; a few schedules of each do.
  const bool isEven = seed % 2 == 0;
  for (const char *rule :
       {isEven ? "warps=1,4" : "warps=2,8", isEven ? "stages=1,3" : "stages=2,4", "group_m=1,8"})
    ASSERT_FALSE(bool(searching.candidates.addRule(rule)));
  auto ranking = plans->search(searching);
  ASSERT_TRUE(bool(ranking)) << takeDiag(ranking.takeError()).message;
  if (ranking->best.empty())
    return refuse(ranking->refusal);
  ++emitted;
  check(ranking->best.front().plan);
  if (ranking->best.size() > 1)
    check(ranking->best.back().plan);
  // What is fastest at these sizes is seldom by warpgroups.
  PlanOptions byWarpgroups;
  byWarpgroups.instruction = Instruction::Wgmma;
  auto others = kernelPlans(module, *source, *device, calibration, byWarpgroups);
  if (!others ||
      codeOf(module->entry(), *others->spaces().front().tiled, Instruction::Wgmma).instruction !=
          Instruction::Wgmma)
    return llvm::consumeError(others.takeError());
  auto found = others->search(searching);
  ASSERT_TRUE(bool(found)) << takeDiag(found.takeError()).message;
  if (found->best.empty())
    return;
  ++warpgroups;
  check(found->best.front().plan);
  check(found->best.back().plan);
}

TEST_F(GroupFuzz, EmittedAndRightOrRefusedByALimit) {
  const uint64_t first = fromEnvironment("TILEWRIGHT_FUZZ_SEED", 1);
  const uint64_t count = fromEnvironment("TILEWRIGHT_FUZZ_PROGRAMS", 10);
  for (uint64_t seed = first; seed < first + count; ++seed)
    run(seed);
  for (const auto &[kind, number] : kinds)
    std::cout << kind << ": " << number << "\n";
  std::cout << emitted << " emitted (" << warpgroups << " also by wgmma), " << refused
            << " refused\n";
  EXPECT_GT(emitted, refused);
}

} // namespace
} // namespace tilewright
