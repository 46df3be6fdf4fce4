#include "analysis/program/inference/labelling.h"

#include "analysis/program/inference/elimination.h"
#include "analysis/program/inference/message_passing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace tilewright::inference {

namespace {

constexpr int tieBits = 20; // sums of ties stay below

/// Costs of the edges between two nodes together, over the labels that are in play.
struct PairTable {
  uint32_t from, to;
  std::vector<size_t> edges;
  std::vector<Cost> cells;
  std::vector<bool> isPriced;
};

class LabelSolver {
public:
  LabelSolver(const LabelProblem &problem, const LabelOptions &options)
      : problem(problem), options(options), order(problem.nodes.size()) {
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return problem.nodes[a].name < problem.nodes[b].name;
    });
    rankOf.resize(order.size());
    for (uint32_t n = 0; n < order.size(); ++n)
      rankOf[order[n]] = n;
    groupEdges();
  }

  LabelAnswer run() {
    for (uint32_t node : order) {
      domains.emplace_back();
      for (uint32_t k = 0; k < problem.nodes[node].own.size(); ++k)
        if (problem.nodes[node].own[k] < impossible)
          domains.back().push_back(k);
      if (domains.back().empty())
        return std::move(answer);
    }
    start();
    dropDear();
    fillPairs();
    dropByMessages();
    search();
    return std::move(answer);
  }

