// Partitions of small graphs: what is joined, split, computed again or forced.
#include "analysis/import/import_file.h"
#include "tools/explore/group_explorer.h"
#include "tools/explore/partition/columns.h"
#include "tools/explore/partition/partition.h"
#include "tools/explore/partition/structure_key.h"
#include "tools/explore/prepared_model.h"
#include "tools/explore/testing/explore.h"
#include "tools/explore/testing/missing_values.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace tilewright;

namespace {

ExploredModel partitioned(const Module &module, ExploreOptions options = {}) {
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

const char *const softmaxOfAll = R"(HloModule m
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  logits = bf16[4096,4096] parameter(0)
  wide = f32[4096,4096] convert(logits)
  powers = f32[4096,4096] exponential(wide)
  zero = f32[] constant(0)
  sum = f32[] reduce(powers, zero), dimensions={0,1}, to_apply=add
  sums = f32[4096,4096] broadcast(sum), dimensions={}
  shares = f32[4096,4096] divide(powers, sums)
  ROOT t = bf16[4096,4096] convert(shares)
})";

/// Ops of squares: pointwise, transposed, reduced and spread again, multiplied. All that nobody
/// reads is a result.
std::string randomSquares(unsigned seed, size_t count) {
  std::mt19937 random(seed);
  const char *const square = "f32[256,256]";
  std::string text = "HloModule m\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                     "  ROOT s = f32[] add(x, y)\n}\nENTRY e {\n  zero = f32[] constant(0)\n";
  std::vector<std::string> values, unread;
  for (const char *name : {"p0", "p1"}) {
    text += fmt::format("  {} = {} parameter({})\n", name, square, values.size());
    values.push_back(name);
  }
  auto read = [&] {
    const std::string name =
        values[values.size() - 1 - random() % std::min<size_t>(values.size(), 5)];
    std::erase(unread, name);
    return name;
  };
  for (size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("v{}", i), a = read(), b = read();
    switch (random() % 8) {
    case 0:
      text += fmt::format("  {} = {} transpose({}), dimensions={{1,0}}\n", name, square, a);
      break;
    case 1:
      text += fmt::format("  {0}r = f32[256] reduce({2}, zero), dimensions={{1}}, to_apply=add\n"
                          "  {0} = {1} broadcast({0}r), dimensions={{0}}\n",
                          name, square, a);
      break;
    case 2:
      text += fmt::format("  {} = {} dot({}, {}), lhs_contracting_dims={{1}}, "
                          "rhs_contracting_dims={{0}}\n",
                          name, square, a, b);
      break;
    case 3:
      text += fmt::format("  {} = {} exponential({})\n", name, square, a);
      break;
    default:
      text += fmt::format("  {} = {} add({}, {})\n", name, square, a, b);
    }
    values.push_back(name);
    unread.push_back(name);
  }
  std::vector<std::string> shapes(unread.size(), square);
  return text + fmt::format("  ROOT t = ({}) tuple({})\n}}\n", fmt::join(shapes, ", "),
                            fmt::join(unread, ", "));
}

/// What is missing when the kernels run, in a line each.
std::string missingValues(const Module &module, const ExploredModel &model) {
  llvm::Expected<PreparedModel> prepared = prepareModel(module);
  if (!prepared)
    return takeDiag(prepared.takeError()).str();
  return fmt::format("{}", fmt::join(MissingValues(prepared->module->entry(), model).lines, "\n"));
}

} // namespace

TEST(Partition, WhatAKernelReadsWasStored) {
  size_t better = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const std::string text = randomSquares(seed, 6 + 2 * seed);
    const Module module = parseVerified(text);
    const ExploredModel model = partitioned(module);
    EXPECT_EQ(missingValues(module, model), "") << text;
    EXPECT_LE(model.totalTimeNs, model.greedyNs) << text;
    EXPECT_TRUE(model.isComplete()) << text;
    better += model.totalTimeNs < model.greedyNs;
  }
  EXPECT_GT(better, 2u); // or nothing was chosen
}

