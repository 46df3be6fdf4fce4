// Two dots as one kernel: which are proposed, which are taken, and what their tiles must be.
#include "analysis/import/import_file.h"
#include "analysis/ir/inline.h"
#include "analysis/tiling/numeric_tile.h"
#include "tools/explore/chains.h"
#include "tools/explore/explore.h"
#include "tools/explore/testing/explore.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace tilewright;

namespace {

const char *reducers = R"(HloModule m
mx { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] maximum(p, q) }
sm { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }
)";

/// Attention; `middle` makes %n from %s.
std::string attention(const std::string &middle, const std::string &end = "") {
  return std::string(reducers) + R"(
ENTRY e {
  q = bf16[8,256,64]{2,1,0} parameter(0)
  k = bf16[8,512,64]{2,1,0} parameter(1)
  v = bf16[8,512,64]{2,1,0} parameter(2)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  s = f32[8,256,512]{2,1,0} dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
)" + middle +
         R"(
  p = bf16[8,256,512]{2,1,0} convert(n)
  o = bf16[8,256,64]{2,1,0} dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
)" + (end.empty() ? "  ROOT out = bf16[8,256,64]{2,1,0} negate(o)\n}\n" : end);
}

const char *softmax = R"(
  top = f32[8,256]{1,0} reduce(s, low), dimensions={2}, to_apply=mx
  tops = f32[8,256,512]{2,1,0} broadcast(top), dimensions={0,1}
  c = f32[8,256,512]{2,1,0} subtract(s, tops)
  x = f32[8,256,512]{2,1,0} exponential(c)
  sum = f32[8,256]{1,0} reduce(x, zero), dimensions={2}, to_apply=sm
  sums = f32[8,256,512]{2,1,0} broadcast(sum), dimensions={0,1}
  n = f32[8,256,512]{2,1,0} divide(x, sums)
)";
const char *product = R"(
  sum = f32[8,256]{1,0} reduce(s, zero), dimensions={2}, to_apply=sm
  sums = f32[8,256,512]{2,1,0} broadcast(sum), dimensions={0,1}
  n = f32[8,256,512]{2,1,0} multiply(s, sums)
)";
const char *columns = R"(
  sum = f32[8,512]{1,0} reduce(s, zero), dimensions={1}, to_apply=sm
  sums = f32[8,256,512]{2,1,0} broadcast(sum), dimensions={0,2}
  n = f32[8,256,512]{2,1,0} add(s, sums)
)";

std::vector<DotChain> chainsOf(const Module &module) {
  return dotChains(module.entry(), groupSimply(module.entry()).kernels);
}

/// The whole chain of a module with one, tiled.
struct Tiled {
  explicit Tiled(const std::string &text) : module(parseVerified(text)) {
    std::vector<DotChain> chains = chainsOf(module);
    EXPECT_EQ(chains.size(), 1u);
    auto source = kernelSource(module, module.entryId, chains.at(0).whole);
    EXPECT_TRUE(static_cast<bool>(source));
    auto kernel = tileKernel(module, *source);
    EXPECT_TRUE(static_cast<bool>(kernel));
    tiled = *kernel;
  }
  const Constraint *find(std::string_view rule) const {
    for (const Constraint &constraint : tiled.tiled->constraints)
      if (constraint.from.rule == rule)
        return &constraint;
    return nullptr;
  }
  /// Feasible where all is whole, but for these sizes?
  bool accepts(const std::vector<std::pair<std::string, int64_t>> &sizes) const {
    std::vector<int64_t> values;
    for (const TileParameter &p : tiled.tiled->space.parameters)
      values.push_back(p.role == TileParameter::Role::Schedule ? 1 : p.largest());
    for (auto &[name, size] : sizes)
      values.at(*tiled.tiled->space.indexOf(name)) = size;
    return isFeasible(*tiled.tiled, values) == std::optional(true);
  }

  Module module;
  TiledKernel tiled;
};

} // namespace

TEST(DotChains, AttentionIsOne) {
  Module module = parseVerified(attention(softmax));
  std::vector<DotChain> chains = chainsOf(module);
  ASSERT_EQ(chains.size(), 1u);
  const Graph &graph = module.entry();
  EXPECT_EQ(graph.op(chains[0].first).name, "s");
  EXPECT_EQ(graph.op(chains[0].second).name, "o");
  EXPECT_EQ(graph.op(chains[0].whole.root).name, "out");
  EXPECT_EQ(chains[0].kernels.size(), 3u);
  // All ops but parameters and constants.
  EXPECT_EQ(chains[0].whole.ops.size(), 11u);
}

namespace {

/// The same with the division behind the second dot.
std::string dividedLast() {
  const std::string all = softmax;
  std::string middle = all.substr(0, all.find("  sums ="));
  middle += "  n = f32[8,256,512]{2,1,0} copy(x)\n";
  return attention(middle, R"(
  wide = f32[8,256,64]{2,1,0} convert(o)
  sums = f32[8,256,64]{2,1,0} broadcast(sum), dimensions={0,1}
  mean = f32[8,256,64]{2,1,0} divide(wide, sums)
  ROOT out = bf16[8,256,64]{2,1,0} convert(mean)
})");
}

} // namespace

