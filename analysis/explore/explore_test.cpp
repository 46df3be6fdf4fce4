#include "analysis/explore/explore.h"
#include "analysis/explore/lower_bound.h"
#include "analysis/explore/testing/explore.h"
#include "analysis/tiling/numeric_tile.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace tilewright;

namespace {

const char *denseLayer = R"(HloModule m
ENTRY e {
  a = bf16[256,128]{1,0} parameter(0)
  b = bf16[128,192]{1,0} parameter(1)
  bias = bf16[192]{0} parameter(2)
  d = bf16[256,192]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  wide = bf16[256,192]{1,0} broadcast(bias), dimensions={1}
  sum = bf16[256,192]{1,0} add(d, wide)
  ROOT out = bf16[256,192]{1,0} negate(sum)
})";

struct Explored {
  Device device;
  Calibration calibration;
  explicit Explored() {
    auto loaded = loadDevice("h100-sxm");
    if (!loaded) {
      ADD_FAILURE() << takeDiag(loaded.takeError()).str();
      return;
    }
    device = std::move(*loaded);
    calibration = priorCalibration(device);
  }
  ExploredModel run(const Module &module, ExploreOptions options = {}) {
    options.search.maxPriced = 200;
    auto model = exploreModel(module, device, calibration, options);
    if (!model) {
      ADD_FAILURE() << takeDiag(model.takeError()).str();
      return {};
    }
    return std::move(*model);
  }
};

/// How often each op is accounted for.
std::map<std::string, int> accounts(const ExploredModel &model) {
  std::map<std::string, int> seen;
  for (const ExploredKernel &kernel : model.kernels)
    for (const std::string &op : kernel.ops)
      ++seen[op];
  for (const UnsupportedOp &op : model.unsupported)
    ++seen[op.op];
  for (const UnsupportedOp &op : model.noKernel)
    ++seen[op.op];
  for (const AssumedOp &op : model.assumed)
    ++seen[op.op];
  return seen;
}

} // namespace