private:
  /// Pairs of nodes with their edges, by name: sums do not depend on the order of edges.
  void groupEdges() {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<size_t>> byPair;
    for (size_t e = 0; e < problem.edges.size(); ++e) {
      const LabelledEdge &edge = problem.edges[e];
      byPair[std::pair(rankOf[edge.from], rankOf[edge.to])].push_back(e);
    }
    for (auto &[nodes, edges] : byPair)
      pairs.push_back({nodes.first, nodes.second, std::move(edges), {}, {}});
    touching.resize(order.size());
    for (size_t n = 0; n < pairs.size(); ++n) {
      touching[pairs[n].from].push_back(n);
      touching[pairs[n].to].push_back(n);
    }
  }

  Cost ownOf(uint32_t rank, uint32_t label) const { return problem.nodes[order[rank]].own[label]; }
  Cost tieOf(uint32_t rank, uint32_t label) const {
    const std::vector<uint32_t> &ties = problem.nodes[order[rank]].ties;
    return ties.empty() ? 0 : ties[label];
  }
  Cost boundOf(const PairTable &pair, uint32_t a, uint32_t b) const {
    Cost sum = 0;
    for (size_t edge : pair.edges)
      sum = sumOf(sum, problem.costs->bound(edge, a, b));
    return sum;
  }
  Cost priceOf(const PairTable &pair, uint32_t a, uint32_t b) const {
    Cost sum = 0;
    for (size_t edge : pair.edges)
      sum = sumOf(sum, problem.costs->price(edge, a, b));
    return sum;
  }

  /// A first solution: from a label of some node outwards, each node's label is the one that is
  /// cheapest beside those that have one already.
  void start() {
    constexpr size_t mostStarts = 6, labelsEach = 3;
    std::vector<uint32_t> seeds(order.size());
    std::iota(seeds.begin(), seeds.end(), 0);
    std::stable_sort(seeds.begin(), seeds.end(), [&](uint32_t a, uint32_t b) {
      return touching[a].size() > touching[b].size();
    });
    seeds.resize(std::min(seeds.size(), mostStarts));
    for (uint32_t seed : seeds) {
      std::vector<uint32_t> labels = domains[seed];
      std::stable_sort(labels.begin(), labels.end(),
                       [&](uint32_t a, uint32_t b) { return ownOf(seed, a) < ownOf(seed, b); });
      for (size_t n = 0; n < std::min(labels.size(), labelsEach); ++n)
        improve(grow(seed, labels[n]));
    }
  }

  std::vector<uint32_t> grow(uint32_t seed, uint32_t label) const {
    std::vector<uint32_t> labels(order.size(), UINT32_MAX), queue{seed};
    labels[seed] = label;
    for (uint32_t next = 0, from = 0; from < order.size() || next < queue.size();) {
      if (next == queue.size()) { // another component
        if (labels[from] == UINT32_MAX) {
          labels[from] = cheapestAt(from, labels);
          queue.push_back(from);
        }
        ++from;
        continue;
      }
      const uint32_t node = queue[next++];
      for (size_t n : touching[node])
        for (uint32_t other : {pairs[n].from, pairs[n].to})
          if (labels[other] == UINT32_MAX) {
            labels[other] = cheapestAt(other, labels);
            queue.push_back(other);
          }
    }
    return labels;
  }

  uint32_t cheapestAt(uint32_t node, const std::vector<uint32_t> &labels) const {
    Cost least = impossible + 1;
    uint32_t best = domains[node].front();
    for (uint32_t k : domains[node]) {
      Cost sum = ownOf(node, k);
      for (size_t n : touching[node]) {
        const PairTable &pair = pairs[n];
        const uint32_t other = pair.from == node ? pair.to : pair.from;
        if (other == node || labels[other] == UINT32_MAX || sum > least)
          continue;
        sum = sumOf(sum, pair.from == node ? boundOf(pair, k, labels[other])
                                           : boundOf(pair, labels[other], k));
      }
      if (sum < least) {
        least = sum;
        best = k;
      }
    }
    return best;
  }

  std::vector<uint32_t> labelsAt(const std::vector<uint32_t> &places) const {
    std::vector<uint32_t> labels;
    for (uint32_t n = 0; n < order.size(); ++n)
      labels.push_back(domains[n][places[n]]);
    return labels;
  }

  /// By price; the best one so far bounds all that follow.
  void improve(const std::vector<uint32_t> &labels) {
    Cost sum = 0;
    Cost tie = 0;
    for (uint32_t n = 0; n < labels.size(); ++n) {
      sum = sumOf(sum, ownOf(n, labels[n]));
      tie += tieOf(n, labels[n]);
    }
    for (const PairTable &pair : pairs)
      sum = sumOf(sum, priceOf(pair, labels[pair.from], labels[pair.to]));
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
    for (uint32_t n = 0; n < order.size(); ++n) {
      Cost own = impossible;
      for (uint32_t k : domains[n])
        own = std::min(own, ownOf(n, k));
      least.push_back(own);
      base += own;
    }
    for (uint32_t n = 0; n < order.size(); ++n)
      std::erase_if(domains[n],
                    [&](uint32_t k) { return base - least[n] + ownOf(n, k) > best.first; });
  }

  void fillPairs() {
    for (PairTable &pair : pairs) {
      const std::vector<uint32_t> &from = domains[pair.from], &to = domains[pair.to];
      pair.cells.reserve(from.size() * to.size());
      for (uint32_t a : from)
        for (uint32_t b : to)
          pair.cells.push_back(boundOf(pair, a, b));
      pair.isPriced.assign(pair.cells.size(), false);
    }
  }

  /// Keeps the labels of each node that `isKept` (by rank and place in the domain) takes.
  template <typename Predicate> void keepLabels(const Predicate &isKept) {
    std::vector<std::vector<uint32_t>> kept(order.size());
    bool isLess = false;
    for (uint32_t n = 0; n < order.size(); ++n)
      for (uint32_t k = 0; k < domains[n].size(); ++k)
        if (isKept(n, k))
          kept[n].push_back(k);
        else
          isLess = true;
    if (!isLess)
      return;
    for (PairTable &pair : pairs) {
      PairTable smaller{pair.from, pair.to, std::move(pair.edges), {}, {}};
      const size_t columns = domains[pair.to].size();
      for (uint32_t a : kept[pair.from])
        for (uint32_t b : kept[pair.to]) {
          smaller.cells.push_back(pair.cells[a * columns + b]);
          smaller.isPriced.push_back(pair.isPriced[a * columns + b]);
        }
      pair = std::move(smaller);
    }
    for (uint32_t n = 0; n < order.size(); ++n) {
      std::vector<uint32_t> labels;
      for (uint32_t k : kept[n])
        labels.push_back(domains[n][k]);
      domains[n] = std::move(labels);
    }
  }

  /// Drops labels by what the messages say. All of equal cost stay.
  void dropByMessages() {
    constexpr int passes = 6;
    for (int n = 0; n < passes; ++n) {
      auto [sizes, tables] = tablesOf(allPlaces(), false);
      MessagePassing messages(std::move(sizes), std::move(tables));
      const Cost known = best.first;
      Cost bound = 0;
      for (int again = 0; again < 3; ++again) {
        bound = messages.pass();
        improve(labelsAt(messages.labels()));
      }
      lowerBound = std::max(lowerBound, bound);
      tryBest(messages, bound);
      if (best.first >= impossible)
        return;
      const Cost slack = best.first - bound;
      const size_t before = labelsLeft();
      const bool isBetter = best.first < known;
      keepLabels([&](uint32_t node, uint32_t k) { return messages.excess(node, k) <= slack; });
      if (labelsLeft() * 10 > before * 9 && !isBetter)
        return;
    }
  }

  /// The best solutions of few labels each: those that the messages like best.
  void tryBest(const MessagePassing &messages, Cost bound) {
    for (Cost part : {256, 16}) {
      const Cost most = (best.first - bound) / part;
      Places few = allPlaces();
      for (uint32_t n = 0; n < order.size(); ++n)
        std::erase_if(few[n], [&](uint32_t k) { return messages.excess(n, k) > most; });
      constexpr int rounds = 2; // the second one with the prices of what the first one took
      bool hasRisen = true;
      for (int n = 0; n < rounds && hasRisen; ++n) {
        const Round round = oneRound(few, false, 0, partOfBudget());
        if (round.isSpent || round.least >= impossible)
          break;
        improve(labelsAt(round.places));
        hasRisen = priceAll(round.places);
      }
      if (best.first - bound <= most)
        return;
    }
  }
  size_t labelsLeft() const {
    size_t count = 0;
    for (const std::vector<uint32_t> &domain : domains)
      count += domain.size();
    return count;
  }

  /// By node: places in its domain.
  using Places = std::vector<std::vector<uint32_t>>;
  Places allPlaces() const {
    Places result;
    for (const std::vector<uint32_t> &domain : domains) {
      result.emplace_back(domain.size());
      std::iota(result.back().begin(), result.back().end(), 0);
    }
    return result;
  }

  struct Tables {
    std::vector<uint32_t> sizes;
    std::vector<CostTable> tables;
  };
  Tables tablesOf(const Places &places, bool withTies) const {
    Tables result;
    auto &[sizes, tables] = result;
    auto scaled = [&](Cost cost) {
      return cost >= impossible ? impossible : withTies ? cost << tieBits : cost;
    };
    for (uint32_t n = 0; n < order.size(); ++n) {
      CostTable own{{n}, {}};
      for (uint32_t k : places[n])
        own.cells.push_back(scaled(ownOf(n, domains[n][k])) +
                            (withTies ? tieOf(n, domains[n][k]) : 0));
      sizes.push_back(static_cast<uint32_t>(own.cells.size()));
      tables.push_back(std::move(own));
    }
    for (const PairTable &pair : pairs) {
      CostTable table{{pair.from, pair.to}, {}};
      const size_t columns = domains[pair.to].size();
      for (uint32_t a : places[pair.from])
        for (uint32_t b : places[pair.to])
          table.cells.push_back(scaled(pair.cells[a * columns + b]));
      if (pair.from == pair.to) { // of a node with itself: the diagonal
        CostTable diagonal{{pair.from}, {}};
        for (size_t k = 0; k < sizes[pair.from]; ++k)
          diagonal.cells.push_back(table.cells[k * sizes[pair.from] + k]);
        table = std::move(diagonal);
      }
      tables.push_back(std::move(table));
    }
    return result;
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
    auto [sizes, tables] = tablesOf(of, withTies);
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

  /// Prices what a solution uses. Did anything rise?
  bool priceAll(const std::vector<uint32_t> &places) {
    bool hasRisen = false;
    for (PairTable &pair : pairs) {
      const size_t cell = places[pair.from] * domains[pair.to].size() + places[pair.to];
      if (pair.isPriced[cell])
        continue;
      pair.isPriced[cell] = true;
      ++answer.priced;
      const Cost price =
          priceOf(pair, domains[pair.from][places[pair.from]], domains[pair.to][places[pair.to]]);
      hasRisen = hasRisen || price > pair.cells[cell];
      pair.cells[cell] = price;
    }
    return hasRisen;
  }

  std::vector<uint32_t> labelsOf(const std::vector<uint32_t> &places) const {
    std::vector<uint32_t> labels(order.size());
    for (uint32_t n = 0; n < order.size(); ++n)
      labels[order[n]] = domains[n][places[n]];
    return labels;
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
    answer.labels.resize(order.size());
    for (uint32_t n = 0; n < order.size(); ++n)
      answer.labels[order[n]] = bestLabels[n];
  }

  void search() {
    while (true) {
      ++answer.rounds;
      Round round = oneRound(allPlaces(), true, 0, isProven() ? partOfBudget() : options.maxCells);
      if (round.isSpent) {
        takeProven();
        return;
      }
      if (round.least >= impossible)
        return;
      const bool hasRisen = priceAll(round.places);
      if (!hasRisen) {
        answer.outcome = LabelAnswer::Outcome::Found;
        answer.cost = round.least >> tieBits;
        answer.labels = labelsOf(round.places);
        break;
      }
      improve(labelsAt(round.places));
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
      Round round = oneRound(allPlaces(), false, options.maxOptima + 1, options.maxCells);
      if (round.isSpent)
        return;
      bool hasRisen = false;
      for (const std::vector<uint32_t> &places : round.all)
        hasRisen = priceAll(places) || hasRisen;
      if (hasRisen)
        continue;
      std::sort(round.all.begin(), round.all.end());
      answer.hasMoreOptima = round.all.size() > options.maxOptima;
      round.all.resize(std::min(round.all.size(), options.maxOptima));
      for (const std::vector<uint32_t> &places : round.all)
        answer.optima.push_back(labelsOf(places));
      return;
    }
  }

  const LabelProblem &problem;
  const LabelOptions &options;
  std::vector<uint32_t> order, rankOf; ///< nodes by name; all else counts by rank
  std::vector<std::vector<uint32_t>> domains;
  std::vector<PairTable> pairs;
  std::vector<std::vector<size_t>> touching;
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
