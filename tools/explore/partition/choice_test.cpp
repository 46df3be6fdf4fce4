// The choice among columns against all choices there are.
#include "tools/explore/partition/choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace tilewright;

namespace {

struct RandomProblem {
  ChoiceProblem problem;
  std::map<std::pair<uint32_t, uint32_t>, double> prices; ///< by atoms and results, as bits

  /// Every group with every set of results, of which none needs another one from outside; more
  /// atoms or results cost more.
  RandomProblem(unsigned seed, size_t atoms) {
    std::mt19937 random(seed);
    auto below = [&](unsigned n) { return unsigned(random() % n); };
    for (AtomId a = 0; a < atoms; ++a) {
      std::vector<AtomId> reads;
      for (AtomId from = a > 4 ? a - 4 : 0; from < a; ++from)
        if (below(3) == 0)
          reads.push_back(from);
      problem.reads.push_back(reads);
    }
    std::vector<uint32_t> before(atoms), after(atoms);
    for (AtomId a = 0; a < atoms; ++a)
      for (AtomId from : problem.reads[a])
        before[a] |= before[from] | 1u << from;
    for (AtomId a = 0; a < atoms; ++a)
      for (AtomId b = 0; b < atoms; ++b)
        if (before[b] >> a & 1)
          after[a] |= 1u << b;
    uint32_t isRead = 0;
    for (AtomId a = 0; a < atoms; ++a)
      for (AtomId from : problem.reads[a])
        isRead |= 1u << from;
    for (AtomId a = 0; a < atoms; ++a)
      if (!(isRead >> a & 1) || below(8) == 0)
        problem.required.push_back(a);
    std::vector<double> work(atoms), traffic(atoms);
    for (AtomId a = 0; a < atoms; ++a) {
      work[a] = below(8);
      traffic[a] = 1 + below(10);
    }
    for (uint32_t set = 1; set < 1u << atoms; ++set) {
      if (std::popcount(set) > 5)
        continue;
      for (uint32_t results = set; results; results = (results - 1) & set) {
        uint32_t needed = results;
        for (AtomId a = 0; a < atoms; ++a)
          if (results >> a & 1)
            needed |= before[a] & set;
        bool waitsForItself = false; // for a result of its own
        for (AtomId a = 0; a < atoms; ++a)
          waitsForItself |= !(set >> a & 1) && (before[a] & results) && (after[a] & set);
        if (needed != set || waitsForItself) // something is dead
          continue;
        add(set, results, work, traffic, below(4) == 0 ? below(6) : 0);
      }
    }
  }