TEST(Explore, RanksPlansAndCountsArithmetic) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(denseLayer));
  ASSERT_EQ(model.kernels.size(), 1u);
  const ExploredKernel &kernel = model.kernels.front();
  EXPECT_EQ(kernel.kind, KernelKind::Dot);
  EXPECT_EQ(kernel.flops, 2 * 256 * 192 * 128 + 2 * 256 * 192);
  ASSERT_FALSE(kernel.plans.empty());
  for (size_t i = 1; i < kernel.plans.size(); ++i)
    EXPECT_LE(kernel.plans[i - 1].estimate.timeNs, kernel.plans[i].estimate.timeNs);
  for (const RankedPlan &plan : kernel.plans) {
    EXPECT_EQ(*isFeasible(*plan.plan.tiled, plan.plan.values), true);
    EXPECT_GE(plan.estimate.timeNs, plan.estimate.rooflineNs);
  }
  EXPECT_GE(model.totalTimeNs, model.lowerBoundNs);
  EXPECT_TRUE(model.isComplete());
}
// Stages mean nothing to a kernel without a loop: its best plans are different tilings or warps.
TEST(Explore, BestPlansDifferInMoreThanTheirStages) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(R"(HloModule m
ENTRY e {
  a = f32[512,96]{1,0} parameter(0)
  ROOT b = f32[512,96]{1,0} negate(a)
})"));
  ASSERT_EQ(model.kernels.size(), 1u);
  ASSERT_GT(model.kernels[0].plans.size(), 1u);
  std::set<std::vector<int64_t>> seen;
  for (const RankedPlan &plan : model.kernels[0].plans)
    EXPECT_TRUE(
        seen.insert({plan.plan.value("t0"), plan.plan.value("t1"), plan.plan.value("warps")})
            .second);
}
TEST(Explore, TheNumberOfThreadsChangesNothing) {
  Explored explored;
  Module module = parseVerified(R"(HloModule m
ENTRY e {
  a = f32[512,96]{1,0} parameter(0)
  b = f32[512,96]{1,0} negate(a)
  c = f32[96,512]{1,0} transpose(b), dimensions={1,0}
  d = f32[512,96]{1,0} exponential(a)
  ROOT t = (f32[512,96]{1,0}, f32[96,512]{1,0}, f32[512,96]{1,0}) tuple(b, c, d)
})");
  ExploreOptions two;
  two.jobs = 2;
  ExploredModel a = explored.run(module), b = explored.run(module, two);
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (size_t i = 0; i < a.kernels.size(); ++i) {
    EXPECT_EQ(a.kernels[i].name, b.kernels[i].name);
    ASSERT_EQ(a.kernels[i].plans.size(), b.kernels[i].plans.size());
    for (size_t p = 0; p < a.kernels[i].plans.size(); ++p)
      EXPECT_EQ(a.kernels[i].plans[p].plan.values, b.kernels[i].plans[p].plan.values);
  }
}
// A device without room for a dot's operands: the group is split, what is left of it runs,
// and the dot is listed with the reason.
TEST(Explore, AGroupThatCantBeOneKernelIsSplit) {
  Explored explored;
  explored.device.limits.sharedBytesPerCta = 0;
  Module module = parseVerified(denseLayer);
  ExploredModel model = explored.run(module);
  ASSERT_EQ(model.split.size(), 1u);
  EXPECT_EQ(model.split.front().root, "out");
  ASSERT_EQ(model.unsupported.size(), 1u);
  EXPECT_EQ(model.unsupported.front().op, "d");
  EXPECT_NE(model.unsupported.front().reason.find("shared"), std::string::npos)
      << model.unsupported.front().reason;
  EXPECT_FALSE(model.isComplete());
  std::map<std::string, int> seen = accounts(model);
  for (const Op &op : module.entry().all())
    EXPECT_EQ(seen[op.name], 1) << op.name;
}
// Patches of an image as rows of a matrix: the dot can follow the views of its operand or read what
// a kernel before it wrote, and the faster of both is taken. Every op stays in one kernel.
TEST(Explore, AViewThatCostsADotItsTilesIsTakenOut) {
  Explored explored;
  Module module = parseVerified(R"(HloModule m
ENTRY e {
  image = bf16[32,224,224,3]{3,2,1,0} parameter(0)
  patches = bf16[32,14,16,14,16,3]{5,4,3,2,1,0} reshape(image)
  turned = bf16[32,14,14,16,16,3]{5,4,3,2,1,0} transpose(patches), dimensions={0,1,3,2,4,5}
  rows = bf16[32,196,768]{2,1,0} reshape(turned)
  weights = bf16[768,768]{1,0} parameter(1)
  ROOT d = bf16[32,196,768]{2,1,0} dot(rows, weights), lhs_contracting_dims={2}, rhs_contracting_dims={0}
})");
  ExploredModel model = explored.run(module);
  ASSERT_EQ(model.kernels.size(), 2u);
  EXPECT_EQ(model.kernels[0].ops, (std::vector<std::string>{"patches", "turned", "rows"}));
  EXPECT_EQ(model.kernels[1].ops, std::vector<std::string>{"d"});
  ASSERT_EQ(model.split.size(), 1u);
  EXPECT_NE(model.split.front().reason.find("%rows"), std::string::npos);
  for (auto &[name, count] : accounts(model))
    EXPECT_EQ(count, 1) << name;
}
// Every cell is the plan with two sizes changed: its time where all constraints accept it, else the
// constraint that does not. The plan's own cell is there and no cell of the map is faster than the
// best plan, whose search was exhaustive.
TEST(Explore, TileMapsSayWhatOtherSizesWouldDo) {
  Explored explored;
  ExploreOptions options;
  options.tileMaps = true;
  ExploredModel model = explored.run(parseVerified(denseLayer), options);
  ASSERT_EQ(model.kernels.size(), 1u);
  const KernelPlan &plan = model.kernels.front().plans.front().plan;
  const TileMap &map = model.kernels.front().tileMap;
  ASSERT_EQ(map.cells.size(), map.rows.sizes.size() * map.columns.sizes.size());
  size_t feasible = 0, own = 0;
  for (size_t r = 0; r < map.rows.sizes.size(); ++r)
    for (size_t c = 0; c < map.columns.sizes.size(); ++c) {
      KernelPlan changed = plan;
      changed.values[*plan.tiled->space.indexOf(map.rows.parameter)] = map.rows.sizes[r];
      changed.values[*plan.tiled->space.indexOf(map.columns.parameter)] = map.columns.sizes[c];
      own += changed.values == plan.values;
      const TileMap::Cell &cell = map.at(r, c);
      EXPECT_EQ(cell.rule.empty(), cell.reason.empty());
      EXPECT_EQ(cell.rule.empty(), isFeasible(*plan.tiled, changed.values) == true);
      if (cell.rule.empty()) {
        ++feasible;
        auto estimate = estimateTime(changed, explored.device, explored.calibration,
                                     {.cache = options.plans.cache});
        ASSERT_TRUE(bool(estimate));
        EXPECT_EQ(cell.timeNs, estimate->timeNs);
      }
    }
  EXPECT_EQ(own, 1u);
  EXPECT_GT(feasible, 1u);
  EXPECT_LT(feasible, map.cells.size());
}
// What a kernel reads is seen through ops that need no kernel.
TEST(Explore, KernelsNameTheKernelsThatTheyRead) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(R"(HloModule m
two {
  p = f32[64,96]{1,0} parameter(0)
  n = f32[64,96]{1,0} negate(p)
  e = f32[64,96]{1,0} exponential(p)
  ROOT t = (f32[64,96]{1,0}, f32[64,96]{1,0}) tuple(n, e)
}
ENTRY e {
  a = f32[64,96]{1,0} parameter(0)
  b = f32[96,32]{1,0} parameter(1)
  both = (f32[64,96]{1,0}, f32[64,96]{1,0}) fusion(a), kind=kLoop, calls=two
  first = f32[64,96]{1,0} get-tuple-element(both), index=0
  view = f32[64,96]{1,0} bitcast(first)
  d = f32[64,32]{1,0} dot(view, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  alone = f32[96,32]{1,0} tanh(b)
  ROOT t = (f32[64,32]{1,0}, f32[96,32]{1,0}) tuple(d, alone)
})"));
  std::map<std::string, std::set<std::string>> reads;
  for (const ExploredKernel &kernel : model.kernels) {
    std::set<std::string> &names = reads[kernel.name];
    for (size_t from : kernel.reads)
      names.insert(model.kernels[from].name);
  }
  ASSERT_EQ(reads.size(), 3u);
  EXPECT_TRUE(reads["both"].empty());
  EXPECT_TRUE(reads["alone"].empty());
  EXPECT_EQ(reads["d"], std::set<std::string>{"both"});
}
// The ways to take a kernel apart: each part's operands are leaves, results of earlier parts, or
// its own ops; every op is counted once; and nothing is cut where the dot reads memory directly.
TEST(KernelCuts, PartsReadWhatEarlierPartsWrite) {
  Module module = parseVerified(R"(HloModule m
ENTRY e {
  a = bf16[64,32]{1,0} parameter(0)
  b = bf16[48,64]{1,0} parameter(1)
  at = bf16[32,64]{1,0} transpose(a), dimensions={1,0}
  bt = bf16[64,48]{1,0} transpose(b), dimensions={1,0}
  d = bf16[32,48]{1,0} dot(at, bt), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  low = bf16[32,24]{1,0} slice(d), slice={[0:32], [0:24]}
  high = bf16[32,24]{1,0} slice(d), slice={[0:32], [24:48]}
  ROOT turned = bf16[32,48]{1,0} concatenate(high, low), dimensions={1}
})");
  const Graph &graph = module.entry();
  Grouping grouping = groupSimply(graph);
  ASSERT_EQ(grouping.kernels.size(), 1u);
  std::vector<KernelCut> cuts = kernelCuts(graph, grouping.kernels.front());
  EXPECT_EQ(cuts.size(), 7u); // all choices of lhs, rhs and the result but none of them
  for (const KernelCut &cut : cuts) {
    std::map<OpId, int> counted;
    std::set<OpId> written;
    for (const KernelGroup &part : cut) {
      std::set<OpId> own(part.ops.begin(), part.ops.end());
      own.insert(part.recomputed.begin(), part.recomputed.end());
      EXPECT_TRUE(own.count(part.root));
      for (OpId id : part.ops)
        ++counted[id];
      for (OpId id : own)
        for (OpId operand : graph.op(id).operands)
          EXPECT_TRUE(own.count(operand) || written.count(operand) ||
                      graph.op(operand).opcode == Opcode::Parameter)
              << graph.op(id).name << " reads " << graph.op(operand).name;
      written.insert(part.root);
    }
    EXPECT_TRUE(written.count(graph.root()));
    EXPECT_EQ(counted.size(), 6u);
    for (auto &[id, count] : counted)
      EXPECT_EQ(count, 1) << graph.op(id).name;
  }
  EXPECT_TRUE(kernelCuts(parseVerified(denseLayer).entry(),
                         groupSimply(parseVerified(denseLayer).entry()).kernels.front())
                  .empty());
}
// Bytes that stay where they are cost nothing under another shape, an argument's as well; a copy
// that makes an argument a result is one.
TEST(Explore, FreeViewsNeedNoKernel) {
  Explored explored;
  Module module = parseVerified(R"(HloModule m
ENTRY e {
  a = f32[64,96]{1,0} parameter(0)
  view = f32[96,64]{1,0} bitcast(a)
  call = f32[96,64]{1,0} custom-call(view), custom_call_target="x"
  flat = f32[6144]{0} reshape(call)
  turned = f32[96,64]{0,1} reshape(call)
  seen = f32[6144]{0} reshape(a)
  other = f32[96,64]{0,1} transpose(a), dimensions={1,0}
  moved = f32[96,64]{1,0} transpose(a), dimensions={1,0}
  kept = f32[64,96]{1,0} copy(a)
  ROOT t = (f32[6144]{0}, f32[96,64]{0,1}, f32[6144]{0}, f32[96,64]{0,1}, f32[96,64]{1,0}, f32[64,96]{1,0}) tuple(flat, turned, seen, other, moved, kept)
})");
  ExploredModel model = explored.run(module);
  std::set<std::string> kernels;
  for (const ExploredKernel &kernel : model.kernels)
    kernels.insert(kernel.name);
  EXPECT_EQ(kernels, (std::set<std::string>{"kept", "moved", "turned"}));
  // Nothing runs, and the bound knows it.
  ExploredModel still = explored.run(parseVerified(R"(HloModule m
ENTRY e {
  a = bf16[1024,32000]{1,0} parameter(0)
  ROOT t = bf16[32000,1024]{0,1} transpose(a), dimensions={1,0}
})"));
  EXPECT_TRUE(still.kernels.empty());
  EXPECT_EQ(still.totalTimeNs, 0);
  EXPECT_EQ(still.lowerBoundNs, 0);
  std::map<std::string, int> seen = accounts(model);
  for (const Op &op : module.entry().all())
    EXPECT_EQ(seen[op.name], 1) << op.name;
}
// Sums of few results are made by few CTAs, which a reader should know; many are not worth a word.
TEST(Explore, SaysThatReductionsAreNotSplit) {
  Explored explored;
  auto notes = [&](int64_t rows, int64_t columns) {
    ExploredModel model = explored.run(parseVerified(
        fmt::format("HloModule m\nadd {{\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                    "  ROOT s = f32[] add(x, y)\n}}\nENTRY e {{\n  i = f32[{0},{1}] parameter(0)\n"
                    "  z = f32[] constant(0)\n  ROOT r = f32[{1}] reduce(i, z), dimensions={{0}}, "
                    "to_apply=add\n}}\n",
                    rows, columns)));
    return model.kernels.at(0).notes;
  };
  ASSERT_EQ(notes(1048576, 32).size(), 1u);
  EXPECT_NE(notes(1048576, 32)[0].find("a reduction is not split over CTAs"), std::string::npos);
  EXPECT_TRUE(notes(32, 1048576).empty());
  EXPECT_TRUE(notes(64, 32).empty()); // over in no time
}
// A transpose of what is divided by a sum: read twice by one kernel, in bad pieces, or by two.
TEST(Explore, SumsBeforeATransposeMayBeWrittenFirst) {
  Explored explored;
  const std::string head = R"(HloModule m
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
)",
                    sum = "f32[4,1024] reduce(e, z), dimensions={1}, to_apply=add\n",
                    rest = R"(  b = f32[4,1024,1024] broadcast(s), dimensions={0,2}
  p = f32[4,1024,1024] divide(e, b)
  ROOT t = f32[1024,1024,4] transpose(p), dimensions={2,1,0}
}
)";
  Module whole = parseVerified(head +
                               "ENTRY m {\n  e = f32[4,1024,1024] parameter(0)\n"
                               "  z = f32[] constant(0)\n  s = " +
                               sum + rest);
  Module apart = parseVerified(
      head +
      "sums {\n  e = f32[4,1024,1024] parameter(0)\n  z = f32[] constant(0)\n  ROOT s = " + sum +
      "}\nturn {\n  e = f32[4,1024,1024] parameter(0)\n  s = f32[4,1024] parameter(1)\n" + rest +
      "ENTRY m {\n  e = f32[4,1024,1024] parameter(0)\n"
      "  s = f32[4,1024] fusion(e), kind=kInput, calls=sums\n"
      "  ROOT t = f32[1024,1024,4] fusion(e, s), kind=kLoop, calls=turn\n}\n");
  EXPECT_LE(explored.run(whole).totalTimeNs, explored.run(apart).totalTimeNs);
  const Grouping grouping = groupSimply(whole.entry());
  ASSERT_EQ(grouping.kernels.size(), 1u);
  const std::vector<KernelCut> cuts = kernelCuts(whole.entry(), grouping.kernels[0]);
  ASSERT_EQ(cuts.size(), 1u);
  ASSERT_EQ(cuts[0].size(), 2u);
  EXPECT_EQ(whole.entry().op(cuts[0][0].root).name, "s");
}
// Only what must happen counts: rows that are looked up, not the table; slices, not what they cut.
TEST(Explore, TheLowerBoundIsOne) {
  Explored explored;
  for (const char *entry :
       {"  t = f32[1000000,64] parameter(0)\n  i = s32[8,1] parameter(1)\n"
        "  ROOT g = f32[8,64] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}\n",
        "  t = f32[1000000,64] parameter(0)\n  n = f32[1000000,64] negate(t)\n"
        "  ROOT s = f32[1,64] slice(n), slice={[7:8], [0:64]}\n",
        "  t = s4[4096,4096] parameter(0)\n"
        "  ROOT r = s4[4096,4096] transpose(t), dimensions={1,0}\n",
        "  t = f32[4096,4096] parameter(0)\n  d = f32[4096,4096] dot(t, t), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  ROOT n = f32[4096,4096] "
        "negate(t)\n"}) {
    Module module = parseVerified(std::string("HloModule m\nENTRY e {\n") + entry + "}\n");
    double total = 0; // of the kernels that make a result
    ExploredModel model = explored.run(module);
    for (const ExploredKernel &kernel : model.kernels)
      if (kernel.name != "d")
        total += kernel.plans.front().estimate.timeNs;
    EXPECT_GT(total, 0) << entry;
    EXPECT_LE(model.lowerBoundNs, total) << entry;
  }
  // Where everything must be read and written, all of it counts, but for what may stay in L2.
  Module copy = parseVerified("HloModule m\nENTRY e {\n  t = f32[65536,1024] parameter(0)\n"
                              "  ROOT n = f32[65536,1024] negate(t)\n}\n");
  EXPECT_DOUBLE_EQ(lowerBoundNs(neededWork(copy, copy.entry()), explored.device, CacheState::Clean),
                   (2.0 * 65536 * 1024 * 4 - explored.device.l2Bytes) /
                       explored.device.dramBandwidth);
}
// Arithmetic that the counts know and the price forgets shows as a kernel above the peak.
TEST(Explore, NoWindowIsFasterThanThePeak) {
  Explored explored;
  for (const char *op :
       {"c = f32[8,28,28,128] convolution(i, k), window={size=3x3 pad=1_1x1_1}, "
        "dim_labels=b01f_01io->b01f",
        "c = f32[8,14,14,128] convolution(i, k), window={size=3x3 stride=2x2 pad=1_1x1_1}, "
        "dim_labels=b01f_01io->b01f",
        "c = f32[8,28,28,128] reduce-window(i, z), window={size=1x7x7x1 pad=0_0x3_3x3_3x0_0}, "
        "to_apply=add"}) {
    Module module = parseVerified(std::string(R"(HloModule m
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  i = f32[8,28,28,128] parameter(0)
  k = f32[3,3,128,128] parameter(1)
  z = f32[] constant(0)
  ROOT )") + op + "\n}\n");
    ExploredModel model = explored.run(module);
    ASSERT_EQ(model.kernels.size(), 1u);
    const ExploredKernel &kernel = model.kernels.front();
    const bool isWindow = module.entry().op(module.entry().root()).opcode == Opcode::ReduceWindow;
    double peak = explored.device.peakFlops(DType::F32, !isWindow); // convolutions as tf32
    if (isWindow)
      peak /= 2; // additions alone
    EXPECT_GE(kernel.plans.front().estimate.timeNs, static_cast<double>(kernel.flops) / peak) << op;
  }
}
TEST(Explore, EmptyTensorsTakeNoTime) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(R"(HloModule m
ENTRY e {
  a = f32[0,16]{1,0} parameter(0)
  ROOT b = f32[0,16]{1,0} negate(a)
})"));
  EXPECT_TRUE(model.kernels.empty());
  EXPECT_TRUE(std::any_of(model.noKernel.begin(), model.noKernel.end(),
                          [](const UnsupportedOp &op) { return op.op == "b"; }));
  EXPECT_EQ(model.totalTimeNs, 0);
}