// Rows of sums may be read behind the second dot, rows of the first one's result may not.
TEST(DotChains, ASoftmaxMayDivideLast) {
  std::vector<DotChain> chains = chainsOf(parseVerified(dividedLast()));
  ASSERT_EQ(chains.size(), 1u);
  std::string scores = dividedLast();
  scores.replace(scores.find("broadcast(sum), dimensions={0,1}"), 32,
                 "slice(x), slice={[0:8], [0:256], [0:64]}");
  EXPECT_TRUE(chainsOf(parseVerified(scores)).empty());
}

// Where the division stands in the text makes no difference to what runs.
TEST(DotChains, DividingFirstOrLastTakesTheSameTime) {
  Device device = llvm::cantFail(loadDevice("h100-sxm"));
  ExploreOptions options;
  options.search.maxPriced = 300;
  std::vector<double> times;
  for (const std::string &text : {attention(softmax), dividedLast()}) {
    auto model = llvm::cantFail(
        exploreModel(parseVerified(text), device, priorCalibration(device), options));
    ASSERT_EQ(model.kernels.size(), 1u);
    ASSERT_EQ(model.chains.size(), 1u);
    EXPECT_TRUE(model.chains[0].isTaken);
    times.push_back(model.totalTimeNs);
  }
  EXPECT_NEAR(times[1], times[0], 0.1 * times[0]);
}

