// What can't be a kernel, and is never asked for a price.
#include "tools/explore/partition/partition.h"
#include "tools/explore/testing/explore.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <set>

using namespace tilewright;

namespace {

/// A graph whose atoms are its ops, and prices of which the test says what it asks.
struct Candidates {
  const Module module;
  const Grouping grouping = groupSingly(module.entry());
  const AtomGraph atoms{module, module.entry(), grouping.kernels, {}, {}};
  std::vector<GivenKernel> given;
  GroupPricing pricing;
  std::vector<std::set<std::string>> asked; ///< names of ops

  explicit Candidates(const std::string &text) : module(parseVerified(text)) {
    for (size_t k = 0; k < grouping.kernels.size(); ++k)
      given.push_back({{k}, atoms.valuesOf(grouping.kernels[k].root), 5000});
    pricing.estimate = [this](const KernelGroup &group) {
      return GroupEstimate{kindOf(group), 100, {}};
    };
    // One kernel of everything would be the cheapest.
    pricing.price = [this](const std::vector<PriceQuestion> &questions) {
      for (const PriceQuestion &question : questions)
        asked.push_back(namesOf(question.group));
      return std::vector<GroupPrice>(questions.size(), GroupPrice{1000, {}});
    };
    pricing.whyNoPlan = [](const KernelGroup &) { return std::string("has one"); };
  }

  std::set<std::string> namesOf(const KernelGroup &group) const {
    std::set<std::string> names;
    for (OpId op : group.allOps())
      names.insert(module.entry().op(op).name);
    return names;
  }
  StructureKey kindOf(const KernelGroup &group) const {
    KeyHash hash;
    for (const std::vector<OpId> &ops : {group.allOps(), group.roots})
      for (OpId op : ops)
        hash.add(op.index);
    return hash.get();
  }
  std::vector<std::string> namesOf(const std::vector<AtomId> &of) const {
    std::vector<std::string> names;
    for (AtomId a : of)
      names.push_back(module.entry().op(atoms[a].result).name);
    return names;
  }
  const GraphAtom &atom(const char *name) const {
    return atoms[atoms.atomOf(module.entry().find(name)).value()];
  }
  Partition run() const {
    return llvm::cantFail(partitionGraph(module.entry(), atoms, given, pricing));
  }
};

const char *const pairBehindABarrier = R"(HloModule m
ENTRY e {
  p0 = f32[64,64] parameter(0)
  p1 = f32[64,64] parameter(1)
  a = f32[64,64] exponential(p0)
  b = f32[64,64] tanh(p1)
  t = (f32[64,64], f32[64,64]) tuple(a, b)
  s = (f32[64,64], f32[64,64]) opt-barrier(t)
  c0 = f32[64,64] get-tuple-element(s), index=0
  c1 = f32[64,64] get-tuple-element(s), index=1
  c = f32[64,64] negate(c0)
  d = f32[64,64] sine(c1)
  ROOT r = (f32[64,64], f32[64,64]) tuple(c, d)
})";

const char *const nestedTuples = R"(HloModule m
ENTRY e {
  p0 = f32[64,64] parameter(0)
  a = f32[64,64] exponential(p0)
  b = f32[64,64] tanh(p0)
  c = f32[64,64] sine(p0)
  inner = (f32[64,64], f32[64,64]) tuple(b, c)
  outer = (f32[64,64], (f32[64,64], f32[64,64])) tuple(a, inner)
  s = (f32[64,64], (f32[64,64], f32[64,64])) opt-barrier(outer)
  i = (f32[64,64], f32[64,64]) get-tuple-element(s), index=1
  i1 = f32[64,64] get-tuple-element(i), index=1
  d = f32[64,64] cosine(i1)
  e0 = f32[64,64] opt-barrier(d)
  f = f32[64,64] negate(e0)
  ROOT r = (f32[64,64], (f32[64,64], f32[64,64])) tuple(f, i)
})";

} // namespace

using Names = std::vector<std::string>;

