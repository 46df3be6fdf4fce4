#include "codegen/shrink.h"

#include "analysis/ir/infer_shape.h"
#include "analysis/ir/literal.h"
#include "analysis/ir/verifier.h"
#include "analysis/support/checked.h"
#include "codegen/dim_ties.h"
#include "codegen/extract.h"
#include "codegen/point_reference.h"

#include <algorithm>
#include <functional>

namespace tilewright {

namespace {

constexpr int64_t residueModulus = 16; // elements: what vector widths and chunks can depend on

/// At most `most`, with the same remainder modulo 16, or odd.
int64_t reduced(int64_t extent, int64_t most, bool odd) {
  if (extent <= 2)
    return extent;
  if (odd) {
    int64_t result = std::min(extent, std::max<int64_t>(most, 3));
    return result % 2 == 0 ? result - 1 : result;
  }
  if (extent <= most)
    return extent;
  // A limit below the modulus gives the largest power of two that fits.
  int64_t modulus = residueModulus;
  while (modulus > most)
    modulus /= 2;
  int64_t rest = extent % modulus, whole = (most - rest) / modulus * modulus;
  return whole + rest > 0 ? whole + rest : modulus;
}

constexpr int64_t copiedBytes = 16; // at once, by a vector load, cp.async or TMA

/// Chooses a value for every factor such that all relations hold.
class SizeChoice {
public:
  SizeChoice(const Graph &graph, const DimTies &ties, const ShrinkOptions &options)
      : ties(ties), factors(ties.factors()), states(factors.count(), State::Frozen) {
    const std::vector<int64_t> most = bounds(graph, options);
    for (size_t i = 0; i < factors.count(); ++i) // window sizes belong to no tensor
      values.push_back(factors.size(static_cast<int>(i)));
    for (uint32_t i = 0; i < graph.size(); ++i)
      for (const DimFactors::List &list : ties.of(OpId{i}))
        for (int leaf : factors.leaves(list)) {
          auto index = static_cast<size_t>(leaf);
          bool keeps = factors.isFrozen(leaf);
          states[index] = keeps ? State::Frozen : State::Free;
          values[index] =
              keeps ? factors.size(leaf) : reduced(factors.size(leaf), most[index], options.odd);
        }
    for (const ShrinkOptions::Wish &wish : options.wishes)
      grant(ties.of(wish.op)[wish.dim], wish.extent);
    if (options.keepsRows)
      keepParts();
    repair();
  }

  int64_t of(const DimFactors::List &list) const {
    int64_t product = 1;
    for (int leaf : factors.leaves(list))
      product *= values[static_cast<size_t>(leaf)];
    return product;
  }

private:
  enum class State : uint8_t {
    Free,   ///< not requested
    Wished, ///< requested
    Set,    ///< follows from others by a relation
    Frozen, ///< the original size
  };

  int64_t original(const DimFactors::List &list) const {
    int64_t product = 1;
    for (int leaf : factors.leaves(list))
      product *= factors.size(leaf);
    return product;
  }

  /// Upper bounds of the factors: where the original's rows can be copied 16 bytes at a time, so
  /// can the smaller ones.
  std::vector<int64_t> bounds(const Graph &graph, const ShrinkOptions &options) const {
    std::vector<int64_t> most(factors.count(), options.most);
    for (uint32_t i = 0; i < graph.size() && options.keepsRows; ++i) {
      const Shape &shape = graph[OpId{i}].shape;
      if (shape.isTuple || shape.rank() == 0 || bitWidth(shape.dtype) == 0)
        continue;
      const auto minor = static_cast<size_t>(shape.minorToMajorOrDefault()[0]);
      const std::vector<int> leaves = factors.leaves(ties.of(OpId{i})[minor]);
      if (leaves.empty())
        continue;
      int64_t &bound = most[static_cast<size_t>(leaves.back())];
      bound = std::max<int64_t>(bound, 8 * copiedBytes / bitWidth(shape.dtype));
    }
    return most;
  }

