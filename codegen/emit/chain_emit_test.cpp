// Kernels of several dots, and of dots beside reductions, from the group to the emulator.
#include "analysis/program/build/testing/chains.h"
#include "analysis/program/pass/of_plan.h"
#include "codegen/emit/testing/emulate.h"

#include <iostream>

namespace tilewright::emit::testing {
namespace {

using namespace program::testing;

/// The program of a plan at these sizes, emitted, against the evaluator. `counts`: what the
/// emulator counts.
void expectRun(const ChainKernel &kernel, const std::vector<int64_t> &values,
               Instruction instruction, uint64_t seed, EmulationCounts *counts = nullptr) {
  KernelPlan plan = kernel.plan;
  plan.values = values;
  plan.instruction = instruction;
  llvm::Expected<program::PlanProgram> built = program::programOfPlan(plan);
  ASSERT_TRUE(bool(built)) << takeDiag(built.takeError()).str();
  llvm::Expected<program::Program> concrete = substituteSizes(built->last(), built->sizes);
  ASSERT_TRUE(bool(concrete)) << takeDiag(concrete.takeError()).str();
  SCOPED_TRACE(printProgram(*concrete) + printHlo(*kernel.module));
  const Module &module = *kernel.module;
  const Graph &graph = module.entry();
  std::vector<Tensor> arguments = fillArguments(module, module.entryId, seed), inputs;
  auto wanted = evaluate(module, module.entryId, arguments);
  ASSERT_TRUE(bool(wanted)) << takeDiag(wanted.takeError()).str();
  for (OpId id : plan.tiled->group.inputs)
    inputs.push_back(inMemoryOrder(arguments[static_cast<size_t>(graph[id].attrs.parameterNumber)],
                                   graph[id].shape));
  llvm::Expected<Emulated> got = emulate(*concrete, inputs);
  ASSERT_TRUE(bool(got)) << takeDiag(got.takeError()).str();
  expectCounts(*concrete, *got, "");
  if (counts)
    *counts = got->counts;
  std::vector<OpId> results = resultsOf(graph);
  for (size_t r = 0; r < plan.tiled->group.roots.size(); ++r) {
    OpId root = plan.tiled->group.roots[r];
    auto at = std::find(results.begin(), results.end(), root);
    Tensor want =
        inMemoryOrder((*wanted)[static_cast<size_t>(at - results.begin())], graph[root].shape);
    agree({got->results[r]}, {want}, chainTolerance(want.dtype()), "%" + graph[root].name);
  }
}

/// Products of fma are emitted one by one, so that tiles of them are small here.
constexpr int64_t unrolled = 8;

void runAtRandom(const std::string &text, Instruction instruction, int draws) {
  ChainKernel kernel(text);
  std::mt19937_64 random(11);
  for (int i = 0; i < draws && !::testing::Test::HasFailure(); ++i)
    expectRun(kernel, kernel.draw(random, instruction, unrolled), instruction, random());
}

TEST(EmittedChains, DotsOfFma) {
  for (const ChainText &chain : chainTexts())
    runAtRandom(chain.text, Instruction::Fma, 1);
}

TEST(EmittedChains, DotsOfMatrixInstructions) {
  for (const ChainText &chain : chainTexts())
    runAtRandom(chain.text, Instruction::MmaSync, 4);
}

TEST(EmittedChains, Attention) {
  for (Mask mask : {Mask::None, Mask::Causal, Mask::Window, Mask::Added})
    for (bool isFirst : {true, false}) {
      runAtRandom(attention(2, 48, 40, 32, 24, mask, isFirst), Instruction::MmaSync, 2);
      runAtRandom(attention(1, 20, 24, 16, 12, mask, isFirst), Instruction::Fma, 1);
    }
}

TEST(EmittedChains, AttentionOfWarpgroups) {
  for (Mask mask : {Mask::None, Mask::Causal, Mask::Window, Mask::Added})
    for (bool isFirst : {true, false})
      runAtRandom(attention(2, 144, 40, 32, 24, mask, isFirst), Instruction::Wgmma, 2);
}

/// Values of a plan by name; of the schedule 1 where nothing is said.
std::vector<int64_t> valuesOf(const ChainKernel &kernel,
                              const std::map<std::string, int64_t> &wanted) {
  std::vector<int64_t> values = kernel.plan.values;
  for (const char *name : {"warps", "split_k", "group_m", "stages"})
    values[*kernel.plan.tiled->space.indexOf(name)] = 1;
  for (const auto &[name, value] : wanted)
    values[*kernel.plan.tiled->space.indexOf(name)] = value;
  return values;
}

/// Folds equal what runs for one warp and several, and loops of one step and several.
TEST(EmittedChains, CountsOfOneStepAndSeveral) {
  for (const ChainText &chain : chainTexts()) {
    ChainKernel kernel(chain.text);
    const auto &parameters = kernel.plan.tiled->space.parameters;
    for (int64_t warps : {1, 2})
      for (bool isWhole : {true, false})
        for (int64_t stages : {1, 2}) {
          std::map<std::string, int64_t> wanted{{"warps", warps}, {"stages", stages}};
          for (const TileParameter &parameter : parameters)
            if (parameter.role != TileParameter::Role::Schedule)
              wanted[parameter.name] = isWhole && parameter.role == TileParameter::Role::Sequential
                                           ? parameter.largest()
                                           : std::min<int64_t>(parameter.largest(), 16 * warps);
          SCOPED_TRACE(chain.name);
          expectRun(kernel, valuesOf(kernel, wanted), Instruction::MmaSync, 5);
          if (HasFailure())
            return;
        }
  }
}

TEST(EmittedChains, MasksEndTheLoop) {
  for (bool isFirst : {true, false}) {
    EmulationCounts counts;
    ChainKernel causal(attention(1, 128, 128, 16, 16, Mask::Causal, isFirst));
    expectRun(causal, valuesOf(causal, {{"t1", 32}, {"k0", 32}, {"warps", 2}, {"stages", 2}}),
              Instruction::MmaSync, 3, &counts);
    // 1 + 2 + 3 + 4 of the 16 tiles.
    EXPECT_EQ(counts.mmaInstructions, 10 * 2 * 2 * (32 / 8));
    ChainKernel window(attention(1, 128, 128, 16, 16, Mask::Window, isFirst));
    expectRun(window, valuesOf(window, {{"t1", 32}, {"k0", 16}, {"warps", 2}, {"stages", 2}}),
              Instruction::MmaSync, 3, &counts);
    EXPECT_LT(counts.mmaInstructions, 36 * 2 * 2 * (16 / 8));
  }
}

/// Rows that meet no key in their first steps, or none at all.
TEST(EmittedChains, MaskedRows) {
  for (const char *fill : {"-1e4", "-1e9", "-2.38e38", "-3.4e38", "-inf"})
    for (const char *type : {"f16", "bf16"})
      for (Mask mask : {Mask::LeftPadding, Mask::Steep, Mask::Nothing}) {
        ChainKernel kernel(attention(1, 32, 48, 16, 16, mask, type[0] == 'f', type, fill));
        expectRun(kernel, valuesOf(kernel, {{"t1", 16}, {"k0", 16}, {"stages", 2}}),
                  Instruction::MmaSync, 3);
        if (HasFailure())
          return;
      }
}

} // namespace
} // namespace tilewright::emit::testing
