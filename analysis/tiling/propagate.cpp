#include "analysis/tiling/propagate.h"

#include "analysis/support/diag.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tilewright {

const std::vector<int64_t> &resultDims(const Op &op) {
  return op.shape.isTuple && !op.shape.elements.empty() ? op.shape.elements.front().dims
                                                        : op.shape.dims;
}

bool isTiledByFirstResult(const Op &op) {
  switch (op.opcode) {
  case Opcode::Reduce:
  case Opcode::ReduceWindow:
  case Opcode::Sort:
  case Opcode::TopK:
  case Opcode::Scan:
  case Opcode::Scatter:
    return true;
  default:
    return false;
  }
}

bool isView(const Op &op) {
  return op.opcode == Opcode::Reshape || op.opcode == Opcode::Transpose ||
         op.opcode == Opcode::Bitcast;
}

namespace {} // namespace

bool isRowMajorReshape(const Op &op, const Op &operand) {
  if (op.opcode == Opcode::Transpose) { // that moves dims of extent 1 only
    int64_t last = -1;
    for (int64_t dim : op.attrs.dimensions) {
      if (dim < 0 || static_cast<size_t>(dim) >= operand.shape.dims.size())
        return false;
      if (operand.shape.dims[dim] == 1)
        continue;
      if (dim < last)
        return false;
      last = dim;
    }
    return true;
  }
  return op.opcode == Opcode::Reshape ||
         (op.opcode == Opcode::Bitcast && isRowMajor(op.shape) && isRowMajor(operand.shape) &&
          bitWidth(op.shape.dtype) == bitWidth(operand.shape.dtype));
}

llvm::Error TilePropagator::unsupported(const Op &op, std::string reason) const {
  return makeError(DiagClass::Unsupported, "%{} ({}) can't be tiled: {}", op.name,
                   toString(op.opcode), reason);
}

namespace {
/// A key that is equal for formulas of equal structure. Names expressions by their number in the
/// context, because their text may be exponentially long.
void appendKey(const Formula &formula, std::string &out) {
  out += fmt::format("{}", static_cast<int>(formula.kind()));
  if (formula.lhs())
    out += fmt::format(":{},{}", formula.lhs().id(), formula.rhs().id());
  out += '(';
  for (const Formula &part : formula.parts())
    appendKey(part, out);
  out += ')';
}

std::string keyOf(const Formula &formula) {
  std::string out;
  appendKey(formula, out);
  return out;
}
} // namespace

bool TilePropagator::isRequired(const Formula &formula) const {
  return formula.isTrue() || requiredFormulas.count(keyOf(formula)) > 0;
}

void TilePropagator::require(OpId id, int operand, TileCondition condition) {
  if (isMuted || condition.formula.isTrue() ||
      !requiredFormulas.insert(keyOf(condition.formula)).second)
    return;
  constraints.push_back(
      {condition.formula,
       {id, "%" + graph[id].name, operand, condition.dim, std::move(condition.rule),
        std::move(condition.text), std::move(condition.textArgs)}});
}

ConditionSink TilePropagator::sinkFor(OpId id, int operand, std::function<int(int)> dimOf) {
  return [this, id, operand, dimOf = std::move(dimOf)](TileCondition condition) {
    if (const ConditionSink *cutBy = std::exchange(condition.cutBy, nullptr)) {
      (*cutBy)(std::move(condition));
      return;
    }
    if (dimOf)
      condition.dim = dimOf(condition.dim);
    require(id, operand, std::move(condition));
  };
}

