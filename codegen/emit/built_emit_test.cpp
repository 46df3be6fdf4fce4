// Built programs emitted: kernels of the bundled models and of random programs, over small tensors,
// from the group to the emulator.
#include "analysis/import/import_file.h"
#include "analysis/program/build/testing/check.h"
#include "analysis/program/pass/of_plan.h"
#include "analysis/program/pass/resources.h"
#include "analysis/support/checked.h"
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/resources.h"
#include "codegen/check.h"
#include "codegen/emit/testing/emulate.h"
#include "codegen/shrink.h"
#include "tests/fuzz/random_program.h"
#include "tests/tilings/bundled_kernels.h"
#include "tests/tilings/drawn_points.h"

namespace tilewright::emit::testing {
namespace {

using program::testing::drawValues;
using program::testing::inMemoryOrder;
using program::testing::toleranceOf;

class BuiltKernels : public ::testing::Test {
protected:
  size_t runs = 0, withBytes = 0;                 ///< of the latter bytes are exact, too
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

  /// Does the search take a plan for a device, and its instruction the plan's tiles?
  static bool isTaken(const KernelPlan &plan) {
    TiledGroup tiled = *plan.tiled;
    addKernelConstraints(*plan.module, plan.ops(), tiled, DeviceLimits(), plan.instruction);
    addInstructionConstraints(plan.ops(), tiled, plan.instruction);
    return isFeasible(tiled, plan.values).value_or(false);
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
    withBytes += expectCounts(program, *got, "");
    std::vector<OpId> results = resultsOf(graph);
    for (size_t r = 0; r < plan.tiled->group.roots.size(); ++r) {
      OpId root = plan.tiled->group.roots[r];
      auto at = std::find(results.begin(), results.end(), root);
      Tensor want =
          inMemoryOrder((*wanted)[static_cast<size_t>(at - results.begin())], graph[root].shape);
      double allowed = isFloat(want.dtype())
                           ? std::max(tolerance(want.dtype()),
                                      2 * tilewright::toleranceOf(graph, plan.instruction))
                           : 0;
      agree({got->results[r]}, {want}, allowed, "%" + graph[root].name);
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
    for (uint64_t draw : {seed, seed + 1000})
      check(kernel.name, *small, draw);
    if (HasFailure())
      break;
  }
  print(unbuilt, "not built");
  print(refused, "no code");
  EXPECT_TRUE(refused.empty());
  EXPECT_GE(runs, 300u);
  EXPECT_GE(withBytes, 150u);
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
  EXPECT_GE(withBytes, 15u);
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
  set("split_k", 1);
  set("group_m", 1);
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

/// A product of matrices with operands in either order of memory.
struct ProductShape {
  int64_t m, n, k;
  bool isLeftTransposed, isRightTransposed;
  const char *left, *right, *result;

  std::string text() const {
    auto dims = [](const char *type, int64_t x, int64_t y, bool isTransposed) {
      return isTransposed ? fmt::format("{}[{},{}]", type, y, x)
                          : fmt::format("{}[{},{}]", type, x, y);
    };
    return fmt::format("HloModule product\nENTRY main {{\n  a = {} parameter(0)\n"
                       "  b = {} parameter(1)\n  ROOT c = {}[{},{}] dot(a, b), "
                       "lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}\n}}\n",
                       dims(left, m, k, isLeftTransposed), dims(right, k, n, isRightTransposed),
                       result, m, n, isLeftTransposed ? 0 : 1, isRightTransposed ? 1 : 0);
  }
};

/// Types that an instruction takes, ragged shapes, all orders of memory, splits and stages.
TEST_F(BuiltKernels, ProductsOfAllTypes) {
  struct Types {
    const char *left, *right, *result;
  };
  const Types matrix[] = {{"bf16", "bf16", "f32"},       {"f16", "f16", "f16"}, {"s8", "u8", "s32"},
                          {"f8e4m3fn", "f8e5m2", "f32"}, {"f32", "f32", "f32"}, {"u8", "u8", "s32"},
                          {"bf16", "bf16", "bf16"}};
  const Types plain[] = {{"f32", "f32", "f32"}, {"bf16", "bf16", "f32"}, {"f64", "f64", "f64"},
                         {"s32", "s32", "s32"}, {"s8", "s8", "s32"},     {"f16", "f32", "f32"}};
  std::mt19937_64 random(5);
  auto pick = [&](std::initializer_list<int64_t> list) {
    return *(list.begin() + static_cast<ptrdiff_t>(random() % list.size()));
  };
  for (int draw = 0; draw < 220 && !HasFailure(); ++draw) {
    bool isMatrix = draw % 3 != 0;
    const Types &types =
        isMatrix ? matrix[random() % std::size(matrix)] : plain[random() % std::size(plain)];
    ProductShape shape{pick({16, 33, 64, 100}),
                       pick({8, 24, 40, 72, 100}),
                       pick({32, 64, 96, 100, 37}),
                       random() % 2 == 1,
                       random() % 2 == 1,
                       types.left,
                       types.right,
                       types.result};
    auto imported = importBuffer(std::make_shared<SourceBuffer>("product", shape.text()));
    ASSERT_TRUE(bool(imported)) << takeDiag(imported.takeError()).str();
    auto module = std::make_shared<const Module>(std::move(*imported));
    llvm::Expected<KernelPlan> plan = planOfEntry(module);
    ASSERT_TRUE(bool(plan)) << takeDiag(plan.takeError()).str();
    auto set = [&](const char *parameter, int64_t value) {
      plan->values[*plan->tiled->space.indexOf(parameter)] = value;
    };
    plan->instruction = isMatrix ? Instruction::MmaSync : Instruction::Fma;
    int64_t perStep = 256 / static_cast<int64_t>(bitWidth(plan->ops()[OpId{0}].shape.dtype));
    set("t0", isMatrix ? pick({16, 32, 64}) : pick({5, 16, 32, 64}));
    set("t1", isMatrix ? pick({8, 16, 32, 48}) : pick({3, 8, 16, 40}));
    set("k0", isMatrix ? perStep * pick({1, 2, 3}) : pick({1, 7, 16, 32}));
    set("warps", pick({1, 2, 4}));
    set("stages", pick({1, 2, 3}));
    set("split_k", pick({1, 1, 2, 3}));
    set("group_m", pick({1, 2, 3}));
    if (isTaken(*plan))
      checkPlan(shape.text(), *module, *plan, static_cast<uint64_t>(draw) + 1);
  }
  print(unbuilt, "not built");
  print(refused, "no code");
  EXPECT_GE(runs, 120u);
}

/// Batches, which have no axis; and products of warpgroups, whose operands a producer copies.
TEST_F(BuiltKernels, ProductsOfWarpgroups) {
  struct Case {
    const char *left, *right, *result; ///< of a batch
    const char *dims;
    int64_t rows, columns, depth; ///< of tiles
  };
  const char *plain = "lhs_contracting_dims={2}, rhs_contracting_dims={1}";
  const char *turned = "lhs_contracting_dims={1}, rhs_contracting_dims={2}";
  const char *inner = "lhs_contracting_dims={2}, rhs_contracting_dims={2}";
  const Case cases[] = {
      {"bf16[3,128,96]", "bf16[3,96,64]", "bf16[3,128,64]", plain, 64, 64, 32},
      {"bf16[2,100,96]", "bf16[2,96,72]", "f32[2,100,72]", plain, 64, 64, 64},
      {"f16[2,96,136]", "f16[2,72,96]", "f16[2,136,72]", turned, 128, 32, 32},
      {"f8e4m3fn[2,80,96]", "f8e5m2[2,48,96]", "f32[2,80,48]", inner, 64, 16, 64},
      {"s8[1,128,160]", "u8[1,64,160]", "s32[1,128,64]", inner, 128, 32, 64},
      {"f32[2,70,40]", "f32[2,24,40]", "f32[2,70,24]", inner, 64, 24, 16},
  };
  uint64_t seed = 0;
  for (const Case &c : cases)
    for (Instruction instruction : {Instruction::Wgmma, Instruction::MmaSync})
      for (int64_t warps : {4, 8})
        for (int64_t stages : {1, 2, 4})
          for (int64_t splits : {1, 2}) {
            std::string text = fmt::format(
                "HloModule batches\nENTRY main {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n"
                "  ROOT c = {} dot(a, b), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, {}\n}}\n",
                c.left, c.right, c.result, c.dims);
            auto imported = importBuffer(std::make_shared<SourceBuffer>("batches", text));
            ASSERT_TRUE(bool(imported)) << takeDiag(imported.takeError()).str();
            auto module = std::make_shared<const Module>(std::move(*imported));
            llvm::Expected<KernelPlan> plan = planOfEntry(module);
            ASSERT_TRUE(bool(plan)) << takeDiag(plan.takeError()).str();
            auto set = [&](const char *parameter, int64_t value) {
              plan->values[*plan->tiled->space.indexOf(parameter)] = value;
            };
            plan->instruction = instruction;
            set("t0", 1);
            set("t1", c.rows);
            set("t2", c.columns);
            set("k0", c.depth);
            set("warps", warps);
            set("stages", stages);
            set("split_k", splits);
            set("group_m", 1 + static_cast<int64_t>(seed % 3));
            ++seed;
            if (isTaken(*plan))
              checkPlan("batches", *module, *plan, seed);
            if (HasFailure())
              return;
          }
  print(unbuilt, "not built");
  print(refused, "no code");
  EXPECT_TRUE(unbuilt.empty());
  EXPECT_TRUE(refused.empty());
  EXPECT_GE(runs, 60u);
}

constexpr int64_t mostWarpSteps = 1000;

/// Steps that all warps of all CTAs take.
int64_t warpSteps(const KernelPlan &plan) {
  int64_t steps = plan.value("warps");
  for (size_t i = 0; i < plan.values.size(); ++i)
    if (const TileParameter &of = plan.tiled->space.parameters[i];
        of.role != TileParameter::Role::Schedule)
      steps *= ceilDiv(of.extent, plan.values[i]);
  return steps;
}

/// Dots of the bundled models over smaller tensors, by every instruction, in tiles that the search
/// accepts.
TEST_F(BuiltKernels, DotsOfBundledModels) {
  std::set<std::string> seen;
  std::mt19937_64 random(3);
  for (const BundledKernel &kernel : llvm::cantFail(bundledKernels())) {
    auto module = extractGroup(*kernel.module, kernel.source.graph, kernel.source.group);
    if (!module) {
      llvm::consumeError(module.takeError());
      continue;
    }
    const Graph &whole = (*module)->entry();
    if (kindOfCode(whole, idsOf(whole), resultsOf(whole)).kind != CodeKind::Dot)
      continue;
    auto small = shrinkModule(**module, {.wishes = {}, .most = 48, .odd = seen.size() % 3 == 2});
    ASSERT_TRUE(bool(small)) << takeDiag(small.takeError()).str();
    if (!seen.insert(textWithoutNames(**small)).second)
      continue;
    llvm::Expected<KernelPlan> plan = planOfEntry(*small);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    auto plain = plan->tiled;
    for (Instruction instruction : {Instruction::Fma, Instruction::MmaSync, Instruction::Wgmma}) {
      if (codeOf(plan->ops(), *plain, instruction).instruction != instruction)
        continue;
      auto tiled = std::make_shared<TiledGroup>(*plain);
      addKernelConstraints(*plan->module, plan->ops(), *tiled, DeviceLimits(), instruction);
      addInstructionConstraints(plan->ops(), *tiled, instruction);
      plan->tiled = tiled;
      plan->instruction = instruction;
      for (const std::vector<int64_t> &values : pointsOf(*tiled, random, 4)) {
        plan->values = values;
        if (warpSteps(*plan) > mostWarpSteps)
          continue; // minutes on the emulator
        checkPlan(kernel.name, **small, *plan, seen.size());
        if (HasFailure())
          return;
      }
    }
  }
  print(unbuilt, "not built");
  print(refused, "no code");
  EXPECT_GE(runs, 60u);
  EXPECT_GE(withBytes, 60u);
}

} // namespace
} // namespace tilewright::emit::testing
