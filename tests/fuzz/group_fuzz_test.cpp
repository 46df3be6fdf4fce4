// Random groups of dots and reductions as one kernel each: emitted and right on the emulator, or
// refused by what the search can say of hardware and tiles, never for want of code.
//
// TILEWRIGHT_FUZZ_PROGRAMS sets how many there are, TILEWRIGHT_FUZZ_SEED where their seeds start;
// the test of label `soak` has many more than the usual one.
#include "analysis/import/testing/reducers.h"
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
  std::vector<OpId> roots = resultsOf(graph);
  std::erase_if(roots, [&](OpId id) { // returned as it came
    return graph[id].opcode == Opcode::Parameter;
  });
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

bool isVerbose() { return std::getenv("TILEWRIGHT_FUZZ_VERBOSE") != nullptr; }

class GroupFuzz : public ::testing::Test {
protected:
  void run(uint64_t seed);
  void runText(const std::string &text, bool isEven);
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
  auto again = planOf(*spec); // as a plan file has it
  ASSERT_TRUE(bool(again)) << takeDiag(again.takeError()).message;
  EXPECT_EQ(again->values, plan.values);
  CheckOptions options;
  constexpr double roundedOnTheWay = 0x1p-5; // operands of one dot that are results of another
  options.tolerance = std::max(toleranceOf(spec->graph(), plan.instruction), roundedOnTheWay);
  options.maxEvents *= 16;                      // steps of one element in each of several loops
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
  if (isVerbose())
    std::cout << "seed " << seed << "\n" << text << std::flush;
  runText(text, seed % 2 == 0);
}

void GroupFuzz::runText(const std::string &text, bool isEven) {
  Module parsed = parseVerified(text);
  ASSERT_TRUE(parsed.entryId.isValid());
  auto module = std::make_shared<const Module>(std::move(parsed));
  auto source = asOneKernel(*module);
  ASSERT_TRUE(bool(source)) << takeDiag(source.takeError()).message;
  auto device = loadDevice("h100-sxm");
  ASSERT_TRUE(bool(device));
  auto refuse = [&](const std::string &why) {
    ++refused;
    if (isVerbose())
      std::cout << "refused: " << why << "\n";
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

// Kinds of groups that random ones showed to be wrong.

const std::string reducers = std::string("HloModule group\n") + simpleReducers;

/// What one reduction is taken from before the next, in loops that become one.
TEST_F(GroupFuzz, ShiftsByExtremes) {
  for (std::string first : {"minimum", "maximum"})
    for (std::string second : {"minimum", "maximum", "add"}) {
      SCOPED_TRACE(first + " " + second);
      auto start = [](const std::string &of) {
        return of == "minimum" ? "inf" : of == "maximum" ? "-inf" : "0";
      };
      const bool isSum = second == "add"; // of exp(x - m), which a sum can be repaired by
      runText(reducers + fmt::format(R"(ENTRY main {{
  p = f32[8,64] parameter(0)
  r = bf16[8,64] convert(p)
  l = bf16[8,32] parameter(1)
  x = f32[32,64] dot(l, r), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
  i = f32[] constant({})
  m = f32[64] reduce(x, i), dimensions={{0}}, to_apply={}
  mb = f32[32,64] broadcast(m), dimensions={{1}}
  y = f32[32,64] subtract(x, mb)
  z = f32[32,64] {}
  j = f32[] constant({})
  n = f32[64] reduce(z, j), dimensions={{0}}, to_apply={}
  nb = f32[32,64] broadcast(n), dimensions={{1}}
  ROOT out = f32[32,64] subtract(z, nb)
}}
)",
                                     start(first), first, isSum ? "exponential(y)" : "negate(y)",
                                     start(second), second),
              false);
    }
  EXPECT_EQ(refused, 0u);
}

/// Reductions beside dots over dims of one element, which are no axes.
TEST_F(GroupFuzz, ReductionsOverOneElement) {
  for (int64_t along : {0, 1})
    for (std::string shape : {"1,1,24", "1,24,1"}) {
      SCOPED_TRACE(fmt::format("[{}] along {}", shape, along));
      const bool isRow = shape == "1,1,24";
      runText(reducers + fmt::format(R"(ENTRY main {{
  l = bf16[{0}] parameter(0)
  r = bf16[{0}] parameter(1)
  x = bf16[1,24,24] dot(l, r), lhs_contracting_dims={{{1}}}, rhs_contracting_dims={{{1}}}, lhs_batch_dims={{0}}, rhs_batch_dims={{0}}
  f = f32[1,24,24] convert(x)
  i = f32[] constant(-inf)
  m = f32[24,24] reduce(f, i), dimensions={{0}}, to_apply=maximum
  mb = f32[1,24,24] broadcast(m), dimensions={{{2}}}
  ROOT out = f32[1,24,24] subtract(f, mb)
}}
)",
                                     shape, isRow ? 1 : 2, along == 0 ? "1,2" : "1,2"),
              along == 0);
    }
  EXPECT_EQ(refused, 0u);
}

