// Built programs emitted: kernels of the bundled models and of random programs, over small tensors,
// from the group to the emulator.
#include "analysis/import/import_file.h"
#include "analysis/program/build/testing/check.h"
#include "analysis/program/pass/of_plan.h"
#include "codegen/emit/testing/emulate.h"
#include "codegen/shrink.h"
#include "tests/fuzz/random_program.h"
#include "tests/tilings/bundled_kernels.h"

namespace tilewright::emit::testing {
namespace {

using program::testing::drawValues;
using program::testing::inMemoryOrder;
using program::testing::toleranceOf;

class BuiltKernels : public ::testing::Test {
protected:
  size_t runs = 0;
  std::map<std::string, size_t> unbuilt, refused; ///< by message

  /// One kernel at tile sizes that a seed draws.
  void check(const std::string &name, const std::shared_ptr<const Module> &module, uint64_t seed) {
    llvm::Expected<KernelPlan> plan = planOfEntry(module);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      return;
    }
    std::mt19937_64 random(seed);
    auto values = drawValues(*plan->tiled, random);
    if (!values)
      return;
    plan->values = *values;
    checkPlan(name, *module, *plan, seed);
  }

  void checkPlan(const std::string &name, const Module &module, const KernelPlan &plan,
                 uint64_t seed) {
    llvm::Expected<program::PlanProgram> built = program::programOfPlan(plan);
    if (!built) {
      ++unbuilt[unsupported(built.takeError())];
      return;
    }
    llvm::Expected<program::Program> concrete = concreteProgram(*built);
    ASSERT_TRUE(bool(concrete)) << name << takeDiag(concrete.takeError()).str();
    SCOPED_TRACE(name + "\n" + printProgram(*concrete) + printHlo(module));
    run(plan, module, *concrete, seed);
  }

private:
  static std::string unsupported(llvm::Error error) {
    Diag diag = takeDiag(std::move(error));
    EXPECT_EQ(diag.cls, DiagClass::Unsupported) << diag.message;
    return diag.message;
  }

  void run(const KernelPlan &plan, const Module &module, const program::Program &program,
           uint64_t seed) {
    std::vector<Tensor> arguments = fillArguments(module, module.entryId, seed), inputs;
    auto wanted = evaluate(module, module.entryId, arguments);
    ASSERT_TRUE(bool(wanted)) << takeDiag(wanted.takeError()).str();
    const Graph &graph = plan.ops();
    for (OpId id : plan.tiled->group.inputs)
      inputs.push_back(inMemoryOrder(
          arguments[static_cast<size_t>(graph[id].attrs.parameterNumber)], graph[id].shape));
    llvm::Expected<Emulated> got = emulate(program, inputs);
    if (!got) {
      ++refused[unsupported(got.takeError())];
      return;
    }
    ++runs;
    std::vector<OpId> results = resultsOf(graph);
    for (size_t r = 0; r < plan.tiled->group.roots.size(); ++r) {
      OpId root = plan.tiled->group.roots[r];
      auto at = std::find(results.begin(), results.end(), root);
      Tensor want =
          inMemoryOrder((*wanted)[static_cast<size_t>(at - results.begin())], graph[root].shape);
      agree({got->results[r]}, {want}, tolerance(want.dtype()), "%" + graph[root].name);
    }
  }

