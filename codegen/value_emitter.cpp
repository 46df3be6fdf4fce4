#include "codegen/value_emitter.h"

#include "analysis/ir/literal.h"
#include "analysis/tiling/element_work.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr unsigned maxDepth = 2000;       // ops on one path; bounds the recursion
constexpr int64_t maxScalarOps = 100'000; // in one kernel; LLVM takes seconds for so many

/// True if 32 bits hold every offset into the graph's tensors, up to twice the largest tensor
/// because masked-off tails reach past the end.
bool fitsIn32Bits(const Graph &graph) {
  for (const Op &op : graph.all()) {
    if (op.shape.isTuple)
      continue;
    auto bytes = op.shape.byteSize();
    if (!bytes || *bytes >= (int64_t(1) << 30))
      return false;
  }
  return true;
}

} // namespace

ValueEmitter::ValueEmitter(KernelBuilder &builder, const Module &module, unsigned lanes)
    : k(builder), b(builder.b), module(module), ir(module.entry()), ops(builder),
      numbers(builder, exprs, fitsIn32Bits(ir) ? builder.i32 : builder.i64), memos(1),
      budget(maxScalarOps) {
  laneVariable = exprs.variable(VarKind::Step, "lane");
  setLanes(lanes);
}

void ValueEmitter::setLanes(unsigned lanes) {
  laneCount = std::max(lanes, 1u);
  numbers.bind(laneVariable, Interval::ofExtent(laneCount), nullptr);
}

ValueEmitter::~ValueEmitter() = default;

Expr ValueEmitter::variable(VarKind kind, const std::string &name, Interval domain,
                            llvm::Value *value) {
  Expr var = exprs.freshVariable(kind, name);
  numbers.bind(var, domain, value);
  return var;
}

Coordinates ValueEmitter::delinearize(Expr linear, const std::vector<int64_t> &extents,
                                      const std::vector<int64_t> &minorToMajor) {
  Coordinates result(extents.size());
  for (size_t i = 0; i < minorToMajor.size(); ++i) {
    auto dim = static_cast<size_t>(minorToMajor[i]);
    // The outermost digit needs no mod: positions past the end then stay past the end.
    result[dim] = simplify(i + 1 == minorToMajor.size() ? linear : linear.mod(extents[dim]));
    linear = linear.floorDiv(extents[dim]);
  }
  return result;
}

bool ValueEmitter::dependsOnLane(Expr expr) const {
  for (VarId var : variablesOf(expr))
    if (var == laneVariable.variable())
      return true;
  return false;
}

Expr ValueEmitter::atLane(Expr expr, unsigned lane) {
  if (!dependsOnLane(expr))
    return expr;
  return simplify(substitute(
      expr, [&](VarId var) { return var == laneVariable.variable() ? constant(lane) : Expr(); }));
}

Guard ValueEmitter::atLane(const Guard &guard, unsigned lane) {
  Guard result = guard;
  for (MapConstraint &condition : result)
    condition.expr = atLane(condition.expr, lane);
  return simplified(result);
}

Guard ValueEmitter::simplified(const Guard &guard) {
  Guard result;
  for (MapConstraint condition : guard) {
    condition.expr = simplify(condition.expr);
    bool modHolds = condition.modulus == 1 ||
                    simplify(condition.expr.mod(condition.modulus)).isConstant(condition.residue);
    if (modHolds && condition.range.contains(numbers.range(condition.expr)))
      continue;
    if (auto uniform = forAllLanes(condition))
      condition = *uniform;
    if (std::find(result.begin(), result.end(), condition) == result.end())
      result.push_back(condition);
  }
  return result;
}

std::optional<MapConstraint> ValueEmitter::forAllLanes(const MapConstraint &condition) {
  if (laneCount == 1 || condition.modulus != 1 || !dependsOnLane(condition.expr))
    return std::nullopt;
  // Aligned runs of lanes and bounds that are multiples of their length: all in, or all out.
  MapConstraint first = condition;
  first.expr = atLane(condition.expr, 0);
  auto isMultiple = [&](int64_t bound) { return bound % int64_t(laneCount) == 0; };
  Interval reach = numbers.range(condition.expr);
  if (numbers.knownDivisor(first.expr) % laneCount != 0 ||
      !simplify(condition.expr - laneVariable - first.expr).isConstant(0) ||
      (condition.range.lo > reach.lo && !isMultiple(condition.range.lo)) ||
      (condition.range.hi < reach.hi && !isMultiple(condition.range.hi + 1)))
    return std::nullopt;
  return first;
}