/// Two dots of which the second has one row, one column, or sums over the first one's batches.
TEST_F(GroupFuzz, ChainsWithoutRowsOrColumns) {
  for (auto [rows, columns] : {std::pair(1, 40), {40, 1}, {1, 1}, {40, 24}})
    for (bool isLeft : {true, false}) {
      SCOPED_TRACE(fmt::format("{} x {}, {}", rows, columns, isLeft));
      runText(fmt::format(R"(HloModule group
ENTRY main {{
  a = bf16[3,64,8] parameter(0)
  b = bf16[3,64,{0}] parameter(1)
  s = f32[3,{0},8] dot(b, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, lhs_batch_dims={{0}}, rhs_batch_dims={{0}}
  p = bf16[3,{0},8] convert(s)
  v = bf16[3,{1},8] parameter(2)
  ROOT o = bf16[3,{2}] dot({3}), lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}, lhs_batch_dims={{0}}, rhs_batch_dims={{0}}
}}
)",
                          rows, columns,
                          isLeft ? fmt::format("{},{}", rows, columns)
                                 : fmt::format("{},{}", columns, rows),
                          isLeft ? "p, v" : "v, p"),
              isLeft);
    }
  for (int64_t depth : {1, 16}) { // of one element there is nothing to sum
    SCOPED_TRACE(fmt::format("depth {}", depth));
    runText(fmt::format(R"(HloModule group
ENTRY main {{
  a = bf16[1,{0},16] parameter(0)
  b = bf16[1,{0},64] parameter(1)
  s = f32[1,64,16] dot(b, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, lhs_batch_dims={{0}}, rhs_batch_dims={{0}}
  p = bf16[1,64,16] convert(s)
  v = bf16[1,48,16] parameter(2)
  ROOT o = f32[1,64,48] dot(p, v), lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}, lhs_batch_dims={{0}}, rhs_batch_dims={{0}}
}}
)",
                        depth),
            depth == 1);
  }
  for (int64_t batches : {1, 2, 3}) {
    SCOPED_TRACE(fmt::format("a sum over {} batches", batches));
    runText(reducers + fmt::format(R"(ENTRY main {{
  a = bf16[{0},5,48] parameter(0)
  b = bf16[{0},5,32] parameter(1)
  s = bf16[{0},32,48] dot(b, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, lhs_batch_dims={{0}}, rhs_batch_dims={{0}}
  f = f32[{0},32,48] convert(s)
  z = f32[] constant(0)
  t = f32[32,48] reduce(f, z), dimensions={{0}}, to_apply=add
  p = bf16[32,48] convert(t)
  v = bf16[24,32] parameter(2)
  ROOT o = f32[24,48] dot(v, p), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
)",
                                   batches),
            batches == 2);
  }
  EXPECT_LE(refused, 1u); // one row by one column has no tile for a matrix instruction
}

/// The result whose dims are tiled reads no dot: the others say what its rows are.
TEST_F(GroupFuzz, ResultsBesideDots) {
  for (bool isFirst : {true, false})
    for (bool hasTwoDots : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", isFirst, hasTwoDots));
      runText(reducers + fmt::format(R"(ENTRY main {{
  a = bf16[1,32,16] parameter(0)
  b = bf16[1,32,16] parameter(1)
  s = f32[1,32,32] dot(b, a), lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}, lhs_batch_dims={{0}}, rhs_batch_dims={{0}}
  z = f32[] constant(0)
  t = f32[1,32] reduce(s, z), dimensions={{2}}, to_apply=add
  tb = f32[1,32,16] broadcast(t), dimensions={{0,1}}
  p = bf16[1,32,32] convert(s)
  v = bf16[1,16,32] parameter(2)
  d = f32[1,32,16] dot(p, v), lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}, lhs_batch_dims={{0}}, rhs_batch_dims={{0}}
  c = f32[1,32,16] convert(a)
  o = f32[1,32,16] add({}, c)
  e = bf16[1,32,16] add(a, b)
  n = f32[1,32,16] convert(e)
  ROOT all = (f32[1,32,16], f32[1,32,16]) tuple({})
}}
)",
                                     hasTwoDots ? "d" : "tb", isFirst ? "n, o" : "o, n"),
              isFirst);
    }
  EXPECT_EQ(refused, 0u);
}

} // namespace
} // namespace tilewright
