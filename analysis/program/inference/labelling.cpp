#include "analysis/program/inference/labelling.h"

#include "analysis/program/inference/label_tables.h"
#include "analysis/program/inference/message_passing.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tilewright::inference {

namespace {

constexpr int tieBits = LabelTables::tieBits;

class LabelSolver {
public:
  LabelSolver(const LabelProblem &problem, const LabelOptions &options)
      : options(options), graph(problem) {}

  LabelAnswer run() {
    if (graph.isEmpty())
      return std::move(answer);
    start();
    dropDear();
    graph.fillPairs();
    dropByMessages();
    search();
    return std::move(answer);
  }

private:
  using Places = LabelTables::Places;

  /// A first solution: from a label of some node outwards, each node's label is the one that is
  /// cheapest beside those that have one already.
  void start() {
    constexpr size_t mostStarts = 6, labelsEach = 3;
    std::vector<uint32_t> seeds(graph.size());
    std::iota(seeds.begin(), seeds.end(), 0);
    std::stable_sort(seeds.begin(), seeds.end(), [&](uint32_t a, uint32_t b) {
      return graph.touching[a].size() > graph.touching[b].size();
    });
    seeds.resize(std::min(seeds.size(), mostStarts));
    for (uint32_t seed : seeds) {
      std::vector<uint32_t> labels = graph.domains[seed];
      std::stable_sort(labels.begin(), labels.end(), [&](uint32_t a, uint32_t b) {
        return graph.ownOf(seed, a) < graph.ownOf(seed, b);
      });
      for (size_t n = 0; n < std::min(labels.size(), labelsEach); ++n)
        improve(grow(seed, labels[n]));
    }
  }

  std::vector<uint32_t> grow(uint32_t seed, uint32_t label) const {
    std::vector<uint32_t> labels(graph.size(), UINT32_MAX), queue{seed};
    labels[seed] = label;
    for (uint32_t next = 0, from = 0; from < graph.size() || next < queue.size();) {
      if (next == queue.size()) { // another component
        if (labels[from] == UINT32_MAX) {
          labels[from] = cheapestAt(from, labels);
          queue.push_back(from);
        }
        ++from;
        continue;
      }
      const uint32_t node = queue[next++];
      for (size_t n : graph.touching[node])
        for (uint32_t other : {graph.pairs[n].from, graph.pairs[n].to})
          if (labels[other] == UINT32_MAX) {
            labels[other] = cheapestAt(other, labels);
            queue.push_back(other);
          }
    }
    return labels;
  }

  uint32_t cheapestAt(uint32_t node, const std::vector<uint32_t> &labels) const {
    Cost least = impossible + 1;
    uint32_t best = graph.domains[node].front();
    for (uint32_t k : graph.domains[node]) {
      Cost sum = graph.ownOf(node, k);
      for (size_t n : graph.touching[node]) {
        const PairTable &pair = graph.pairs[n];
        const uint32_t other = pair.from == node ? pair.to : pair.from;
        if (other == node || labels[other] == UINT32_MAX || sum > least)
          continue;
        sum = sumOf(sum, pair.from == node ? graph.boundOf(pair, k, labels[other])
                                           : graph.boundOf(pair, labels[other], k));
      }
      if (sum < least) {
        least = sum;
        best = k;
      }
    }
    return best;
  }

  /// By price; the best one so far bounds all that follow.
  void improve(const std::vector<uint32_t> &labels) {
    Cost sum = 0;
    Cost tie = 0;
    for (uint32_t n = 0; n < labels.size(); ++n) {
      sum = sumOf(sum, graph.ownOf(n, labels[n]));
      tie += graph.tieOf(n, labels[n]);
    }
    for (const PairTable &pair : graph.pairs)
      sum = sumOf(sum, graph.priceOf(pair, labels[pair.from], labels[pair.to]));
    if (sum < impossible && std::pair(sum, tie) < best) {
      best = std::pair(sum, tie);
      bestLabels = labels;
    }
  }

