// Partitions of small graphs: what is joined, split, computed again or forced.
#include "tools/explore/partition/structure_key.h"
#include "tools/explore/testing/explore.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace tilewright;

namespace {

ExploredModel partitioned(const Module &module, ExploreOptions options = {}) {
  options.isPartitioned = true;
  return Explored().run(module, options);
}

std::string refusalOf(const Module &module, ExploreOptions options, DiagClass wanted) {
  const Explored explored;
  options.search.maxPriced = 100;
  auto model = exploreModel(module, explored.device, explored.calibration, options);
  if (model)
    return "explored";
  Diag diag = takeDiag(model.takeError());
  EXPECT_EQ(int(diag.cls), int(wanted)) << diag.message;
  return diag.message;
}

const char *const twoLosses = R"(HloModule m
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
max {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] maximum(x, y)
}
ENTRY e {
  logits = bf16[4096,8192] parameter(0)
  wide = f32[4096,8192] convert(logits)
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  sum = f32[4096] reduce(wide, zero), dimensions={1}, to_apply=add
  top = f32[4096] reduce(wide, low), dimensions={1}, to_apply=max
  ROOT t = (f32[4096], f32[4096]) tuple(sum, top)
})";

const char *const diamond = R"(HloModule m
ENTRY e {
  a = f32[1024,1024] parameter(0)
  b = f32[1024,1024] exponential(a)
  c = f32[1024,1024] transpose(b), dimensions={1,0}
  d = f32[1024,1024] tanh(c)
  e1 = f32[1024,1024] add(b, d)
  ROOT f = f32[1024,1024] multiply(e1, a)
})";

} // namespace

// The convert, which two reductions read, is computed in both, or all are one kernel: its f32 copy
// is never written.
TEST(Partition, AValueOfTwoReadersIsNotWritten) {
  const ExploredModel model = partitioned(parseVerified(twoLosses));
  for (const ExploredKernel &kernel : model.kernels)
    EXPECT_EQ(std::count(kernel.results.begin(), kernel.results.end(), "wide"), 0);
  EXPECT_LT(model.totalTimeNs, 0.6 * model.greedyNs);
  EXPECT_TRUE(model.isComplete());
}

TEST(Partition, EachOpCountsOnceAndNothingIsSlowerThanGreedy) {
  for (const char *text : {twoLosses, diamond, denseLayer}) {
    const Module module = parseVerified(text);
    const ExploredModel model = partitioned(module);
    EXPECT_LE(model.totalTimeNs, model.greedyNs * (1 + 1e-12));
    EXPECT_LE(model.lowerBoundNs, model.totalTimeNs);
    std::map<std::string, int> seen = accounts(model);
    for (const Op &op : module.entry().all())
      EXPECT_EQ(seen[op.name], 1) << op.name;
  }
}

TEST(Partition, TheNumberOfThreadsChangesNothing) {
  const Module module = parseVerified(diamond);
  ExploreOptions three;
  three.jobs = 3;
  const ExploredModel a = partitioned(module), b = partitioned(module, three);
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  EXPECT_EQ(a.totalTimeNs, b.totalTimeNs);
  for (size_t k = 0; k < a.kernels.size(); ++k) {
    EXPECT_EQ(a.kernels[k].ops, b.kernels[k].ops);
    EXPECT_EQ(a.kernels[k].plans.front().plan.values, b.kernels[k].plans.front().plan.values);
  }
}

TEST(Partition, ForcedKernelsArePriced) {
  const Module module = parseVerified(diamond);
  ExploreOptions split;
  split.split = {"b"};
  const ExploredModel model = partitioned(module, split);
  const bool isWritten =
      std::any_of(model.kernels.begin(), model.kernels.end(), [](const ExploredKernel &kernel) {
        return kernel.results == std::vector<std::string>{"b"};
      });
  EXPECT_TRUE(isWritten);
  ExploreOptions fuse;
  fuse.fused = {{"c", "%d"}};
  const ExploredModel fused = partitioned(module, fuse);
  const bool isOne =
      std::any_of(fused.kernels.begin(), fused.kernels.end(), [](const ExploredKernel &kernel) {
        return kernel.ops == std::vector<std::string>{"c", "d"};
      });
  EXPECT_TRUE(isOne);
}

TEST(Partition, WhatCannotBeForcedIsRefused) {
  const Module module = parseVerified(diamond);
  ExploreOptions options;
  options.fused = {{"b", "e1"}};
  EXPECT_EQ(refusalOf(module, options, DiagClass::BadInput),
            "--fuse b,e1: a path leaves the group and returns");
  options.fused = {{"b", "nothing"}};
  EXPECT_EQ(refusalOf(module, options, DiagClass::BadInput), "no op %nothing in the model");
  options.fused = {{"c", "d"}};
  options.split = {"c"};
  EXPECT_EQ(refusalOf(module, options, DiagClass::BadInput), "--split c contradicts --fuse c,d");
  options.split = {"a"};
  EXPECT_EQ(refusalOf(module, options, DiagClass::BadInput),
            "%a is in no kernel of its own: it is an argument, or part of what reads it");
}

// Layers have one key each; another shape, another wiring or another result is another key.
TEST(Partition, KeysAreOfTheStructureAlone) {
  const Module module = parseVerified(R"(HloModule m
ENTRY e {
  a = f32[64,64] parameter(0)
  b = f32[64,64] exponential(a)
  c = f32[64,64] subtract(b, a)
  d = f32[64,64] exponential(c)
  e = f32[64,64] subtract(d, c)
  f = f32[64,64] exponential(e)
  g = f32[64,64] subtract(e, f)
  h = f32[64,64] exponential(g)
  ROOT i = f32[64,64] subtract(h, d)
})");
  const StructureKeys keys(module);
  auto keyOf = [&](std::vector<const char *> ops, std::vector<const char *> roots) {
    std::vector<OpId> ids, ends;
    for (const char *op : ops)
      ids.push_back(module.entry().find(op));
    for (const char *root : roots)
      ends.push_back(module.entry().find(root));
    auto group = makeGroup(module.entry(), ids, ends);
    EXPECT_TRUE(bool(group));
    return keys.of(module.entryId, *group);
  };
  const StructureKey first = keyOf({"b", "c"}, {"c"});
  EXPECT_EQ(first, keyOf({"d", "e"}, {"e"}));
  EXPECT_NE(first, keyOf({"f", "g"}, {"g"})); // operands the other way round
  EXPECT_NE(first, keyOf({"h", "i"}, {"i"})); // two inputs
  EXPECT_NE(first, keyOf({"b", "c"}, {"b", "c"}));
}