  /// The emulator's functions are approximate as those of a GPU are: 2^-20 of f32.
  static double tolerance(DType type) {
    return isFloat(type) ? std::max(toleranceOf(type), type == DType::F64 ? 0 : 0x1p-14) : 0;
  }
};

void print(const std::map<std::string, size_t> &reasons, const char *what) {
  for (const auto &[reason, times] : reasons)
    std::cout << what << " " << times << ": " << reason << "\n";
}

TEST_F(BuiltKernels, OfBundledModels) {
  auto kernels = bundledKernels();
  ASSERT_TRUE(bool(kernels)) << takeDiag(kernels.takeError()).str();
  uint64_t seed = 0;
  std::set<std::string> seen;
  for (const BundledKernel &kernel : *kernels) {
    auto module = extractGroup(*kernel.module, kernel.source.graph, kernel.source.group);
    if (!module) {
      llvm::consumeError(module.takeError());
      continue;
    }
    KindOfCode kind =
        kindOfCode((*module)->entry(), idsOf((*module)->entry()), resultsOf((*module)->entry()));
    if (kind.kind != CodeKind::Elementwise && kind.kind != CodeKind::Reduction)
      continue;
    auto small = shrinkModule(**module, {.wishes = {}, .most = 9, .odd = ++seed % 2 == 1});
    ASSERT_TRUE(bool(small)) << takeDiag(small.takeError()).str();
    check(kernel.name, *small, seed);
    if (HasFailure())
      break;
  }
  print(unbuilt, "not built");
  print(refused, "no code");
  EXPECT_TRUE(refused.empty());
  EXPECT_GE(runs, 150u);
}

TEST_F(BuiltKernels, OfRandomPrograms) {
  for (ProgramKind kind : {ProgramKind::Elementwise, ProgramKind::Reduction, ProgramKind::Softmax,
                           ProgramKind::Indexed, ProgramKind::Window})
    for (uint64_t seed = 1; seed <= 25 && !HasFailure(); ++seed) {
      auto module =
          importBuffer(std::make_shared<SourceBuffer>("random.hlo.txt", randomProgram(kind, seed)));
      ASSERT_TRUE(bool(module)) << takeDiag(module.takeError()).str();
      check(fmt::format("kind {} seed {}", int(kind), seed),
            std::make_shared<const Module>(std::move(*module)), seed);
    }
  print(unbuilt, "not built");
  print(refused, "no code");
  EXPECT_TRUE(refused.empty());
  EXPECT_GE(runs, 80u);
}

TEST_F(BuiltKernels, DotsOfTiles) {
  auto imported = importBuffer(std::make_shared<SourceBuffer>("gemm", R"(HloModule gemm
ENTRY main {
  a = bf16[64,96] parameter(0)
  b = bf16[96,48] parameter(1)
  bias = bf16[48] parameter(2)
  c = bf16[64,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = bf16[64,48] broadcast(bias), dimensions={1}
  ROOT y = bf16[64,48] add(c, d)
})"));
  ASSERT_TRUE(bool(imported)) << takeDiag(imported.takeError()).str();
  auto module = std::make_shared<const Module>(std::move(*imported));
  llvm::Expected<KernelPlan> plan = planOfEntry(module);
  ASSERT_TRUE(bool(plan)) << takeDiag(plan.takeError()).str();
  auto set = [&](const char *parameter, int64_t value) {
    plan->values[*plan->tiled->space.indexOf(parameter)] = value;
  };
  uint64_t seed = 0;
  for (const char *schedule : {"split_k", "group_m"})
    set(schedule, 1);
  for (Instruction instruction : {Instruction::Fma, Instruction::MmaSync})
    for (int64_t rows : {16, 7, 32, 64})
      for (int64_t depth : {16, 5, 48, 96})
        for (int64_t stages : {1, 2, 4}) {
          if (instruction == Instruction::MmaSync && (rows == 7 || depth == 5))
            continue; // no whole instructions
          plan->instruction = instruction;
          set("t0", rows);
          set("t1", 16);
          set("k0", depth);
          set("warps", 1 + static_cast<int64_t>(seed % 2));
          set("stages", stages);
          checkPlan("gemm", *module, *plan, ++seed);
          if (HasFatalFailure() || HasNonfatalFailure())
            return;
        }
  EXPECT_TRUE(unbuilt.empty());
  EXPECT_TRUE(refused.empty());
  EXPECT_EQ(runs, 48u + 27u);
}

} // namespace
} // namespace tilewright::emit::testing