  /// Drops labels that alone make more than the best solution known, from bounds.
  void dropDear() {
    if (best.first >= impossible)
      return;
    Cost base = 0;
    std::vector<Cost> least;
    for (uint32_t n = 0; n < graph.size(); ++n) {
      Cost own = impossible;
      for (uint32_t k : graph.domains[n])
        own = std::min(own, graph.ownOf(n, k));
      least.push_back(own);
      base += own;
    }
    for (uint32_t n = 0; n < graph.size(); ++n)
      std::erase_if(graph.domains[n],
                    [&](uint32_t k) { return base - least[n] + graph.ownOf(n, k) > best.first; });
  }

  /// Keeps the labels of each node that `isKept` (by rank and place in the domain) takes.
  template <typename Predicate> void keepLabels(const Predicate &isKept) {
    Places kept = graph.allPlaces();
    for (uint32_t n = 0; n < kept.size(); ++n)
      std::erase_if(kept[n], [&](uint32_t k) { return !isKept(n, k); });
    graph.keep(kept);
  }

  /// Drops labels by what the messages say. All of equal cost stay.
  void dropByMessages() {
    constexpr int passes = 6;
    for (int n = 0; n < passes; ++n) {
      auto [sizes, tables] = graph.tablesOf(graph.allPlaces(), false);
      MessagePassing messages(std::move(sizes), std::move(tables));
      const Cost known = best.first;
      Cost bound = 0;
      for (int again = 0; again < 3; ++again) {
        bound = messages.pass();
        improve(graph.labelsAt(messages.labels()));
      }
      lowerBound = std::max(lowerBound, bound);
      tryBest(messages, bound);
      if (best.first >= impossible)
        return;
      const Cost slack = best.first - bound;
      const size_t before = graph.labelsLeft();
      const bool isBetter = best.first < known;
      keepLabels([&](uint32_t node, uint32_t k) { return messages.excess(node, k) <= slack; });
      if (graph.labelsLeft() * 10 > before * 9 && !isBetter)
        return;
    }
  }

  /// The best solutions of few labels each: those that the messages like best.
  void tryBest(const MessagePassing &messages, Cost bound) {
    for (Cost part : {256, 16}) {
      const Cost most = (best.first - bound) / part;
      Places few = graph.allPlaces();
      for (uint32_t n = 0; n < graph.size(); ++n)
        std::erase_if(few[n], [&](uint32_t k) { return messages.excess(n, k) > most; });
      constexpr int rounds = 2; // the second one with the prices of what the first one took
      bool hasRisen = true;
      for (int n = 0; n < rounds && hasRisen; ++n) {
        const Round round = oneRound(few, false, 0, partOfBudget());
        if (round.isSpent || round.least >= impossible)
          break;
        improve(graph.labelsAt(round.places));
        hasRisen = graph.priceAll(round.places, answer.priced);
      }
      if (best.first - bound <= most)
        return;
    }
  }
  struct Round {
    bool isSpent = false;
    Cost least = impossible;
    std::vector<uint32_t> places;           ///< in the domains
    std::optional<Elimination> elimination; ///< of no node fixed
    std::vector<std::vector<uint32_t>> all;
  };
  /// The least over the tables as they stand; fixes nodes where tables are too large.
  Round oneRound(const Places &of, bool withTies, size_t mostOptima, uint64_t budget) {
    auto [sizes, tables] = graph.tablesOf(of, withTies);
    Elimination elimination(std::move(sizes), std::move(tables));
    Round round;
    const uint64_t left = budget > answer.cells ? budget - answer.cells : 0;
    Elimination::Outcome outcome = elimination.run({options.maxTable, left});
    answer.cells += elimination.cells();
    answer.width = std::max(answer.width, elimination.width());
    if (outcome == Elimination::Outcome::BudgetSpent) {
      round.isSpent = true;
      return round;
    }
    if (outcome == Elimination::Outcome::TableTooLarge)
      return branch(elimination.nodeToFix(), of, withTies, mostOptima, budget);
    round.least = elimination.least();
    if (round.least >= impossible)
      return round;
    auto inDomains = [&](std::vector<uint32_t> places) {
      for (uint32_t n = 0; n < places.size(); ++n)
        places[n] = of[n][places[n]];
      return places;
    };
    round.places = inDomains(elimination.labels());
    for (std::vector<uint32_t> &places : elimination.allLabels(mostOptima))
      round.all.push_back(inDomains(std::move(places)));
    round.elimination = std::move(elimination);
    return round;
  }