llvm::Expected<OperandTiles> TilePropagator::operands(OpId id, const FactoredTile &tile) {
  if (graph[id].operands.empty())
    return OperandTiles{};
  isMuted = factory.isNever(tile);
  llvm::Expected<OperandTiles> out = derive(id, tile);
  isMuted = false;
  if (!out)
    return out.takeError();
  for (OperandTile &operand : out->tiles)
    passGuards(graph[id], tile, operand);
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::derive(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id];
  switch (op.opcode) {
  case Opcode::BitcastConvert:
    return bitcastConvert(id, tile);
  case Opcode::Broadcast:
    return broadcast(op, tile);
  case Opcode::Transpose:
    return transpose(op, tile);
  case Opcode::Reshape: {
    OperandTiles out;
    out.tiles.push_back(throughReshape(id, tile, resultDims(graph[op.operands[0]])));
    return out;
  }
  case Opcode::Bitcast:
    return bitcast(id, tile);
  case Opcode::Slice:
    return slice(id, tile);
  case Opcode::Reverse:
    return reverse(id, tile);
  case Opcode::Pad:
    return pad(id, tile);
  case Opcode::Concatenate:
    return concatenate(id, tile);
  case Opcode::DynamicSlice:
    return dynamicSlice(id, tile);
  case Opcode::DynamicUpdateSlice:
    return dynamicUpdateSlice(id, tile);
  case Opcode::Reduce:
    return reduce(id, tile);
  case Opcode::Dot:
    return dot(id, tile);
  case Opcode::ReduceWindow:
    return reduceWindow(id, tile);
  case Opcode::Convolution:
    return convolution(id, tile);
  case Opcode::Gather:
    return gather(id, tile);
  case Opcode::ScaledDot:
    return scaledDot(id, tile);
  case Opcode::RaggedDot:
    return raggedDot(id, tile);
  case Opcode::Sort:
  case Opcode::TopK:
    return line(id, tile);
  case Opcode::Scan:
    return scan(id, tile);
  case Opcode::Scatter:
    return scatter(id, tile);
  case Opcode::SelectAndScatter:
    return selectAndScatter(id, tile);
  case Opcode::AllGather:
    return allGather(id, tile);
  case Opcode::ReduceScatter:
  case Opcode::AllToAll:
    return ownShare(id, tile);
  case Opcode::AllReduce:
  case Opcode::AllReduceStart:
  case Opcode::AllReduceDone:
  case Opcode::CollectivePermute:
  case Opcode::CollectiveBroadcast:
  case Opcode::OptimizationBarrier:
    return samePlace(op, tile);
  case Opcode::AddDependency: {
    OperandTiles out = sameForAll(1, tile);
    out.tiles.resize(op.operands.size()); // tokens hold nothing
    return out;
  }
  case Opcode::CopyDone:
  case Opcode::AllGatherDone:
  case Opcode::CollectivePermuteDone:
    return unsupported(op, fmt::format("%{} is under way until here; its operand and its result "
                                       "have tiles of their own",
                                       graph[op.operands[0]].name));
  case Opcode::GetTupleElement:
    return tupleElement(id, tile);
  default:
    if (opClass(op.opcode) == OpClass::Elementwise && !op.shape.isTuple)
      return elementwise(op, tile);
    return unsupported(op, "no tile rule for this operation");
  }
}

llvm::Expected<OperandTiles> TilePropagator::samePlace(const Op &op, const FactoredTile &tile) {
  if (op.operands.size() != 1 || op.shape.isTuple ||
      graph[op.operands[0]].shape.dims != op.shape.dims)
    return unsupported(op, "expects one tensor operand of the result's shape");
  return sameForAll(1, tile);
}

llvm::Expected<OperandTiles> TilePropagator::elementwise(const Op &op, const FactoredTile &tile) {
  OperandTiles out;
  for (OpId id : op.operands) {
    const Op &operand = graph[id];
    if (operand.shape.dims == op.shape.dims)
      out.tiles.push_back({tile});
    else if (operand.shape.isScalar())
      out.tiles.emplace_back();
    else
      return unsupported(op, fmt::format("operand %{} has shape {}, the result {}", operand.name,
                                         operand.shape.str(false), op.shape.str(false)));
  }
  return out;
}

void TilePropagator::passGuards(const Op &op, const FactoredTile &tile, OperandTile &out) {
  for (unsigned guard : tile.guards)
    out.tile.addGuard(guard);
  const bool isSaid = out.tile.guards.empty() || !out.tile.dims.empty();
  if (!isSaid && out.exactness != Exactness::Unknown)
    markDropped(op, out);
}

void TilePropagator::markDropped(const Op &op, OperandTile &out) {
  out.exactness = Exactness::OverApproximate;
  out.factor = 0;
  out.why = fmt::format("some CTAs need nothing of it, since they have no element of %{}", op.name);
}

