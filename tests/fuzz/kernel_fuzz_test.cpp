// Random programs through grouping, plan search, code generation and the emulator: every kernel
// that has code must compute what the reference evaluator computes, at any tiling of the search.
//
// TILEWRIGHT_FUZZ_PROGRAMS sets how many programs of each kind there are, TILEWRIGHT_FUZZ_SEED
// where their seeds start; the test of label `soak` has many more than the usual one.
#include "analysis/ir/tensor.h"
#include "analysis/program/pass/resources.h"
#include "analysis/tiling/resources.h"
#include "codegen/check.h"
#include "codegen/lower.h"
#include "tests/fuzz/random_program.h"
#include "tools/explore/explore.h"
#include "tools/explore/testing/explore.h"

#include <cstdlib>
#include <iostream>

namespace tilewright {
namespace {

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class KernelFuzz : public ::testing::TestWithParam<ProgramKind> {
protected:
  void run(const std::string &program, uint64_t seed);
  void trace(const KernelSpec &spec);
  void expectResources(const KernelPlan &plan, const KernelSpec &spec, const std::string &text);

  size_t passed = 0, skipped = 0, unsupported = 0, chainsOfWarpgroups = 0;
};

/// What is said about a wrong kernel holds only if nothing is said about one that is right: every
/// value that it has on the way must be that of the op, and its steps those of the device's code.
void KernelFuzz::trace(const KernelSpec &spec) {
  auto device = lowerKernel(spec, CodeMode::Device), traced = lowerKernel(spec, CodeMode::Traced);
  ASSERT_TRUE(device && traced);
  EXPECT_EQ(device->steps, traced->steps);
  CheckOutcome outcome = checkKernel(spec, std::move(*traced), {});
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Pass) << outcome.reason;
  EXPECT_EQ(outcome.firstWrong, "");
  EXPECT_GT(outcome.valuesSeen, 0);
}

void KernelFuzz::run(const std::string &program, uint64_t seed) {
  auto device = loadDevice("h100-sxm");
  ASSERT_TRUE(bool(device));
  auto calibration = loadCalibration("h100-sxm");
  ASSERT_TRUE(bool(calibration));
  Module module = parseVerified(program);
  if (HasFailure())
    return;
  ExploreOptions options;
  options.search.maxPriced = 40;
  options.search.top = 40;
  options.plans.instruction = GetParam() == ProgramKind::WideAttention ? Instruction::Wgmma
                              : seed % 4 == 0                          ? Instruction::Fma
                                                                       : Instruction::MmaSync;
  auto explored = exploreModel(module, *device, *calibration, options);
  if (explored && !explored->isComplete()) { // a dot of a type or shape that has no such tile
    options.plans.instruction = Instruction::Fma;
    explored = exploreModel(module, *device, *calibration, options);
  }
  ASSERT_TRUE(bool(explored)) << takeDiag(explored.takeError()).str();
  size_t covered = explored->noKernel.size() + explored->unsupported.size();
  for (const ExploredKernel &kernel : explored->kernels) {
    covered += kernel.ops.size();
    for (uint64_t draw = 0; draw < 3; ++draw) { // the best plan and two of the others
      size_t i = draw == 0 ? 0 : splitmix64(seed, draw) % kernel.plans.size();
      const KernelPlan &plan = kernel.plans[i].plan;
      auto spec = specOf(plan);
      CheckOutcome outcome;
      if (spec) {
        outcome = checkKernel(*spec);
        if (draw == 0 && outcome.status == CheckOutcome::Status::Pass)
          trace(*spec);
      } else {
        outcome.reason = takeDiag(spec.takeError()).message;
        outcome.status = CheckOutcome::Status::Skipped;
      }
      std::string text;
      for (size_t p = 0; p < plan.values.size(); ++p)
        text += fmt::format(" {}={}", plan.tiled->space.parameters[p].name, plan.values[p]);
      if (spec)
        expectResources(plan, *spec, text);
      chainsOfWarpgroups += plan.instruction == Instruction::Wgmma &&
                            kindOfCode(plan.ops(), *plan.tiled).kind == CodeKind::Chain;
      EXPECT_NE(outcome.status, CheckOutcome::Status::Fail)
          << kernel.name << ":" << text << ": " << outcome.reason;
      passed += outcome.status == CheckOutcome::Status::Pass;
      skipped += outcome.status == CheckOutcome::Status::Skipped;
      if (outcome.status == CheckOutcome::Status::Skipped && std::getenv("TILEWRIGHT_FUZZ_VERBOSE"))
        std::cout << "seed " << seed << " skipped " << kernel.name << text << ": " << outcome.reason
                  << "\n";
    }
  }
  EXPECT_EQ(covered, explored->ops);
  unsupported += explored->unsupported.size();
  for (const UnsupportedOp &op : explored->unsupported)
    if (std::getenv("TILEWRIGHT_FUZZ_VERBOSE"))
      std::cout << "seed " << seed << " unsupported " << op.op << ": " << op.reason << "\n";
}

/// The analysis says how the code is made, and what shared memory it takes, to the byte.
void KernelFuzz::expectResources(const KernelPlan &plan, const KernelSpec &spec,
                                 const std::string &text) {
  auto kernel = lowerKernel(spec, CodeMode::Emulation);
  if (!kernel) {
    llvm::consumeError(kernel.takeError());
    return;
  }
  const CodeChoice wanted = codeOf(plan.ops(), *plan.tiled, plan.instruction);
  EXPECT_EQ(toString(kernel->code.kind), toString(wanted.kind)) << plan.name << ":" << text;
  EXPECT_EQ(toString(kernel->code.instruction), toString(wanted.instruction))
      << plan.name << ":" << text;
  const Resources resources =
      kernelResources(*plan.module, plan.ops(), *plan.tiled, kernel->code, DeviceLimits());
  EXPECT_EQ(evaluate(resources.sharedBytes, plan.assignment()), kernel->launch.sharedBytes)
      << plan.name << ":" << text << ": " << toString(kernel->code.kind);
  EXPECT_EQ(evaluate(resources.threads, plan.assignment()), kernel->launch.threads)
      << plan.name << ":" << text;
  std::optional<int64_t> registers = evaluate(resources.registersPerThread, plan.assignment());
  EXPECT_TRUE(registers && *registers > 0) << plan.name << ":" << text;
}

TEST_P(KernelFuzz, EveryKernelComputesItsOps) {
  uint64_t first = fromEnvironment("TILEWRIGHT_FUZZ_SEED", 1);
  const bool isWide = GetParam() == ProgramKind::WideAttention; // larger ones
  uint64_t count = fromEnvironment("TILEWRIGHT_FUZZ_PROGRAMS", isWide ? 12 : 29);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::string program = randomProgram(GetParam(), seed);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, program));
    run(program, seed);
  }
  if (count == 29) { // all kinds together: more than 500 plans
    EXPECT_GE(passed + skipped, 84u);
  }
  EXPECT_GT(passed, skipped) << "most kernels have code";
  if (isWide) {
    EXPECT_GE(chainsOfWarpgroups, count);
  }
  RecordProperty("passed", static_cast<int>(passed));
  RecordProperty("skipped", static_cast<int>(skipped));
  RecordProperty("unsupported", static_cast<int>(unsupported));
}

std::string nameOf(const ::testing::TestParamInfo<ProgramKind> &info) {
  switch (info.param) {
  case ProgramKind::Elementwise:
    return "Elementwise";
  case ProgramKind::Reduction:
    return "Reduction";
  case ProgramKind::Softmax:
    return "Softmax";
  case ProgramKind::Dot:
    return "Dot";
  case ProgramKind::Attention:
    return "Attention";
  case ProgramKind::WideAttention:
    return "WideAttention";
  case ProgramKind::Window:
    return "Window";
  case ProgramKind::Indexed:
    return "Indexed";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Kinds, KernelFuzz,
                         ::testing::Values(ProgramKind::Elementwise, ProgramKind::Reduction,
                                           ProgramKind::Softmax, ProgramKind::Dot,
                                           ProgramKind::Attention, ProgramKind::WideAttention,
                                           ProgramKind::Window, ProgramKind::Indexed),
                         nameOf);

} // namespace
} // namespace tilewright