  Round branch(uint32_t node, const Places &of, bool withTies, size_t mostOptima, uint64_t budget) {
    Round result;
    Places fixed = of;
    for (uint32_t k : of[node]) {
      fixed[node] = {k};
      Round here = oneRound(fixed, withTies, mostOptima, budget);
      here.elimination.reset();
      if (here.isSpent)
        return here;
      if (here.least < result.least)
        result = std::move(here);
      else if (here.least == result.least && here.least < impossible)
        result.all.insert(result.all.end(), here.all.begin(), here.all.end());
    }
    return result;
  }

  /// Is the best solution known as cheap as the messages say that any can be?
  bool isProven() const { return best.first <= lowerBound; }
  /// Cells up to which solutions are looked for that are not needed for the answer's cost.
  uint64_t partOfBudget() const {
    constexpr uint64_t part = 16;
    return std::min(options.maxCells, answer.cells + options.maxCells / part);
  }

  /// Where tables are too large for the budget: the best solution known, if nothing is cheaper.
  /// Others of its cost may have a smaller sum of ties.
  void takeProven() {
    answer.outcome = LabelAnswer::Outcome::BudgetSpent;
    if (!isProven())
      return;
    answer.outcome = LabelAnswer::Outcome::Found;
    answer.cost = best.first;
    answer.hasMoreOptima = true;
    answer.labels = graph.byNode(bestLabels);
  }

  void search() {
    while (true) {
      ++answer.rounds;
      Round round =
          oneRound(graph.allPlaces(), true, 0, isProven() ? partOfBudget() : options.maxCells);
      if (round.isSpent) {
        takeProven();
        return;
      }
      if (round.least >= impossible)
        return;
      const bool hasRisen = graph.priceAll(round.places, answer.priced);
      if (!hasRisen) {
        answer.outcome = LabelAnswer::Outcome::Found;
        answer.cost = round.least >> tieBits;
        answer.labels = graph.byNode(graph.labelsAt(round.places));
        break;
      }
      improve(graph.labelsAt(round.places));
      if (!round.elimination || best.first >= impossible)
        continue;
      const std::vector<std::vector<Cost>> least = round.elimination->marginals();
      keepLabels([&](uint32_t n, uint32_t k) { return least[n][k] >> tieBits <= best.first; });
    }
    if (options.maxOptima > 0)
      listOptima();
  }

  /// All labels of least cost: those that the tables have, priced until none of them rises.
  void listOptima() {
    while (true) {
      Round round = oneRound(graph.allPlaces(), false, options.maxOptima + 1, options.maxCells);
      if (round.isSpent)
        return;
      bool hasRisen = false;
      for (const std::vector<uint32_t> &places : round.all)
        hasRisen = graph.priceAll(places, answer.priced) || hasRisen;
      if (hasRisen)
        continue;
      std::sort(round.all.begin(), round.all.end());
      answer.hasMoreOptima = round.all.size() > options.maxOptima;
      round.all.resize(std::min(round.all.size(), options.maxOptima));
      for (const std::vector<uint32_t> &places : round.all)
        answer.optima.push_back(graph.byNode(graph.labelsAt(places)));
      return;
    }
  }

  const LabelOptions &options;
  LabelTables graph;
  std::pair<Cost, Cost> best{impossible, 0};
  std::vector<uint32_t> bestLabels; ///< by rank
  Cost lowerBound = 0;              ///< of all solutions
  LabelAnswer answer;
};

} // namespace

LabelAnswer solveLabels(const LabelProblem &problem, const LabelOptions &options) {
  return LabelSolver(problem, options).run();
}

Cost costOf(const LabelProblem &problem, const std::vector<uint32_t> &labels) {
  Cost sum = 0;
  for (size_t n = 0; n < labels.size(); ++n)
    sum = sumOf(sum, problem.nodes[n].own[labels[n]]);
  for (size_t e = 0; e < problem.edges.size(); ++e)
    sum = sumOf(
        sum, problem.costs->price(e, labels[problem.edges[e].from], labels[problem.edges[e].to]));
  return sum;
}

} // namespace tilewright::inference