namespace {

const char *thingsWithoutMaps = R"(HloModule m
lt { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
twice { v = f32[128,64]{1,0} parameter(0)
  ROOT w = f32[128,64]{1,0} add(v, v) }
cond { s = (s32[], f32[128,64]{1,0}) parameter(0)
  ci = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(ci, n), direction=LT }
body { s = (s32[], f32[128,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[128,64]{1,0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  w = f32[128,64]{1,0} call(v), to_apply=twice
  ROOT o = (s32[], f32[128,64]{1,0}) tuple(j, w) }
wrapped { p = f32[128,64]{1,0} parameter(0)
  ROOT ar = f32[128,64]{1,0} custom-call(p), custom_call_target="vendor_background_copy" }
ENTRY main {
  x = f32[128,64]{1,0} parameter(0)
  k = s32[128]{0} parameter(1)
  sorted = f32[128,64]{1,0} sort(x), dimensions={1}, to_apply=lt
  cc = f32[128,64]{1,0} custom-call(sorted, k), custom_call_target="vendor_secret_op"
  start = ((f32[128,64]{1,0}), f32[128,64]{1,0}, u32[]) async-start(cc), calls=wrapped
  done = f32[128,64]{1,0} async-done(start)
  zero = s32[] constant(0)
  init = (s32[], f32[128,64]{1,0}) tuple(zero, done)
  loop = (s32[], f32[128,64]{1,0}) while(init), condition=cond, body=body
  y = f32[128,64]{1,0} get-tuple-element(loop), index=1
  ROOT out = f32[128,64]{1,0} add(y, x)
})";

} // namespace

TEST(Explore, ALoopIsItsBodyAsOftenAsItRuns) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(thingsWithoutMaps));
  double inBody = 0, inEntry = 0;
  for (const ExploredKernel &kernel : model.kernels) {
    EXPECT_EQ(kernel.tripCount, kernel.computation == "body" ? 3 : 1) << kernel.name;
    EXPECT_EQ(kernel.computation, kernel.name == "out" ? "" : "body");
    (kernel.computation.empty() ? inEntry : inBody) += kernel.plans.front().estimate.timeNs;
  }
  EXPECT_GT(inBody, 0);
  EXPECT_DOUBLE_EQ(model.totalTimeNs, inEntry + 3 * inBody);
  std::map<std::string, int> seen = accounts(model);
  for (const char *op : {"x",   "k", "sorted", "cc",  "start", "done", "zero", "init", "loop", "y",
                         "out", "i", "v",      "one", "j",     "w",    "o",    "ci",   "n",    "c"})
    EXPECT_EQ(seen[op], 1) << op;
  std::set<std::string> unsupported;
  for (const UnsupportedOp &op : model.unsupported)
    unsupported.insert(op.op);
  EXPECT_EQ(unsupported, (std::set<std::string>{"sorted", "cc", "start", "done"}));
}
TEST(Explore, ALoopOfUnknownLengthIsListed) {
  std::string text = thingsWithoutMaps;
  text.replace(text.find("s32[] constant(1)"), 17, "s32[] constant(0)");
  Explored explored;
  ExploredModel model = explored.run(parseVerified(text));
  std::map<std::string, std::string> reasons;
  for (const UnsupportedOp &op : model.unsupported)
    reasons[op.op] = op.reason;
  EXPECT_NE(reasons["loop"].find("not known"), std::string::npos) << reasons["loop"];
  EXPECT_NE(reasons["loop"].find("one trip is priced"), std::string::npos) << reasons["loop"];
  // A trip of it, its condition included, is listed and counts.
  std::set<std::string> computations;
  double sum = 0;
  for (const ExploredKernel &kernel : model.kernels) {
    computations.insert(kernel.computation);
    EXPECT_EQ(kernel.tripCount, 1) << kernel.name;
    EXPECT_EQ(kernel.isTripCountKnown, kernel.computation.empty()) << kernel.name;
    sum += kernel.plans.front().estimate.timeNs;
  }
  EXPECT_EQ(computations, (std::set<std::string>{"", "body", "cond"}));
  EXPECT_DOUBLE_EQ(model.totalTimeNs, sum);
  EXPECT_FALSE(model.isComplete());
  std::map<std::string, int> seen = accounts(model);
  for (const char *op : {"i", "v", "one", "j", "w", "o", "ci", "n", "c", "loop", "out"})
    EXPECT_EQ(seen[op], 1) << op;
}

/// What the file states of a loop is taken only where the loop itself says nothing.
TEST(Explore, AStatedTripCountThatIsWrongIsSaid) {
  auto text = [](const std::string &step, int stated) {
    return fmt::format(R"(HloModule m
cond {{ s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  b = s32[] constant(8)
  ROOT c = pred[] compare(i, b), direction=LT }}
body {{ s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  y = f32[64] negate(x)
  k = s32[] constant(2)
  j = s32[] {}(i, k)
  ROOT r = (s32[], f32[64]) tuple(j, y) }}
ENTRY e {{ x = f32[64] parameter(0)
  n = s32[] constant(0)
  t = (s32[], f32[64]) tuple(n, x)
  ROOT loop = (s32[], f32[64]) while(t), condition=cond, body=body, backend_config={{"known_trip_count":{{"n":"{}"}}}}
}}
)",
                       step, stated);
  };
  Explored explored;
  struct Case {
    const char *step;
    int stated;
    int64_t runs;
    bool isNoted;
  };
  for (const Case &c :
       {Case{"add", 17, 4, true}, {"add", 4, 4, false}, {"multiply", 17, 17, false}}) {
    ExploredModel model = explored.run(parseVerified(text(c.step, c.stated)));
    for (const ExploredKernel &kernel : model.kernels)
      EXPECT_EQ(kernel.tripCount, c.runs) << c.step << " " << c.stated;
    ASSERT_EQ(model.notes.size(), c.isNoted ? 1u : 0u);
    if (c.isNoted) {
      EXPECT_EQ(model.notes[0].op, "loop");
      EXPECT_NE(model.notes[0].reason.find("17"), std::string::npos);
      EXPECT_NE(model.notes[0].reason.find("make 4"), std::string::npos) << model.notes[0].reason;
    }
  }
}

