#include "codegen/expectation.h"

#include "analysis/import/hlo_text.h"
#include "analysis/ir/evaluator.h"
#include "codegen/extract.h"
#include "codegen/point_reference.h"

#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilewright {

namespace {

/// Logical row-major numbers of the elements to make: both ends, then pseudo-random ones.
std::vector<int64_t> chooseElements(int64_t count, unsigned most, uint64_t seed) {
  std::vector<int64_t> result;
  if (count <= static_cast<int64_t>(most)) {
    for (int64_t i = 0; i < count; ++i)
      result.push_back(i);
    return result;
  }
  std::set<int64_t> seen;
  auto add = [&](int64_t element) {
    if (seen.insert(element).second)
      result.push_back(element);
  };
  add(0);
  add(count - 1);
  // Bounded: with fewer than half of the elements taken, a draw is new more often than not.
  for (uint64_t i = 0; result.size() < most && i < 64 * uint64_t(most); ++i)
    add(static_cast<int64_t>(splitmix64(seed, i) % static_cast<uint64_t>(count)));
  return result;
}

int64_t physicalPosition(const Shape &shape, const std::vector<int64_t> &coordinates) {
  int64_t position = 0;
  std::vector<int64_t> order = shape.minorToMajorOrDefault();
  for (size_t i = order.size(); i-- > 0;) {
    auto dim = static_cast<size_t>(order[i]);
    position = position * shape.dims[dim] + coordinates[dim];
  }
  return position;
}

ExpectedOutput finish(unsigned number, std::vector<std::pair<int64_t, double>> elements) {
  std::sort(elements.begin(), elements.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  ExpectedOutput output;
  output.output = number;
  double squares = 0;
  size_t finite = 0;
  for (const auto &[position, value] : elements) {
    output.positions.push_back(position);
    output.values.push_back(value);
    if (std::isfinite(value)) {
      squares += value * value;
      ++finite;
    }
  }
  output.scale = finite ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  return output;
}

} // namespace

std::vector<int64_t> coordinatesOf(const Shape &shape, int64_t element) {
  std::vector<int64_t> result(shape.rank());
  for (size_t i = shape.rank(); i-- > 0;) {
    result[i] = element % shape.dims[i];
    element /= shape.dims[i];
  }
  return result;
}

std::string hashOf(std::string_view text) {
  return fmt::format("{:016x}", llvm::xxh3_64bits(llvm::StringRef(text.data(), text.size())));
}

KernelProblem makeProblem(const KernelSpec &spec, const ExpectationOptions &options) {
  KernelProblem problem;
  problem.hlo = printHlo(*spec.module);
  problem.hash = hashOf(problem.hlo);
  const Graph &graph = spec.graph();
  std::vector<OpId> results = resultsOf(graph);
  for (OpId id : results)
    if (dtypeClass(graph[id].shape.dtype) == DTypeClass::Complex) {
      problem.unchecked = "complex results are not compared";
      return problem;
    }
  // Whole tensors where that is cheap: it covers every op. Else single elements.
  std::vector<Tensor> whole;
  bool isWhole = evaluationWork(graph) <= options.maxWork;
  if (isWhole) {
    std::vector<Tensor> arguments = fillArguments(*spec.module, spec.module->entryId, options.seed);
    auto evaluated = evaluate(*spec.module, spec.module->entryId, arguments);
    if (!evaluated) {
      problem.unchecked = takeDiag(evaluated.takeError()).message;
      return problem;
    }
    whole = std::move(*evaluated);
  }
  PointReference points(*spec.module, options.seed, options.maxWork);
  std::vector<std::vector<std::pair<int64_t, double>>> made(results.size());
  std::string stopped;
  std::vector<std::vector<int64_t>> chosen;
  for (size_t r = 0; r < results.size(); ++r)
    chosen.push_back(chooseElements(graph[results[r]].shape.elementCount().value_or(0),
                                    options.elements, options.seed + r));
  // Outputs are visited round-robin, so that a budget that runs out covers all of them.
  for (size_t i = 0; i < options.elements && stopped.empty(); ++i)
    for (size_t r = 0; r < results.size() && stopped.empty(); ++r) {
      if (i >= chosen[r].size())
        continue;
      const Shape &shape = graph[results[r]].shape;
      std::vector<int64_t> coordinates = coordinatesOf(shape, chosen[r][i]);
      double value = 0;
      if (isWhole) {
        value = whole[r].asDouble(chosen[r][i]);
      } else if (auto point = points.at(results[r], coordinates)) {
        value = *point;
      } else {
        stopped = takeDiag(point.takeError()).message;
        break;
      }
      made[r].emplace_back(physicalPosition(shape, coordinates), value);
    }
  for (size_t r = 0; r < results.size(); ++r)
    if (!made[r].empty())
      problem.outputs.push_back(finish(static_cast<unsigned>(r), std::move(made[r])));
  if (problem.outputs.empty())
    problem.unchecked = stopped.empty() ? "the results have no elements" : stopped;
  return problem;
}

} // namespace tilewright