  /// The thirds of a row of three stay as long as they are, or each would start at no multiple of
  /// what is copied at a time. A small part of a long row isn't worth it.
  void keepParts() {
    constexpr int64_t fewParts = 8;
    for (const DimRelation &relation : ties.relations()) {
      if (relation.kind != DimRelation::Kind::AtMost)
        continue;
      const int64_t whole = original(relation.sources[0]), part = original(relation.result);
      if (part < 1 || whole % part != 0 || whole / part > fewParts)
        continue;
      const int64_t wanted = of(relation.result) * (whole / part);
      if (wanted > of(relation.sources[0]))
        set(relation.sources[0], wanted, State::Free);
    }
  }

  void grant(const DimFactors::List &list, int64_t extent) {
    std::vector<int> leaves = factors.leaves(list);
    // Minor factors are already small; the rest of the requested size goes to the major ones.
    for (size_t i = leaves.size(); i-- > 0;) {
      auto leaf = static_cast<size_t>(leaves[i]);
      if (states[leaf] == State::Free) {
        int64_t wanted = i == 0 ? extent : std::min(extent, values[leaf]);
        values[leaf] = std::clamp<int64_t>(wanted, 1, factors.size(leaves[i]));
        states[leaf] = State::Wished;
      }
      extent = std::max<int64_t>((extent + values[leaf] - 1) / values[leaf], 1);
    }
  }

  bool holds(const DimRelation &relation) const {
    int64_t result = of(relation.result);
    switch (relation.kind) {
    case DimRelation::Kind::AtMost:
      return relation.step * (result - 1) + 1 <= of(relation.sources[0]);
    default:
      return result == forward(relation);
    }
  }

  /// The result's extent that follows from the sources.
  int64_t forward(const DimRelation &relation) const {
    int64_t first = of(relation.sources[0]);
    switch (relation.kind) {
    case DimRelation::Kind::Sum: {
      int64_t sum = 0;
      for (const DimFactors::List &source : relation.sources)
        sum += of(source);
      return sum;
    }
    case DimRelation::Kind::Pad:
      return padded(relation.pad, first);
    case DimRelation::Kind::Window:
      return windowPositions(resizedWindow(relation.window, of(relation.sources[1])), first)
          .value_or(0);
    case DimRelation::Kind::AtMost:
      return first < 1 ? 0 : (first - 1) / relation.step + 1;
    }
    return 0;
  }

  static int64_t padded(const PadDim &pad, int64_t extent) {
    return pad.low + pad.high + extent + pad.interior * std::max<int64_t>(extent - 1, 0);
  }

  /// Makes the product of `list` equal `extent` by changing one factor that is no firmer than
  /// `atMost`.
  bool set(const DimFactors::List &list, int64_t extent, State atMost) {
    if (of(list) == extent)
      return true;
    for (int leaf : factors.leaves(list)) {
      auto index = static_cast<size_t>(leaf);
      if (states[index] > atMost || values[index] == 0)
        continue;
      int64_t others = of(list) / values[index];
      if (extent < 1 || extent % others != 0 || extent / others > factors.size(leaf))
        continue;
      values[index] = extent / others;
      states[index] = State::Set;
      return true;
    }
    return false;
  }

  /// The smallest source from which the relation gives `result`.
  std::optional<int64_t> backward(const DimRelation &relation, int64_t result) const {
    if (relation.kind == DimRelation::Kind::AtMost)
      return relation.step * (result - 1) + 1;
    if (relation.kind == DimRelation::Kind::Sum)
      return std::nullopt;
    auto at = [&](int64_t source) {
      if (relation.kind == DimRelation::Kind::Pad)
        return padded(relation.pad, source);
      bool follows = factors.leaves(relation.sources[0]) == factors.leaves(relation.sources[1]);
      int64_t size = follows ? source : of(relation.sources[1]);
      return windowPositions(resizedWindow(relation.window, size), source).value_or(0);
    };
    int64_t low = 1, high = original(relation.sources[0]);
    while (low < high) { // monotone
      int64_t middle = low + (high - low) / 2;
      if (at(middle) >= result)
        high = middle;
      else
        low = middle + 1;
    }
    return at(low) == result ? std::optional(low) : std::nullopt;
  }

