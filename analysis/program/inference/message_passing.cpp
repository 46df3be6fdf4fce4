#include "analysis/program/inference/message_passing.h"

#include <algorithm>

namespace tilewright::inference {

namespace {

/// What is impossible, small enough for sums of all of them.
constexpr Cost veryDear = Cost(1) << 48;

} // namespace

MessagePassing::MessagePassing(std::vector<uint32_t> labelCounts, std::vector<CostTable> tables)
    : sizes(std::move(labelCounts)), own(sizes.size()), touching(sizes.size()) {
  for (uint32_t n = 0; n < sizes.size(); ++n)
    own[n].assign(sizes[n], 0);
  for (CostTable &table : tables) {
    for (Cost &cell : table.cells)
      cell = std::min(cell, veryDear);
    if (table.scope.size() == 1) {
      for (size_t k = 0; k < table.cells.size(); ++k)
        own[table.scope[0]][k] += table.cells[k];
      continue;
    }
    for (uint32_t node : table.scope)
      touching[node].push_back(edges.size());
    edges.push_back({table.scope[0], table.scope[1], std::move(table.cells)});
  }
}

/// Moves to the node what is least for each of its labels.
void MessagePassing::take(Edge &edge, uint32_t node) {
  const size_t columns = sizes[edge.b];
  std::vector<Cost> least(sizes[node], INT64_MAX);
  for (size_t i = 0; i < sizes[edge.a]; ++i)
    for (size_t k = 0; k < columns; ++k) {
      Cost &at = least[node == edge.a ? i : k];
      at = std::min(at, edge.cells[i * columns + k]);
    }
  for (size_t i = 0; i < sizes[edge.a]; ++i)
    for (size_t k = 0; k < columns; ++k)
      edge.cells[i * columns + k] -= least[node == edge.a ? i : k];
  for (size_t k = 0; k < least.size(); ++k)
    own[node][k] += least[k];
}

/// Moves a part of the node's costs to the edge.
void MessagePassing::give(Edge &edge, uint32_t node, Cost parts) {
  const size_t columns = sizes[edge.b];
  for (size_t i = 0; i < sizes[edge.a]; ++i)
    for (size_t k = 0; k < columns; ++k)
      edge.cells[i * columns + k] += own[node][node == edge.a ? i : k] / parts;
}

void MessagePassing::visit(uint32_t node, bool isForward) {
  std::vector<size_t> ahead;
  for (size_t e : touching[node]) {
    take(edges[e], node);
    const uint32_t other = edges[e].a == node ? edges[e].b : edges[e].a;
    if ((other > node) == isForward)
      ahead.push_back(e);
  }
  const auto parts =
      static_cast<Cost>(std::max(ahead.size(), touching[node].size() - ahead.size()));
  if (ahead.empty())
    return;
  for (size_t e : ahead)
    give(edges[e], node, parts);
  for (Cost &cost : own[node])
    cost -= cost / parts * static_cast<Cost>(ahead.size());
}

Cost MessagePassing::pass() {
  for (uint32_t n = 0; n < sizes.size(); ++n)
    visit(n, true);
  for (uint32_t n = static_cast<uint32_t>(sizes.size()); n-- > 0;)
    visit(n, false);
  for (uint32_t n = 0; n < sizes.size(); ++n) // so that nodes have what they can have
    for (size_t e : touching[n])
      take(edges[e], n);
  Cost bound = 0;
  for (const std::vector<Cost> &costs : own)
    bound += *std::min_element(costs.begin(), costs.end());
  for (const Edge &edge : edges)
    bound += *std::min_element(edge.cells.begin(), edge.cells.end());
  return bound;
}

std::vector<uint32_t> MessagePassing::labels() const {
  std::vector<uint32_t> result(sizes.size(), 0);
  for (uint32_t n = 0; n < sizes.size(); ++n) {
    std::vector<Cost> costs = own[n];
    for (size_t e : touching[n]) {
      const Edge &edge = edges[e];
      const uint32_t other = edge.a == n ? edge.b : edge.a;
      for (size_t k = 0; k < costs.size() && other < n; ++k)
        costs[k] += edge.cells[edge.a == n ? k * sizes[edge.b] + result[other]
                                           : result[other] * sizes[edge.b] + k];
    }
    result[n] = static_cast<uint32_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  }
  return result;
}

Cost MessagePassing::excess(uint32_t node, uint32_t label) const {
  return own[node][label] - *std::min_element(own[node].begin(), own[node].end());
}

} // namespace tilewright::inference