TEST(Candidates, AnElementOfATupleComesFromWhatMadeItAlone) {
  const Candidates pair(pairBehindABarrier);
  for (const auto &[reader, maker] : {std::pair("c", "a"), std::pair("d", "b")}) {
    EXPECT_EQ(pair.namesOf(pair.atom(reader).reads), Names{maker});
    EXPECT_EQ(pair.namesOf(pair.atom(reader).readsStored), Names{maker});
  }
  const Candidates nested(nestedTuples);
  EXPECT_EQ(nested.namesOf(nested.atom("d").reads), Names{"c"});
  EXPECT_EQ(nested.namesOf(nested.atom("f").readsStored), Names{"d"}); // a barrier of one tensor
  for (const char *result : {"b", "c", "f"}) // what the root takes out of it, whole
    EXPECT_TRUE(nested.atom(result).isRequired) << result;
  EXPECT_FALSE(nested.atom("d").isRequired);
}

// Of a kernel that writes in place, others may read a value that it stores before its result.
TEST(Candidates, AtomsComeAfterWhatTheyRead) {
  const Module module = parseVerified(R"(HloModule m
ENTRY e {
  p = f32[64,64] parameter(0)
  buffer = f32[8,64,64] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  a = f32[64,64] exponential(p)
  b = f32[64,64] negate(a)
  c = f32[64,64] tanh(b)
  block = f32[1,64,64] reshape(a)
  d = f32[8,64,64] dynamic-update-slice(buffer, block, i, zero, zero)
  e = f32[64,64] sine(c)
  ROOT r = (f32[8,64,64], f32[64,64]) tuple(d, e)
})");
  const Graph &graph = module.entry();
  auto kernel = [&](std::vector<const char *> names) {
    KernelGroup group;
    for (const char *name : names)
      group.ops.push_back(graph.find(name));
    group.root = group.ops.back();
    return group;
  };
  const std::vector<KernelGroup> greedy{kernel({"a", "block", "d"}), kernel({"b"}), kernel({"c"}),
                                        kernel({"e"})};
  const AtomGraph atoms(module, graph, greedy, {}, {});
  ASSERT_EQ(atoms.size(), 4u);
  EXPECT_TRUE(atoms[0].isFixed);
  EXPECT_EQ(atoms.atomOf(graph.find("a")), AtomId(0));
  EXPECT_EQ(atoms.ofKernel(0), std::vector<AtomId>{0});
  std::vector<std::string> order;
  for (AtomId a = 0; a < atoms.size(); ++a) {
    order.push_back(graph.op(atoms[a].result).name);
    for (AtomId from : atoms[a].reads)
      EXPECT_LT(from, a);
    for (AtomId reader : atoms[a].readers)
      EXPECT_GT(reader, a);
  }
  EXPECT_EQ(order, (Names{"d", "b", "c", "e"}));
}

// Nobody knows its extents, so that it has no kernel; what is read is the op, not what it is of.
TEST(Candidates, AViewWithoutAKernelStandsAlone) {
  for (const char *text : {R"(HloModule m
ENTRY e {
  p = f32[<=5] parameter(0)
  ROOT v = f32[1,<=5] reshape(p)
})",
                           R"(HloModule m
ENTRY e {
  p = f32[<=5] parameter(0)
  q = f32[8,8] parameter(1)
  v = f32[1,<=5] reshape(p)
  w = f32[<=5,1] bitcast(v)
  n = f32[8,8] negate(q)
  ROOT t = (f32[<=5,1], f32[8,8]) tuple(w, n)
})"}) {
    const Module module = parseVerified(text);
    const ExploredModel model = Explored().run(module);
    EXPECT_FALSE(model.isComplete());
    EXPECT_TRUE(model.isPartitionOptimal);
    EXPECT_EQ(model.kernels.size(), module.entry().size() > 2 ? 1u : 0u);
    ASSERT_FALSE(model.unsupported.empty());
    EXPECT_NE(model.unsupported.front().reason.find("known at run time only"), std::string::npos);
  }
}