/// Extents that are known at run time only: nothing is priced, and why is said once for each op.
TEST(Explore, RunTimeExtentsAreRefused) {
  Explored explored;
  for (const char *dim : {"<=8", "?"}) {
    ExploredModel model = explored.run(parseVerified(fmt::format(R"(HloModule m
plus {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }}
ENTRY e {{
  x = f32[{0},4] parameter(0)
  y = f32[4] parameter(1)
  z = f32[] constant(0)
  n = f32[{0},4] negate(x)
  s = f32[4] reduce(n, z), dimensions={{0}}, to_apply=plus
  ROOT o = f32[4] add(s, y)
}})",
                                                                 dim)));
    std::set<std::string> refused;
    for (const UnsupportedOp &op : model.unsupported) {
      refused.insert(op.op);
      EXPECT_NE(op.reason.find("known at run time only"), std::string::npos) << op.reason;
    }
    EXPECT_EQ(refused, (std::set<std::string>{"n", "s"}));
    ASSERT_EQ(model.kernels.size(), 1u); // of the sum, which has four elements
    EXPECT_EQ(model.kernels[0].name, "o");
    EXPECT_LT(model.lowerBoundNs, model.totalTimeNs);
  }
}

/// Results of different shapes: a kernel for each, all of the one fusion.
TEST(Explore, AFusionOfUnlikeResultsIsSeveralKernels) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(R"(HloModule m
body { x = f32[256,512] parameter(0)
  y = f32[128,512] parameter(1)
  a = f32[256,512] negate(x)
  c = f32[256,512] exponential(a)
  b = f32[128,512] negate(y)
  ROOT t = (f32[256,512], f32[128,512], f32[256,512]) tuple(a, b, c) }
ENTRY e { x = f32[256,512] parameter(0)
  y = f32[128,512] parameter(1)
  f = (f32[256,512], f32[128,512], f32[256,512]) fusion(x, y), kind=kLoop, calls=body
  v = f32[128,512] get-tuple-element(f), index=1
  w = f32[256,512] get-tuple-element(f), index=0
  r = f32[128,512] sine(v)
  q = f32[256,512] sine(w)
  ROOT o = (f32[128,512], f32[256,512]) tuple(r, q) })"));
  EXPECT_TRUE(model.unsupported.empty());
  ASSERT_EQ(model.kernels.size(), 4u);
  EXPECT_EQ(accounts(model)["f"], 1);
  std::set<std::string> shapes;
  int64_t flops = 0;
  for (size_t k : {size_t(0), size_t(1)}) {
    shapes.insert(model.kernels[k].rootShape);
    flops += model.kernels[k].flops;
    EXPECT_EQ(model.kernels[k].partOf, k == 0 ? "" : "f");
  }
  EXPECT_EQ(shapes, (std::set<std::string>{"f32[256,512]", "f32[128,512]"}));
  EXPECT_EQ(flops, 256 * 512 + 128 * 512); // the exponential is no FLOP
  for (size_t k : {size_t(2), size_t(3)})
    EXPECT_EQ(model.kernels[k].reads, (std::vector<size_t>{0, 1})) << "either may have made it";
}

