#include "costmodel/elementary.h"
#include "costmodel/feature_batch.h"
#include "costmodel/testing/data.h"
#include "costmodel/trace.h"
#include "costmodel/vector_kernels.h"
#include "costmodel/vector_lanes.h"

#include <array>
#include <bit>
#include <cmath>
#include <random>

namespace tilewright {
namespace {

using testing::datasetOf;
using testing::h100;
using testing::measured;

const Dataset &everyEleventhRow() {
  static const Dataset data = [] {
    std::vector<Table> tables;
    for (const char *file :
         {"gemm.csv.gz", "gemm_variants.csv.gz", "memory.csv.gz", "attention.csv.gz"}) {
      int n = 0;
      tables.push_back(measured(file, [&](std::string_view) { return n++ % 11 == 0; }));
    }
    return datasetOf(std::move(tables));
  }();
  return data;
}

TEST(FeatureBatch, GivesTheTimesOfPlansPricedAlone) {
  Device device = h100();
  auto calibration = llvm::cantFail(loadCalibration("h100-sxm"));
  Parameters p = calibration.values();
  FeatureBatch batch;
  for (const DatasetRow &row : everyEleventhRow().rows)
    batch.add(row.features);
  ASSERT_GT(batch.size(), 2000u);
  std::vector<double> times(batch.size());
  for (CacheState cache : {CacheState::Flushed, CacheState::Clean, CacheState::Warm}) {
    batch.score(device, p, cache, times);
    for (size_t i = 0; i < times.size(); ++i) {
      const DatasetRow &row = everyEleventhRow().rows[i];
      double alone = estimateTime(row.features, device, p, 0.1, {cache}).timeNs;
      ASSERT_NEAR(times[i] / alone, 1, 1e-13) << row.identity.group;
    }
  }
}

TEST(FeatureBatch, EmptyAndImpossiblePlansAmongOthers) {
  Device device = h100();
  Parameters p = priorParameters(device);
  Features ordinary = everyEleventhRow().rows[5].features;
  Features empty = ordinary, impossible = ordinary;
  empty.empty = true;
  impossible.occupancy = 0;
  FeatureBatch batch;
  for (int i = 0; i < 21; ++i)
    batch.add(i % 3 == 0 ? ordinary : i % 3 == 1 ? empty : impossible);
  std::vector<double> times(batch.size());
  batch.score(device, p, CacheState::Flushed, times);
  double alone = estimateTime(ordinary, device, p, 0.1).timeNs;
  for (int i = 0; i < 21; ++i)
    if (i % 3 == 0)
      EXPECT_NEAR(times[i], alone, alone * 1e-13);
    else if (i % 3 == 1)
      EXPECT_EQ(times[i], 0);
    else
      EXPECT_TRUE(std::isinf(times[i]));
  batch.clear();
  EXPECT_EQ(batch.size(), 0u);
}

TEST(Elementary, LogarithmsAndExponentialsAreThoseOfTheLibrary) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-300, 300), near(-0.01, 0.01), y(-650, 650);
  for (int i = 0; i < 20000; ++i) {
    double x = i % 2 ? std::pow(10, exponent(random)) : 1 + near(random);
    EXPECT_NEAR(lnOf(x), std::log(x), 1e-15 * std::max(std::abs(std::log(x)), 1e-1)) << x;
    double at = i % 2 ? y(random) : near(random);
    EXPECT_NEAR(expOf(at) / std::exp(at), 1, 1e-15) << at;
  }
  EXPECT_EQ(lnOf(1.0), 0);
  EXPECT_EQ(expOf(0.0), 1);
  EXPECT_EQ(powOf(1.0, 0.37), 1);
  EXPECT_LT(powOf(0.0, 3.0), 1e-300);
  EXPECT_TRUE(std::isfinite(expOf(1e300)));
}

TEST(Elementary, LanesAgreeWithDoubles) {
  using HWY_NAMESPACE::Lanes;
  auto at = [](const Lanes &lanes, int lane) {
    LaneArray array;
    lanes.store(array);
    return array[lane];
  };
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> magnitude(-20, 20), sign(-1, 1);
  for (int round = 0; round < 5000; ++round) {
    LaneArray xs, ys;
    for (int i = 0; i < laneCount; ++i) {
      xs.lane[i] = std::copysign(std::exp2(magnitude(random)), sign(random));
      ys.lane[i] = round % 5 ? std::floor(xs[i]) : xs[i] * 0x1p28;
    }
    const Lanes x = Lanes::load(xs), y = Lanes::load(ys), absolute = larger(x, 0.0 - x);
    for (int i = 0; i < laneCount; ++i) {
      EXPECT_EQ(at(lnOf(absolute), i), lnOf(std::abs(xs[i])));
      EXPECT_EQ(at(expOf(x * 1e-5), i), expOf(xs[i] * 1e-5));
      EXPECT_EQ(at(powOf(absolute, 2.7), i), powOf(std::abs(xs[i]), 2.7));
      EXPECT_EQ(at(select(x < y, x, y), i), std::min(xs[i], ys[i]));
    }
    EXPECT_EQ(anyOf(x < y), anyOf(y > x));
  }
}

