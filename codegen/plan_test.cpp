// From plans, as analysis makes them, to checked kernels.
#include "analysis/import/hlo_text.h"
#include "codegen/extract.h"
#include "codegen/lower.h"
#include "codegen/testing/lowering.h"

namespace tilewright {
namespace {

const char *model = R"(HloModule model
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b) }
ENTRY main {
  x = bf16[48,64] parameter(0)
  w = bf16[64,160] parameter(1)
  bias = f32[160] parameter(2)
  d = f32[48,160] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bb = f32[48,160] broadcast(bias), dimensions={1}
  y = f32[48,160] add(d, bb)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[48] reduce(y, low), dimensions={1}, to_apply=max
  mb = f32[48,160] broadcast(m), dimensions={0}
  c = f32[48,160] subtract(y, mb)
  e = f32[48,160] exponential(c)
  s = f32[48] reduce(e, zero), dimensions={1}, to_apply=add
  sb = f32[48,160] broadcast(s), dimensions={0}
  p = f32[48,160] divide(e, sb)
  t = f32[160,48] transpose(p), dimensions={1,0}
  ROOT h = bf16[160,48] convert(t)
})";

KernelPlan planFor(const std::shared_ptr<const Module> &module, std::vector<const char *> names,
                   const std::function<int64_t(const TileParameter &)> &value) {
  const Graph &graph = module->entry();
  std::vector<OpId> ops;
  for (const char *name : names)
    ops.push_back(graph.find(name));
  Group group = llvm::cantFail(makeGroup(graph, ops));
  KernelPlan plan;
  plan.name = names.back();
  plan.module = module;
  plan.graph = module->entryId;
  plan.context = std::make_shared<ExprContext>();
  auto tiled = tileGroup(graph, group, *plan.context);
  EXPECT_TRUE(bool(tiled)) << (tiled ? "" : takeDiag(tiled.takeError()).message);
  plan.tiled = std::make_shared<TiledGroup>(std::move(*tiled));
  for (const TileParameter &parameter : plan.tiled->space.parameters)
    plan.values.push_back(std::min(parameter.extent, value(parameter)));
  return plan;
}

class Plans : public ::testing::Test {
protected:
  std::shared_ptr<const Module> module = [] {
    auto parsed = parseHlo(std::make_shared<SourceBuffer>("model", model));
    EXPECT_TRUE(bool(parsed)) << (parsed ? "" : takeDiag(parsed.takeError()).str());
    return std::make_shared<Module>(std::move(*parsed));
  }();

  void check(const KernelPlan &plan, const char *kind) {
    auto spec = specOf(plan);
    ASSERT_TRUE(bool(spec)) << takeDiag(spec.takeError()).message;
    // And back: the spec's module alone gives the same plan.
    auto again = planOf(*spec);
    ASSERT_TRUE(bool(again)) << takeDiag(again.takeError()).message;
    EXPECT_EQ(again->schedule(), plan.schedule());
    auto respec = specOf(*again);
    ASSERT_TRUE(bool(respec)) << takeDiag(respec.takeError()).message;
    EXPECT_EQ(respec->rootTile, spec->rootTile);
    EXPECT_EQ(respec->sequential, spec->sequential);
    EXPECT_EQ(again->values, plan.values);
    auto kernel = lowerPlan(plan, CodeMode::Emulation);
    ASSERT_TRUE(bool(kernel)) << takeDiag(kernel.takeError()).message;
    EXPECT_EQ(kernel->kind, kind);
    expectPass(*spec);
  }
};

using Role = TileParameter::Role;

TEST_F(Plans, DotWithItsEpilogue) {
  for (Instruction instruction : {Instruction::MmaSync, Instruction::Fma}) {
    KernelPlan plan = planFor(module, {"d", "bb", "y"}, [](const TileParameter &parameter) {
      return parameter.role == Role::Parallel     ? 32
             : parameter.role == Role::Sequential ? 16
             : parameter.name == "split_k"        ? 1
                                                  : 2;
    });
    plan.instruction = instruction;
    check(plan, "dot");
  }
}

TEST_F(Plans, SoftmaxSharesOneColumnTile) {
  for (int64_t columns : {160, 64}) {
    KernelPlan plan =
        planFor(module, {"low", "zero", "m", "mb", "c", "e", "s", "sb", "p"},
                [&](const TileParameter &parameter) -> int64_t {
                  if (parameter.role == Role::Sequential)
                    return columns;
                  return parameter.name == "t0" ? 4 : parameter.name == "t1" ? 160 : 1;
                });
    check(plan, "reduction");
    // Read once from registers, or once for each reduction and once for the result.
    CheckOutcome outcome = checkKernel(llvm::cantFail(specOf(plan)));
    if (columns == 64) {
      EXPECT_GT(outcome.counts.globalReadBytes, 2 * 48 * 160 * 4);
    }
  }
}

