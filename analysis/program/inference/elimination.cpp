#include "analysis/program/inference/elimination.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tilewright::inference {

Elimination::Elimination(std::vector<uint32_t> sizes, std::vector<CostTable> tables)
    : sizes(std::move(sizes)), tables(std::move(tables)) {}

namespace {

/// Counts through the labels of some nodes, the last one fastest.
class Odometer {
public:
  Odometer(const std::vector<uint32_t> &scope, const std::vector<uint32_t> &sizes)
      : digits(scope.size(), 0) {
    for (uint32_t node : scope)
      ends.push_back(sizes[node]);
  }
  const std::vector<uint32_t> &at() const { return digits; }
  bool next() {
    for (size_t n = digits.size(); n-- > 0;) {
      if (++digits[n] < ends[n])
        return true;
      digits[n] = 0;
    }
    return false;
  }

private:
  std::vector<uint32_t> digits, ends;
};

/// The steps of a table's cells along the nodes of another scope; 0 for those that it lacks.
std::vector<size_t> stepsOf(const std::vector<uint32_t> &of, const std::vector<uint32_t> &along,
                            const std::vector<uint32_t> &sizes) {
  std::vector<size_t> result(along.size(), 0);
  size_t step = 1;
  for (size_t n = of.size(); n-- > 0;) {
    auto found = std::find(along.begin(), along.end(), of[n]);
    if (found != along.end())
      result[static_cast<size_t>(found - along.begin())] = step;
    step *= sizes[of[n]];
  }
  return result;
}

size_t offsetOf(const std::vector<size_t> &steps, const std::vector<uint32_t> &at) {
  size_t offset = 0;
  for (size_t n = 0; n < at.size(); ++n)
    offset += steps[n] * at[n];
  return offset;
}

/// into(around…, node) += table, whose scope is among these.
void addTable(std::vector<Cost> &into, const std::vector<uint32_t> &around, uint32_t node,
              const CostTable &table, const std::vector<uint32_t> &sizes) {
  const std::vector<size_t> steps = stepsOf(table.scope, around, sizes);
  const size_t step = stepsOf(table.scope, {node}, sizes)[0], count = sizes[node];
  Odometer odometer(around, sizes);
  size_t cell = 0;
  do {
    const Cost *from = table.cells.data() + offsetOf(steps, odometer.at());
    for (size_t k = 0; k < count; ++k)
      into[cell + k] = std::min(impossible, into[cell + k] + from[k * step]);
    cell += count;
  } while (odometer.next());
}

} // namespace

Elimination::Bucket Elimination::eliminate(uint32_t node, std::vector<uint32_t> around) {
  Bucket bucket{node, std::move(around), {}, {}};
  size_t outer = 1;
  for (uint32_t other : bucket.around)
    outer *= sizes[other];
  bucket.cells.assign(outer * sizes[node], 0);
  std::vector<CostTable> rest;
  for (CostTable &table : tables)
    if (std::find(table.scope.begin(), table.scope.end(), node) == table.scope.end())
      rest.push_back(std::move(table));
    else
      addTable(bucket.cells, bucket.around, node, table, sizes);
  tables = std::move(rest);
  bucket.message.resize(outer);
  for (size_t n = 0; n < outer; ++n) {
    auto begin = bucket.cells.begin() + static_cast<std::ptrdiff_t>(n * sizes[node]);
    bucket.message[n] = *std::min_element(begin, begin + sizes[node]);
  }
  if (bucket.around.empty())
    total = sumOf(total, bucket.message[0]);
  else
    tables.push_back({bucket.around, bucket.message});
  return bucket;
}

Elimination::Outcome Elimination::run(const EliminationLimits &limits) {
  std::vector<std::set<uint32_t>> near(sizes.size());
  for (const CostTable &table : tables)
    for (uint32_t a : table.scope)
      for (uint32_t b : table.scope)
        if (a != b)
          near[a].insert(b);
  std::set<std::tuple<size_t, uint32_t, uint32_t>> left;
  auto keyOf = [&](uint32_t node) { return std::tuple(near[node].size(), sizes[node], node); };
  for (uint32_t n = 0; n < sizes.size(); ++n)
    left.insert(keyOf(n));
  while (!left.empty()) {
    const uint32_t node = std::get<2>(*left.begin());
    std::vector<uint32_t> around(near[node].begin(), near[node].end());
    uint64_t cells = sizes[node];
    for (uint32_t other : around)
      cells = std::min<uint64_t>(cells * sizes[other], uint64_t(1) << 40);
    if (cells > limits.maxTable) {
      fixNode = node;
      for (uint32_t other : around)
        if (std::pair(near[other].size(), sizes[other]) >
            std::pair(near[fixNode].size(), sizes[fixNode]))
          fixNode = other;
      return Outcome::TableTooLarge;
    }
    used += cells;
    if (used > limits.maxCells)
      return Outcome::BudgetSpent;
    widest = std::max(widest, around.size());
    left.erase(left.begin());
    for (uint32_t other : around) {
      left.erase(keyOf(other));
      near[other].insert(around.begin(), around.end());
      near[other].erase(other);
      near[other].erase(node);
      left.insert(keyOf(other));
    }
    buckets.push_back(eliminate(node, std::move(around)));
  }
  return Outcome::Done;
}

