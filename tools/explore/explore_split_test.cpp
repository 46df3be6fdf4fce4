// Groups that become several kernels, or none.
#include "analysis/import/testing/reducers.h"
#include "tools/explore/testing/explore.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

using namespace tilewright;

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

// Rows that are read again behind their sums are made by few CTAs where they are few, which a
// reader should know; sums alone are shared, with what follows them, and many are not worth a word.
TEST(Explore, SaysThatReductionsAreNotSplit) {
  Explored explored;
  ExploreOptions options;
  options.isGreedy = true; // two kernels may be faster
  auto kernel = [&](int64_t rows, int64_t columns, bool isReadAgain) {
    return explored
        .run(parseVerified(fmt::format(
                 "HloModule m\nadd {{\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                 "  ROOT s = f32[] add(x, y)\n}}\nENTRY e {{\n  i = f32[{0},{1}] parameter(0)\n"
                 "  z = f32[] constant(0)\n  r = f32[{1}] reduce(i, z), dimensions={{0}}, "
                 "to_apply=add\n"
                 "  n = f32[{1}] negate(r)\n{2}}}\n",
                 rows, columns,
                 isReadAgain
                     ? fmt::format(
                           "  b = f32[{0},{1}] broadcast(n), dimensions={{1}}\n"
                           "  p = f32[{0},{1}] multiply(i, b)\n"
                           "  ROOT q = f32[{1}] reduce(p, z), dimensions={{0}}, to_apply=add\n",
                           rows, columns)
                     : fmt::format("  ROOT e = f32[{0}] exponential(n)\n", columns))),
             options)
        .kernels.at(0);
  };
  const ExploredKernel twice = kernel(1048576, 32, true), once = kernel(1048576, 32, false);
  ASSERT_EQ(twice.notes.size(), 1u);
  EXPECT_NE(twice.notes[0].find("a reduction is not split over CTAs"), std::string::npos);
  EXPECT_TRUE(once.notes.empty());
  EXPECT_GT(once.plans.at(0).plan.value("split_k"), 8);
  EXPECT_TRUE(kernel(32, 1048576, true).notes.empty());
  EXPECT_TRUE(kernel(64, 32, true).notes.empty()); // over in no time
}

// Of the largest of a few long rows and their places, too.
TEST(Explore, PlacesOfTheLargestAreShared) {
  Explored explored;
  const ExploredModel model =
      explored.run(parseVerified(std::string("HloModule m\n") + largerWithPlace + R"(ENTRY e {
  x = f32[4,131072] parameter(0)
  at = s32[4,131072] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  zero = s32[] constant(0)
  both = (f32[4], s32[4]) reduce(x, at, low, zero), dimensions={1}, to_apply=best
  ROOT place = s32[4] get-tuple-element(both), index=1
}
)"));
  ASSERT_EQ(model.kernels.size(), 1u);
  EXPECT_GT(model.kernels[0].plans.at(0).plan.value("split_k"), 8);
  EXPECT_TRUE(model.kernels[0].notes.empty());
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