TEST_F(Plans, TransposeAndConvert) {
  check(planFor(module, {"t", "h"},
                [](const TileParameter &parameter) -> int64_t {
                  return parameter.role == Role::Parallel ? 24 : 1;
                }),
        "elementwise");
}

/// An op that is read at several tiles has loops of its own sizes for each.
TEST(Spec, LoopsOfOneOpKeepTheirSizes) {
  auto parsed = parseHlo(std::make_shared<SourceBuffer>("twice", R"(HloModule twice
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b) }
ENTRY main {
  x = f32[64,64] parameter(0)
  low = f32[] constant(-inf)
  m = f32[64] reduce(x, low), dimensions={0}, to_apply=max
  mb = f32[64,64] broadcast(m), dimensions={1}
  c = f32[64,64] subtract(x, mb)
  t = f32[64,64] transpose(c), dimensions={1,0}
  n = f32[64] reduce(t, low), dimensions={0}, to_apply=max
  nb = f32[64,64] broadcast(n), dimensions={1}
  ROOT d = f32[64,64] subtract(t, nb)
})"));
  ASSERT_TRUE(bool(parsed)) << takeDiag(parsed.takeError()).str();
  auto module = std::make_shared<const Module>(std::move(*parsed));
  int64_t size = 1;
  const KernelPlan plan =
      planFor(module, {"low", "m", "mb", "c", "t", "n", "nb", "d"},
              [&](const TileParameter &of) { return of.role == Role::Sequential ? size *= 2 : 1; });
  EXPECT_GE(size, 8); // three loops, of two ops
  auto spec = specOf(plan);
  ASSERT_TRUE(bool(spec)) << takeDiag(spec.takeError()).message;
  auto again = planOf(*spec);
  ASSERT_TRUE(bool(again)) << takeDiag(again.takeError()).message;
  EXPECT_EQ(again->values, plan.values);
  // Those that are not given are as the last one that is.
  spec->sequential.erase(spec->sequential.begin() + 2, spec->sequential.end());
  auto fewer = planOf(*spec);
  ASSERT_TRUE(bool(fewer)) << takeDiag(fewer.takeError()).message;
  EXPECT_EQ(fewer->values.size(), plan.values.size());
}

TEST(Check, BigKernelsAreCheckedAtSamples) {
  std::string hlo = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[512,4096] parameter(0)
  z = f32[] constant(0)
  s = f32[512] reduce(x, z), dimensions={1}, to_apply=add
  sb = f32[512,4096] broadcast(s), dimensions={0}
  ROOT d = f32[512,4096] subtract(x, sb)
})";
  CheckOptions options;
  options.maxReferenceWork = 1 << 20;
  options.maxEvents = 1 << 18;
  CheckOutcome outcome = expectPass(specFromHlo(hlo, {1, 4096}, 8), options);
  EXPECT_GT(outcome.ctasRun, 1);
  EXPECT_LT(outcome.ctasRun, outcome.ctas);
  EXPECT_NE(outcome.reason.find("sampled"), std::string::npos) << outcome.reason;

  KernelSpec product = specFromHlo(R"(HloModule m
ENTRY main {
  a = bf16[1024,2048] parameter(0)
  b = bf16[2048,1024] parameter(1)
  d = f32[1024,1024] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT n = f32[1024,1024] negate(d)
})",
                                   {64, 64}, 4);
  product.sequential = {{"d", 0, 64}};
  product.schedule.instruction = Instruction::MmaSync;
  product.schedule.stages = 3;
  options.maxEvents = 1 << 21;
  expectPass(product, options);

  // Wrong numbers are noticed at samples, too: this kernel is that of another module.
  KernelSpec other = product;
  Module changed = *product.module;
  Op &root = changed.graph(changed.entryId).op(changed.entry().root());
  root.opcode = Opcode::Abs;
  other.module = std::make_shared<Module>(std::move(changed));
  auto kernel = lowerKernel(other, CodeMode::Emulation);
  ASSERT_TRUE(bool(kernel));
  outcome = checkKernel(product, std::move(*kernel), options);
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Fail);
  EXPECT_NE(outcome.reason.find("relative error"), std::string::npos) << outcome.reason;
}

TEST_F(Plans, ExtractedGroupsStandAlone) {
  const Graph &graph = module->entry();
  std::vector<OpId> ops{graph.find("m"), graph.find("mb"), graph.find("c")};
  Group group = llvm::cantFail(makeGroup(graph, ops));
  auto extracted = extractGroup(*module, module->entryId, group);
  ASSERT_TRUE(bool(extracted));
  std::string text = printHlo(**extracted);
  auto again = importBuffer(std::make_shared<SourceBuffer>("again", text));
  ASSERT_TRUE(bool(again)) << takeDiag(again.takeError()).str() << text;
  EXPECT_EQ(printHlo(*again), text);
  EXPECT_EQ(again->entry().parameters().size(), 1u);
}

} // namespace
} // namespace tilewright
