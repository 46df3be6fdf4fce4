// Plans, prices and bounds of whole models.
#include "analysis/tiling/numeric_tile.h"
#include "tools/explore/lower_bound.h"
#include "tools/explore/testing/explore.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <set>

using namespace tilewright;

namespace {

struct MapCells {
  size_t feasible = 0, refused = 0, otherSchedules = 0;
};

/// The fastest of all schedules of the plan's sizes.
std::optional<double>
fastestSchedule(KernelPlan plan,
                const std::function<std::optional<double>(const KernelPlan &)> &timeOf) {
  const TileSpace &space = plan.tiled->space;
  std::optional<double> fastest;
  for (int64_t warps : {1, 2, 4, 8, 16})
    for (int64_t stages : {1, 2, 3, 4, 5}) {
      plan.values[*space.indexOf("warps")] = warps;
      plan.values[*space.indexOf("stages")] = stages;
      if (std::optional<double> time = timeOf(plan))
        fastest = std::min(fastest.value_or(*time), *time);
    }
  return fastest;
}

/// Checks every cell of the map of a model of one kernel against all schedules.
MapCells checkTileMap(const std::string &text) {
  Explored explored;
  ExploreOptions options;
  options.tileMaps = true;
  ExploredModel model = explored.run(parseVerified(text), options);
  EXPECT_EQ(model.kernels.size(), 1u);
  const KernelPlan &plan = model.kernels.front().plans.front().plan;
  const TileSpace &space = plan.tiled->space;
  const TileMap &map = model.kernels.front().tileMap;
  EXPECT_EQ(map.cells.size(), map.rows.sizes.size() * map.columns.sizes.size());
  auto timeOf = [&](const KernelPlan &of) -> std::optional<double> {
    if (isFeasible(*of.tiled, of.values) != true)
      return std::nullopt;
    auto estimate =
        estimateTime(of, explored.device, explored.calibration, {.cache = options.plans.cache});
    if (!estimate) {
      llvm::consumeError(estimate.takeError());
      return std::nullopt;
    }
    return std::isfinite(estimate->timeNs) ? std::optional(estimate->timeNs) : std::nullopt;
  };
  size_t own = 0;
  MapCells cells;
  for (size_t r = 0; r < map.rows.sizes.size(); ++r)
    for (size_t c = 0; c < map.columns.sizes.size(); ++c) {
      KernelPlan changed = plan;
      changed.values[*space.indexOf(map.rows.parameter)] = map.rows.sizes[r];
      changed.values[*space.indexOf(map.columns.parameter)] = map.columns.sizes[c];
      own += changed.values == plan.values;
      const TileMap::Cell &cell = map.at(r, c);
      EXPECT_EQ(cell.rule.empty(), cell.reason.empty());
      const std::optional<double> fastest = fastestSchedule(changed, timeOf);
      EXPECT_EQ(cell.rule.empty(), fastest.has_value()) << cell.reason;
      cells.refused += !fastest;
      if (!fastest)
        continue;
      ++cells.feasible;
      cells.otherSchedules += !cell.schedule.empty();
      for (const auto &[name, value] : cell.schedule)
        changed.values[*space.indexOf(name)] = value;
      EXPECT_EQ(cell.timeNs, timeOf(changed));
      EXPECT_NEAR(cell.timeNs, *fastest, 1e-6 * *fastest);
    }
  EXPECT_EQ(own, 1u);
  return cells;
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

// Every cell is the plan with two sizes changed and the warps and stages that suit them best: its
// time where a schedule is accepted, else the constraint that refuses the plan's own. The plan's
// own cell is there.
TEST(Explore, TileMapsSayWhatOtherSizesWouldDo) {
  std::string large = denseLayer;
  for (const char *size : {"256", "192"})
    for (size_t at; (at = large.find(size)) != std::string::npos;)
      large.replace(at, 3, "1024");
  const MapCells few = checkTileMap(denseLayer), many = checkTileMap(large);
  EXPECT_GT(few.feasible, 1u);
  EXPECT_GT(few.otherSchedules, 0u);
  EXPECT_GT(many.refused, 0u);
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