size_t Elimination::cellOf(const Bucket &bucket, const std::vector<uint32_t> &labels) const {
  size_t cell = 0;
  for (uint32_t node : bucket.around)
    cell = cell * sizes[node] + labels[node];
  return cell * sizes[bucket.node];
}

std::vector<uint32_t> Elimination::labels() const {
  std::vector<uint32_t> result(sizes.size(), 0);
  for (size_t n = buckets.size(); n-- > 0;) {
    const Bucket &bucket = buckets[n];
    auto begin = bucket.cells.begin() + static_cast<std::ptrdiff_t>(cellOf(bucket, result));
    result[bucket.node] =
        static_cast<uint32_t>(std::min_element(begin, begin + sizes[bucket.node]) - begin);
  }
  return result;
}

void Elimination::enumerate(size_t left, std::vector<uint32_t> &labels, size_t most,
                            std::vector<std::vector<uint32_t>> &into) const {
  if (into.size() >= most)
    return;
  if (left == 0) {
    into.push_back(labels);
    return;
  }
  const Bucket &bucket = buckets[left - 1];
  const size_t cell = cellOf(bucket, labels);
  const Cost least = bucket.message[cell / sizes[bucket.node]];
  for (uint32_t k = 0; k < sizes[bucket.node]; ++k)
    if (bucket.cells[cell + k] == least) {
      labels[bucket.node] = k;
      enumerate(left - 1, labels, most, into);
    }
}

std::vector<std::vector<uint32_t>> Elimination::allLabels(size_t most) const {
  std::vector<std::vector<uint32_t>> result;
  std::vector<uint32_t> labels(sizes.size(), 0);
  if (total < impossible)
    enumerate(buckets.size(), labels, most, result);
  return result;
}

std::vector<std::vector<Cost>> Elimination::marginals() const {
  // What lies outside of a bucket, as a table over its neighbours: of the bucket that its message
  // goes to, all of it without that message.
  std::vector<std::vector<Cost>> outside(buckets.size()), result(sizes.size());
  std::vector<size_t> placeOf(sizes.size());
  for (size_t n = 0; n < buckets.size(); ++n)
    placeOf[buckets[n].node] = n;
  for (size_t n = buckets.size(); n-- > 0;) {
    const Bucket &bucket = buckets[n];
    const size_t count = sizes[bucket.node];
    std::vector<Cost> belief = bucket.cells;
    const Cost elsewhere = bucket.around.empty() ? total - bucket.message[0] : 0;
    for (size_t cell = 0; cell < belief.size(); ++cell)
      belief[cell] = sumOf(belief[cell], outside[n].empty() ? elsewhere : outside[n][cell / count]);
    std::vector<Cost> &own = result[bucket.node];
    own.assign(count, impossible);
    for (size_t cell = 0; cell < belief.size(); ++cell)
      own[cell % count] = std::min(own[cell % count], belief[cell]);
    for (size_t m = 0; m < n; ++m) { // buckets whose message came here
      const Bucket &child = buckets[m];
      auto first =
          std::min_element(child.around.begin(), child.around.end(),
                           [&](uint32_t a, uint32_t b) { return placeOf[a] < placeOf[b]; });
      if (first == child.around.end() || placeOf[*first] != n)
        continue;
      outside[m].assign(child.message.size(), impossible);
      std::vector<uint32_t> scope = bucket.around;
      scope.push_back(bucket.node);
      const std::vector<size_t> steps = stepsOf(child.around, scope, sizes);
      Odometer odometer(scope, sizes);
      size_t cell = 0;
      do {
        const size_t to = offsetOf(steps, odometer.at());
        if (belief[cell] < impossible)
          outside[m][to] = std::min(outside[m][to], belief[cell] - child.message[to]);
        ++cell;
      } while (odometer.next());
    }
  }
  return result;
}

} // namespace tilewright::inference