/// What a copy of so many bytes takes, with a spread that says how little is known.
TEST(Explore, OpsWithoutAKernelArePricedByTheirBytes) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(R"(HloModule m
best { av = f32[] parameter(0)
  ai = s32[] parameter(1)
  bv = f32[] parameter(2)
  bi = s32[] parameter(3)
  g = pred[] compare(av, bv), direction=GE
  v = f32[] select(g, av, bv)
  i = s32[] select(g, ai, bi)
  ROOT t = (f32[], s32[]) tuple(v, i) }
inner { p = f32[4096,1024] parameter(0)
  n = s32[4096,1024] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  none = s32[] constant(0)
  ROOT arg = (f32[4096], s32[4096]) reduce(p, n, low, none), dimensions={1}, to_apply=best }
ENTRY e { x = f32[4096,1024] parameter(0)
  s = f32[1024] parameter(1)
  train = (f32[4096,1024], f32[1024], f32[1024]) batch-norm-training(x, s, s), epsilon=0.01, feature_index=1
  infer = f32[4096,1024] batch-norm-inference(x, s, s, s, s), epsilon=0.01, feature_index=1
  top = (f32[4096,8], s32[4096,8]) topk(x), k=8, largest=true
  arg = (f32[4096], s32[4096]) fusion(x), kind=kInput, calls=inner
  ROOT o = ((f32[4096,1024], f32[1024], f32[1024]), f32[4096,1024], (f32[4096,8], s32[4096,8]), (f32[4096], s32[4096])) tuple(train, infer, top, arg) })"));
  EXPECT_TRUE(model.isComplete());
  EXPECT_TRUE(model.kernels.empty());
  std::map<std::string, AssumedOp> rows;
  double sum = 0;
  for (const AssumedOp &op : model.assumed) {
    rows[op.op] = op;
    EXPECT_GE(op.sigmaLn, 0.5) << op.op;
    sum += op.timeNs;
  }
  EXPECT_DOUBLE_EQ(model.totalTimeNs, sum);
  constexpr double whole = 4096.0 * 1024 * 4, row = 1024 * 4;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows["train"].readBytes, 2 * whole + 2 * row);
  EXPECT_EQ(rows["train"].writtenBytes, whole + 2 * row);
  EXPECT_EQ(rows["infer"].readBytes, whole + 4 * row);
  EXPECT_EQ(rows["top"].writtenBytes, 4096 * 8 * 8);
  EXPECT_EQ(rows["arg"].readBytes, whole);
  EXPECT_GT(rows["train"].timeNs, rows["infer"].timeNs);
}

