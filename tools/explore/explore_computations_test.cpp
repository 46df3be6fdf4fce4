// Loops, branches, and ops without a kernel of ours.
#include "analysis/import/testing/reducers.h"
#include "tools/explore/testing/explore.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

using namespace tilewright;

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
  for (const AssumedOp &op : model.assumed) // the sort
    inEntry += op.timeNs;
  EXPECT_GT(inBody, 0);
  EXPECT_DOUBLE_EQ(model.totalTimeNs, inEntry + 3 * inBody);
  std::map<std::string, int> seen = accounts(model);
  for (const char *op : {"x",   "k", "sorted", "cc",  "start", "done", "zero", "init", "loop", "y",
                         "out", "i", "v",      "one", "j",     "w",    "o",    "ci",   "n",    "c"})
    EXPECT_EQ(seen[op], 1) << op;
  std::set<std::string> unsupported;
  for (const UnsupportedOp &op : model.unsupported)
    unsupported.insert(op.op);
  EXPECT_EQ(unsupported, (std::set<std::string>{"cc", "start", "done"}));
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
  for (const AssumedOp &op : model.assumed)
    sum += op.timeNs;
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

/// Reductions of several operands, alone and in fusions, are kernels with plans and prices.
TEST(Explore, ReductionsOfSeveralOperands) {
  Explored explored;
  const std::string head = std::string("HloModule m\n") + largerWithPlace,
                    body = R"(p = f32[4096,1024] parameter(0)
  n = s32[4096,1024] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  none = s32[] constant(0)
  top = (f32[4096], s32[4096]) reduce(p, n, low, none), dimensions={1}, to_apply=best
  a = s32[4096] get-tuple-element(top), index=1
  ROOT r = f32[4096] convert(a)
}
)";
  const ExploredModel alone = explored.run(parseVerified(head + "ENTRY e {\n" + body)),
                      fused = explored.run(
                          parseVerified(head + "inner {\n" + body +
                                        "ENTRY e { x = f32[4096,1024] parameter(0)\n ROOT k = "
                                        "f32[4096] fusion(x), kind=kInput, calls=inner }\n"));
  EXPECT_TRUE(alone.assumed.empty());
  ASSERT_EQ(alone.kernels.size(), 2u);
  EXPECT_EQ(alone.kernels[0].ops, (std::vector<std::string>{"n", "top"}));
  EXPECT_EQ(alone.kernels[0].kind, KernelKind::Reduce);
  ASSERT_EQ(fused.kernels.size(), 1u);
  constexpr double whole = 4096.0 * 1024 * 4, row = 4096 * 4;
  EXPECT_EQ(alone.kernels[0].plans.at(0).estimate.compulsoryBytes, whole + 2 * row);
  EXPECT_LT(fused.totalTimeNs, alone.totalTimeNs);
  EXPECT_GT(fused.totalTimeNs, fused.lowerBoundNs);
  EXPECT_EQ(fused.kernels[0].plans.at(0).estimate.compulsoryBytes, whole + row);
}

/// What a copy of so many bytes takes, with a spread that says how little is known.
TEST(Explore, OpsWithoutAKernelArePricedByTheirBytes) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(R"(HloModule m
ENTRY e { x = f32[4096,1024] parameter(0)
  s = f32[1024] parameter(1)
  train = (f32[4096,1024], f32[1024], f32[1024]) batch-norm-training(x, s, s), epsilon=0.01, feature_index=1
  infer = f32[4096,1024] batch-norm-inference(x, s, s, s, s), epsilon=0.01, feature_index=1
  top = (f32[4096,8], s32[4096,8]) topk(x), k=8, largest=true
  ROOT o = ((f32[4096,1024], f32[1024], f32[1024]), f32[4096,1024], (f32[4096,8], s32[4096,8])) tuple(train, infer, top) })"));
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
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows["train"].readBytes, 2 * whole + 2 * row);
  EXPECT_EQ(rows["train"].writtenBytes, whole + 2 * row);
  EXPECT_EQ(rows["infer"].readBytes, whole + 4 * row);
  EXPECT_EQ(rows["top"].writtenBytes, 4096 * 8 * 8);
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

TEST(Explore, WorkOfLibraryCallsAndCollectivesIsPriced) {
  Explored explored;
  ExploredModel model = explored.run(parseVerified(R"(HloModule m, num_partitions=8
ENTRY e {
  x = f32[2,73]{1,0} parameter(0)
  w = f32[73,256]{1,0} parameter(1)
  gemm = (f32[2,256]{1,0}, s8[4194304]{0}) custom-call(x, w), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}
  y = f32[2,256]{1,0} get-tuple-element(gemm), index=0
  ROOT all = f32[16,256]{1,0} all-gather(y), replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}
})"));
  EXPECT_TRUE(model.isComplete());
  ASSERT_EQ(model.assumed.size(), 2u);
  EXPECT_EQ(model.assumed[0].op, "gemm");
  EXPECT_EQ(model.assumed[0].flops, 74752);
  EXPECT_EQ(model.assumed[0].readBytes + model.assumed[0].writtenBytes, 77384);
  EXPECT_EQ(model.assumed[1].op, "all");
  EXPECT_EQ(model.assumed[1].readBytes + model.assumed[1].writtenBytes, 2048 + 16384);
  EXPECT_EQ(model.assumed[1].linkBytes, 14336);
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