  void add(uint32_t set, uint32_t results, const std::vector<double> &work,
           const std::vector<double> &traffic, double extra) {
    Column column;
    column.cost = 2 + extra;
    for (AtomId a = 0; a < problem.reads.size(); ++a) {
      if (!(set >> a & 1))
        continue;
      column.atoms.push_back(a);
      column.cost += work[a];
      if (results >> a & 1) {
        column.results.push_back(a);
        column.cost += traffic[a];
      }
      for (AtomId from : problem.reads[a])
        if (!(set >> from & 1) &&
            std::find(column.inputs.begin(), column.inputs.end(), from) == column.inputs.end()) {
          column.inputs.push_back(from);
          column.cost += traffic[from];
        }
    }
    std::sort(column.inputs.begin(), column.inputs.end());
    problem.columns.push_back(std::move(column));
  }
};

/// The least cost of storing what is required, over all sets of stored values and all orders:
/// forwards from nothing, unlike the search.
double bruteForce(const ChoiceProblem &problem) {
  const size_t atoms = problem.reads.size();
  std::vector<double> least(size_t(1) << atoms, std::numeric_limits<double>::infinity());
  least[0] = 0;
  uint32_t wanted = 0;
  for (AtomId a : problem.required)
    wanted |= 1u << a;
  double best = std::numeric_limits<double>::infinity();
  for (uint32_t stored = 0; stored < 1u << atoms; ++stored) { // stored values only grow
    if (least[stored] >= best)
      continue;
    if ((stored & wanted) == wanted)
      best = std::min(best, least[stored]);
    for (const Column &column : problem.columns) {
      uint32_t reads = 0, makes = 0;
      for (AtomId a : column.inputs)
        reads |= 1u << a;
      for (AtomId a : column.results)
        makes |= 1u << a;
      if ((reads & ~stored) == 0 && (makes & ~stored) != 0)
        least[stored | makes] = std::min(least[stored | makes], least[stored] + column.cost);
    }
  }
  return best;
}

/// The costs below `limit` of all choices without a spare column, ascending: whatever is missing is
/// made by each of the columns that store it in turn.
std::vector<double> allChoices(const ChoiceProblem &problem, double limit) {
  std::set<std::vector<size_t>> found, seen;
  std::vector<double> costs;
  auto canRun = [&](const std::vector<size_t> &columns) {
    return runningOrder(problem, columns).has_value();
  };
  auto hasSpare = [&](const std::vector<size_t> &columns) {
    for (size_t i = 0; i < columns.size(); ++i) {
      std::vector<size_t> others = columns;
      others.erase(others.begin() + ptrdiff_t(i));
      if (canRun(others))
        return true;
    }
    return false;
  };
  std::function<void(std::vector<size_t>, double)> grow = [&](std::vector<size_t> columns,
                                                              double cost) {
    std::sort(columns.begin(), columns.end());
    if (cost >= limit || !seen.insert(columns).second)
      return;
    std::set<AtomId> stored, missing(problem.required.begin(), problem.required.end());
    for (size_t c : columns) {
      missing.insert(problem.columns[c].inputs.begin(), problem.columns[c].inputs.end());
      stored.insert(problem.columns[c].results.begin(), problem.columns[c].results.end());
    }
    for (AtomId value : stored)
      missing.erase(value);
    // A cycle may be broken by what stores a value once more.
    const bool isWhole = missing.empty();
    if (isWhole && canRun(columns)) {
      if (!hasSpare(columns) && found.insert(columns).second)
        costs.push_back(cost);
      return;
    }
    const std::set<AtomId> &wanted = isWhole ? stored : missing;
    for (size_t c = 0; c < problem.columns.size(); ++c) {
      const std::vector<AtomId> &results = problem.columns[c].results;
      const bool isOfUse =
          isWhole ? std::any_of(results.begin(), results.end(),
                                [&](AtomId a) { return wanted.count(a) > 0; })
                  : std::binary_search(results.begin(), results.end(), *wanted.rbegin());
      if (!isOfUse || std::find(columns.begin(), columns.end(), c) != columns.end())
        continue;
      columns.push_back(c);
      grow(columns, cost + problem.columns[c].cost);
      columns.pop_back();
    }
  };
  grow({}, 0);
  std::sort(costs.begin(), costs.end());
  return costs;
}

double costOf(const ChoiceProblem &problem, const KernelChoice &choice) {
  double cost = 0;
  for (size_t c : choice.columns)
    cost += problem.columns[c].cost;
  return cost;
}

} // namespace

TEST(KernelChoice, IsTheBestOfAll) {
  size_t recomputed = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const RandomProblem random(seed, 4 + seed % 9);
    const KernelChoice choice = chooseExactly(random.problem);
    ASSERT_TRUE(choice.isOptimal) << "seed " << seed;
    EXPECT_NEAR(choice.cost, bruteForce(random.problem), 1e-9) << "seed " << seed;
    EXPECT_NEAR(choice.cost, costOf(random.problem, choice), 1e-9) << "seed " << seed;
    EXPECT_TRUE(runningOrder(random.problem, choice.columns).has_value()) << "seed " << seed;
    EXPECT_LE(packingBound(random.problem), choice.cost + 1e-9) << "seed " << seed;
    std::set<AtomId> atoms;
    size_t count = 0;
    for (size_t c : choice.columns)
      for (AtomId a : random.problem.columns[c].atoms) {
        atoms.insert(a);
        ++count;
      }
    recomputed += count > atoms.size();
  }
  EXPECT_GT(recomputed, 5u); // or nothing was tested of it
}

TEST(KernelChoice, TheBestOnesAreTheBestOfAll) {
  constexpr size_t count = 12;
  size_t full = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const RandomProblem random(seed, 4 + seed % 4);
    const double limit = 1.3 * chooseExactly(random.problem).cost;
    const std::vector<KernelChoice> best = chooseBest(random.problem, count, limit);
    const std::vector<double> all = allChoices(random.problem, limit);
    ASSERT_EQ(best.size(), std::min(count, all.size())) << "seed " << seed;
    std::set<std::vector<size_t>> different;
    for (size_t i = 0; i < best.size(); ++i) {
      EXPECT_NEAR(best[i].cost, all[i], 1e-9) << "seed " << seed << " choice " << i;
      EXPECT_NEAR(best[i].cost, costOf(random.problem, best[i]), 1e-9) << "seed " << seed;
      EXPECT_TRUE(runningOrder(random.problem, best[i].columns).has_value()) << "seed " << seed;
      std::vector<size_t> columns = best[i].columns;
      std::sort(columns.begin(), columns.end());
      EXPECT_TRUE(different.insert(columns).second) << "seed " << seed << " choice " << i;
    }
    full += best.size() == count;
  }
  EXPECT_GT(full, 10u);
}