TEST(Explore, AnnotationsAreTheIdentity) {
  Explored explored;
  auto text = [](const std::string &target, const std::string &layout) {
    return fmt::format(R"(HloModule m
ENTRY e {{ x = f32[512,256]{{1,0}} parameter(0)
  n = f32[512,256]{{1,0}} negate(x)
  s = f32[512,256]{} custom-call(n), custom_call_target="{}", sharding={{devices=[1,1]0}}
  ROOT o = f32[512,256]{{1,0}} exponential(s) }})",
                       layout, target);
  };
  for (const char *target : {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"}) {
    ExploredModel model = explored.run(parseVerified(text(target, "{1,0}")));
    EXPECT_TRUE(model.unsupported.empty()) << target;
    EXPECT_EQ(model.kernels.size(), 1u) << target; // what is around it is one kernel
  }
  EXPECT_TRUE(explored.run(parseVerified(text("LayoutConstraint", "{0,1}"))).unsupported.empty());
  EXPECT_EQ(explored.run(parseVerified(text("vendor", "{1,0}"))).unsupported.size(), 1u);
}

/// Fusions in fusions: the work is that of the text, not of what it would unfold to.
TEST(Explore, NestedFusionsTakeTimeByTheirText) {
  std::string text = "HloModule m\nf0 {\n a = f32[8] parameter(0)\n ROOT b = f32[8] negate(a)\n}\n";
  constexpr int levels = 2000; // 2^2000 ops
  for (int i = 1; i < levels; ++i)
    text += fmt::format("f{0} {{\n a = f32[8] parameter(0)\n b = f32[8] fusion(a), kind=kLoop, "
                        "calls=f{1}\n ROOT c = f32[8] fusion(b), kind=kLoop, calls=f{1}\n}}\n",
                        i, i - 1);
  text += fmt::format("ENTRY e {{\n a = f32[8] parameter(0)\n ROOT b = f32[8] fusion(a), "
                      "kind=kLoop, calls=f{}\n}}\n",
                      levels - 1);
  Explored explored;
  ExploredModel model = explored.run(parseVerified(text));
  ASSERT_EQ(model.unsupported.size(), 1u);
  EXPECT_NE(model.unsupported[0].reason.find("fusion"), std::string::npos);
}