  bool repairSum(const DimRelation &relation, State atMost) {
    int64_t result = of(relation.result), whole = original(relation.result), given = 0;
    // In proportion; the last one takes the remainder.
    std::vector<int64_t> shares;
    for (const DimFactors::List &source : relation.sources) {
      int64_t share = std::max<int64_t>(
          static_cast<int64_t>(static_cast<__int128>(original(source)) * result / whole), 1);
      shares.push_back(share);
      given += share;
    }
    shares.back() += result - given;
    auto backupValues = values;
    auto backupStates = states;
    for (size_t i = 0; i < shares.size(); ++i)
      if (!set(relation.sources[i], shares[i], atMost)) {
        values = backupValues;
        states = backupStates;
        return false;
      }
    return holds(relation);
  }

  bool repairBy(const DimRelation &relation, State atMost) {
    if (relation.kind == DimRelation::Kind::AtMost) {
      // Each part keeps its share of the whole.
      int64_t room = forward(relation);
      int64_t share = static_cast<int64_t>(static_cast<__int128>(of(relation.sources[0])) *
                                           original(relation.result) /
                                           std::max<int64_t>(original(relation.sources[0]), 1));
      for (int64_t wanted : {std::clamp<int64_t>(share, 1, std::max<int64_t>(room, 1)), room})
        if (wanted <= room && set(relation.result, wanted, atMost))
          return true;
    } else if (int64_t result = forward(relation);
               result >= 1 && set(relation.result, result, atMost) && holds(relation)) {
      return true;
    }
    if (relation.kind == DimRelation::Kind::Sum)
      return repairSum(relation, atMost);
    auto source = backward(relation, of(relation.result));
    return source && set(relation.sources[0], *source, atMost) && holds(relation);
  }

  void freeze(const DimFactors::List &list) {
    for (int leaf : factors.leaves(list)) {
      values[static_cast<size_t>(leaf)] = factors.size(leaf);
      states[static_cast<size_t>(leaf)] = State::Frozen;
    }
  }

  /// Each repair makes a factor firmer, and frozen factors satisfy everything: this ends.
  void repair() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const DimRelation &relation : ties.relations()) {
        if (holds(relation))
          continue;
        changed = true;
        if (repairBy(relation, State::Free) || repairBy(relation, State::Wished))
          continue;
        freeze(relation.result);
        for (const DimFactors::List &source : relation.sources)
          freeze(source);
      }
    }
  }

  const DimTies &ties;
  const DimFactors &factors;
  std::vector<int64_t> values;
  std::vector<State> states;
};

/// The text of a literal, from the front corner of the original's tensor.
std::string shrunkLiteral(const Tensor &from, const std::vector<int64_t> &dims) {
  std::vector<int64_t> index(dims.size());
  DType type = from.dtype();
  std::function<std::string(size_t)> text = [&](size_t depth) -> std::string {
    if (depth == dims.size()) {
      int64_t offset = from.offset(index);
      if (type == DType::Pred)
        return from.integer(offset) ? "true" : "false";
      return isFloat(type) ? fmt::format("{:.17g}", from.real(offset))
             : dtypeClass(type) == DTypeClass::Unsigned
                 ? fmt::format("{}", static_cast<uint64_t>(from.integer(offset)))
                 : fmt::format("{}", from.integer(offset));
    }
    std::string out;
    for (index[depth] = 0; index[depth] < dims[depth]; ++index[depth])
      out += (out.empty() ? "" : ", ") + text(depth + 1);
    return "{" + out + "}";
  };
  return text(0);
}

class Rebuilding {
public:
  Rebuilding(const Graph &graph, const DimTies &ties, const SizeChoice &choice)
      : graph(graph), ties(ties), choice(choice) {}

