#include "analysis/import/testing/models.h"
#include "tools/explore/grouping.h"
#include "tools/explore/testing/explore.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace tilewright;

namespace {

std::string names(const Graph &graph, const std::vector<OpId> &ops) {
  std::string out;
  for (OpId id : ops)
    out += (out.empty() ? "" : " ") + graph.op(id).name;
  return out;
}

/// Every op in exactly one place; kernels convex and ordered; what a kernel reads is made before.
void expectPartition(const Graph &graph, const Grouping &grouping) {
  std::map<OpId, int> seen;
  std::set<OpId> made;
  for (const OpReason &entry : grouping.noKernel) {
    ++seen[entry.op];
    made.insert(entry.op);
    EXPECT_FALSE(entry.reason.empty());
  }
  for (const OpReason &entry : grouping.unsupported) {
    ++seen[entry.op];
    made.insert(entry.op);
    EXPECT_FALSE(entry.reason.empty());
  }
  for (const KernelGroup &kernel : grouping.kernels) {
    std::vector<OpId> all(kernel.ops);
    all.insert(all.end(), kernel.recomputed.begin(), kernel.recomputed.end());
    std::set<OpId> inside(all.begin(), all.end());
    EXPECT_TRUE(inside.count(kernel.root));
    int dots = 0;
    for (OpId id : all) {
      dots += graph.op(id).opcode == Opcode::Dot;
      for (OpId operand : graph.op(id).operands)
        EXPECT_TRUE(inside.count(operand) || made.count(operand) ||
                    graph.op(operand).opcode == Opcode::Constant)
            << graph.op(id).name << " reads " << graph.op(operand).name << " before it is made";
    }
    EXPECT_LE(dots, 1);
    for (OpId id : kernel.recomputed)
      EXPECT_NE(graph.op(id).opcode, Opcode::Dot);
    for (OpId id : kernel.ops)
      ++seen[id];
    made.insert(kernel.root);
  }
  for (uint32_t i = 0; i < graph.size(); ++i)
    EXPECT_EQ(seen[OpId{i}], 1) << graph.op(OpId{i}).name;
}

} // namespace

TEST(Grouping, DotTakesItsEpilogueAndViewsOfItsOperands) {
  Module module = parseVerified(R"(HloModule m
ENTRY e {
  a = bf16[64,32]{1,0} parameter(0)
  b = bf16[16,32]{1,0} parameter(1)
  bias = bf16[16]{0} parameter(2)
  scaled = bf16[64,32]{1,0} add(a, a)
  turned = bf16[32,16]{1,0} transpose(b), dimensions={1,0}
  d = bf16[64,16]{1,0} dot(scaled, turned), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  wide = bf16[64,16]{1,0} broadcast(bias), dimensions={1}
  ROOT out = bf16[64,16]{1,0} add(d, wide)
})");
  const Graph &graph = module.entry();
  Grouping grouping = groupSimply(graph);
  expectPartition(graph, grouping);
  ASSERT_EQ(grouping.kernels.size(), 2u);
  EXPECT_EQ(names(graph, grouping.kernels[0].ops), "scaled");
  EXPECT_EQ(names(graph, grouping.kernels[1].ops), "turned d wide out");
  EXPECT_EQ(grouping.kernels[1].kind, KernelKind::Dot);
}

TEST(Grouping, SoftmaxIsOneKernel) {
  Module module = parseVerified(R"(HloModule m
mx { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] maximum(p, q) }
sm { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }
ENTRY e {
  x = f32[64,128]{1,0} parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[64]{0} reduce(x, low), dimensions={1}, to_apply=mx
  mb = f32[64,128]{1,0} broadcast(m), dimensions={0}
  c = f32[64,128]{1,0} subtract(x, mb)
  e1 = f32[64,128]{1,0} exponential(c)
  s = f32[64]{0} reduce(e1, zero), dimensions={1}, to_apply=sm
  sb = f32[64,128]{1,0} broadcast(s), dimensions={0}
  ROOT out = f32[64,128]{1,0} divide(e1, sb)
})");
  const Graph &graph = module.entry();
  Grouping grouping = groupSimply(graph);
  expectPartition(graph, grouping);
  ASSERT_EQ(grouping.kernels.size(), 1u);
  EXPECT_EQ(grouping.kernels[0].kind, KernelKind::Reduce);
}

