#include "analysis/ir/literal.h"
#include "analysis/program/build/builder.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/element_work.h"

#include <algorithm>
#include <bit>

namespace tilewright::program {

namespace {
constexpr unsigned maxDepth = 1000;       // ops on one path
constexpr int64_t maxTable = 256;         // elements of a constant that is a choice of numbers
constexpr double largestInteger = 0x1p53; // that a number of the text holds
} // namespace

llvm::Error Builder::unsupported(OpId op, std::string why) const {
  return makeError(DiagClass::Unsupported, "%{}: no program for {}: {}", graph[op].name,
                   toString(graph[op].opcode), why);
}

llvm::Expected<const OpIndexing *> Builder::indexing(OpId op) {
  auto known = indexings.find(op);
  if (known == indexings.end()) {
    auto maps = outputToOperands(graph, op, context);
    if (!maps)
      return maps.takeError();
    known = indexings.emplace(op, std::move(*maps)).first;
  }
  if (known->second.isOpaque)
    return unsupported(op, known->second.reason);
  return &known->second;
}

Guard Builder::simplified(const Guard &guard) {
  Guard result;
  for (MapConstraint condition : guard) {
    condition.expr = simplify(condition.expr);
    bool modHolds = condition.modulus == 1 ||
                    simplify(condition.expr.mod(condition.modulus)).isConstant(condition.residue);
    if (modHolds && condition.range.contains(simplifier->range(condition.expr)))
      continue;
    if (std::find(result.begin(), result.end(), condition) == result.end())
      result.push_back(condition);
  }
  return result;
}

std::vector<uint32_t> Builder::keyOf(OpId op, const Coordinates &at, const Guard &conditions,
                                     unsigned result) {
  std::vector<uint32_t> key{op.index, result};
  for (Expr coordinate : at)
    key.push_back(coordinate.id());
  for (const MapConstraint &condition : conditions) {
    key.push_back(condition.expr.id());
    for (int64_t part :
         {condition.range.lo, condition.range.hi, condition.modulus, condition.residue}) {
      key.push_back(static_cast<uint32_t>(part));
      key.push_back(static_cast<uint32_t>(part >> 32));
    }
  }
  return key;
}

Builder::Made Builder::value(OpId op, Coordinates at, const Guard &guard, unsigned result) {
  for (Expr &coordinate : at)
    coordinate = simplify(coordinate);
  Guard conditions = simplified(guard);
  const bool isOfParts = !graph[op].shape.isTuple && isComplex(graph[op].shape.dtype);
  std::vector<uint32_t> key = keyOf(op, at, conditions, isOfParts ? part : result);
  unsigned level = levelOf(at, conditions);
  if (auto known = levels[level].known.find(key); known != levels[level].known.end())
    return known->second;
  if (++depth > maxDepth)
    return unsupported(op, fmt::format("more than {} ops on one path", maxDepth));
  Made made = make(op, at, conditions, result);
  --depth;
  if (made && !graph[op].shape.isTuple && !isOfParts) {
    made->sources.push_back(SourceId{static_cast<uint32_t>(p.sources.size())});
    p.sources.push_back({op, at, conditions});
  }
  if (made)
    levels[level].known.emplace(std::move(key), *made);
  return made;
}

Builder::Made Builder::make(OpId id, const Coordinates &at, const Guard &guard, unsigned result) {
  const tilewright::Op &op = graph[id];
  if (auto tensor = tensorOf.find(id); tensor != tensorOf.end())
    return load(tensor->second, op.shape, at, guard);
  if (!group.group.contains(id))
    return unsupported(id, "it is read and no tensor");
  if (op.opcode == Opcode::GetTupleElement)
    return value(op.operands[0], at, guard, static_cast<unsigned>(op.attrs.tupleIndex));
  const Shape &shape = op.shape.isTuple ? op.shape.elements[result] : op.shape;
  if (dtypeClass(shape.dtype) == DTypeClass::NonNumeric ||
      (op.shape.isTuple && isComplex(shape.dtype)))
    return unsupported(id, fmt::format("elements of type {}", toString(shape.dtype)));
  if (op.opcode == Opcode::Constant)
    return constant(id, at);
  if (op.opcode == Opcode::Iota)
    return iota(id, at);
  auto maps = indexing(id);
  if (!maps)
    return maps.takeError();
  if (opClass(op.opcode) == OpClass::Elementwise) {
    bool hasParts =
        isComplex(shape.dtype) || op.opcode == Opcode::Real || op.opcode == Opcode::Imag;
    for (OpId operand : op.operands)
      hasParts |= isComplex(graph[operand].shape.dtype);
    if (hasParts)
      return complexPointwise(id, **maps, at, guard);
    std::vector<Leaf> operands;
    std::vector<DType> types;
    for (unsigned i = 0; i < op.operands.size(); ++i) {
      if ((*maps)->operands[i].maps.size() != 1)
        return unsupported(id, fmt::format("operand {} is read at several places", i));
      Made operand = throughMap(id, i, (*maps)->operands[i].maps[0], at, guard, nullptr);
      if (!operand)
        return operand;
      operands.push_back(*operand);
      types.push_back(graph[op.operands[i]].shape.dtype);
    }
    return pointwise(op, std::move(operands), std::move(types));
  }
  switch (op.opcode) {
  case Opcode::Broadcast:
  case Opcode::Reshape:
  case Opcode::Bitcast:
  case Opcode::Transpose:
  case Opcode::Slice:
  case Opcode::Reverse:
  case Opcode::DynamicSlice:
  case Opcode::Gather:
    if (op.shape.dtype != graph[op.operands[0]].shape.dtype)
      return unsupported(id, "another view of bytes");
    if ((*maps)->operands[0].maps.size() != 1)
      return unsupported(id, "its operand is read at several places");
    return throughMap(id, 0, (*maps)->operands[0].maps[0], at, guard, nullptr);
  case Opcode::Concatenate:
    return concatenation(id, **maps, at, guard);
  case Opcode::Pad:
    return padded(id, **maps, at, guard);
  case Opcode::DynamicUpdateSlice:
    return updated(id, **maps, at, guard);
  case Opcode::Reduce:
    if (frame.isReduction)
      return reduction(id, at, guard, result);
    return windowed(id, **maps, at, guard, result);
  case Opcode::Dot:
    if (id == frame.dot && summed.axis)
      return product(id, at, guard);
    if (!frame.dots.empty())
      return productBeside(id, at, guard);
    return windowed(id, **maps, at, guard, result);
  case Opcode::Convolution:
    if (id == frame.dot && summed.axis)
      return product(id, at, guard);
    return windowed(id, **maps, at, guard, result);
  case Opcode::ReduceWindow:
    return windowed(id, **maps, at, guard, result);
  case Opcode::Scatter:
    return scattered(id, **maps, at, guard);
  case Opcode::SelectAndScatter:
    return selectedAndScattered(id, **maps, at, guard);
  default:
    return unsupported(id, "not in this place");
  }
}

Builder::Made Builder::throughMap(OpId id, unsigned operand, const IndexMap &map,
                                  const Coordinates &at, const Guard &guard, Guard *conditions,
                                  const std::vector<Binding> &ranges) {
  const tilewright::Op &op = graph[id];
  std::vector<Expr> table;
  auto replace = [&](Expr var, Expr with) {
    if (table.size() <= var.variable().index)
      table.resize(var.variable().index + 1);
    table[var.variable().index] = with;
  };
  for (size_t i = 0; i < at.size(); ++i)
    replace(context.dim(static_cast<unsigned>(i)), at[i]);
  for (const Binding &binding : ranges)
    replace(binding.var, binding.at);
  for (const MapVariable &variable : map.variables()) {
    VarKind kind = context.info(variable.var.variable()).kind;
    bool isBound = std::any_of(ranges.begin(), ranges.end(),
                               [&](const Binding &binding) { return binding.var == variable.var; });
    if (kind == VarKind::Dim || isBound)
      continue;
    if (kind != VarKind::Runtime || !variable.source)
      return unsupported(id, "it iterates in this place");
    // An element of an index operand, clamped as HLO says.
    Coordinates element = substitute(variable.source->element, table);
    Made index = value(OpId{variable.source->tensor}, std::move(element), guard);
    if (!index)
      return index;
    Expr found;
    if (index->kind == ScalarNode::Kind::Value)
      found = p[index->value].var;
    else if (index->kind == ScalarNode::Kind::Index)
      found = index->index;
    else
      found = p.number(static_cast<int64_t>(index->number));
    replace(variable.var, found.max(variable.domain.lo).min(variable.domain.hi));
  }
  Guard inner = guard;
  const Shape &shape = *resultShape(op, {}); // several results have the same dims
  for (MapConstraint &condition : conditionsAt(map, shape, at, table)) {
    condition.expr = simplify(condition.expr);
    inner.push_back(condition);
    if (conditions)
      conditions->push_back(condition);
  }
  return value(op.operands[operand],
               substitute(std::vector<Expr>(map.results().begin(), map.results().end()), table),
               inner);
}

Builder::Made Builder::concatenation(OpId id, const OpIndexing &maps, const Coordinates &at,
                                     const Guard &guard) {
  std::optional<Leaf> result;
  for (unsigned i = 0; i < graph[id].operands.size(); ++i)
    for (const IndexMap &map : maps.operands[i].maps) {
      if (map.isKnownEmpty())
        continue;
      Guard conditions;
      Made part = throughMap(id, i, map, at, guard, &conditions);
      if (!part)
        return part;
      if (!result) {
        result = *part;
        continue;
      }
      auto isInside = predicate(id, conditions);
      if (!isInside)
        return isInside.takeError();
      Made joined = select(*isInside, *part, *result, graph[id].shape.dtype);
      if (!joined)
        return joined;
      result = *joined;
    }
  if (!result)
    return unsupported(id, "it has no elements");
  return *result;
}

Builder::Made Builder::padded(OpId id, const OpIndexing &maps, const Coordinates &at,
                              const Guard &guard) {
  Made padding = value(graph[id].operands[1], {}, {});
  if (!padding)
    return padding;
  Leaf result = *padding;
  for (const IndexMap &map : maps.operands[0].maps) {
    if (map.isKnownEmpty())
      continue;
    Guard conditions;
    Made inside = throughMap(id, 0, map, at, guard, &conditions);
    if (!inside)
      return inside;
    bool isAlone = maps.operands[0].maps.size() == 1;
    if (isAlone && result.kind == ScalarNode::Kind::Number && setElse(*inside, result.number)) {
      result = *inside;
      continue;
    }
    auto isInside = predicate(id, conditions);
    if (!isInside)
      return isInside.takeError();
    Made chosen = select(*isInside, *inside, result, graph[id].shape.dtype);
    if (!chosen)
      return chosen;
    result = *chosen;
  }
  return result;
}

/// The update where its window is, else the operand.
Builder::Made Builder::updated(OpId id, const OpIndexing &maps, const Coordinates &at,
                               const Guard &guard) {
  if (maps.operands[0].maps.size() != 1 || maps.operands[1].maps.size() != 1)
    return unsupported(id, "it is read at several places");
  Made base = throughMap(id, 0, maps.operands[0].maps[0], at, guard, nullptr);
  if (!base)
    return base;
  Guard conditions;
  Made update = throughMap(id, 1, maps.operands[1].maps[0], at, guard, &conditions);
  if (!update)
    return update;
  auto isInside = predicate(id, conditions);
  if (!isInside)
    return isInside.takeError();
  return select(*isInside, *update, *base, graph[id].shape.dtype);
}

Builder::Made Builder::constant(OpId id, const Coordinates &at) {
  const tilewright::Op &op = graph[id];
  auto tensor = parseLiteral(op.shape, op.literal);
  if (!tensor)
    return tensor.takeError();
  DType type = partType(op.shape.dtype);
  const auto words = static_cast<size_t>(tensor->wordsPerElement());
  auto numberAt = [&](int64_t i) {
    if (isComplex(op.shape.dtype))
      return part == 0 ? tensor->complex(i).real() : tensor->complex(i).imag();
    return isFloat(type) ? tensor->real(i) : static_cast<double>(tensor->integer(i));
  };
  auto isAsFirst = [&](int64_t i) {
    auto at = tensor->words().begin() + static_cast<ptrdiff_t>(static_cast<size_t>(i) * words);
    return std::equal(at, at + static_cast<ptrdiff_t>(words), tensor->words().begin());
  };
  std::vector<double> numbers;
  bool isUniform = true;
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (isUniform && i > 0 && isAsFirst(i))
      continue;
    isUniform = isUniform && i == 0;
    if (!isUniform && tensor->size() > maxTable)
      return unsupported(id, fmt::format("{} different elements, at most {} are in the code",
                                         tensor->size(), maxTable));
    numbers.resize(static_cast<size_t>(i), numbers.empty() ? 0 : numbers[0]);
    numbers.push_back(numberAt(i));
    if (!isFloat(type) && std::abs(numbers.back()) > largestInteger)
      return unsupported(id, "an integer beyond 2^53");
  }
  if (numbers.empty())
    return unsupported(id, "it has no elements");
  if (isUniform)
    return numberOf(numbers[0]);
  numbers.resize(static_cast<size_t>(tensor->size()), numbers[0]);
  Expr position = p.number(0);
  for (size_t d = 0; d < at.size(); ++d)
    position = position * op.shape.dims[d] + at[d];
  position = simplify(position);
  if (position.isConstant())
    return numberOf(numbers[static_cast<size_t>(position.constant())]);
  // A choice by halves.
  std::function<Made(size_t, size_t)> choice = [&](size_t first, size_t end) -> Made {
    bool isSame = std::all_of(numbers.begin() + static_cast<ptrdiff_t>(first),
                              numbers.begin() + static_cast<ptrdiff_t>(end),
                              [&](double number) { // NaN is itself, -0 isn't 0
                                return std::bit_cast<uint64_t>(number) ==
                                       std::bit_cast<uint64_t>(numbers[first]);
                              });
    if (isSame)
      return numberOf(numbers[first]);
    size_t middle = (first + end) / 2;
    Made low = choice(first, middle);
    if (!low)
      return low;
    Made high = choice(middle, end);
    if (!high)
      return high;
    Interval below{0, static_cast<int64_t>(middle) - 1};
    auto isLow = predicate(id, {{position, below, 1, 0}});
    if (!isLow)
      return isLow.takeError();
    return select(*isLow, *low, *high, type);
  };
  return choice(0, numbers.size());
}

Builder::Made Builder::iota(OpId id, const Coordinates &at) {
  const tilewright::Op &op = graph[id];
  auto along = static_cast<size_t>(op.attrs.dimensions.empty() ? 0 : op.attrs.dimensions[0]);
  ScalarExpr scalar; // the coordinate may be a value: of a gather
  auto nodes = nodesOf(scalar, id, at[along]);
  if (!nodes)
    return nodes.takeError();
  Leaf place = mapOf(std::move(scalar));
  return converted(place, place.kind == ScalarNode::Kind::Value ? place.type : DType::S32,
                   op.shape.dtype);
}

} // namespace tilewright::program