TEST(DotChains, WhatOthersReadIsWritten) {
  // The scores are a result, too; or a third dot reads what is between.
  EXPECT_TRUE(chainsOf(parseVerified(attention(softmax, R"(
  ROOT t = (bf16[8,256,64]{2,1,0}, f32[8,256,512]{2,1,0}) tuple(o, s)
})")))
                  .empty());
  EXPECT_TRUE(chainsOf(parseVerified(attention(softmax, R"(
  w = bf16[8,64,64]{2,1,0} dot(k, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  o2 = bf16[8,256,64]{2,1,0} dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  ROOT t = (bf16[8,256,64]{2,1,0}, bf16[8,64,64]{2,1,0}, bf16[8,256,64]{2,1,0}) tuple(o, w, o2)
})")))
                  .empty());
  // What follows the second dot reads the first one's result beside it.
  EXPECT_TRUE(chainsOf(parseVerified(R"(HloModule m
ENTRY e {
  a = f32[64,64]{1,0} parameter(0)
  d = f32[64,64]{1,0} dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d2 = f32[64,64]{1,0} dot(d, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[64,64]{1,0} add(d, d2)
})"))
                  .empty());
  // Both operands depend on the first dot.
  EXPECT_TRUE(chainsOf(parseVerified(R"(HloModule m
ENTRY e {
  a = f32[64,64]{1,0} parameter(0)
  d = f32[64,64]{1,0} dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT d2 = f32[64,64]{1,0} dot(d, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})"))
                  .empty());
}

TEST(DotChains, LongChainsOverlap) {
  std::string text = R"(HloModule m
ENTRY e {
  a0 = f32[64,64]{1,0} parameter(0)
)";
  for (int i = 1; i <= 6; ++i)
    text += fmt::format("  {}a{} = f32[64,64]{{1,0}} dot(a{}, a0), lhs_contracting_dims={{1}}, "
                        "rhs_contracting_dims={{0}}\n",
                        i == 6 ? "ROOT " : "", i, i - 1);
  Module module = parseVerified(text + "}\n");
  std::vector<DotChain> chains = chainsOf(module);
  ASSERT_EQ(chains.size(), 5u);
  EXPECT_EQ(chooseChains(chains, std::vector<double>{1, 1, 1, 1, 1}),
            (std::vector<size_t>{0, 2, 4}));
  EXPECT_EQ(chooseChains(chains, std::vector<double>{2, 3, 2, 0, -1}), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(chooseChains(chains, std::vector<double>{2, 5, 2, 1, 3}), (std::vector<size_t>{1, 4}));
}

/// Random forests of chains, against all subsets.
TEST(DotChains, TheChoiceSavesTheMost) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    size_t count = 2 + random() % 8;
    std::vector<DotChain> chains;
    std::vector<double> gains;
    for (size_t from = 0; from + 1 < count; ++from) {
      if (random() % 5 == 0)
        continue;
      DotChain chain;
      chain.kernels = {from, from + 1 + random() % (count - 1 - from)};
      chains.push_back(chain);
      gains.push_back(double(random() % 20) - 4);
    }
    double best = 0;
    for (size_t subset = 0; subset < size_t(1) << chains.size(); ++subset) {
      std::set<size_t> used;
      double sum = 0;
      bool isDisjoint = true;
      for (size_t c = 0; c < chains.size(); ++c)
        if (subset >> c & 1) {
          sum += gains[c];
          for (size_t kernel : chains[c].kernels)
            isDisjoint &= used.insert(kernel).second;
        }
      if (isDisjoint)
        best = std::max(best, sum);
    }
    std::set<size_t> used;
    double sum = 0;
    for (size_t c : chooseChains(chains, gains)) {
      EXPECT_GT(gains[c], 0);
      sum += gains[c];
      for (size_t kernel : chains[c].kernels)
        EXPECT_TRUE(used.insert(kernel).second);
    }
    EXPECT_EQ(sum, best);
  }
}

TEST(ChainTiles, ASoftmaxIsCarriedAlong) {
  Tiled chain(attention(softmax));
  EXPECT_EQ(chain.find("whole-row"), nullptr);
  EXPECT_EQ(chain.find("one-tile"), nullptr);
  EXPECT_FALSE(chain.tiled.tiled->space.indexOf("r0")) << "reduced in the loop of the second dot";
  EXPECT_TRUE(chain.accepts({{"k0", 64}, {"t1", 32}}));
  EXPECT_TRUE(chain.accepts({{"k0", 7}, {"t1", 5}, {"k1", 16}}));
}

TEST(ChainTiles, NoSplitBehindAnotherDot) {
  for (const std::string &between :
       {std::string(softmax), std::string("  n = f32[8,256,512]{2,1,0} negate(s)")}) {
    std::string text = attention(between, "}\n");
    text.replace(text.find("  o = bf16"), 2, "  ROOT ");
    Tiled chain(text);
    EXPECT_TRUE(chain.accepts({{"k0", 64}, {"split_k", 1}}));
    EXPECT_FALSE(chain.accepts({{"k0", 64}, {"split_k", 2}})) << between;
  }
}

TEST(ChainTiles, TheTransposedOrderSharesTheLoopToo) {
  std::string text = attention(softmax);
  auto replace = [&](const std::string &from, const std::string &to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("o = bf16[8,256,64]{2,1,0} dot(p, v)", "o = bf16[8,64,256]{2,1,0} dot(v, p)");
  replace("lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
          "lhs_contracting_dims={1}, rhs_contracting_dims={2}\n");
  replace("out = bf16[8,256,64]{2,1,0} negate", "out = bf16[8,64,256]{2,1,0} negate");
  Tiled chain(text);
  EXPECT_FALSE(chain.tiled.tiled->space.indexOf("r0"));
  EXPECT_TRUE(chain.accepts({{"k0", 64}, {"t2", 32}}));
}

TEST(ChainTiles, WhatCantBeCarriedNeedsTheWholeRow) {
  Tiled chain(attention(product));
  const Constraint *whole = chain.find("whole-row");
  ASSERT_NE(whole, nullptr);
  Assignment point;
  point.set(chain.tiled.tiled->space.find("k0")->size, 64);
  EXPECT_EQ(whole->describe(point),
            "%o: tile 64 must be the whole row of 512: %p depends on %sum in a way that can't be "
            "corrected later");
  EXPECT_FALSE(chain.accepts({{"k0", 64}}));
  EXPECT_FALSE(chain.accepts({{"k0", 511}}));
  EXPECT_TRUE(chain.accepts({{"t1", 32}}));
}

TEST(ChainTiles, AReductionOverTheRowsNeedsAllOfThem) {
  Tiled chain(attention(columns));
  const Constraint *same = chain.find("one-tile");
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->describe({}), "%s: the tile of t1, r0 must be the whole dim: %s, which is made "
                                "once, is needed with different tiles");
  EXPECT_FALSE(chain.accepts({{"t1", 32}}));
}

TEST(ExploreChains, TheAttentionOfBundledModelsIsFused) {
  auto device = loadDevice("h100-sxm");
  ASSERT_TRUE(static_cast<bool>(device));
  Calibration calibration = priorCalibration(*device);
  ExploreOptions options;
  options.search.maxPriced = 100;
  options.isGreedy = true; // nothing but chains is fused beyond the simple grouping
  for (auto [name, first, second] :
       {std::tuple("gpt2_block", "dot_general.7", "dot_general.8"),
        std::tuple("bert_base_layer", "dot_general.7", "dot_general.8"),
        std::tuple("llama3_8b_prefill", "dot_general.12", "dot_general.13")}) {
    auto module = importFile(fmt::format("datasets/models/{}.hlo.txt", name));
    ASSERT_TRUE(static_cast<bool>(module)) << name;
    auto model = exploreModel(*module, *device, calibration, options);
    ASSERT_TRUE(static_cast<bool>(model)) << name;
    bool isFound = false;
    double gain = 0;
    for (const ExploredChain &chain : model->chains) {
      EXPECT_EQ(chain.reason.empty(), chain.fusedNs > 0);
      if (!chain.isTaken)
        continue;
      gain += chain.unfusedNs - chain.fusedNs;
      EXPECT_LT(chain.fusedNs, chain.unfusedNs);
      isFound |= chain.first == first && chain.second == second;
    }
    EXPECT_TRUE(isFound) << name;
    EXPECT_NEAR(model->simpleGroupingNs - model->totalTimeNs, gain, 1);
    std::set<std::string> seen;
    for (const ExploredKernel &kernel : model->kernels)
      for (const std::string &op : kernel.ops)
        EXPECT_TRUE(seen.insert(op).second) << op << " is counted twice";
  }
}