// Loops in loops multiply; of branches the costliest counts, and all are listed.
TEST(Explore, NestedLoopsAndBranches) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(R"(HloModule m
small { a = f32[4096]{0} parameter(0)
  ROOT cheap = f32[4096]{0} slice(a), slice={[0:4096]} }
large { b = f32[4096]{0} parameter(0)
  big = f32[4096,4096]{1,0} broadcast(b), dimensions={1}
  turned = f32[4096,4096]{1,0} exponential(big)
  z = f32[] constant(0)
  ROOT dear = f32[4096]{0} reduce(turned, z), dimensions={0}, to_apply=sum }
sum { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q) }
inner { s = (f32[4096]{0}, pred[]) parameter(0)
  v = f32[4096]{0} get-tuple-element(s), index=0
  f = pred[] get-tuple-element(s), index=1
  chosen = f32[4096]{0} conditional(f, v, v), true_computation=small, false_computation=large
  ROOT o = (f32[4096]{0}, pred[]) tuple(chosen, f) }
goes { s2 = (f32[4096]{0}, pred[]) parameter(0)
  ROOT f2 = pred[] get-tuple-element(s2), index=1 }
outer { s3 = (f32[4096]{0}, pred[]) parameter(0)
  ROOT l3 = (f32[4096]{0}, pred[]) while(s3), condition=goes, body=inner, backend_config={"known_trip_count":{"n":"5"}} }
