// Kernels of several dots, and of dots beside reductions, from the group to the emulator.
#include "analysis/program/build/testing/chains.h"
#include "analysis/program/pass/of_plan.h"
#include "codegen/emit/testing/emulate.h"

#include <iostream>

namespace tilewright::emit::testing {
namespace {

using namespace program::testing;

/// The program of a plan at these sizes, emitted, against the evaluator.
void expectRun(const ChainKernel &kernel, const std::vector<int64_t> &values,
               Instruction instruction, uint64_t seed) {
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
    expectRun(kernel, kernel.draw(random, instruction != Instruction::Fma, unrolled), instruction,
              random());
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

/// Rows that meet no key in their first steps, or none at all.
TEST(EmittedChains, MaskedRows) {
  for (const char *fill : {"-1e4", "-1e9", "-2.38e38", "-3.4e38", "-inf"})
    for (const char *type : {"f16", "bf16"})
      for (Mask mask : {Mask::LeftPadding, Mask::Steep, Mask::Nothing}) {
        ChainKernel kernel(attention(1, 32, 48, 16, 16, mask, type[0] == 'f', type, fill));
        std::vector<int64_t> values = kernel.plan.values;
        for (const char *name : {"t1", "k0"})
          values[*kernel.plan.tiled->space.indexOf(name)] = 16;
        for (const char *name : {"warps", "split_k", "group_m"})
          values[*kernel.plan.tiled->space.indexOf(name)] = 1;
        values[*kernel.plan.tiled->space.indexOf("stages")] = 2;
        expectRun(kernel, values, Instruction::MmaSync, 3);
        if (HasFailure())
          return;
      }
}

} // namespace
} // namespace tilewright::emit::testing