// Chains that were refused as one kernel once counted as kernels that take no time.
TEST(Partition, WhatKernelsOfNetworksReadWasStored) {
  for (const char *name : {"mlp_mixer_b16", "gpt2_block", "dlrm", "resnet50_bottleneck"}) {
    auto module = importFile(fmt::format("datasets/models/{}.hlo.txt", name));
    ASSERT_TRUE(bool(module)) << name;
    const ExploredModel model = partitioned(*module);
    EXPECT_EQ(missingValues(*module, model), "") << name;
    EXPECT_LE(model.totalTimeNs, model.greedyNs) << name;
    EXPECT_GE(model.totalTimeNs, model.lowerBoundNs) << name;
  }
}

// What a group can't be cheaper than decides whether it is priced at all.
TEST(Partition, NoPlanIsPricedBelowTheLeastPrice) {
  const Explored explored;
  const Parameters parameters = parametersFor(explored.calibration, explored.device);
  for (const char *name : {"gpt2_block", "dlrm", "resnet50_bottleneck", "vit_b16_embed"})
    for (CacheState cache : {CacheState::Warm, CacheState::Clean, CacheState::Flushed}) {
      auto module = importFile(fmt::format("datasets/models/{}.hlo.txt", name));
      ASSERT_TRUE(bool(module)) << name;
      ExploreOptions options;
      options.plans.cache = cache;
      for (const ExploredKernel &kernel : Explored().run(*module, options).kernels) {
        const auto &[plan, estimate] = kernel.plans.front();
        const NeededWork work = neededWork(*plan.module, plan.ops(), plan.tiled->group);
        double least = parameters.launch;
        for (Instruction strongest : {Instruction::Wgmma, Instruction::MmaSync, Instruction::Fma}) {
          const double next = leastPriceNs(work, explored.device, parameters, cache, strongest);
          EXPECT_GE(next, least) << name << " " << kernel.name;
          least = next;
          if (strongest == plan.instruction) {
            EXPECT_GE(estimate.timeNs, least) << name << " " << kernel.name;
          }
        }
      }
    }
}

// Attention reads its rows where the projection of all of them lies: no slice is written.
TEST(Partition, AChainReadsSlices) {
  const Module module = parseVerified(R"(HloModule m
max { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] maximum(p, q) }
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }
ENTRY e {
  qkv = bf16[8,512,192] parameter(0)
  q = bf16[8,512,64] slice(qkv), slice={[0:8], [0:512], [0:64]}
  k = bf16[8,512,64] slice(qkv), slice={[0:8], [0:512], [64:128]}
  v = bf16[8,512,64] slice(qkv), slice={[0:8], [0:512], [128:192]}
  s = f32[8,512,512] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  low = f32[] constant(-inf)
  m = f32[8,512] reduce(s, low), dimensions={2}, to_apply=max
  mb = f32[8,512,512] broadcast(m), dimensions={0,1}
  d = f32[8,512,512] subtract(s, mb)
  e = f32[8,512,512] exponential(d)
  zero = f32[] constant(0)
  z = f32[8,512] reduce(e, zero), dimensions={2}, to_apply=add
  zb = f32[8,512,512] broadcast(z), dimensions={0,1}
  f = f32[8,512,512] divide(e, zb)
  p = bf16[8,512,512] convert(f)
  ROOT o = bf16[8,512,64] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
})");
  const ExploredModel model = partitioned(module);
  EXPECT_LT(model.totalTimeNs, model.greedyNs);
  EXPECT_EQ(model.kernels.size(), 1u);
  EXPECT_EQ(missingValues(module, model), "");
}

// The convert, which two reductions read, is computed in both, or all are one kernel: its f32 copy
// is never written.
TEST(Partition, AValueOfTwoReadersIsNotWritten) {
  const ExploredModel model = partitioned(parseVerified(twoLosses));
  for (const ExploredKernel &kernel : model.kernels)
    EXPECT_EQ(std::count(kernel.results.begin(), kernel.results.end(), "wide"), 0);
  EXPECT_LT(model.totalTimeNs, 0.6 * model.greedyNs);
  EXPECT_TRUE(model.isComplete());
}