TEST(Grouping, DotsAreNeverComputedTwice) {
  Module module = parseVerified(R"(HloModule m
ENTRY e {
  a = f32[8,8]{1,0} parameter(0)
  d = f32[8,8]{1,0} dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d2 = f32[8,8]{1,0} dot(d, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  spread = f32[8,8,8]{2,1,0} broadcast(d2), dimensions={0,1}
  n = f32[8,8,8]{2,1,0} negate(spread)
  p = f32[8,8]{1,0} negate(d)
  q = f32[8,8]{1,0} add(p, d)
  ROOT t = (f32[8,8,8]{2,1,0}, f32[8,8]{1,0}) tuple(n, q)
})");
  const Graph &graph = module.entry();
  Grouping grouping = groupSimply(graph);
  expectPartition(graph, grouping);
  for (const KernelGroup &kernel : grouping.kernels)
    if (kernel.kind == KernelKind::Dot) {
      EXPECT_EQ(kernel.ops.size(), 1u) << names(graph, kernel.ops);
    }
}

TEST(Grouping, SharedBroadcastsAreRecomputedAndCountedOnce) {
  Module module = parseVerified(R"(HloModule m
ENTRY e {
  a = f32[8,8]{1,0} parameter(0)
  one = f32[] constant(1)
  ones = f32[8,8]{1,0} broadcast(one), dimensions={}
  x = f32[8,8]{1,0} add(a, ones)
  y = f32[8,8]{1,0} multiply(a, ones)
  ROOT t = (f32[8,8]{1,0}, f32[8,8]{1,0}) tuple(x, y)
})");
  const Graph &graph = module.entry();
  Grouping grouping = groupSimply(graph);
  expectPartition(graph, grouping);
  ASSERT_EQ(grouping.kernels.size(), 2u);
  EXPECT_EQ(names(graph, grouping.kernels[0].ops), "ones x");
  EXPECT_EQ(names(graph, grouping.kernels[1].recomputed), "ones");
}

TEST(Grouping, OpaqueOpsAreListedWithTheReason) {
  Module module = parseVerified(R"(HloModule m
ENTRY e {
  a = f32[8]{0} parameter(0)
  n = f32[8]{0} negate(a)
  b = f32[8]{0} broadcast(n), dimensions={0}
  ROOT c = f32[8]{0} custom-call(b), custom_call_target="vendor_thing"
})");
  const Graph &graph = module.entry();
  Grouping grouping = groupSimply(graph);
  expectPartition(graph, grouping);
  ASSERT_EQ(grouping.unsupported.size(), 1u);
  EXPECT_NE(grouping.unsupported[0].reason.find("vendor_thing"), std::string::npos);
  ASSERT_EQ(grouping.kernels.size(), 1u); // the broadcast is needed in memory
  EXPECT_EQ(names(graph, grouping.kernels[0].ops), "n b");
}

TEST(Grouping, ResultsWithoutElementsNeedNoKernel) {
  Module module = parseVerified(R"(HloModule m
lt {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
lt2 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = f32[] parameter(2)
  j = f32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT
}
body {
  p = f32[0,16]{1,0} parameter(0)
  ROOT n = f32[0,16]{1,0} negate(p)
}
ENTRY e {
  x = f32[4,0]{1,0} parameter(0)
  y = f32[0,16]{1,0} parameter(1)
  z = f32[16]{0} parameter(2)
  z4 = f32[4,4]{1,0} parameter(3)
  neg = f32[4,0]{1,0} negate(x)
  more = f32[4,0]{1,0} add(neg, x)
  none = f32[0,16]{1,0} broadcast(z), dimensions={1}
  count = s32[4,0]{1,0} iota(), iota_dimension=0
  left = f32[4,0]{1,0} dot(z4, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  sorted = f32[4,0]{1,0} sort(neg), dimensions={0}, to_apply=lt
  two = (f32[4,0]{1,0}, f32[4,0]{1,0}) sort(neg, more), dimensions={0}, to_apply=lt2
  fused = f32[0,16]{1,0} fusion(y), kind=kLoop, calls=body
  joined = f32[4,0]{1,0} concatenate(neg, x), dimensions={1}
  secret = f32[4,0]{1,0} custom-call(neg), custom_call_target="vendor_thing"
  d = f32[4,16]{1,0} dot(neg, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  longer = f32[4,16]{1,0} concatenate(neg, d), dimensions={1}
  ROOT t = (f32[4,16]{1,0}, f32[0,16]{1,0}) tuple(longer, none)
})");
  const Graph &graph = module.entry();
  for (const Grouping &grouping : {groupSimply(graph), groupSingly(graph)}) {
    expectPartition(graph, grouping);
    std::set<std::string> none;
    for (const OpReason &entry : grouping.noKernel)
      if (entry.reason.find("its result has no elements") != std::string::npos)
        none.insert(graph.op(entry.op).name);
    EXPECT_EQ(none, (std::set<std::string>{"neg", "more", "none", "count", "left", "sorted", "two",
                                           "fused", "joined"}));
    // What else a library's op does is not known from the extents of its result.
    ASSERT_EQ(grouping.unsupported.size(), 1u);
    EXPECT_EQ(graph.op(grouping.unsupported[0].op).name, "secret");
  }
  // A contraction over nothing makes zeros: it has something to write.
  Grouping grouping = groupSimply(graph);
  for (const KernelGroup &kernel : grouping.kernels)
    EXPECT_GT(graph.op(kernel.root).shape.elementCount(), 0);
  EXPECT_EQ(names(graph, grouping.kernels.back().ops).find("neg"), std::string::npos);
}

TEST(Grouping, PartitionsEveryGraphOfEveryBundledModel) {
  for (const std::string &path : bundledModels()) {
    auto module = importFile(path);
    ASSERT_TRUE(static_cast<bool>(module)) << takeDiag(module.takeError()).str();
    for (const Graph &graph : module->all()) {
      expectPartition(graph, groupSimply(graph));
      expectPartition(graph, groupSingly(graph));
    }
  }
}
