// The kernels of the bundled models over small tensors, at every candidate: sizes are accepted
// just where they are a tiling by definition (definition.h).
#include "analysis/affine/expr.h"
#include "analysis/import/hlo_text.h"
#include "analysis/solve/tile_system.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/plan_text.h"
#include "analysis/tiling/propagate.h"
#include "codegen/extract.h"
#include "codegen/shrink.h"
#include "tests/tilings/bundled_kernels.h"
#include "tests/tilings/definition.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace tilewright;

namespace {

struct Totals {
  size_t kernels = 0, different = 0, walked = 0;
  uint64_t accepted = 0, refused = 0, leftOut = 0;
  std::map<std::string, size_t> reasons; ///< why kernels were not walked
  std::set<std::string> seen;
  std::mt19937_64 random{1};
};

struct Small {
  std::shared_ptr<const Module> module;
  std::shared_ptr<ExprContext> context; ///< owns the expressions of `tiled`
  std::shared_ptr<const TiledGroup> tiled;
  ConstraintSystem system;
};

/// A kernel with extents of at most `most`, tiled, with its candidates.
llvm::Expected<Small> shrink(const Module &kernel, int64_t most, bool odd) {
  Small out;
  auto module = shrinkModule(kernel, {.wishes = {}, .most = most, .odd = odd});
  if (!module)
    return module.takeError();
  out.module = *module;
  auto whole = planOfEntry(out.module);
  if (!whole)
    return whole.takeError();
  out.context = whole->context;
  out.tiled = whole->tiled;
  CandidatePlan plan = CandidatePlan::standard();
  plan.byName["split_k"].kind = CandidateRule::Kind::List;
  for (auto &[name, rule] : plan.byName)
    rule.list = {1};
  auto system = makeSystem(out.tiled->space, out.tiled->constraints, plan);
  if (!system)
    return system.takeError();
  out.system = std::move(*system);
  return out;
}

/// Layers repeat each other but for the names of their ops.
std::string textWithoutNames(Module module) {
  Graph &graph = module.graph(module.entryId);
  for (uint32_t i = 0; i < graph.size(); ++i)
    graph.op(OpId{i}).name = "v" + std::to_string(i);
  return printHlo(module);
}

/// CTAs and steps of all candidates together.
double workOf(const Small &small) {
  double work = 1;
  for (size_t p = 0; p < small.system.parameters.size(); ++p) {
    double tiles = 0;
    for (int64_t size : small.system.parameters[p].candidates)
      tiles += small.tiled->space.parameters[p].index
                   ? double((small.tiled->space.parameters[p].extent + size - 1) / size)
                   : 1;
    work *= tiles;
  }
  return work;
}

/// Are its tensors small enough to be walked element by element?
bool isWalkable(const Small &small) {
  auto definition = Definition::of(small.module->entry(), *small.tiled, *small.context);
  if (definition)
    return true;
  llvm::consumeError(definition.takeError());
  return false;
}

void walk(const std::string &name, const Small &small, uint64_t steps, Totals &totals) {
  auto definition = Definition::of(small.module->entry(), *small.tiled, *small.context);
  if (!definition) {
    ++totals.reasons[takeDiag(definition.takeError()).message];
    return;
  }
  ++totals.walked;
  const double keep = double(steps) / workOf(small);
  std::vector<int64_t> values;
  size_t problems = 0;
  std::function<void()> visit = [&] {
    const size_t p = values.size();
    if (p < small.system.parameters.size()) {
      for (int64_t size : small.system.parameters[p].candidates) {
        values.push_back(size);
        visit();
        values.pop_back();
      }
      return;
    }
    if (keep < 1 && double(totals.random() >> 11) * 0x1p-53 >= keep) {
      ++totals.leftOut;
      return;
    }
    const bool isAccepted = isFeasible(*small.tiled, values).value_or(false);
    ++(isAccepted ? totals.accepted : totals.refused);
    std::string problem =
        isAccepted ? definition->checkAccepted(values) : definition->checkRefused(values);
    if (problem.empty() || ++problems > 1)
      return; // one of a kernel is enough to look at
    std::string at;
    for (size_t i = 0; i < values.size(); ++i)
      if (small.tiled->space.parameters[i].index)
        at += fmt::format(" {}={}", small.tiled->space.parameters[i].name, values[i]);
    ADD_FAILURE() << name << at << ": " << problem << "\n" << printHlo(*small.module);
  };
  visit();
}

/// `steps`: CTAs and steps that are walked of each kernel. Extents are as large as that allows
/// for all candidates, but 3 at least; of what is more, an even part is walked.
void checkKernel(const BundledKernel &kernel, uint64_t steps, Totals &totals) {
  auto module = extractGroup(*kernel.module, kernel.source.graph, kernel.source.group);
  if (!module) {
    ++totals.reasons[takeDiag(module.takeError()).message];
    return;
  }
  ++totals.kernels;
  for (bool odd : {false, true}) {
    std::optional<Small> best;
    std::string reason;
    for (int64_t most : {3, 4, 5, 6, 8, 12}) {
      auto small = shrink(**module, most, odd);
      if (!small) {
        reason = takeDiag(small.takeError()).message;
        continue;
      }
      if (best && (workOf(*small) > double(steps) || !isWalkable(*small)))
        break;
      best = std::move(*small);
    }
    if (!best) {
      ++totals.reasons[reason];
      continue;
    }
    if (!totals.seen.insert(textWithoutNames(*best->module)).second)
      continue;
    ++totals.different;
    walk(kernel.name + (odd ? ", odd" : ""), *best, steps, totals);
  }
}

Totals checkAll(uint64_t steps) {
  Totals totals;
  auto kernels = bundledKernels();
  if (!kernels)
    ADD_FAILURE() << takeDiag(kernels.takeError()).str();
  else
    for (const BundledKernel &kernel : *kernels)
      checkKernel(kernel, steps, totals);
  return totals;
}

} // namespace