TEST(KernelChoice, ThePackingComesNearToTheBest) {
  double bounds = 0, costs = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const RandomProblem random(seed, 9);
    bounds += packingBound(random.problem);
    costs += chooseExactly(random.problem).cost;
  }
  EXPECT_GE(bounds, 0.93 * costs); // 0.91 where atoms pay for nothing that is read
}

TEST(KernelChoice, WindowsComeNearToTheBest) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const RandomProblem random(seed, 12);
    KernelChoice single;
    for (size_t c = 0; c < random.problem.columns.size(); ++c)
      if (random.problem.columns[c].atoms.size() == 1)
        single.columns.push_back(c);
    const double before = costOf(random.problem, single);
    KnownWindows known;
    ChoiceSearch search(random.problem, single, known);
    search.improve();
    const KernelChoice &better = search.choice();
    EXPECT_LE(better.cost, before) << "seed " << seed;
    EXPECT_TRUE(runningOrder(random.problem, better.columns).has_value()) << "seed " << seed;
    const KernelChoice exact = chooseExactly(random.problem);
    EXPECT_GE(better.cost, exact.cost - 1e-9) << "seed " << seed;
    EXPECT_LE(better.cost, 1.25 * exact.cost) << "seed " << seed;
  }
}

/// A problem most of whose columns have estimates, of which some have no kernel at all.
struct EstimatedProblem : RandomProblem {
  ChoiceProblem priced; ///< as it turns out to be
  size_t asked = 0;

  explicit EstimatedProblem(unsigned seed) : RandomProblem(seed, 4 + seed % 4), priced(problem) {
    std::mt19937 random(seed + 1);
    for (size_t c = 0; c < problem.columns.size(); ++c) {
      Column &column = problem.columns[c];
      if (column.atoms.size() == 1)
        continue;
      column.isEstimate = true;
      column.cost *= double(2 + random() % 7) / 8;
      if (random() % 8 == 0)
        priced.columns[c].cost = std::numeric_limits<double>::infinity();
    }
  }

  AskCosts ask() {
    return [this](std::span<const size_t> columns) {
      for (size_t c : columns) {
        EXPECT_TRUE(problem.columns[c].isEstimate);
        problem.columns[c].isEstimate = false;
        problem.columns[c].cost = priced.columns[c].cost;
        ++asked;
      }
    };
  }
};

TEST(KernelChoice, EstimatesChangeNothing) {
  size_t asked = 0, columns = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    EstimatedProblem random(seed);
    double single = 1; // what all atoms alone cost, and a little
    for (const Column &column : random.problem.columns)
      single += column.atoms.size() == 1 ? column.cost : 0;
    const KernelChoice choice = choosePriced(random.problem, random.ask(), single);
    ASSERT_TRUE(choice.isOptimal) << "seed " << seed;
    EXPECT_NEAR(choice.cost, bruteForce(random.priced), 1e-9) << "seed " << seed;
    EXPECT_NEAR(choice.cost, costOf(random.priced, choice), 1e-9) << "seed " << seed;
    asked += random.asked;
    columns += random.problem.columns.size();
  }
  EXPECT_LT(asked, columns / 2);
}

TEST(KernelChoice, TheBestOnesHavePrices) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    EstimatedProblem random(seed);
    const double limit = 1.3 * bruteForce(random.priced);
    const std::vector<KernelChoice> best = chooseBestPriced(random.problem, random.ask(), 8, limit);
    const std::vector<KernelChoice> wanted = chooseBest(random.priced, 8, limit);
    ASSERT_EQ(best.size(), wanted.size()) << "seed " << seed;
    for (size_t i = 0; i < best.size(); ++i) {
      EXPECT_NEAR(best[i].cost, wanted[i].cost, 1e-9) << "seed " << seed;
      EXPECT_NEAR(best[i].cost, costOf(random.priced, best[i]), 1e-9) << "seed " << seed;
    }
  }
}

TEST(KernelChoice, WindowsAskForWhatTheyTake) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    EstimatedProblem random(seed);
    KernelChoice single;
    for (size_t c = 0; c < random.problem.columns.size(); ++c)
      if (random.problem.columns[c].atoms.size() == 1)
        single.columns.push_back(c);
    KnownWindows known;
    ChoiceSearch search(random.problem, single, known, random.ask());
    search.improve();
    EXPECT_NEAR(search.choice().cost, costOf(random.priced, search.choice()), 1e-9) << seed;
    EXPECT_LE(search.choice().cost, 1.25 * bruteForce(random.priced)) << "seed " << seed;
  }
}

/// The problem again and again, each layer of it after the one before.
struct LayeredProblem {
  ChoiceProblem problem;
  std::vector<double> prices; ///< by column
  KernelChoice single;
  size_t asked = 0;