/// Whatever vectors a processor has, a recorded operation gives the bits that it gives on doubles.
TEST(VectorKernels, OperationsAreThoseOnDoubles) {
  constexpr size_t plans = FeatureProgram::plansPerRun;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> magnitude(0, 40), sign(-1, 1);
  Trace trace;
  Trace::current = &trace;
  std::vector<FeatureProgram::Slot> slots;
  for (int round = 0; round < 200; ++round) {
    double xs[plans], ys[plans];
    for (size_t i = 0; i < plans; ++i) {
      xs[i] = std::exp2(magnitude(random));
      ys[i] = round % 3 == 0   ? std::copysign(std::exp2(magnitude(random)), sign(random))
              : round % 3 == 1 ? std::floor(xs[i])
                               : xs[i] + std::floor(sign(random) * 2);
    }
    // Each operation as a function of numbers.
    const auto operations = [](auto x, auto y) {
      return std::array{x + y,         x - y,      x * y,     x / y,     larger(x, y),
                        smaller(x, y), floorOf(y), ceilOf(y), rootOf(x), powerOfTwoBelow(x)};
    };
    std::vector<uint32_t> wanted;
    const Traced x = Traced::input(0, xs[0]), y = Traced::input(1, ys[0]);
    for (const Traced &result : operations(x, y))
      wanted.push_back(result.node());
    const size_t comparisons = wanted.size();
    for (TraceOp op : {TraceOp::Less, TraceOp::LessEqual, TraceOp::Equal})
      wanted.push_back(trace.add(op, x.node(), y.node()));
    const FeatureProgram program(trace, wanted);
    for (const VectorKernels *kernels : supportedVectorKernels()) {
      slots.assign(program.slotCount(), {});
      program.prepare(slots.data());
      auto at = [&](uint32_t slot, size_t i) -> double & {
        return slots[slot].lanes[i / laneCount].lane[i % laneCount];
      };
      for (const FeatureProgram::Input &input : program.inputs())
        for (size_t i = 0; i < plans; ++i)
          at(input.slot, i) = input.column == 0 ? xs[i] : ys[i];
      kernels->run(program, slots.data());
      for (size_t i = 0; i < plans; ++i) {
        const auto expected = operations(xs[i], ys[i]);
        for (size_t o = 0; o < expected.size(); ++o)
          ASSERT_EQ(at(program.outputs()[o], i), expected[o])
              << kernels->name << ": " << o << " of " << xs[i] << " and " << ys[i];
        const bool holds[] = {xs[i] < ys[i], xs[i] <= ys[i], xs[i] == ys[i]};
        for (size_t c = 0; c < 3; ++c)
          ASSERT_EQ(std::bit_cast<int64_t>(at(program.outputs()[comparisons + c], i)),
                    holds[c] ? -1 : 0)
              << kernels->name;
      }
    }
  }
  Trace::current = nullptr;
}

TEST(VectorKernels, GiveOnePriceWhateverTheProcessorHas) {
  constexpr size_t numberCount = sizeof(FeatureNumbers<double>) / sizeof(double);
  const Device device = h100();
  const Parameters p = llvm::cantFail(loadCalibration("h100-sxm")).values();
  const std::vector<DatasetRow> &rows = everyEleventhRow().rows;
  std::vector<FeatureBlock> blocks;
  for (size_t i = 0; i < rows.size(); ++i) { // a block for each row, beside another of its kind
    const Features &features = rows[i].features;
    FeatureBlock block;
    static_cast<FeatureKind &>(block.features) = features;
    auto *numbers =
        reinterpret_cast<LaneArray *>(static_cast<FeatureNumbers<LaneArray> *>(&block.features));
    for (; block.used < laneCount; ++block.used) {
      const Features &beside = rows[(i + size_t(block.used) * 5) % rows.size()].features;
      const bool same = static_cast<const FeatureKind &>(beside) == features;
      const auto values = std::bit_cast<std::array<double, numberCount>>(
          static_cast<const FeatureNumbers<double> &>(same ? beside : features));
      for (size_t n = 0; n < numberCount; ++n)
        numbers[n].lane[block.used] = values[n];
      block.plan[size_t(block.used)] = i * laneCount + size_t(block.used);
    }
    blocks.push_back(block);
  }
  for (CacheState cache : {CacheState::Flushed, CacheState::Warm}) {
    std::vector<double> first;
    for (const VectorKernels *kernels : supportedVectorKernels()) {
      std::vector<double> times(blocks.size() * laneCount);
      kernels->priceBlocks(blocks, device, p, cache, times);
      if (first.empty())
        first = times;
      ASSERT_EQ(times, first) << kernels->name;
    }
  }
}

} // namespace
} // namespace tilewright