/// A window of one element takes every so many of its operand, some of them padding: a slice with a
/// step, which may be followed through reshapes.
TEST(TilingsByDefinition, WindowsOfOneElement) {
  Totals totals;
  struct Case {
    const char *operand; ///< of [24] or [2,3,6]
    int64_t positions;
    const char *window;
  };
  for (const Case &c : {Case{"r = f32[24] reshape(x)", 12, "size=1 stride=2"},
                        {"r = f32[24] reshape(x)", 8, "size=1 stride=3"},
                        {"r = f32[24] reshape(x)", 5, "size=1 stride=5"},
                        {"r = f32[24] reshape(x)", 13, "size=1 stride=2 pad=1_1"},
                        {"r = f32[24] reshape(x)", 26, "size=1 pad=1_1"},
                        {"r = f32[24] reshape(x)", 8, "size=1 stride=3 pad=-2_0"},
                        {"r = f32[24] reshape(x)", 3, "size=1 stride=24 pad=24_24"},
                        {"r = f32[24] reshape(x)", 3, "size=1 stride=40 pad=30_30"},
                        {"t = f32[6,4] transpose(x), dimensions={1,0}\n r = f32[24] reshape(t)", 12,
                         "size=1 stride=2"}}) {
    const std::string text = fmt::format(
        "HloModule m\nadd {{\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT c = f32[] add(a, b)\n}}\nENTRY main {{\n x = f32[4,6] parameter(0)\n {}\n"
        " z = f32[] constant(0)\n ROOT w = f32[{}] reduce-window(r, z), window={{{}}}, "
        "to_apply=add\n}}\n",
        c.operand, c.positions, c.window);
    auto parsed = parseHlo(std::make_shared<SourceBuffer>("window", text));
    ASSERT_TRUE(bool(parsed)) << takeDiag(parsed.takeError()).str();
    Small small;
    small.module = std::make_shared<const Module>(std::move(*parsed));
    auto whole = planOfEntry(small.module);
    ASSERT_TRUE(bool(whole)) << takeDiag(whole.takeError()).str();
    small.context = whole->context;
    small.tiled = whole->tiled;
    CandidatePlan plan = CandidatePlan::standard();
    plan.tiles.kind = CandidateRule::Kind::All;
    plan.byName["split_k"].kind = CandidateRule::Kind::List;
    for (auto &[name, rule] : plan.byName)
      rule.list = {1};
    auto system = makeSystem(small.tiled->space, small.tiled->constraints, plan);
    ASSERT_TRUE(bool(system)) << takeDiag(system.takeError()).str();
    small.system = std::move(*system);
    const uint64_t before = totals.accepted;
    walk(fmt::format("{} {}", c.operand, c.window), small, UINT64_MAX, totals);
    EXPECT_GT(totals.accepted, before) << text;
  }
  EXPECT_EQ(totals.walked, 9u);
  EXPECT_GT(totals.refused, 10u);
}