void ValueEmitter::addDomain(Guard &guard, const Coordinates &coordinates,
                             const std::vector<int64_t> &extents) {
  for (size_t i = 0; i < coordinates.size(); ++i)
    guard.push_back({coordinates[i], Interval::ofExtent(extents[i]), 1, 0});
  guard = simplified(guard);
}

llvm::Value *ValueEmitter::holds(const Guard &guard) {
  llvm::Value *result = nullptr;
  for (const MapConstraint &condition : simplified(guard))
    if (llvm::Value *one = numbers.holds(condition))
      result = result ? b.CreateAnd(result, one) : one;
  return result;
}

llvm::Error ValueEmitter::spend(const Op &op, unsigned amount) {
  budget -= amount;
  if (budget < 0)
    return makeError(DiagClass::Unsupported,
                     "%{}: the kernel would have more than {} scalar operations; use a smaller "
                     "tile or more warps",
                     op.name, maxScalarOps);
  return llvm::Error::success();
}

ValueEmitter::Scope::Scope(ValueEmitter &emitter) : emitter(emitter), inner(emitter.numbers) {
  emitter.memos.emplace_back();
}
ValueEmitter::Scope::~Scope() { emitter.memos.pop_back(); }

llvm::Expected<const OpIndexing *> ValueEmitter::indexing(OpId op) {
  auto known = indexings.find(op);
  if (known == indexings.end()) {
    auto maps = outputToOperands(ir, op, exprs);
    if (!maps)
      return maps.takeError();
    known = indexings.emplace(op, std::move(*maps)).first;
  }
  if (known->second.isOpaque)
    return makeError(DiagClass::Unsupported, "%{}: no code for {}: {}", ir[op].name,
                     toString(ir[op].opcode), known->second.reason);
  return &known->second;
}

llvm::Expected<Values> ValueEmitter::values(OpId op, const Coordinates &coordinates,
                                            const Guard &guard, unsigned lanes) {
  Coordinates at;
  bool lanesDiffer = false;
  for (Expr coordinate : coordinates) {
    at.push_back(simplify(coordinate));
    lanesDiffer = lanesDiffer || dependsOnLane(at.back());
  }
  Guard conditions = simplified(guard);
  for (const MapConstraint &condition : conditions)
    lanesDiffer = lanesDiffer || dependsOnLane(condition.expr);
  if (lanes > 1 && !lanesDiffer) {
    auto one = values(op, at, conditions, 1);
    if (!one)
      return one.takeError();
    Values same;
    for (llvm::Value *value : *one)
      same.insert(same.end(), lanes, value);
    return same;
  }
  std::vector<uint32_t> key{op.index, lanes};
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
  for (const auto &memo : llvm::reverse(memos))
    if (auto known = memo.find(key); known != memo.end())
      return known->second;
  if (supplier) {
    auto supplied = supplier(op, at, lanes);
    if (!supplied)
      return supplied.takeError();
    if (*supplied) {
      trace(op, at, conditions, lanes, **supplied);
      return std::move(**supplied);
    }
  }
  if (depth >= maxDepth)
    return makeError(DiagClass::Unsupported, "%{}: more than {} ops on one path of a kernel",
                     ir[op].name, maxDepth);
  ++depth;
  auto result = emit(op, at, conditions, lanes);
  --depth;
  if (result) {
    memos.back()[key] = *result;
    trace(op, at, conditions, lanes, *result);
  }
  return result;
}

void ValueEmitter::trace(OpId id, const Coordinates &coordinates, const Guard &guard,
                         unsigned lanes, const Values &values) {
  const Shape &shape = ir[id].shape;
  if (!k.isTraced() || shape.isTuple || dtypeClass(shape.dtype) == DTypeClass::Complex ||
      (id.index < untraced.size() && untraced[id.index]))
    return;
  Guard inside = guard;
  addDomain(inside, coordinates, shape.dims);
  Expr element = coordinates.empty()
                     ? constant(0)
                     : offsetOf(Shape::tensor(shape.dtype, shape.dims), coordinates);
  bool isSigned = dtypeClass(shape.dtype) == DTypeClass::Signed;
  for (unsigned lane = 0; lane < lanes; ++lane)
    k.traceValue(id.index, indexAtLane(element, lane), holdsAtLane(inside, lane), values[lane],
                 isSigned);
}

