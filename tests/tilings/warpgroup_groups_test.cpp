// Dots beside other dots and reductions by wgmma: right on the emulator at drawn tiles, by no other
// instruction in its place, with what the constraints say of threads, registers and shared memory.
#include "codegen/check.h"
#include "codegen/extract.h"
#include "codegen/lower.h"
#include "tools/explore/kernel_plans.h"
#include "tools/explore/plan_sample.h"
#include "tools/explore/prepared_model.h"
#include "tools/explore/testing/explore.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

struct GroupCase {
  const char *name;
  std::string ops; ///< of the fusion; @: the operands' type
  std::string parameters, result;
};

/// "@" becomes the type.
std::string typed(std::string text, const std::string &type) {
  for (size_t at; (at = text.find('@')) != std::string::npos;)
    text.replace(at, 1, type);
  return text;
}

const GroupCase cases[] = {
    {"gate and up",
     "  d = f32[192,160] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "  e = f32[192,160] dot(a, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "  l = f32[192,160] logistic(d)\n"
     "  m = f32[192,160] multiply(l, e)\n"
     "  ROOT r = @[192,160] convert(m)\n",
     "@[192,96] @[96,160] @[96,160]", "@[192,160]"},
    {"three products of one tensor",
     "  d = f32[128,128] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "  e = f32[128,128] dot(a, c), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "  f = f32[128,128] dot(a, q), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "  s = f32[128,128] add(d, e)\n"
     "  ROOT r = f32[128,128] multiply(s, f)\n",
     "@[128,64] @[128,64] @[128,64] @[128,64]", "f32[128,128]"},
    {"a norm of a product's rows",
     "  d = f32[192,128] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "  s = f32[192,128] multiply(d, d)\n"
     "  z = f32[] constant(0)\n"
     "  n = f32[192] reduce(s, z), dimensions={1}, to_apply=add\n"
     "  i = f32[192] rsqrt(n)\n"
     "  w = f32[192,128] broadcast(i), dimensions={0}\n"
     "  m = f32[192,128] multiply(d, w)\n"
     "  ROOT r = @[192,128] convert(m)\n",
     "@[192,96] @[96,128]", "@[192,128]"},
    {"a softmax of a product's rows",
     "  d = f32[128,192] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "  z = f32[] constant(-inf)\n"
     "  n = f32[128] reduce(d, z), dimensions={1}, to_apply=most\n"
     "  w = f32[128,192] broadcast(n), dimensions={0}\n"
     "  o = f32[128,192] subtract(d, w)\n"
     "  x = f32[128,192] exponential(o)\n"
     "  y = f32[] constant(0)\n"
     "  t = f32[128] reduce(x, y), dimensions={1}, to_apply=add\n"
     "  u = f32[128,192] broadcast(t), dimensions={0}\n"
     "  ROOT r = f32[128,192] divide(x, u)\n",
     "@[128,64] @[192,64]", "f32[128,192]"},
    {"sums of rows alone",
     "  d = f32[192,128] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "  z = f32[] constant(0)\n"
     "  ROOT n = f32[192] reduce(d, z), dimensions={1}, to_apply=add\n",
     "@[192,96] @[96,128]", "f32[192]"},
    {"batches",
     "  d = f32[3,128,96] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
     "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n"
     "  e = f32[3,128,96] dot(a, c), lhs_batch_dims={0}, rhs_batch_dims={0}, "
     "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n"
     "  ROOT r = f32[3,128,96] subtract(d, e)\n",
     "@[3,128,64] @[3,64,96] @[3,64,96]", "f32[3,128,96]"},
};

std::string moduleOf(const GroupCase &of, const std::string &type) {
  std::string inner, outer, arguments;
  const char *names[] = {"a", "b", "c", "q"};
  std::string rest = typed(of.parameters, type);
  for (size_t i = 0; !rest.empty(); ++i) {
    const std::string shape = rest.substr(0, rest.find(' '));
    rest = rest.size() > shape.size() ? rest.substr(shape.size() + 1) : "";
    const std::string line = fmt::format("  {} = {} parameter({})\n", names[i], shape, i);
    inner += line;
    outer += line;
    arguments += (i ? ", " : "") + std::string(names[i]);
  }
  return fmt::format(
      "HloModule m\n"
      "add {{\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}}\n"
      "most {{\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
      "  ROOT s = f32[] maximum(x, y)\n}}\n"
      "f {{\n{}{}}}\n"
      "ENTRY main {{\n{}  ROOT r = {} fusion({}), kind=kOutput, calls=f\n}}\n",
      inner, typed(of.ops, type), outer, typed(of.result, type), arguments);
}

void checkByWarpgroups(const KernelPlan &plan) {
  std::string text;
  for (size_t i = 0; i < plan.values.size(); ++i)
    text += fmt::format(" {}={}", plan.tiled->space.parameters[i].name, plan.values[i]);
  SCOPED_TRACE(text);
  auto code = lowerPlan(plan, CodeMode::Device);
  EXPECT_TRUE(bool(code)) << takeDiag(code.takeError()).message;
  EXPECT_TRUE(code->notes.empty()) << code->notes.front();
  EXPECT_EQ(code->code.instruction, Instruction::Wgmma);
  auto spec = specOf(plan);
  ASSERT_TRUE(bool(spec)) << takeDiag(spec.takeError()).message;
  CheckOutcome outcome = checkKernel(*spec);
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Pass) << outcome.reason;
}

TEST(WarpgroupGroups, AreRightAtAnyTile) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = priorCalibration(device);
  PlanOptions options;
  options.instruction = Instruction::Wgmma;
  for (const GroupCase &of : cases)
    for (const std::string type : {"bf16", "f16"}) {
      SCOPED_TRACE(fmt::format("{} {}", of.name, type));
      Module parsed = parseVerified(moduleOf(of, type));
      ASSERT_TRUE(parsed.entryId.isValid());
      PreparedModel model = llvm::cantFail(prepareModel(parsed));
      KernelPlans plans = llvm::cantFail(kernelPlans(
          model.module, llvm::cantFail(findKernel(model, "")), device, calibration, options));
      ASSERT_EQ(plans.spaces().size(), 1u);
      const KernelPlan &space = plans.spaces().front();
      const std::unique_ptr<PlanScorer> scorer = plans.scorer(space);
      PlanSampleOptions sampling;
      sampling.count = 4;
      sampling.maxPriced = 300;
      sampling.slowest = 1000;
      auto drawn = samplePlans(space, *scorer, sampling);
      ASSERT_TRUE(bool(drawn)) << takeDiag(drawn.takeError()).message;
      EXPECT_GE(drawn->size(), 3u);
      for (const PricedPlan &priced : *drawn) {
        KernelPlan plan = space;
        plan.values = priced.values;
        checkByWarpgroups(plan);
      }
    }
}

} // namespace
} // namespace tilewright