// The powers are read by the sum, which comes back to a kernel that computes them again.
TEST(Partition, AValueIsComputedAgainBehindItsReader) {
  const ExploredModel model = partitioned(parseVerified(softmaxOfAll));
  ASSERT_EQ(model.kernels.size(), 2u);
  for (const ExploredKernel &kernel : model.kernels)
    EXPECT_EQ(std::count(kernel.results.begin(), kernel.results.end(), "powers"), 0);
  EXPECT_TRUE(model.isComplete());
}

TEST(Partition, EachOpCountsOnceAndNothingIsSlowerThanGreedy) {
  for (const char *text : {twoLosses, diamond, denseLayer, softmaxOfAll}) {
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
  EXPECT_EQ(refusalOf(module, options, DiagClass::BadInput), "no op %nothing in the module");
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

/// Prices by the number of ops, with which some groups are a little cheaper than others.
struct MadeUpPrices {
  const Module module;
  const Grouping grouping = groupSingly(module.entry());
  const AtomGraph atoms{module, module.entry(), grouping.kernels, {}, {}};
  std::vector<GivenKernel> given;
  GroupPricing pricing;

  MadeUpPrices(const std::string &text, unsigned seed) : module(parseVerified(text)) {
    for (size_t k = 0; k < grouping.kernels.size(); ++k)
      given.push_back({{k}, atoms.valuesOf(grouping.kernels[k].root), 1600});
    auto priceOf = [this, seed](const KernelGroup &group) {
      uint32_t hash = seed;
      for (OpId op : group.allOps())
        hash = (hash ^ op.index) * 0x9e3779b9;
      return 300 + 900 * double(group.allOps().size()) + double(hash >> 16) / 200;
    };
    pricing.estimate = [](const KernelGroup &group) {
      StructureKey kind{1, 1};
      for (OpId op : group.allOps())
        kind = {kind.first * 31 + op.index, kind.second * 37 + op.index};
      return GroupEstimate{kind, 1000, {}};
    };
    pricing.price = [priceOf](const std::vector<PriceQuestion> &questions) {
      std::vector<GroupPrice> prices;
      for (const PriceQuestion &question : questions)
        prices.push_back({priceOf(question.group), ""});
      return prices;
    };
    pricing.whyNoPlan = [](const KernelGroup &) { return std::string("has one"); };
    timeOf = [this, priceOf](const std::vector<PartitionKernel> &kernels) {
      double sum = 0;
      for (const PartitionKernel &kernel : kernels)
        sum += kernel.given ? given[*kernel.given].timeNs : priceOf(kernel.group);
      return sum;
    };
  }
  std::function<double(const std::vector<PartitionKernel> &)> timeOf;

  Partition run() const {
    return llvm::cantFail(partitionGraph(module.entry(), atoms, given, pricing));
  }
};

// What a kernel takes that makes less is a bound, if it computes the same for what it makes.
TEST(Partition, AKernelThatMakesMoreTakesNoLess) {
  const Module module = parseVerified(R"(HloModule m
ENTRY e {
  p = f32[64,64] parameter(0)
  a = f32[64,64] transpose(p), dimensions={1,0}
  b = f32[64,64] transpose(a), dimensions={1,0}
  c = f32[64,64] transpose(b), dimensions={1,0}
  ROOT t = (f32[64,64], f32[64,64], f32[64,64]) tuple(a, b, c)
})");
  const Grouping grouping = groupSingly(module.entry());
  const AtomGraph atoms(module, module.entry(), grouping.kernels, {}, {});
  ASSERT_EQ(atoms.size(), 3u);
  uint64_t kinds = 0;
  size_t questions = 0;
  GroupPricing pricing;
  pricing.estimate = [&](const KernelGroup &) { return GroupEstimate{{++kinds, 0}, 1000, {}}; };
  pricing.price = [&](const std::vector<PriceQuestion> &asked) {
    questions += asked.size();
    return std::vector<GroupPrice>(asked.size(), {9000, ""});
  };
  Columns columns(module.entry(), atoms, pricing);
  auto costOf = [&](const AtomGroup &group) {
    return columns.problem.columns[columns.findProposed(group).value()].cost;
  };
  const AtomGroup last{{0, 1, 2}, {2}}, lastTwo{{0, 1, 2}, {1, 2}}, all{{0, 1, 2}, {0, 1, 2}},
      two{{0, 1}, {1}}, alone{{2}, {2}};
  for (const AtomGroup &group : {last, lastTwo, two, alone})
    columns.propose(group);
  columns.priceGroups({last}, 1e9);
  EXPECT_EQ(costOf(last), 9000);
  EXPECT_NEAR(costOf(lastTwo), 9000, 300); // the same, and b
  EXPECT_EQ(costOf(two), 1000);            // does less
  EXPECT_EQ(costOf(alone), 1000);          // computes nothing for it
  columns.propose(all);                    // later
  EXPECT_NEAR(costOf(all), 9000, 300);
  EXPECT_EQ(questions, 1u);
  columns.priceGroups({all}, 5000); // not worth it
  EXPECT_EQ(questions, 1u);
}

// Each question raises the bound, until the price is known.
TEST(Partition, WhoAsksAgainIsToldMore) {
  const auto module = std::make_shared<const Module>(parseVerified(R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }
ENTRY e {
  x = bf16[1024,1024] parameter(0)
  w = bf16[1024,1024] parameter(1)
  zero = f32[] constant(0)
  f = f32[1024,1024] convert(x)
  s = f32[1024] reduce(f, zero), dimensions={0}, to_apply=add
  b = f32[1024,1024] broadcast(s), dimensions={1}
  n = f32[1024,1024] divide(f, b)
  l = bf16[1024,1024] convert(n)
  ROOT d = bf16[1024,1024] dot(l, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})"));
  const Explored explored;
  ExploreOptions options;
  options.isGreedy = true;
  const GroupExplorer groups(module, explored.device, explored.calibration, options);
  KernelGroup group;
  for (const char *name : {"zero", "f", "s", "b", "n", "l", "d"})
    group.ops.push_back(module->entry().find(name));
  std::sort(group.ops.begin(), group.ops.end());
  group.root = module->entry().root();
  double lastNs = groups.estimate(module->entryId, group).leastNs;
  size_t bounds = 0;
  for (unsigned asked = 0;; ++asked) {
    ASSERT_LT(asked, 4u);
    const GroupPrice price = groups.price(module->entryId, group, asked);
    ASSERT_EQ(price.refusal, "");
    EXPECT_GE(price.timeNs, lastNs);
    lastNs = price.timeNs;
    EXPECT_EQ(groups.price(module->entryId, group, asked).timeNs, lastNs); // the same again
    if (!price.isLeast)
      break;
    ++bounds;
  }
  EXPECT_GE(bounds, 1u);
  // A stronger instruction that is asked for alone has no plan that is faster.
  for (Instruction instruction : {Instruction::Wgmma, Instruction::MmaSync, Instruction::Fma}) {
    options.plans.instruction = instruction;
    const GroupPrice alone = GroupExplorer(module, explored.device, explored.calibration, options)
                                 .price(module->entryId, group, 0);
    EXPECT_FALSE(alone.isLeast);
    if (alone.refusal.empty()) {
      EXPECT_GE(alone.timeNs, lastNs) << toString(instruction);
    }
  }
}

// Which of the best choices is taken is asked; whatever the answer is, it is what comes out.
TEST(Partition, OneOfTheBestChoicesIsPicked) {
  size_t picked = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    MadeUpPrices made(randomSquares(seed, 8), seed);
    const Partition best = made.run();
    ASSERT_TRUE(best.isOptimal) << seed;
    EXPECT_NEAR(best.timeNs, made.timeOf(best.kernels), 1e-6) << seed;
    size_t wanted = 0, count = 1;
    std::vector<double> times;
    made.pricing.pick = [&](std::span<const std::vector<PartitionKernel>> choices) {
      count = choices.size();
      times.clear();
      for (const std::vector<PartitionKernel> &kernels : choices)
        times.push_back(made.timeOf(kernels));
      return wanted;
    };
    for (; wanted < count; ++wanted) {
      const Partition other = made.run();
      EXPECT_NEAR(other.boundNs, best.timeNs, 1e-6) << seed;
      EXPECT_TRUE(other.isOptimal) << seed;
      if (count < 2)
        break;
      EXPECT_TRUE(std::is_sorted(times.begin(), times.end())) << seed;
      EXPECT_NEAR(times.front(), best.timeNs, 1e-6) << seed;
      EXPECT_NEAR(other.timeNs, times[wanted], 1e-6) << seed << " " << wanted;
      EXPECT_NEAR(made.timeOf(other.kernels), times[wanted], 1e-6) << seed << " " << wanted;
      ++picked;
    }
  }
  EXPECT_GT(picked, 20u); // or nothing was tested
}

/// Groups of one structure are priced once, however many layers have them, and the layers are
/// chosen alike.
TEST(Partition, LayersArePricedOnce) {
  struct Answer {
    double timeNs;
    size_t priced;
  };
  auto answerOf = [](size_t layers) {
    std::string text = "HloModule m\nENTRY e {\n  x0 = f32[64,64] parameter(0)\n";
    for (size_t i = 0; i < layers; ++i)
      text += fmt::format(R"(  a{0} = f32[64,64] exponential(x{0})
  b{0} = f32[64,64] transpose(a{0}), dimensions={{1,0}}
  c{0} = f32[64,64] multiply(b{0}, x{0})
  d{0} = f32[64,64] transpose(c{0}), dimensions={{1,0}}
  {2}x{1} = f32[64,64] subtract(d{0}, a{0})
)",
                          i, i + 1, i + 1 == layers ? "ROOT " : "");
    const Module module = parseVerified(text + "}\n");
    const Graph &graph = module.entry();
    const StructureKeys keys(module);
    const Grouping grouping = groupSingly(graph);
    const AtomGraph atoms(module, graph, grouping.kernels, {}, {});
    std::vector<GivenKernel> given;
    for (size_t k = 0; k < grouping.kernels.size(); ++k)
      given.push_back({{k}, atoms.valuesOf(grouping.kernels[k].root), 5000});
    Answer answer{0, 0};
    GroupPricing pricing;
    pricing.estimate = [&](const KernelGroup &group) {
      const auto source = llvm::expectedToOptional(kernelSource(module, module.entryId, group));
      return source ? GroupEstimate{keys.of(source->graph, source->group), 2000, {}}
                    : GroupEstimate{{}, 0, "it is not convex"};
    };
    pricing.price = [&](const std::vector<PriceQuestion> &questions) {
      std::vector<GroupPrice> prices;
      for (const PriceQuestion &question : questions) {
        const double ops = double(question.group.allOps().size());
        prices.push_back({3000 + 400 * ops * ops, {}});
      }
      answer.priced += questions.size();
      return prices;
    };
    pricing.whyNoPlan = [](const KernelGroup &) { return std::string("has one"); };
    answer.timeNs = llvm::cantFail(partitionGraph(graph, atoms, given, pricing)).timeNs;
    return answer;
  };
  const Answer few = answerOf(125), most = answerOf(250);
  EXPECT_GT(few.priced, 5u);
  EXPECT_LE(most.priced, few.priced + few.priced / 4);
  EXPECT_NEAR(most.timeNs / 250, few.timeNs / 125, 0.01 * few.timeNs / 125);
  EXPECT_LT(most.timeNs, 0.9 * 5000 * 5 * 250);
}