  /// The op over its new extents. Empty if a constant's literal can't be cut.
  llvm::Expected<Op> rebuilt(OpId id) const {
    Op op = graph[id];
    std::vector<int64_t> dims = newDims(id);
    if (op.opcode == Opcode::Constant && dims != op.shape.dims && !op.isElidedConstant()) {
      auto tensor = parseLiteral(op.shape, op.literal);
      if (!tensor)
        return tensor.takeError();
      op.literal = shrunkLiteral(*tensor, dims);
    }
    setDims(op.shape, dims);
    for (Shape &element : op.shape.elements)
      if (op.opcode != Opcode::Tuple)
        setDims(element, dims);
    OpAttributes &attrs = op.attrs;
    switch (op.opcode) {
    case Opcode::Slice:
      for (size_t d = 0; d < dims.size(); ++d)
        attrs.slice[d] = movedSlice(attrs.slice[d], newDims(op.operands[0])[d],
                                    graph[op.operands[0]].shape.dims[d], dims[d]);
      break;
    case Opcode::DynamicSlice:
      attrs.dynamicSliceSizes = dims;
      break;
    case Opcode::Gather: {
      size_t offset = 0;
      for (size_t d = 0; d < attrs.gather.sliceSizes.size(); ++d) {
        auto isIn = [&](const std::vector<int64_t> &list) {
          return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
        };
        if (!isIn(attrs.gather.collapsedSliceDims) && !isIn(attrs.gather.operandBatchingDims))
          attrs.gather.sliceSizes[d] = dims[static_cast<size_t>(attrs.gather.offsetDims[offset++])];
      }
      break;
    }
    case Opcode::Convolution: {
      attrs.featureGroupCount =
          choice.of(ties.groupsOf(id).empty() ? DimFactors::List{} : ties.groupsOf(id));
      if (ties.groupsOf(id).empty())
        attrs.featureGroupCount = graph[id].attrs.featureGroupCount;
      std::vector<int64_t> kernel = newDims(op.operands[1]);
      for (size_t i = 0; i < attrs.window.size(); ++i)
        attrs.window[i] = resizedWindow(attrs.window[i],
                                        kernel[static_cast<size_t>(attrs.conv.kernelSpatial[i])]);
      break;
    }
    case Opcode::ReduceWindow:
    case Opcode::SelectAndScatter: {
      const Shape &input = graph[op.operands[0]].shape;
      std::vector<int64_t> extents = newDims(op.operands[0]);
      for (size_t d = 0; d < attrs.window.size(); ++d)
        if (windowFollowsExtent(attrs.window[d], input.dims[d]))
          attrs.window[d] = resizedWindow(attrs.window[d], extents[d]);
      break;
    }
    default:
      break;
    }
    return op;
  }

private:
  std::vector<int64_t> newDims(OpId id) const {
    std::vector<int64_t> result;
    for (const DimFactors::List &list : ties.of(id))
      result.push_back(choice.of(list));
    return result;
  }

  static void setDims(Shape &shape, const std::vector<int64_t> &dims) {
    if (!shape.isTuple && shape.dims.size() == dims.size())
      shape.dims = dims;
  }

  static SliceDim movedSlice(const SliceDim &slice, int64_t extent, int64_t original,
                             int64_t size) {
    int64_t span = size > 0 ? (size - 1) * slice.step + 1 : 0;
    auto start = original > 0
                     ? static_cast<int64_t>(static_cast<__int128>(slice.start) * extent / original)
                     : 0;
    start = std::clamp<int64_t>(start, 0, std::max<int64_t>(extent - span, 0));
    // A slice that reached the end still does, if that gives the same number of elements.
    int64_t limit = start + span;
    if (slice.start == 0 && slice.limit == original && (extent - 1) / slice.step + 1 == size)
      limit = extent;
    return {start, limit, slice.step};
  }

  const Graph &graph;
  const DimTies &ties;
  const SizeChoice &choice;
};

} // namespace

llvm::Expected<std::shared_ptr<const Module>> shrinkModule(const Module &module,
                                                           const ShrinkOptions &options) {
  const Graph &graph = module.entry();
  DimTies ties(graph);
  SizeChoice choice(graph, ties, options);
  Rebuilding rebuilding(graph, ties, choice);
  Graph entry(graph.name());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    auto op = rebuilding.rebuilt(OpId{i});
    if (!op)
      return op.takeError();
    if (op->opcode == Opcode::Tuple) {
      std::vector<Shape> shapes;
      for (OpId operand : op->operands)
        shapes.push_back(entry[operand].shape);
      op->shape = Shape::tuple(std::move(shapes));
    }
    op->loc = {};
    entry.add(std::move(*op));
  }
  entry.setRoot(graph.root());
  auto result = std::make_shared<Module>();
  result->name = module.name;
  for (uint32_t i = 0; i < module.all().size(); ++i) {
    bool isEntry = GraphId{i} == module.entryId;
    GraphId id = result->add(isEntry ? std::move(entry) : Graph(module.graph(GraphId{i})));
    if (isEntry)
      result->entryId = id;
  }
  if (auto error = verify(*result)) {
    Diag diag = takeDiag(std::move(error));
    return makeError(DiagClass::Internal, "the shrunk graph is not valid: {}", diag.message);
  }
  return result;
}

