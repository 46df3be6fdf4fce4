#include "analysis/import/import_file.h"
#include "costmodel/sequence/sequence_price.h"
#include "tools/explore/neighbour_levers.h"
#include "tools/explore/prepared_model.h"
#include "tools/explore/run_sequence.h"
#include "tools/explore/testing/explore.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

double sumOfSequence(const ExploredModel &model) {
  double sum = 0;
  for (const ExploredKernel &kernel : model.kernels)
    sum += kernel.sequenceNs() * double(kernel.tripCount);
  for (const AssumedOp &op : model.assumed)
    sum += op.sequenceNs() * double(op.tripCount);
  return sum;
}

const ExploredKernel &kernelWith(const ExploredModel &model, const std::string &op) {
  for (const ExploredKernel &kernel : model.kernels)
    if (std::count(kernel.ops.begin(), kernel.ops.end(), op))
      return kernel;
  ADD_FAILURE() << op;
  return model.kernels.front();
}

// What a kernel has just written its reader finds; what is larger than L2 comes from DRAM again.
TEST(RunSequence, ReadersFindWhatFits) {
  Explored explored;
  auto chain = [](int64_t n) {
    return fmt::format(R"(HloModule m
ENTRY e {{
  a = f32[{0},{0}]{{1,0}} parameter(0)
  b = f32[{0},{0}]{{1,0}} parameter(1)
  c = f32[{0},{0}]{{1,0}} dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  d = f32[{0},{0}]{{1,0}} dot(c, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT e = f32[{0},{0}]{{1,0}} dot(d, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}})",
                       n);
  };
  const ExploredModel small = explored.run(parseVerified(chain(512)));
  ASSERT_GE(small.kernels.size(), 2u);
  for (const ExploredKernel &kernel : small.kernels) {
    ASSERT_TRUE(kernel.inSequence);
    EXPECT_EQ(kernel.inSequence->missedBytes, 0) << "3 MB fit, run after run";
  }
  const ExploredModel large = explored.run(parseVerified(chain(4096)));
  double missed = 0;
  for (const ExploredKernel &kernel : large.kernels)
    missed += kernel.inSequence->missedBytes;
  EXPECT_GT(missed, 64e6);
  EXPECT_NEAR(large.sequenceNs, sumOfSequence(large), 1e-6 * large.sequenceNs);
}

// Choices of kernels are compared by the time that the model with them has.
TEST(RunSequence, WhatIsComparedIsTheTimeOfTheModel) {
  Explored explored;
  for (const char *path : {"datasets/models/gpt2_block.hlo.txt", "datasets/models/dlrm.hlo.txt"}) {
    const Module module = llvm::cantFail(importFile(path));
    ExploredModel model = explored.run(module);
    PreparedModel prepared = llvm::cantFail(prepareModel(module));
    countRuns(*prepared.module, prepared.parts);
    KnownFeatures known(explored.device);
    EXPECT_NEAR(sequenceNsOf(*prepared.module, prepared.parts, prepared.module->entryId,
                             explored.calibration, known, model),
                model.sequenceNs, 1e-9 * model.sequenceNs)
        << path;
  }
}

TEST(RunSequence, NoModelIsFasterThanItsKernelsBounds) {
  Explored explored;
  for (const char *path : {"datasets/models/gpt2_block.hlo.txt", "datasets/models/dlrm.hlo.txt",
                           "datasets/models/resnet50_bottleneck.xla_optimized.hlo.txt"}) {
    auto module = importFile(path);
    ASSERT_TRUE(bool(module));
    const ExploredModel model = explored.run(*module);
    EXPECT_NEAR(model.sequenceNs, sumOfSequence(model), 1e-6 * model.sequenceNs) << path;
    EXPECT_GE(model.sequenceNs, model.lowerBoundNs) << path;
    for (const ExploredKernel &kernel : model.kernels) {
      ASSERT_TRUE(kernel.inSequence) << path << " " << kernel.name;
      EXPECT_GE(kernel.inSequence->timeNs,
                kernel.inSequence->missedBytes / explored.device.dramBandwidth)
          << path << " " << kernel.name;
    }
  }
}

// A plan that is worse than its neighbour is told so, by as much as the neighbour is faster.
TEST(RunSequence, WorsePlansAreToldTheirBetterNeighbour) {
  Explored explored;
  const ExploredModel model = explored.run(parseVerified(R"(HloModule m
ENTRY e {
  a = bf16[4096,4096]{1,0} parameter(0)
  b = bf16[4096,4096]{1,0} parameter(1)
  ROOT c = bf16[4096,4096]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})"));
  const KernelPlan &plan = model.kernels.front().plans.front().plan;
  const CacheTraffic traffic{67e6, 33e6, 67e6, 33e6, {}};
  const Parameters parameters = parametersFor(explored.calibration, explored.device);
  auto timeOf = [&](const KernelPlan &of) {
    return timeInSequence(llvm::cantFail(featuresOf(of, explored.device)), traffic, explored.device,
                          parameters)
        .timeNs;
  };
  KnownFeatures known(explored.device);
  size_t told = 0;
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const TileParameter &parameter = plan.tiled->space.parameters[i];
    KernelPlan worse = plan;
    worse.values[i] /= 2;
    if (parameter.role != TileParameter::Role::Parallel || worse.values[i] < 1 ||
        timeOf(worse) < 1.02 * timeOf(plan))
      continue;
    const std::vector<Lever> levers = neighbourLevers(worse, traffic, known, parameters);
    const std::string what =
        fmt::format("{} {} in place of {}", parameter.name, plan.values[i], worse.values[i]);
    const auto found = std::find_if(levers.begin(), levers.end(),
                                    [&](const Lever &lever) { return lever.what == what; });
    ASSERT_NE(found, levers.end()) << what;
    EXPECT_DOUBLE_EQ(found->gainNs, timeOf(worse) - timeOf(plan));
    EXPECT_EQ(found->because, "") << "nothing refuses the plan that was found";
    ++told;
  }
  EXPECT_GE(told, 1u);
}

// A row of a state is written in each step, whatever the state's size is.
TEST(RunSequence, StepsOfALoopFindTheirState) {
  Explored explored;
  const ExploredModel model = explored.run(parseVerified(R"(HloModule m
body {
  s = (s32[], f32[1000,1024]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  all = f32[1000,1024]{1,0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  zero = s32[] constant(0)
  f = f32[] convert(i)
  row = f32[1,1024]{1,0} broadcast(f), dimensions={}
  put = f32[1000,1024]{1,0} dynamic-update-slice(all, row, i, zero)
  ROOT t = (s32[], f32[1000,1024]) tuple(next, put)
}
condition {
  s = (s32[], f32[1000,1024]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(1000)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[1000,1024]{1,0} parameter(0)
  y = f32[1000,1024]{1,0} negate(x)
  zero = s32[] constant(0)
  s = (s32[], f32[1000,1024]) tuple(zero, y)
  w = (s32[], f32[1000,1024]) while(s), condition=condition, body=body
  ROOT r = f32[1000,1024]{1,0} get-tuple-element(w), index=1
})"));
  const ExploredKernel &put = kernelWith(model, "put");
  ASSERT_TRUE(put.inSequence);
  EXPECT_EQ(put.tripCount, 1000);
  EXPECT_LT(put.inSequence->timeNs, 3000);
  EXPECT_LE(put.inSequence->writtenBackBytes, 8192);
}

TEST(RunSequence, CallsOfLibrariesHaveAPrice) {
  Explored explored;
  const ExploredModel model = explored.run(parseVerified(R"(HloModule m
ENTRY e {
  a = bf16[4096,4096]{1,0} parameter(0)
  b = bf16[4096,4096]{1,0} parameter(1)
  ROOT g = (bf16[4096,4096]{1,0}, s8[33554432]{0}) custom-call(a, b), custom_call_target="__cublas$lt$matmul", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_batch_dimensions":[],"lhs_contracting_dimensions":["1"],"rhs_batch_dimensions":[],"rhs_contracting_dimensions":["0"]}}}
})"));
  ASSERT_EQ(model.assumed.size(), 1u);
  EXPECT_TRUE(model.isComplete());
  EXPECT_EQ(model.assumed[0].flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_EQ(model.assumed[0].readBytes, 2.0 * 4096 * 4096 * 2);
  EXPECT_EQ(model.assumed[0].writtenBytes, 4096.0 * 4096 * 2) << "the workspace is not traffic";
  EXPECT_GT(model.assumed[0].timeNs,
            2.0 * std::pow(4096, 3) / explored.device.peakFlops(DType::BF16, true));
  EXPECT_LT(model.assumed[0].timeNs, 250e3);
}

} // namespace
} // namespace tilewright