llvm::Expected<OperandTiles> TilePropagator::broadcast(const Op &op, const FactoredTile &tile) {
  const Op &operand = graph[op.operands[0]];
  OperandTiles out;
  out.tiles.resize(1);
  std::vector<bool> isRead(tile.dims.size());
  for (size_t i = 0; i < operand.shape.dims.size(); ++i) {
    const size_t to = static_cast<size_t>(op.attrs.dimensions[i]);
    isRead[to] = operand.shape.dims[i] == op.shape.dims[to];
    if (!isRead[to] && operand.shape.dims[i] != 1)
      return unsupported(op, fmt::format("operand dim {} of {} is spread to {}", i,
                                         operand.shape.dims[i], op.shape.dims[to]));
    out.tiles[0].tile.dims.push_back(isRead[to] ? tile.dims[to] : FactoredDim{});
  }
  for (size_t i = 0; i < tile.dims.size(); ++i)
    if (!isRead[i])
      factory.drop(tile.dims[i], out.tiles[0].tile);
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::transpose(const Op &op, const FactoredTile &tile) {
  OperandTiles out;
  out.tiles.resize(1);
  out.tiles[0].tile.dims.resize(tile.dims.size());
  for (size_t i = 0; i < tile.dims.size(); ++i)
    out.tiles[0].tile.dims[op.attrs.dimensions[i]] = tile.dims[i];
  return out;
}

OperandTile TilePropagator::throughReshape(OpId id, const FactoredTile &tile,
                                           std::span<const int64_t> operandDims) {
  OperandTile out;
  const bool wasMuted = isMuted;
  isMuted |= factory.isNever(tile);
  out.tile = factory.reshape(tile, resultDims(graph[id]), operandDims, sinkFor(id, 0));
  isMuted = wasMuted;
  passGuards(graph[id], tile, out);
  return out;
}

namespace {
/// Dims in physical order, major first, for a shape's layout.
std::vector<int64_t> majorToMinor(const Shape &shape) {
  std::vector<int64_t> order = shape.minorToMajorOrDefault();
  std::reverse(order.begin(), order.end());
  return order;
}
} // namespace

llvm::Expected<OperandTile> TilePropagator::throughBytes(OpId id, const FactoredTile &tile,
                                                         const Shape &source, const Shape &target) {
  const Op &op = graph[id];
  if (source.isTuple || target.isTuple)
    return unsupported(op, "a bitcast of tuples");
  const std::vector<int64_t> order = majorToMinor(source), into = majorToMinor(target);
  const unsigned bits = bitWidth(source.dtype), operandBits = bitWidth(target.dtype);
  FactoredTile physical;
  std::vector<int64_t> from, to;
  for (int64_t dim : order) {
    physical.dims.push_back(tile.dims[dim]);
    from.push_back(source.dims[dim]);
  }
  for (int64_t dim : into)
    to.push_back(target.dims[dim]);
  // A change of element width adds or drops an innermost dim of that ratio.
  const bool isWider = bits > operandBits, isNarrower = bits < operandBits;
  if ((isWider && bits % operandBits != 0) || (isNarrower && operandBits % bits != 0))
    return unsupported(op, fmt::format("elements of {} bits from {} bits", bits, operandBits));
  if (isWider) {
    from.push_back(bits / operandBits);
    physical.dims.push_back(factory.wholeDim(from.back()));
  }
  if (isNarrower) {
    to.push_back(operandBits / bits);
    if (!physical.dims.empty())
      factory.drop(physical.dims.back(), physical); // the dropped part may have a mask
  }
  ConditionSink sink = sinkFor(id, 0, [order](int dim) {
    const bool isOfSource = dim >= 0 && dim < static_cast<int>(order.size());
    return isOfSource ? static_cast<int>(order[dim]) : -1;
  });
  const FactoredTile moved = factory.reshape(physical, from, to, sink);
  OperandTile out;
  out.tile.guards = moved.guards;
  out.tile.dims.resize(into.size());
  for (size_t i = 0; i < into.size(); ++i)
    out.tile.dims[into[i]] = moved.dims[i];
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::bitcast(OpId id, const FactoredTile &tile) {
  llvm::Expected<OperandTile> moved =
      throughBytes(id, tile, graph[id].shape, graph[graph[id].operands[0]].shape);
  if (!moved)
    return moved.takeError();
  OperandTiles out;
  out.tiles.push_back(std::move(*moved));
  return out;
}

llvm::Expected<OperandTiles> TilePropagator::bitcastConvert(OpId id, const FactoredTile &tile) {
  const Op &op = graph[id], &operand = graph[op.operands[0]];
  if (operand.shape.dims == op.shape.dims)
    return elementwise(op, tile);
  OperandTiles out = sameForAll(1, tile);
  std::vector<FactoredDim> &dims = out.tiles[0].tile.dims;
  if (operand.shape.rank() == op.shape.rank() + 1)
    dims.push_back(factory.wholeDim(operand.shape.dims.back()));
  else if (operand.shape.rank() + 1 == op.shape.rank()) {
    factory.drop(dims.back(), out.tiles[0].tile);
    dims.pop_back();
  } else
    return unsupported(op, "the ranks differ by more than one");
  return out;
}

} // namespace tilewright