/// TILEWRIGHT_DEFINITION_STEPS CTAs and steps of each kernel.
TEST(TilingsByDefinition, BundledModels) {
  const char *steps = std::getenv("TILEWRIGHT_DEFINITION_STEPS");
  Totals totals = checkAll(steps ? std::strtoull(steps, nullptr, 10) : 300);
  std::printf("%zu kernels, %zu different small ones, %zu walked; %llu sizes accepted, %llu "
              "refused, %llu left out\n",
              totals.kernels, totals.different, totals.walked,
              static_cast<unsigned long long>(totals.accepted),
              static_cast<unsigned long long>(totals.refused),
              static_cast<unsigned long long>(totals.leftOut));
  for (const auto &[reason, count] : totals.reasons)
    ADD_FAILURE() << count << " not walked: " << reason;
  EXPECT_GT(totals.kernels, 300u);
  EXPECT_EQ(totals.walked, totals.different);
  EXPECT_GT(totals.accepted, 1000u);
  EXPECT_GT(totals.refused, 100u);
}

TEST(TilingsByDefinition, LoopBodiesAndBranches) {
  auto parsed = parseHlo(std::make_shared<SourceBuffer>("loop", R"(HloModule loop

add (x: f32[], y: f32[]) -> f32[] {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

body (p: (s32[], f32[6,8])) -> (s32[], f32[6,8]) {
  p = (s32[], f32[6,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = f32[6,8] get-tuple-element(p), index=1
  t = f32[8,6] transpose(a), dimensions={1,0}
  r = f32[12,4] reshape(t)
  e = f32[12,4] exponential(r)
  b = f32[8,6] reshape(e)
  d = f32[6,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  m = f32[6,8] dot(d, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT out = (s32[], f32[6,8]) tuple(next, m)
}

condition (p: (s32[], f32[6,8])) -> pred[] {
  p = (s32[], f32[6,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}

ENTRY main (x: f32[6,8]) -> f32[6] {
  x = f32[6,8] parameter(0)
  i = s32[] constant(0)
  start = (s32[], f32[6,8]) tuple(i, x)
  w = (s32[], f32[6,8]) while(start), condition=condition, body=body
  y = f32[6,8] get-tuple-element(w), index=1
  zero = f32[] constant(0)
  ROOT r = f32[6] reduce(y, zero), dimensions={1}, to_apply=add
}
)"));
  ASSERT_TRUE(bool(parsed)) << takeDiag(parsed.takeError()).str();
  std::vector<BundledKernel> kernels;
  addKernels("loop", std::make_shared<const Module>(std::move(*parsed)), kernels);
  std::set<uint32_t> graphs;
  for (const BundledKernel &kernel : kernels)
    graphs.insert(kernel.source.graph.index);
  EXPECT_EQ(graphs.size(), 2u);
  Totals totals;
  for (const BundledKernel &kernel : kernels)
    checkKernel(kernel, 20'000, totals);
  EXPECT_GE(totals.walked, 4u);
  EXPECT_GT(totals.accepted, 50u);
  EXPECT_GT(totals.refused, 10u);
}
