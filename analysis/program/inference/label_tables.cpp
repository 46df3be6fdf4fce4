#include "analysis/program/inference/label_tables.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tilewright::inference {

LabelTables::LabelTables(const LabelProblem &problem)
    : problem(problem), order(problem.nodes.size()) {
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return problem.nodes[a].name < problem.nodes[b].name; });
  rankOf.resize(order.size());
  for (uint32_t n = 0; n < order.size(); ++n)
    rankOf[order[n]] = n;
  groupEdges();
  for (uint32_t node : order) {
    domains.emplace_back();
    for (uint32_t k = 0; k < problem.nodes[node].own.size(); ++k)
      if (problem.nodes[node].own[k] < impossible)
        domains.back().push_back(k);
  }
}

bool LabelTables::isEmpty() const {
  return std::any_of(domains.begin(), domains.end(),
                     [](const std::vector<uint32_t> &domain) { return domain.empty(); });
}

size_t LabelTables::labelsLeft() const {
  size_t count = 0;
  for (const std::vector<uint32_t> &domain : domains)
    count += domain.size();
  return count;
}

/// Pairs of nodes with their edges, by name: sums do not depend on the order of edges.
void LabelTables::groupEdges() {
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

Cost LabelTables::tieOf(uint32_t rank, uint32_t label) const {
  const std::vector<uint32_t> &ties = problem.nodes[order[rank]].ties;
  return ties.empty() ? 0 : ties[label];
}

Cost LabelTables::boundOf(const PairTable &pair, uint32_t a, uint32_t b) const {
  Cost sum = 0;
  for (size_t edge : pair.edges)
    sum = sumOf(sum, problem.costs->bound(edge, a, b));
  return sum;
}

Cost LabelTables::priceOf(const PairTable &pair, uint32_t a, uint32_t b) const {
  Cost sum = 0;
  for (size_t edge : pair.edges)
    sum = sumOf(sum, problem.costs->price(edge, a, b));
  return sum;
}

void LabelTables::fillPairs() {
  for (PairTable &pair : pairs) {
    const std::vector<uint32_t> &from = domains[pair.from], &to = domains[pair.to];
    pair.cells.reserve(from.size() * to.size());
    for (uint32_t a : from)
      for (uint32_t b : to)
        pair.cells.push_back(boundOf(pair, a, b));
    pair.isPriced.assign(pair.cells.size(), false);
  }
}

void LabelTables::keep(const Places &kept) {
  if (kept == allPlaces())
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

LabelTables::Places LabelTables::allPlaces() const {
  Places result;
  for (const std::vector<uint32_t> &domain : domains) {
    result.emplace_back(domain.size());
    std::iota(result.back().begin(), result.back().end(), 0);
  }
  return result;
}

LabelTables::Tables LabelTables::tablesOf(const Places &places, bool withTies) const {
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

bool LabelTables::priceAll(const std::vector<uint32_t> &places, size_t &priced) {
  bool hasRisen = false;
  for (PairTable &pair : pairs) {
    const size_t cell = places[pair.from] * domains[pair.to].size() + places[pair.to];
    if (pair.isPriced[cell])
      continue;
    pair.isPriced[cell] = true;
    ++priced;
    const Cost price =
        priceOf(pair, domains[pair.from][places[pair.from]], domains[pair.to][places[pair.to]]);
    hasRisen = hasRisen || price > pair.cells[cell];
    pair.cells[cell] = price;
  }
  return hasRisen;
}

std::vector<uint32_t> LabelTables::labelsAt(const std::vector<uint32_t> &places) const {
  std::vector<uint32_t> labels;
  for (uint32_t n = 0; n < order.size(); ++n)
    labels.push_back(domains[n][places[n]]);
  return labels;
}

std::vector<uint32_t> LabelTables::byNode(const std::vector<uint32_t> &labels) const {
  std::vector<uint32_t> result(order.size());
  for (uint32_t n = 0; n < order.size(); ++n)
    result[order[n]] = labels[n];
  return result;
}

} // namespace tilewright::inference