llvm::Expected<Values> ValueEmitter::emit(OpId id, const Coordinates &coordinates,
                                          const Guard &guard, unsigned lanes) {
  const Op &op = ir[id];
  if (!op.shape.isTuple && !ScalarOps::isSupported(op.shape.dtype))
    return makeError(DiagClass::Unsupported, "%{}: no code for elements of type {}", op.name,
                     toString(op.shape.dtype));
  if (auto error = spend(op, lanes))
    return error;
  if (op.opcode == Opcode::Parameter)
    return load(id, coordinates, guard, lanes);
  if (op.opcode == Opcode::Constant)
    return emitConstant(id, coordinates, guard, lanes);
  if (op.opcode == Opcode::Iota)
    return emitIota(op, coordinates, lanes);
  if (op.opcode == Opcode::GetTupleElement) {
    auto all = values(op.operands[0], coordinates, guard, lanes);
    if (!all)
      return all.takeError();
    auto first = all->begin() + op.attrs.tupleIndex * static_cast<int64_t>(lanes);
    return Values(first, first + lanes);
  }
  auto maps = indexing(id);
  if (!maps)
    return maps.takeError();
  if (lanes > 1 && readsIndicesByLane(**maps, coordinates)) {
    Values result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Coordinates at;
      for (Expr coordinate : coordinates)
        at.push_back(atLane(coordinate, lane));
      auto value = values(id, at, atLane(guard, lane), 1);
      if (!value)
        return value.takeError();
      result.push_back((*value)[0]);
    }
    return result;
  }
  if (opClass(op.opcode) == OpClass::Elementwise)
    return emitElementwise(id, **maps, coordinates, guard, lanes);
  if (takesLoop(op.opcode))
    return emitIteration(id, **maps, coordinates, guard, lanes);
  switch (op.opcode) {
  case Opcode::Broadcast:
  case Opcode::Reshape:
  case Opcode::Bitcast:
  case Opcode::Transpose:
  case Opcode::Slice:
  case Opcode::Reverse:
  case Opcode::DynamicSlice:
  case Opcode::Gather: {
    if (op.opcode == Opcode::Bitcast && op.shape.dtype != ir[op.operands[0]].shape.dtype)
      break;
    const OperandMaps &first = (*maps)->operands[0];
    if (first.maps.size() != 1)
      break;
    return throughMap(id, 0, first.maps[0], coordinates, guard, lanes, nullptr);
  }
  case Opcode::Concatenate:
    return emitConcatenation(id, **maps, coordinates, guard, lanes);
  case Opcode::Pad:
    return emitPad(id, **maps, coordinates, guard, lanes);
  case Opcode::DynamicUpdateSlice:
    return emitUpdate(id, **maps, coordinates, guard, lanes);
  default:
    break;
  }
  return makeError(DiagClass::Unsupported, "%{}: no code for {} in this place of a kernel", op.name,
                   toString(op.opcode));
}

bool ValueEmitter::readsIndicesByLane(const OpIndexing &maps, const Coordinates &coordinates) {
  std::vector<Expr> replacement;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    VarId dim = exprs.dim(static_cast<unsigned>(i)).variable();
    replacement.resize(std::max<size_t>(replacement.size(), dim.index + 1));
    replacement[dim.index] = coordinates[i];
  }
  for (const OperandMaps &operand : maps.operands)
    for (const IndexMap &map : operand.maps)
      for (const MapVariable &variable : map.variables(VarKind::Runtime))
        for (Expr coordinate : variable.source ? variable.source->element : std::vector<Expr>())
          if (dependsOnLane(simplify(substitute(coordinate, replacement))))
            return true;
  return false;
}

