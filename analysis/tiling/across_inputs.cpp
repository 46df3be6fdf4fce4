#include "analysis/tiling/across_inputs.h"

#include "analysis/affine/linear_form.h"
#include "analysis/indexing/paths.h"

#include <algorithm>

namespace tilewright {
namespace {

/// Empty if a coordinate is not such a sum of dims.
std::optional<std::vector<AcrossInput::Dim>> dimsOf(const IndexMap &map, ExprContext &context,
                                                    size_t rootRank) {
  std::vector<AcrossInput::Dim> result;
  std::vector<bool> isTaken(rootRank);
  for (Expr coordinate : map.results()) {
    AcrossInput::Dim dim;
    LinearForm form = LinearForm::of(coordinate);
    dim.shift = form.constant;
    for (const LinearForm::Term &term : form.terms) {
      size_t root = 0;
      while (root < rootRank && term.expr != context.dim(static_cast<unsigned>(root)))
        ++root;
      if (root == rootRank || isTaken[root] || term.coefficient < 1)
        return std::nullopt;
      isTaken[root] = true;
      dim.terms.push_back({root, term.coefficient});
    }
    result.push_back(std::move(dim));
  }
  return result;
}

} // namespace

bool AcrossInput::Dim::follows(size_t rootDim) const {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const Term &term) { return term.rootDim == rootDim; });
}

std::vector<AcrossInput> acrossInputs(const Graph &graph, std::span<const OpId> roots,
                                      std::span<const OpId> inputs) {
  std::vector<AcrossInput> result;
  const Shape &root = graph[roots.front()].shape;
  if (root.isTuple || root.rank() < 2)
    return result;
  const auto fastest = static_cast<size_t>(root.minorToMajorOrDefault()[0]);
  for (OpId id : roots)
    if (graph[id].shape.isTuple || graph[id].shape.dims != root.dims)
      return result;
  // A thread takes up to four neighbours, at least one byte of the result.
  constexpr unsigned together = 4;
  std::vector<OpId> candidates;
  for (OpId id : inputs)
    if (const Shape &own = graph[id].shape; !own.isTuple && own.rank() >= 2 &&
                                            bitWidth(own.dtype) * together >= 8 &&
                                            own.elementCount().value_or(0) > 1)
      candidates.push_back(id);
  if (candidates.empty())
    return result;

  ExprContext context;
  std::vector<std::vector<MapsOrRefusal>> maps;
  for (OpId id : roots) {
    auto found = mapsWithin(graph, id, candidates, inputs, context);
    if (!found) {
      llvm::consumeError(found.takeError());
      return result;
    }
    maps.push_back(std::move(*found));
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const IndexMap *at = nullptr;
    bool agree = true;
    for (const std::vector<MapsOrRefusal> &ofRoot : maps) {
      agree = agree && !ofRoot[i].refusal;
      for (const IndexMap &map : ofRoot[i].maps.maps) {
        if (map.isKnownEmpty())
          continue;
        agree = agree && (!at || at->results() == map.results());
        at = &map;
      }
    }
    if (!agree || !at)
      continue;
    auto dims = dimsOf(*at, context, root.rank());
    if (!dims)
      continue;
    const Shape &own = graph[candidates[i]].shape;
    AcrossInput input{candidates[i], std::move(*dims), 0, 0,
                      std::max<int64_t>(bitWidth(own.dtype) / 8, 1)};
    // Dims of one element may have any place in a layout.
    for (int64_t dim : own.minorToMajorOrDefault())
      if (own.dims[static_cast<size_t>(dim)] != 1) {
        input.minor = static_cast<size_t>(dim);
        break;
      }
    bool hasRow = false;
    for (size_t d = 0; d < input.dims.size(); ++d)
      for (const AcrossInput::Dim::Term &term : input.dims[d].terms)
        if (term.rootDim == fastest && term.coefficient == 1) {
          input.row = d;
          hasRow = true;
        }
    if (hasRow && input.row != input.minor && !input.dims[input.minor].terms.empty())
      result.push_back(std::move(input));
  }
  return result;
}

} // namespace tilewright