// A search holds sets of at most 256 atoms: kernels of more stay as they are.
TEST(Candidates, AKernelOfHundredsOfPiecesStays) {
  constexpr size_t count = 300;
  std::string text = "HloModule m\nENTRY e {\n  v0 = f32[64,64] parameter(0)\n";
  for (size_t i = 1; i <= count; ++i)
    text += fmt::format("  {}v{} = f32[64,64] transpose(v{}), dimensions={{1,0}}\n",
                        i == count ? "ROOT " : "", i, i - 1);
  const Module module = parseVerified(text + "}\n");
  const Graph &graph = module.entry();
  KernelGroup all;
  for (size_t i = 1; i <= count; ++i)
    all.ops.push_back(all.root = graph.find(fmt::format("v{}", i)));
  const std::vector<KernelGroup> greedy{all};
  const AtomGraph atoms(module, graph, greedy, {}, {});
  ASSERT_EQ(atoms.size(), count);
  const std::vector<GivenKernel> given{{{0}, atoms.valuesOf(graph.root()), 5000}};
  GroupPricing pricing;
  pricing.estimate = [](const KernelGroup &group) {
    return GroupEstimate{{group.allOps().size(), 1}, 100, {}};
  };
  pricing.price = [&](const std::vector<PriceQuestion> &questions) {
    return std::vector<GroupPrice>(questions.size(), GroupPrice{4000, {}});
  };
  pricing.whyNoPlan = [](const KernelGroup &) { return std::string("has one"); };
  const Partition partition = llvm::cantFail(partitionGraph(graph, atoms, given, pricing));
  ASSERT_EQ(partition.kernels.size(), 1u);
  EXPECT_EQ(partition.timeNs, 5000);
}

// A kernel of both would read from memory what it has not stored yet.
TEST(Candidates, NothingIsJoinedAcrossABarrier) {
  for (const char *text : {pairBehindABarrier, nestedTuples}) {
    Candidates candidates(text);
    const Partition partition = candidates.run();
    size_t barriers = 0;
    for (const FusionChoice &fusion : partition.fusions)
      barriers +=
          fusion.reason.find("from behind a barrier: it lies in memory") != std::string::npos;
    EXPECT_GT(barriers, 0u);
    for (const std::set<std::string> &ops : candidates.asked)
      for (const GraphAtom &atom : candidates.atoms.all())
        for (AtomId from : atom.readsStored)
          EXPECT_FALSE(ops.count(candidates.module.entry().op(atom.result).name) &&
                       ops.count(candidates.module.entry().op(candidates.atoms[from].result).name))
              << fmt::format("{}", fmt::join(ops, ", "));
  }
}

TEST(Candidates, ABarrierIsNotForced) {
  const Module module = parseVerified(pairBehindABarrier);
  const Explored explored;
  ExploreOptions options;
  options.fused = {{"a", "c"}};
  auto model = exploreModel(module, explored.device, explored.calibration, options);
  ASSERT_FALSE(bool(model));
  const Diag diag = takeDiag(model.takeError());
  EXPECT_EQ(diag.cls, DiagClass::BadInput);
  EXPECT_EQ(diag.message,
            "--fuse a,c: %c reads %a out of a tuple or from behind a barrier: it lies in memory");
}