ENTRY e {
  x = (f32[4096]{0}, pred[]) parameter(0)
  ROOT l = (f32[4096]{0}, pred[]) while(x), condition=goes, body=outer, backend_config={"known_trip_count":{"n":"7"}}
})"));
  std::map<std::string, int64_t> runs;
  for (const ExploredKernel &kernel : model.kernels)
    runs[kernel.computation] = kernel.tripCount;
  EXPECT_EQ(runs, (std::map<std::string, int64_t>{{"small", 0}, {"large", 35}}));
  double dear = 0;
  for (const ExploredKernel &kernel : model.kernels)
    if (kernel.computation == "large")
      dear += 35 * kernel.plans.front().estimate.timeNs;
  EXPECT_NEAR(model.totalTimeNs, dear, 1e-6 * dear);
  bool isSaid = false;
  for (const UnsupportedOp &row : model.noKernel)
    isSaid |= row.op == "chosen" && row.reason.find("costliest") != std::string::npos &&
              row.reason.find("large") != std::string::npos;
  EXPECT_TRUE(isSaid);
}

TEST(Explore, WorkOfLibraryCallsAndCollectivesIsListed) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(R"(HloModule m, num_partitions=8
ENTRY e {
  x = f32[2,73]{1,0} parameter(0)
  w = f32[73,256]{1,0} parameter(1)
  gemm = (f32[2,256]{1,0}, s8[4194304]{0}) custom-call(x, w), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}
  y = f32[2,256]{1,0} get-tuple-element(gemm), index=0
  ROOT all = f32[16,256]{1,0} all-gather(y), replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}
})"));
  ASSERT_EQ(model.unsupported.size(), 2u);
  EXPECT_EQ(model.unsupported[0].op, "gemm");
  EXPECT_EQ(model.unsupported[0].flops, 74752);
  EXPECT_EQ(model.unsupported[0].bytes, 77384);
  EXPECT_EQ(model.unsupported[1].op, "all");
  EXPECT_EQ(model.unsupported[1].bytes, 2048 + 16384);
  EXPECT_EQ(model.unsupported[1].linkBytes, 14336);
}

TEST(FindKernel, NamesTheNearestOpAndRefusesWhatNeedsNoKernel) {
  Module module = parseVerified(denseLayer);
  Diag typo = takeDiag(findKernel(module, "sumn").takeError());
  EXPECT_EQ(typo.cls, DiagClass::BadInput);
  EXPECT_NE(typo.message.find("did you mean %sum"), std::string::npos) << typo.message;
  Diag parameter = takeDiag(findKernel(module, "%a").takeError());
  EXPECT_NE(parameter.message.find("needs no kernel"), std::string::npos) << parameter.message;
  auto middle = findKernel(module, "sum");
  ASSERT_TRUE(static_cast<bool>(middle));
  EXPECT_EQ(middle->group.roots.size(), 1u);
  EXPECT_EQ(module.entry().op(middle->group.roots[0]).name, "sum");
  EXPECT_EQ(middle->group.ops.size(), 3u); // the dot, the broadcast and the sum
}

/// Without a name and without a kernel the answer names the op that would need one.
TEST(FindKernel, WithoutAKernelTheReasonIsGiven) {
  auto reason = [](const std::string &lines) {
    auto module = parseHlo(std::make_shared<const SourceBuffer>(
        "m", "lt { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = pred[] compare(p, q), "
             "direction=LT }\nENTRY e {\n  x = f32[4,8] parameter(0)\n" +
                 lines + "}\n"));
    EXPECT_TRUE(bool(module));
    auto source = findKernel(*module, "");
    EXPECT_FALSE(bool(source));
    return takeDiag(source.takeError()).message;
  };
  EXPECT_EQ(reason("  ROOT s = f32[4,8] sort(x), dimensions={1}, to_apply=lt\n"),
            "%s: sort: has no index map");
  EXPECT_EQ(reason("  ROOT n = f32[0,8] slice(x), slice={[0:0], [0:8]}\n"),
            "%n needs no kernel: slice: its result has no elements");
}
