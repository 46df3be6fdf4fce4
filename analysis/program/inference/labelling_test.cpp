#include "analysis/program/inference/labelling.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <z3++.h>

namespace tilewright::inference {
namespace {

/// Prices by formula or table, with bounds that are some way below.
class TableCosts : public LabelCosts {
public:
  std::vector<std::vector<std::vector<Cost>>> prices, bounds; ///< by edge, from, to
  Cost bound(size_t edge, uint32_t from, uint32_t to) override { return bounds[edge][from][to]; }
  Cost price(size_t edge, uint32_t from, uint32_t to) override { return prices[edge][from][to]; }
};

struct RandomProblem {
  LabelProblem problem;
  TableCosts costs;
};

/// Few distinct costs, so that optima tie; some labels and pairs are not allowed.
void makeRandom(RandomProblem &random, std::mt19937 &rng, size_t nodes, size_t extraEdges,
                size_t maxLabels) {
  auto upTo = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n)(rng); };
  for (size_t n = 0; n < nodes; ++n) {
    LabelledNode node{"n" + std::to_string(n), {}};
    for (size_t k = 0, count = 1 + upTo(maxLabels - 1); k < count; ++k)
      node.own.push_back(upTo(15) == 0 ? impossible : static_cast<Cost>(upTo(4)));
    random.problem.nodes.push_back(std::move(node));
  }
  for (size_t n = 1; n < nodes; ++n)
    random.problem.edges.push_back({static_cast<uint32_t>(upTo(n - 1)), static_cast<uint32_t>(n)});
  for (size_t n = 0; n < extraEdges; ++n)
    random.problem.edges.push_back(
        {static_cast<uint32_t>(upTo(nodes - 1)), static_cast<uint32_t>(upTo(nodes - 1))});
  for (const LabelledEdge &edge : random.problem.edges) {
    const size_t a = random.problem.nodes[edge.from].own.size();
    const size_t b = random.problem.nodes[edge.to].own.size();
    std::vector<std::vector<Cost>> price(a, std::vector<Cost>(b)), bound = price;
    for (size_t i = 0; i < a; ++i)
      for (size_t k = 0; k < b; ++k) {
        price[i][k] = upTo(9) == 0 ? impossible : static_cast<Cost>(upTo(6));
        bound[i][k] =
            std::max<Cost>(0, std::min<Cost>(price[i][k], 6) - static_cast<Cost>(upTo(3)));
      }
    random.costs.prices.push_back(price);
    random.costs.bounds.push_back(bound);
  }
  random.problem.costs = &random.costs;
}

/// Every choice of labels: the least cost and all labels that have it.
std::pair<Cost, std::set<std::vector<uint32_t>>> bruteForce(const LabelProblem &problem) {
  Cost least = impossible;
  std::set<std::vector<uint32_t>> best;
  std::vector<uint32_t> labels(problem.nodes.size(), 0);
  std::function<void(size_t)> go = [&](size_t n) {
    if (n == labels.size()) {
      Cost cost = costOf(problem, labels);
      if (cost < least)
        best.clear();
      if (cost <= least && cost < impossible) {
        least = cost;
        best.insert(labels);
      }
      return;
    }
    for (labels[n] = 0; labels[n] < problem.nodes[n].own.size(); ++labels[n])
      go(n + 1);
    labels[n] = 0;
  };
  go(0);
  return {least, best};
}

TEST(Labelling, EqualsExhaustiveSearch) {
  size_t impossibleOnes = 0, several = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 rng(seed);
    RandomProblem random;
    makeRandom(random, rng, 2 + seed % 6, seed % 5, 4);
    LabelOptions options;
    options.maxOptima = 5000;
    if (seed % 3 == 0)
      options.maxTable = 6; // most tables are too large: nodes are fixed
    LabelAnswer answer = solveLabels(random.problem, options);
    auto [least, best] = bruteForce(random.problem);
    if (best.empty()) {
      EXPECT_EQ(answer.outcome, LabelAnswer::Outcome::None) << seed;
      ++impossibleOnes;
      continue;
    }
    ASSERT_EQ(answer.outcome, LabelAnswer::Outcome::Found) << seed;
    EXPECT_EQ(answer.cost, least) << seed;
    EXPECT_EQ(best.count(answer.labels), 1u) << seed;
    EXPECT_EQ(std::set(answer.optima.begin(), answer.optima.end()), best) << seed;
    several += best.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(impossibleOnes, 10u);
  EXPECT_GT(several, 50u);
}