llvm::Expected<Values> ValueEmitter::throughMap(OpId id, unsigned operand, const IndexMap &map,
                                                const Coordinates &coordinates, const Guard &guard,
                                                unsigned lanes, Guard *conditions,
                                                const std::vector<Binding> &ranges) {
  const Op &op = ir[id];
  std::vector<Expr> replacement;
  auto replace = [&](Expr var, Expr with) {
    if (replacement.size() <= var.variable().index)
      replacement.resize(var.variable().index + 1);
    replacement[var.variable().index] = with;
  };
  for (size_t i = 0; i < coordinates.size(); ++i)
    replace(exprs.dim(static_cast<unsigned>(i)), coordinates[i]);
  for (const Binding &binding : ranges)
    replace(binding.var, binding.at);
  for (const MapVariable &variable : map.variables()) {
    VarKind kind = exprs.info(variable.var.variable()).kind;
    bool isBound = kind == VarKind::Range &&
                   std::any_of(ranges.begin(), ranges.end(),
                               [&](const Binding &binding) { return binding.var == variable.var; });
    if (kind == VarKind::Dim || isBound)
      continue;
    if (kind != VarKind::Runtime || !variable.source)
      return makeError(DiagClass::Unsupported, "%{}: no code for {} in this place of a kernel",
                       op.name, toString(op.opcode));
    // An index operand: its element becomes a variable of the kernel.
    OpId tensor{variable.source->tensor};
    Coordinates element = substitute(variable.source->element, replacement);
    auto value = values(tensor, element, guard, 1);
    if (!value)
      return value.takeError();
    bool isSignedIndex = dtypeClass(ir[tensor].shape.dtype) == DTypeClass::Signed;
    llvm::Value *wide = isSignedIndex ? b.CreateSExtOrTrunc((*value)[0], k.i64)
                                      : b.CreateZExtOrTrunc((*value)[0], k.i64);
    // Out-of-bounds starts are clamped, as HLO says.
    wide = k.intrinsic(llvm::Intrinsic::smax, {k.i64}, {wide, k.c64(variable.domain.lo)});
    wide = k.intrinsic(llvm::Intrinsic::smin, {k.i64}, {wide, k.c64(variable.domain.hi)});
    replace(variable.var,
            this->variable(VarKind::Runtime, "index" + std::to_string(runtimeVariables++),
                           variable.domain, wide));
  }
  Guard inner = guard;
  const Shape &shape = *resultShape(op, {}); // several results have the same dims
  for (MapConstraint &condition : conditionsAt(map, shape, coordinates, replacement)) {
    condition.expr = simplify(condition.expr);
    inner.push_back(condition);
    if (conditions)
      conditions->push_back(condition);
  }
  return values(op.operands[operand], substitute(map.results(), replacement), inner, lanes);
}

llvm::Expected<Values> ValueEmitter::emitElementwise(OpId id, const OpIndexing &maps,
                                                     const Coordinates &coordinates,
                                                     const Guard &guard, unsigned lanes) {
  const Op &op = ir[id];
  std::vector<Values> operands;
  for (unsigned i = 0; i < op.operands.size(); ++i) {
    if (maps.operands[i].maps.size() != 1)
      return makeError(DiagClass::Unsupported, "%{}: no code for {} of operand {}", op.name,
                       toString(op.opcode), i);
    auto value = throughMap(id, i, maps.operands[i].maps[0], coordinates, guard, lanes, nullptr);
    if (!value)
      return value.takeError();
    operands.push_back(std::move(*value));
  }
  if (operands.empty())
    return makeError(DiagClass::Unsupported, "%{}: {} without operands", op.name,
                     toString(op.opcode));
  // The op's working type is that of its last operand: the first operand of select is its
  // predicate.
  DType operandType = ir[op.operands.back()].shape.dtype;
  Values result;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Values arguments;
    for (const Values &operand : operands)
      arguments.push_back(operand[lane]);
    if (op.opcode == Opcode::Map) {
      auto mapped = ops.applyGraph(module.graph(op.called[0].graph), arguments);
      if (!mapped)
        return mapped.takeError();
      result.push_back((*mapped)[0]);
      continue;
    }
    auto value = ops.apply(op, operandType, arguments);
    if (!value)
      return value.takeError();
    result.push_back(*value);
  }
  return result;
}