namespace {

/// Useful extents: two tiles, the second as full as the original's last.
int64_t twoTiles(int64_t extent, int64_t tile, int64_t tiles, bool odd) {
  int64_t wanted = std::min(extent, tile * tiles);
  if (odd) {
    wanted = std::min(extent, tile * (tiles - 1) + (tile + 1) / 2);
    return wanted % 2 == 0 && wanted > 2 ? wanted - 1 : wanted;
  }
  if (extent % tile != 0 && wanted < extent)
    wanted = tile * (tiles - 1) + extent % tile;
  return wanted;
}

ShrinkOptions wishesOf(const KernelSpec &spec, const std::vector<int64_t> &tile, int64_t most,
                       bool odd) {
  const Graph &graph = spec.graph();
  ShrinkOptions options;
  options.most = most;
  options.odd = odd;
  options.keepsRows = !odd;
  OpId root = resultsOf(graph)[0];
  // Elements that share a byte are written together, so a row has a whole number of bytes.
  for (OpId id : resultsOf(graph)) {
    const Shape &shape = graph[id].shape;
    if (!odd || shape.rank() == 0 || bitWidth(shape.dtype) >= 8)
      continue;
    auto d = static_cast<unsigned>(shape.minorToMajorOrDefault()[0]);
    int64_t extent = shape.dims[d], size = d < tile.size() ? tile[d] : extent;
    int64_t together = 8 / bitWidth(shape.dtype);
    options.wishes.push_back(
        {id, d, std::min(extent, ceilDiv(twoTiles(extent, size, 2, odd), together) * together)});
  }
  for (unsigned d = 0; d < tile.size(); ++d)
    if (int64_t extent = graph[root].shape.dims[d]; tile[d] < extent)
      options.wishes.push_back({root, d, twoTiles(extent, tile[d], 2, odd)});
  for (const KernelSpec::Sequential &sequential : spec.sequential) {
    OpId id = graph.find(sequential.op);
    if (!id.isValid())
      continue;
    const Op &op = graph[id];
    std::vector<int64_t> dims;
    if (op.opcode == Opcode::Dot)
      dims = op.attrs.dot.lhsContracting;
    else if (op.opcode == Opcode::Reduce)
      dims = op.attrs.dimensions;
    if (op.opcode == Opcode::Reduce)
      std::sort(dims.begin(), dims.end());
    if (sequential.dim >= dims.size())
      continue;
    auto dim = static_cast<unsigned>(dims[sequential.dim]);
    int64_t extent = graph[op.operands[0]].shape.dims[dim];
    if (sequential.size < extent)
      options.wishes.push_back({op.operands[0], dim, twoTiles(extent, sequential.size, 3, odd)});
  }
  return options;
}

} // namespace

llvm::Expected<KernelSpec> shrinkSpec(const KernelSpec &spec, ShrunkSizes sizes, uint64_t maxWork) {
  bool odd = sizes == ShrunkSizes::Odd;
  struct Attempt {
    int64_t most, divisor;
  };
  constexpr Attempt attempts[] = {{512, 1}, {128, 1}, {32, 1}, {16, 1}, {8, 1},  {4, 1},
                                  {8, 2},   {8, 4},   {4, 8},  {4, 32}, {4, 256}};
  KernelSpec result = spec;
  result.forgetProgram(); // that of tiles of other sizes is another
  for (const Attempt &attempt : attempts) {
    std::vector<int64_t> tile = spec.rootTile;
    for (int64_t &size : tile)
      size = std::max<int64_t>(size / attempt.divisor, 1);
    auto module = shrinkModule(*spec.module, wishesOf(spec, tile, attempt.most, odd));
    if (!module)
      return module.takeError();
    result.module = *module;
    result.rootTile = tile;
    const Graph &graph = result.graph();
    const Shape &root = graph[resultsOf(graph)[0]].shape;
    for (size_t d = 0; d < tile.size(); ++d)
      result.rootTile[d] = std::min(result.rootTile[d], std::max<int64_t>(root.dims[d], 1));
    if (evaluationWork(graph) <= maxWork)
      break;
  }
  return result;
}

} // namespace tilewright
