#include "analysis/tiling/code_kind.h"

#include "analysis/support/diag.h"
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/element_work.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace tilewright {

namespace {

const Shape &tensorOf(const Op &op) {
  const Shape *shape = resultShape(op, {});
  return shape ? *shape : op.shape;
}

/// The coordinates at which each element d0, d1, … of `from` reads each of the ops; empty for one
/// that it does not read. Unsupported where an element reads one at several places.
using Place = std::optional<std::vector<Expr>>;
llvm::Expected<std::vector<Place>> placesOf(const Graph &graph, OpId from,
                                            std::span<const OpId> ops, ExprContext &context) {
  llvm::Expected<std::vector<MapsOrRefusal>> found = mapsToOps(graph, from, ops, context);
  if (!found)
    return found.takeError();
  std::vector<Place> places;
  for (size_t i = 0; i < ops.size(); ++i) {
    if ((*found)[i].refusal)
      return makeError(*(*found)[i].refusal);
    Place place;
    for (const IndexMap &map : (*found)[i].maps.maps) {
      if (map.isKnownEmpty())
        continue;
      std::vector<Expr> at(map.results().begin(), map.results().end());
      if (place && *place != at)
        return makeError(DiagClass::Unsupported, "%{} reads %{} at two different places",
                         graph[from].name, graph[ops[i]].name);
      place = std::move(at);
    }
    if (place)
      for (Expr coordinate : *place)
        for (VarId var : variablesOf(coordinate))
          if (context.info(var).kind != VarKind::Dim)
            return makeError(DiagClass::Unsupported,
                             "an element of %{} reads more than one element of %{}",
                             graph[from].name, graph[ops[i]].name);
    places.push_back(std::move(place));
  }
  return places;
}

/// The dim of the result that a variable of its elements stands for.
std::optional<size_t> dimOf(ExprContext &context, VarId var, size_t rank) {
  for (size_t dim = 0; dim < rank; ++dim)
    if (context.dim(static_cast<unsigned>(dim)).variable() == var)
      return dim;
  return std::nullopt;
}

/// Other results at the same coordinates must read the ops at the same places.
std::string whyNotAlike(const Graph &graph, std::span<const OpId> results,
                        std::span<const OpId> ops, const std::vector<Place> &places,
                        ExprContext &context) {
  for (OpId id : results.subspan(1)) {
    if (tensorOf(graph[id]).dims != tensorOf(graph[results[0]]).dims)
      continue;
    llvm::Expected<std::vector<Place>> others = placesOf(graph, id, ops, context);
    if (!others)
      return takeDiag(others.takeError()).message;
    for (size_t i = 0; i < ops.size(); ++i)
      if (places[i] && (*others)[i] && *places[i] != *(*others)[i])
        return fmt::format("%{} and %{} read %{} at different places", graph[results[0]].name,
                           graph[id].name, graph[ops[i]].name);
  }
  return "";
}

std::string whyNoWindows(const Graph &graph, OpId convolution) {
  const Op &op = graph[convolution];
  if (op.attrs.batchGroupCount != 1)
    return fmt::format("%{} has {} batch groups, one is allowed", op.name,
                       op.attrs.batchGroupCount);
  const int64_t outputs =
      graph[op.operands[1]].shape.dims[static_cast<size_t>(op.attrs.conv.kernelOutput)];
  constexpr int64_t fewColumns = 8; // of the narrowest product
  if (const int64_t groups = op.attrs.featureGroupCount;
      groups > 1 && outputs / groups < fewColumns)
    return fmt::format(
        "each of the {} feature groups of %{} has {} output features, and products of "
        "tiles take {} or more",
        groups, op.name, outputs / groups, fewColumns);
  ExprContext context;
  llvm::Expected<OpIndexing> maps = outputToOperands(graph, convolution, context);
  if (!maps)
    return takeDiag(maps.takeError()).message;
  return windowSum(*maps) ? "" : fmt::format("%{} is no sum over windows", op.name);
}

/// Why the dot, or the convolution, is no product of tiles of rows and columns.
std::string whyNoProduct(const Graph &graph, std::span<const OpId> results, OpId dot) {
  if (dtypeClass(tensorOf(graph[dot]).dtype) == DTypeClass::Complex)
    return fmt::format("%{} is of complex numbers", graph[dot].name);
  if (graph[dot].opcode == Opcode::Convolution)
    if (std::string why = whyNoWindows(graph, dot); !why.empty())
      return why;
  const Op &root = graph[results[0]];
  const std::vector<int64_t> &extents = tensorOf(root).dims;
  for (OpId id : results)
    if (tensorOf(graph[id]).dims != extents)
      return fmt::format("%{} has the shape {}, and %{} beside it {}", graph[id].name,
                         tensorOf(graph[id]).str(false), root.name, tensorOf(root).str(false));
  ExprContext context;
  const OpId ops[] = {dot};
  llvm::Expected<std::vector<Place>> places = placesOf(graph, results[0], ops, context);
  if (!places)
    return takeDiag(places.takeError()).message;
  const Place &place = places->front();
  if (!place)
    return fmt::format("%{} does not depend on %{}", root.name, graph[dot].name);
  if (std::string why = whyNotAlike(graph, results, ops, *places, context); !why.empty())
    return why;
  const std::vector<DotSide> sides = sidesOfResult(graph, dot);
  std::vector<std::optional<DotSide>> found(extents.size());
  for (size_t d = 0; d < place->size(); ++d)
    for (VarId var : variablesOf((*place)[d])) {
      const std::optional<size_t> dim = dimOf(context, var, extents.size());
      if (!dim)
        continue;
      if (found[*dim].value_or(sides[d]) != sides[d])
        return fmt::format("dim {} of %{} runs over several sides of %{} at once", *dim, root.name,
                           graph[dot].name);
      found[*dim] = sides[d];
    }
  for (size_t dim = 0; dim < extents.size(); ++dim)
    if (!found[dim] && extents[dim] != 1)
      return fmt::format("dim {} of %{} repeats the result of %{} {} times", dim, root.name,
                         graph[dot].name, extents[dim]);
  return "";
}

/// Why products beside others are made by loops: the loop of another op is between them, or they
/// are of complex numbers.
std::string whyNotFused(const Graph &graph, std::span<const OpId> ops, OpId product) {
  for (OpId id : ops) {
    const Op &op = graph[id];
    const bool isOther =
        takesLoop(op.opcode) && op.opcode != Opcode::Dot && op.opcode != Opcode::Reduce;
    if (isOther)
      return fmt::format("%{} is beside %{}, and products of tiles are beside dots and reductions "
                         "alone",
                         op.name, graph[product].name);
    if (op.opcode == Opcode::Dot && dtypeClass(tensorOf(op).dtype) == DTypeClass::Complex)
      return fmt::format("%{} is of complex numbers", op.name);
  }
  return "";
}

/// Are there elements that loops of threads would make again and again?
bool isByLoopsTooOften(const Graph &graph, std::span<const OpId> ops,
                       std::span<const OpId> results) {
  llvm::Expected<std::string> why = whyNotElementwise(graph, ops, results);
  if (why)
    return !why->empty();
  llvm::consumeError(why.takeError());
  return false;
}

/// The rows that threads share in the code for reductions, and what of the results lies along them.
class Rows {
public:
  Rows(const Graph &graph, std::span<const OpId> reductions, std::span<const OpId> results)
      : graph(graph), reductions(reductions), results(results), root(tensorOf(graph[results[0]])) {}

  std::string whyNot() {
    if (std::string why = findRowDims(); !why.empty())
      return why;
    for (OpId id : results) // of an op with several each is one
      for (const Shape &shape :
           graph[id].shape.isTuple ? graph[id].shape.elements : std::vector<Shape>{graph[id].shape})
        if (std::string why = whyNotResult(id, shape); !why.empty())
          return why;
    return "";
  }

private:
  const Shape &inputOf(OpId reduction) const {
    return tensorOf(graph[graph[reduction].operands[0]]);
  }

  std::string findRowDims() {
    ExprContext context;
    llvm::Expected<std::vector<Place>> places = placesOf(graph, results[0], reductions, context);
    if (!places)
      return takeDiag(places.takeError()).message;
    isRowDim.assign(root.rank(), false);
    bool isAny = false;
    for (const Place &place : *places)
      if (place) {
        isAny = true;
        for (Expr coordinate : *place)
          for (VarId var : variablesOf(coordinate))
            if (auto dim = dimOf(context, var, root.rank()))
              isRowDim[*dim] = true;
      }
    if (!isAny)
      return fmt::format("%{} does not depend on any reduction", graph[results[0]].name);
    for (size_t dim = 0; dim < root.rank(); ++dim)
      if (isRowDim[dim])
        rowExtents.push_back(root.dims[dim]);
    for (size_t i = 0; i < reductions.size(); ++i)
      if (!(*places)[i] && tensorOf(graph[reductions[i]]).rank() != rowExtents.size())
        return fmt::format("%{} has rows of another shape than those of %{}",
                           graph[reductions[i]].name, graph[results[0]].name);
    return whyNotAlike(graph, results, reductions, *places, context);
  }

  /// True if the dim that varies fastest in memory is among the reduced ones: then threads take
  /// neighbouring columns, as vectors.
  bool isAlongRows() const {
    const std::vector<int64_t> &dims = graph[reductions[0]].attrs.dimensions;
    const std::vector<int64_t> order = inputOf(reductions[0]).minorToMajorOrDefault();
    return !order.empty() && std::find(dims.begin(), dims.end(), order[0]) != dims.end();
  }

  /// Why a result has no place in the walk over rows: it should have the root's shape, one element
  /// a row, or those of what is reduced.
  std::string whyNotResult(OpId id, const Shape &shape) const {
    const OpId input = graph[reductions[0]].operands[0];
    int64_t rows = 1;
    for (int64_t extent : rowExtents)
      rows *= extent;
    const bool isLikeRoot = shape.dims == root.dims;
    const bool isLikeInput =
        !isLikeRoot && tensorOf(graph[reductions[0]]).elementCount() == rows &&
        (shape.dims == tensorOf(graph[input]).dims || isReadOneToOne(graph, input, id));
    if (!isLikeRoot && !isLikeInput && shape.dims != rowExtents)
      return fmt::format("%{} has the shape {}, which is neither that of %{}, nor one element a "
                         "row, nor that of %{}, which is reduced",
                         graph[id].name, shape.str(false), graph[results[0]].name,
                         graph[input].name);
    const int64_t bits = bitWidth(shape.dtype);
    return bits == 0 || bits >= 8 ? "" : whyNotPacked(id, shape, 8 / bits, isLikeRoot, isLikeInput);
  }

  /// Elements that share a byte are stored together, as a vector of columns.
  std::string whyNotPacked(OpId id, const Shape &shape, int64_t shared, bool isLikeRoot,
                           bool isLikeInput) const {
    const std::vector<int64_t> order = shape.minorToMajorOrDefault();
    const int64_t fastest = order.empty() ? -1 : order[0];
    bool isVector = isAlongRows() && fastest >= 0;
    if (isLikeRoot)
      isVector = isVector && root.minorToMajorOrDefault()[0] == fastest &&
                 !isRowDim[static_cast<size_t>(fastest)];
    else
      isVector = isVector && isLikeInput && shape.dims == inputOf(reductions[0]).dims &&
                 inputOf(reductions[0]).minorToMajorOrDefault()[0] == fastest;
    for (OpId reduction : reductions)
      for (int64_t dim : inputOf(reduction).minorToMajorOrDefault()) {
        const std::vector<int64_t> &dims = graph[reduction].attrs.dimensions;
        if (std::find(dims.begin(), dims.end(), dim) == dims.end())
          continue;
        isVector = isVector && inputOf(reduction).dims[static_cast<size_t>(dim)] % shared == 0;
        break; // the fastest of the reduced ones
      }
    return isVector ? ""
                    : fmt::format("a thread that makes rows would store single elements of %{}, "
                                  "{}, of which {} share a byte",
                                  graph[id].name, shape.str(false), shared);
  }

  const Graph &graph;
  std::span<const OpId> reductions, results;
  const Shape &root;
  std::vector<bool> isRowDim;
  std::vector<int64_t> rowExtents;
};

} // namespace

std::string_view toString(CodeKind kind) {
  switch (kind) {
  case CodeKind::Elementwise:
    return "elementwise";
  case CodeKind::Reduction:
    return "reduction";
  case CodeKind::Dot:
    return "dot";
  case CodeKind::Chain:
    return "chain";
  case CodeKind::Fused:
    return "fused";
  }
  return "";
}

KindOfCode kindOfCode(const Graph &graph, std::span<const OpId> ops,
                      std::span<const OpId> results) {
  std::vector<OpId> dots, convolutions, reductions;
  for (OpId id : ops)
    switch (graph[id].opcode) {
    case Opcode::Dot:
      dots.push_back(id);
      break;
    case Opcode::Convolution:
      convolutions.push_back(id);
      break;
    case Opcode::Reduce:
      reductions.push_back(id);
      break;
    default:
      break;
    }
  KindOfCode result;
  if (dots.empty() && convolutions.empty() && reductions.empty())
    return result;
  if (twoDots(graph, ops))
    return {CodeKind::Chain, ""};
  std::vector<OpId> products = dots;
  products.insert(products.end(), convolutions.begin(), convolutions.end());
  if (products.size() == 1 && reductions.empty()) {
    result.why = whyNoProduct(graph, results, products[0]);
    if (result.why.empty())
      result.kind = CodeKind::Dot;
  } else if (dots.empty() && !reductions.empty()) {
    result.why = Rows(graph, reductions, results).whyNot();
    if (result.why.empty())
      result.kind = CodeKind::Reduction;
    else if (isByLoopsTooOften(graph, ops, results) &&
             whyNotFused(graph, ops, reductions[0]).empty())
      return {CodeKind::Fused, ""};
  } else {
    result.why = whyNotFused(graph, ops, products[0]);
    if (result.why.empty())
      result.kind = CodeKind::Fused;
  }
  return result;
}

std::vector<DotSide> sidesOfResult(const Graph &graph, OpId dot) {
  const Op &op = graph[dot];
  std::vector<DotSide> sides(op.shape.rank(), DotSide::Rows);
  if (op.opcode == Opcode::Convolution) {
    sides[static_cast<size_t>(op.attrs.conv.outputFeature)] = DotSide::Columns;
    return sides;
  }
  const size_t batchDims = op.attrs.dot.lhsBatch.size();
  const size_t lhsEnd = graph[op.operands[0]].shape.rank() - op.attrs.dot.lhsContracting.size();
  for (size_t d = 0; d < sides.size(); ++d)
    sides[d] = d < batchDims ? DotSide::Batch : d < lhsEnd ? DotSide::Rows : DotSide::Columns;
  return sides;
}

std::optional<std::vector<MapVariable>> windowSum(const OpIndexing &maps) {
  if (maps.isOpaque || maps.operands.size() != 2)
    return std::nullopt;
  std::vector<MapVariable> ranges[2];
  for (size_t i : {0, 1}) {
    if (maps.operands[i].maps.size() != 1 || maps.operands[i].maps[0].isKnownEmpty())
      return std::nullopt;
    ranges[i] = maps.operands[i].maps[0].variables(VarKind::Range);
  }
  auto isSame = [](const MapVariable &a, const MapVariable &b) {
    return a.var == b.var && a.domain == b.domain && !a.domain.isEmpty();
  };
  if (!std::equal(ranges[0].begin(), ranges[0].end(), ranges[1].begin(), ranges[1].end(), isSame))
    return std::nullopt;
  return ranges[0];
}

bool isReadOneToOne(const Graph &graph, OpId input, OpId id) {
  const auto count = graph[id].shape.elementCount();
  std::vector<bool> seen(graph.size());
  std::vector<OpId> work{input};
  while (!work.empty()) {
    const OpId at = work.back();
    work.pop_back();
    const Op &op = graph[at];
    if (seen[at.index] || op.shape.isTuple || op.shape.elementCount() != count)
      continue;
    seen[at.index] = true;
    if (at == id)
      return true;
    const bool isOneToOne = opClass(op.opcode) == OpClass::Elementwise ||
                            op.opcode == Opcode::Bitcast || op.opcode == Opcode::Reshape ||
                            op.opcode == Opcode::Transpose;
    if (isOneToOne)
      work.insert(work.end(), op.operands.begin(), op.operands.end());
  }
  return false;
}

} // namespace tilewright