// Who reads two elements of a loop's state has nothing in common with who reads others.
TEST(Candidates, ElementsOfOneTupleAreNotShared) {
  std::string text = R"(HloModule m
body {
  s = (s32[], f32[64], f32[32,32]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  y = f32[32,32] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x2 = f32[64] sine(x)
  y2 = f32[32,32] cosine(y)
  ROOT t = (s32[], f32[64], f32[32,32]) tuple(next, x2, y2)
}
condition {
  s = (s32[], f32[64], f32[32,32]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  p = (s32[], f32[64], f32[32,32]) parameter(0)
  w = (s32[], f32[64], f32[32,32]) while(p), condition=condition, body=body
  x = f32[64] get-tuple-element(w), index=1
  y = f32[32,32] get-tuple-element(w), index=2
  a = f32[64] exponential(x)
  b = f32[32,32] tanh(y)
  ROOT r = (f32[64], f32[32,32]) tuple(a, b)
})";
  const Module module = parseVerified(text);
  const Graph &graph = module.entry();
  const Grouping grouping = groupSingly(graph);
  const OpId loop = graph.find("w");
  const AtomGraph atoms(module, graph, grouping.kernels, std::vector<OpId>{loop}, {});
  const AtomId made = atoms.atomOf(loop).value();
  EXPECT_TRUE(atoms[made].hasSeveral);
  ASSERT_EQ(atoms[made].readers.size(), 2u);
  std::vector<GivenKernel> given;
  for (size_t k = 0; k < grouping.kernels.size(); ++k)
    given.push_back({{k}, atoms.valuesOf(grouping.kernels[k].root), 5000});
  size_t asked = 0;
  GroupPricing pricing;
  pricing.estimate = [](const KernelGroup &group) {
    return GroupEstimate{{group.allOps().size(), 1}, 100, {}};
  };
  pricing.price = [&](const std::vector<PriceQuestion> &questions) {
    for (const PriceQuestion &question : questions)
      asked += question.group.allOps().size() > 1;
    return std::vector<GroupPrice>(questions.size(), GroupPrice{1000, {}});
  };
  pricing.whyNoPlan = [](const KernelGroup &) { return std::string("has one"); };
  llvm::cantFail(partitionGraph(graph, atoms, given, pricing));
  EXPECT_EQ(asked, 0u);
}

// The sum of all norms is one piece: joined with what makes one of them, or another one, it would
// be a kernel of its own each time.
TEST(Candidates, WhatReadsHundredsOfValuesIsJoinedWithNone) {
  constexpr size_t count = 80;
  std::string text = R"(HloModule m
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  zero = f32[] constant(0)
)";
  for (size_t i = 0; i < count; ++i)
    text += fmt::format("  p{0} = f32[4096] parameter({0})\n"
                        "  norm{0} = f32[] reduce(p{0}, zero), dimensions={{0}}, to_apply=add\n",
                        i);
  std::string sum = "norm0";
  for (size_t i = 1; i < count; ++i) {
    text += fmt::format("  sum{0} = f32[] add({1}, norm{0})\n", i, sum);
    sum = fmt::format("sum{}", i);
  }
  text += fmt::format("  ROOT root = f32[] sqrt({})\n}}\n", sum);
  const Module module = parseVerified(text);
  const Graph &graph = module.entry();
  std::vector<KernelGroup> greedy(count + 1); // of each norm, and of their sum
  for (size_t i = 0; i < count; ++i)
    greedy[i].ops = {greedy[i].root = graph.find(fmt::format("norm{}", i))};
  for (size_t i = 1; i < count; ++i)
    greedy[count].ops.push_back(graph.find(fmt::format("sum{}", i)));
  greedy[count].ops.push_back(greedy[count].root = graph.root());
  const AtomGraph atoms(module, graph, greedy, {}, {});
  ASSERT_EQ(atoms.size(), count + 1);
  std::vector<GivenKernel> given;
  for (size_t k = 0; k < greedy.size(); ++k)
    given.push_back({{k}, atoms.valuesOf(greedy[k].root), 5000});
  GroupPricing pricing;
  pricing.estimate = [](const KernelGroup &group) {
    return GroupEstimate{{group.allOps().size(), 1}, 100, {}};
  };
  size_t withTheSum = 0;
  pricing.price = [&](const std::vector<PriceQuestion> &questions) {
    for (const PriceQuestion &question : questions)
      withTheSum += question.group.allOps().size() > 1 && question.group.root == graph.root();
    return std::vector<GroupPrice>(questions.size(), GroupPrice{4000, {}});
  };
  pricing.whyNoPlan = [](const KernelGroup &) { return std::string("has one"); };
  const Partition partition = llvm::cantFail(partitionGraph(graph, atoms, given, pricing));
  EXPECT_EQ(withTheSum, 0u);
  const auto told =
      std::count_if(partition.fusions.begin(), partition.fusions.end(), [](const auto &fusion) {
        return fusion.reason == "it reads 79 results of others: more than the 64 that are tried";
      });
  EXPECT_EQ(told, ptrdiff_t(count));
}

TEST(Candidates, WhatIsRefusedAtOnceIsNotAsked) {
  Candidates candidates(R"(HloModule m
ENTRY e {
  p = f32[64,64] parameter(0)
  a = f32[64,64] exponential(p)
  b = f32[64,64] transpose(a), dimensions={1,0}
  c = f32[64,64] tanh(b)
  d = f32[64,64] transpose(c), dimensions={1,0}
  ROOT e = f32[64,64] negate(d)
})");
  const auto estimate = candidates.pricing.estimate;
  candidates.pricing.estimate = [&](const KernelGroup &group) {
    GroupEstimate known = estimate(group);
    const std::set<std::string> names = candidates.namesOf(group);
    if (names.count("b") && names.count("c"))
      known.refusal = "b and c are never one";
    return known;
  };
  const Partition partition = candidates.run();
  EXPECT_FALSE(candidates.asked.empty());
  for (const std::set<std::string> &ops : candidates.asked)
    EXPECT_FALSE(ops.count("b") && ops.count("c"));
  EXPECT_EQ(partition.kernels.size(), 2u);
  const bool isTold = std::any_of(
      partition.fusions.begin(), partition.fusions.end(), [](const FusionChoice &fusion) {
        return !fusion.isFused && fusion.reason == "b and c are never one";
      });
  EXPECT_TRUE(isTold);
}