TEST(Labelling, EqualsTheOptimiserOfZ3) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 rng(1000 + seed);
    RandomProblem random;
    makeRandom(random, rng, 6, 2, 4);
    const LabelProblem &problem = random.problem;
    z3::context z3;
    z3::optimize optimize(z3);
    z3::expr sum = z3.int_val(0);
    std::vector<std::vector<z3::expr>> takes;
    for (const LabelledNode &node : problem.nodes) {
      takes.emplace_back();
      z3::expr_vector one(z3);
      for (size_t k = 0; k < node.own.size(); ++k) {
        takes.back().push_back(z3.bool_const((node.name + "." + std::to_string(k)).c_str()));
        one.push_back(takes.back().back());
        if (node.own[k] >= impossible)
          optimize.add(!takes.back().back());
        else
          sum = sum + z3::ite(takes.back().back(), z3.int_val(node.own[k]), z3.int_val(0));
      }
      optimize.add(z3::mk_or(one));
      optimize.add(z3::atmost(one, 1));
    }
    for (size_t e = 0; e < problem.edges.size(); ++e)
      for (size_t a = 0; a < takes[problem.edges[e].from].size(); ++a)
        for (size_t b = 0; b < takes[problem.edges[e].to].size(); ++b) {
          z3::expr both = takes[problem.edges[e].from][a] && takes[problem.edges[e].to][b];
          const Cost price = random.costs.prices[e][a][b];
          if (price >= impossible)
            optimize.add(!both);
          else if (price > 0)
            sum = sum + z3::ite(both, z3.int_val(price), z3.int_val(0));
        }
    z3::optimize::handle handle = optimize.minimize(sum);
    LabelAnswer answer = solveLabels(problem);
    if (optimize.check() != z3::sat) {
      EXPECT_EQ(answer.outcome, LabelAnswer::Outcome::None) << seed;
      continue;
    }
    ASSERT_EQ(answer.outcome, LabelAnswer::Outcome::Found) << seed;
    EXPECT_EQ(std::to_string(answer.cost), optimize.lower(handle).to_string()) << seed;
  }
}

TEST(Labelling, AnswersDoNotDependOnTheOrderOfNodesAndEdges) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 rng(2000 + seed);
    RandomProblem random;
    makeRandom(random, rng, 8, 4, 5);
    LabelAnswer answer = solveLabels(random.problem);
    std::vector<uint32_t> order(random.problem.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), rng);
    std::vector<size_t> edgeOrder(random.problem.edges.size());
    std::iota(edgeOrder.begin(), edgeOrder.end(), 0);
    std::shuffle(edgeOrder.begin(), edgeOrder.end(), rng);
    RandomProblem other;
    std::vector<uint32_t> placeOf(order.size());
    for (uint32_t n = 0; n < order.size(); ++n) {
      placeOf[order[n]] = n;
      other.problem.nodes.push_back(random.problem.nodes[order[n]]);
    }
    for (size_t e : edgeOrder) {
      const LabelledEdge &edge = random.problem.edges[e];
      other.problem.edges.push_back({placeOf[edge.from], placeOf[edge.to]});
      other.costs.prices.push_back(random.costs.prices[e]);
      other.costs.bounds.push_back(random.costs.bounds[e]);
    }
    other.problem.costs = &other.costs;
    LabelAnswer again = solveLabels(other.problem);
    ASSERT_EQ(answer.outcome, again.outcome) << seed;
    if (answer.outcome != LabelAnswer::Outcome::Found)
      continue;
    EXPECT_EQ(answer.cost, again.cost) << seed;
    for (uint32_t n = 0; n < order.size(); ++n)
      EXPECT_EQ(answer.labels[order[n]], again.labels[n]) << seed;
  }
}

TEST(Labelling, TiesGoToTheLeastSumOfTies) {
  LabelProblem problem;
  TableCosts costs;
  problem.nodes.push_back({"a", {5, 5, 5}, {9, 2, 4}});
  problem.nodes.push_back({"b", {1, 1}, {7, 7}});
  problem.edges.push_back({0, 1});
  costs.prices = costs.bounds = {{{3, 3}, {3, 3}, {3, 3}}};
  problem.costs = &costs;
  LabelOptions options;
  options.maxOptima = 4;
  LabelAnswer answer = solveLabels(problem, options);
  EXPECT_EQ(answer.cost, 9);
  EXPECT_EQ(answer.labels, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(answer.optima.size(), 4u);
  EXPECT_TRUE(answer.hasMoreOptima);
}

/// All pairs of 24 nodes: tables of 5^23 cells. Where one label is free for all, messages prove it.
TEST(Labelling, MessagesProveWhatTablesAreTooLargeFor) {
  LabelProblem problem;
  TableCosts costs;
  constexpr uint32_t nodes = 24, labels = 5;
  for (uint32_t n = 0; n < nodes; ++n) {
    problem.nodes.push_back({"n" + std::to_string(n), {7, 7, 7, 7, 7}});
    for (uint32_t m = 0; m < n; ++m) {
      problem.edges.push_back({m, n});
      std::vector<std::vector<Cost>> apart(labels, std::vector<Cost>(labels, 3));
      for (uint32_t k = 0; k < labels; ++k)
        apart[k][k] = 0;
      costs.prices.push_back(apart);
    }
  }
  costs.bounds = costs.prices;
  problem.costs = &costs;
  LabelOptions options;
  options.maxCells = 1'000'000;
  options.maxTable = 10'000;
  LabelAnswer answer = solveLabels(problem, options);
  ASSERT_EQ(answer.outcome, LabelAnswer::Outcome::Found);
  EXPECT_EQ(answer.cost, nodes * 7);
  EXPECT_EQ(std::set(answer.labels.begin(), answer.labels.end()).size(), 1u);
}

TEST(Labelling, ABudgetThatIsSpentIsNoAnswer) {
  std::mt19937 rng(7);
  RandomProblem random;
  makeRandom(random, rng, 8, 6, 5);
  LabelOptions options;
  options.maxCells = 3;
  LabelAnswer answer = solveLabels(random.problem, options);
  EXPECT_EQ(answer.outcome, LabelAnswer::Outcome::BudgetSpent);
  EXPECT_TRUE(answer.labels.empty());
}

} // namespace
} // namespace tilewright::inference