  LayeredProblem(const EstimatedProblem &layer, size_t layers, bool haveKinds) {
    const auto width = AtomId(layer.problem.reads.size());
    for (AtomId k = 0; k < layers; ++k) {
      auto moved = [&](std::vector<AtomId> atoms) {
        for (AtomId &a : atoms)
          a += k * width;
        return atoms;
      };
      for (const std::vector<AtomId> &reads : layer.problem.reads)
        problem.reads.push_back(moved(reads));
      for (AtomId value : layer.problem.required)
        problem.required.push_back(k * width + value);
      for (size_t c = 0; c < layer.problem.columns.size(); ++c) {
        Column column = layer.problem.columns[c];
        column.atoms = moved(column.atoms);
        column.results = moved(column.results);
        column.inputs = moved(column.inputs);
        if (haveKinds)
          column.kind = {c + 1, 0};
        if (column.atoms.size() == 1)
          single.columns.push_back(problem.columns.size());
        problem.columns.push_back(std::move(column));
        prices.push_back(layer.priced.columns[c].cost);
      }
    }
  }

  KernelChoice searched() {
    KnownWindows known;
    ChoiceSearch search(problem, single, known, [&](std::span<const size_t> columns) {
      for (size_t asks : columns) {
        ++asked;
        const StructureKey kind = problem.columns[asks].kind;
        for (size_t c = 0; c < prices.size(); ++c)
          if (c == asks || (kind != StructureKey{} && problem.columns[c].kind == kind)) {
            problem.columns[c].isEstimate = false;
            problem.columns[c].cost = prices[c];
          }
      }
    });
    search.improve();
    return search.choice();
  }
};

TEST(KernelChoice, LayersOfOneKindAreAskedForOnce) {
  constexpr size_t layers = 10;
  size_t asked = 0, askedEach = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const EstimatedProblem layer(seed);
    LayeredProblem alike(layer, layers, true), each(layer, layers, false), one(layer, 1, false);
    const KernelChoice choice = alike.searched();
    EXPECT_TRUE(runningOrder(alike.problem, choice.columns).has_value()) << "seed " << seed;
    EXPECT_NEAR(choice.cost, layers * one.searched().cost, 1e-6) << "seed " << seed;
    EXPECT_NEAR(choice.cost, each.searched().cost, 1e-6) << "seed " << seed;
    asked += alike.asked;
    askedEach += each.asked;
  }
  EXPECT_LT(5 * asked, askedEach);
}

// What was searched is searched again where a new column is of use, and only there.
TEST(KernelChoice, NewColumnsAreTaken) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RandomProblem random(seed, 8);
    ChoiceProblem growing = random.problem;
    growing.columns.clear();
    KernelChoice single;
    std::vector<Column> later;
    for (const Column &column : random.problem.columns) {
      if (column.atoms.size() == 1)
        single.columns.push_back(growing.columns.size());
      (column.atoms.size() == 1 || column.cost > 20 ? growing.columns : later).push_back(column);
    }
    KnownWindows known;
    ChoiceSearch search(growing, single, known);
    search.improve();
    EXPECT_FALSE(search.improve()) << "seed " << seed;
    growing.columns.insert(growing.columns.end(), later.begin(), later.end());
    search.improve();
    EXPECT_LE(search.choice().cost, 1.25 * bruteForce(random.problem)) << "seed " << seed;
  }
}

TEST(KernelChoice, OfTwoKernelsThatReadOneAnotherThereIsNone) {
  // b reads a, d reads c; {a, d} and {b, c} are convex, and each waits for the other.
  ChoiceProblem problem;
  problem.reads = {{}, {0}, {}, {2}};
  problem.required = {1, 3};
  problem.columns = {{{0, 3}, {0, 3}, {2}, 1}, {{1, 2}, {1, 2}, {0}, 1}};
  EXPECT_TRUE(chooseExactly(problem).columns.empty());
  problem.columns.push_back({{0}, {0}, {}, 5});
  problem.columns.push_back({{2, 3}, {3}, {}, 9});
  const KernelChoice choice = chooseExactly(problem);
  EXPECT_EQ(choice.cost, 7); // a alone, then {b, c}, then {a, d}
  EXPECT_EQ(choice.columns, (std::vector<size_t>{2, 1, 0}));
}

TEST(KernelChoice, ABoundIsLeftWhereTheSearchEndsEarly) {
  const RandomProblem random(7, 12);
  const KernelChoice stopped =
      chooseExactly(random.problem, std::numeric_limits<double>::infinity(), 10);
  const KernelChoice whole = chooseExactly(random.problem);
  EXPECT_FALSE(stopped.isOptimal);
  EXPECT_GT(stopped.bound, 0);
  EXPECT_LE(stopped.bound, whole.cost);
}