llvm::Expected<Values> ValueEmitter::emitConcatenation(OpId id, const OpIndexing &maps,
                                                       const Coordinates &coordinates,
                                                       const Guard &guard, unsigned lanes) {
  Values result;
  for (unsigned i = 0; i < ir[id].operands.size(); ++i) {
    for (const IndexMap &map : maps.operands[i].maps) {
      if (map.isKnownEmpty())
        continue;
      Guard conditions;
      auto part = throughMap(id, i, map, coordinates, guard, lanes, &conditions);
      if (!part)
        return part.takeError();
      if (result.empty()) {
        result = std::move(*part);
        continue;
      }
      for (unsigned lane = 0; lane < lanes; ++lane)
        if (llvm::Value *condition = holds(atLane(conditions, lane)))
          result[lane] = b.CreateSelect(condition, (*part)[lane], result[lane]);
        else
          result[lane] = (*part)[lane];
    }
  }
  if (result.empty())
    return makeError(DiagClass::Unsupported, "%{}: a concatenation of nothing", ir[id].name);
  return result;
}

llvm::Expected<Values> ValueEmitter::emitPad(OpId id, const OpIndexing &maps,
                                             const Coordinates &coordinates, const Guard &guard,
                                             unsigned lanes) {
  auto padding = values(ir[id].operands[1], {}, {}, 1);
  if (!padding)
    return padding.takeError();
  Values result(lanes, (*padding)[0]);
  for (const IndexMap &map : maps.operands[0].maps) {
    if (map.isKnownEmpty())
      continue;
    Guard conditions;
    auto inside = throughMap(id, 0, map, coordinates, guard, lanes, &conditions);
    if (!inside)
      return inside.takeError();
    for (unsigned lane = 0; lane < lanes; ++lane) {
      llvm::Value *condition = holds(atLane(conditions, lane));
      result[lane] =
          condition ? b.CreateSelect(condition, (*inside)[lane], result[lane]) : (*inside)[lane];
    }
  }
  return result;
}

llvm::Expected<Values> ValueEmitter::emitConstant(OpId id, const Coordinates &coordinates,
                                                  const Guard &guard, unsigned lanes) {
  const Op &op = ir[id];
  constexpr int64_t maxTable = 1 << 16;
  if (auto count = op.shape.elementCount(); !count || *count > maxTable)
    return makeError(DiagClass::Unsupported, "%{}: a constant of more than {} elements", op.name,
                     maxTable);
  auto tensor = parseLiteral(op.shape, op.literal);
  if (!tensor)
    return tensor.takeError();
  DType type = op.shape.dtype;
  auto element = [&](int64_t i) {
    if (tensor->wordsPerElement() == 2)
      return ops.constant(type, tensor->complex(i));
    return isFloat(type) ? ops.constant(type, tensor->real(i))
                         : ops.constant(type, tensor->integer(i));
  };
  bool isUniform = tensor->size() > 0;
  for (size_t i = 0, width = tensor->wordsPerElement(); i < tensor->words().size(); ++i)
    isUniform = isUniform && tensor->words()[i] == tensor->words()[i % width];
  if (isUniform)
    return Values(lanes, element(0));
  std::vector<llvm::Constant *> table;
  for (int64_t i = 0; i < tensor->size(); ++i)
    table.push_back(llvm::cast<llvm::Constant>(element(i)));
  Values result;
  Shape rowMajor = Shape::tensor(type, op.shape.dims);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::Value *at = index(atLane(offsetOf(rowMajor, coordinates), lane));
    if (llvm::Value *condition = holds(atLane(guard, lane)))
      at = b.CreateSelect(condition, at, llvm::ConstantInt::get(indexType(), 0));
    result.push_back(k.loadTable(table, at));
  }
  return result;
}

Values ValueEmitter::emitIota(const Op &op, const Coordinates &coordinates, unsigned lanes) {
  Values result;
  auto along = static_cast<size_t>(op.attrs.dimensions.empty() ? 0 : op.attrs.dimensions[0]);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::Value *position = b.CreateSExtOrTrunc(index(atLane(coordinates[along], lane)), k.i64);
    result.push_back(ops.convert(DType::S64, op.shape.dtype, position));
  }
  return result;
}

} // namespace tilewright
