#include "analysis/indexing/indexing.h"

#include "analysis/indexing/indexing_internal.h"
#include "analysis/ir/annotation.h"
#include "analysis/ir/run_time_extents.h"

namespace tilewright {

using namespace indexing;

namespace indexing {

IndexMap OpView::map(std::vector<Expr> results, std::vector<MapVariable> more,
                     std::vector<MapConstraint> constraints) const {
  std::vector<MapVariable> variables;
  for (size_t i = 0; i < out.dims.size(); ++i)
    variables.push_back({dim(i), Interval::ofExtent(out.dims[i]), std::nullopt});
  variables.insert(variables.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  return IndexMap(ctx, std::move(variables), std::move(results), std::move(constraints))
      .simplified();
}

IndexMap OpView::identity() const {
  std::vector<Expr> results;
  for (size_t i = 0; i < out.dims.size(); ++i)
    results.push_back(dim(i));
  return map(std::move(results));
}

llvm::Error OpView::malformed(std::string_view what) const {
  return makeError(DiagClass::BadInput, "%{}: {} is malformed: {}", op.name, toString(op.opcode),
                   what);
}

OpIndexing opaque(std::string reason) {
  OpIndexing result;
  result.isOpaque = true;
  result.reason = std::move(reason);
  return result;
}

OperandMaps exactly(IndexMap map) {
  OperandMaps result;
  result.maps.push_back(std::move(map));
  return result;
}

OperandMaps atMost(IndexMap map, std::string note) {
  OperandMaps result = exactly(std::move(map));
  result.coverage = Coverage::OverApproximate;
  result.note = std::move(note);
  return result;
}

MapVariable rangeVariable(Expr var, int64_t extent) {
  return {var, Interval::ofExtent(extent), std::nullopt};
}

std::string_view rawAttribute(const Op &op, std::string_view name) {
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == name)
      return attribute.text;
  return {};
}

namespace {

/// Ops that only pass tuples or their elements on.
Maps tupleMaps(const OpView &v) {
  OpIndexing result;
  result.operands.resize(v.operandCount());
  auto pass = [&](size_t operand, ResultPath path) {
    if (operand >= v.operandCount())
      return;
    result.operands[operand] = exactly(v.identity());
    result.operands[operand].operandPath = std::move(path);
  };
  switch (v.op.opcode) {
  case Opcode::Tuple: {
    // Without a path a tuple is all of its elements.
    if (v.path.empty())
      return opaque("a tuple has no coordinates of its own; ask for one of its elements");
    pass(static_cast<size_t>(v.path.front()), ResultPath(v.path.begin() + 1, v.path.end()));
    return result;
  }
  case Opcode::GetTupleElement: {
    ResultPath path{v.op.attrs.tupleIndex};
    path.insert(path.end(), v.path.begin(), v.path.end());
    pass(0, std::move(path));
    return result;
  }
  case Opcode::OptimizationBarrier:
  case Opcode::AddDependency:
    pass(0, v.path);
    return result;
  case Opcode::CopyStart: // (copy, operand, context)
    if (v.path.empty() || v.path.front() < 2)
      pass(0, {});
    return result;
  default: // after-all: tokens hold nothing
    return result;
  }
}

/// sort and top-k: opaque, but an element comes from its own line of the operands.
Maps lineMaps(const OpView &v) {
  bool isSort = v.op.opcode == Opcode::Sort;
  size_t rank = v.out.rank();
  if (v.operandCount() == 0 || (isSort && v.op.attrs.dimensions.size() != 1) || rank == 0)
    return v.malformed("needs one dim");
  size_t along = isSort ? static_cast<size_t>(v.op.attrs.dimensions[0]) : rank - 1;
  OpIndexing result = opaque(fmt::format("{} along dim {}: which element comes where is known at "
                                         "run time only",
                                         toString(v.op.opcode), along));
  for (size_t k = 0; k < v.operandCount(); ++k) {
    const Shape &in = v.operand(k);
    if (in.isTuple || in.rank() != rank || along >= rank)
      return v.malformed("operand and result differ in rank");
    if (!v.wants(k)) {
      result.operands.emplace_back();
      continue;
    }
    std::vector<Expr> at;
    for (size_t d = 0; d < rank; ++d)
      at.push_back(d == along ? v.ctx.range(0) : v.dim(d));
    result.operands.push_back(
        atMost(v.map(std::move(at), {rangeVariable(v.ctx.range(0), in.dims[along])}),
               "one element of the line, chosen by the values of all"));
  }
  return result;
}

} // namespace

} // namespace indexing

std::vector<MapConstraint> conditionsAt(const IndexMap &map, const Shape &shape,
                                        std::span<const Expr> at, std::span<const Expr> table) {
  std::vector<MapConstraint> conditions;
  for (const MapVariable &variable : map.variables())
    for (size_t i = 0; i < at.size(); ++i)
      if (variable.var == at[i].context().dim(static_cast<unsigned>(i)) &&
          variable.domain != Interval::ofExtent(shape.dims[i]))
        conditions.push_back({at[i], variable.domain, 1, 0});
  for (MapConstraint condition : map.constraints()) {
    condition.expr = substitute(condition.expr, table);
    conditions.push_back(condition);
  }
  return conditions;
}

const Shape *resultShape(const Op &op, const ResultPath &path) {
  const Shape *shape = &op.shape;
  for (int64_t i : path) {
    if (!shape->isTuple || i < 0 || static_cast<size_t>(i) >= shape->elements.size())
      return nullptr;
    shape = &shape->elements[static_cast<size_t>(i)];
  }
  while (shape->isTuple) {
    if (shape->elements.empty())
      return nullptr;
    shape = &shape->elements.front();
  }
  return shape;
}

llvm::Expected<OpIndexing> outputToOperands(const Graph &graph, OpId id, ExprContext &context,
                                            const ResultPath &path) {
  return mapsOf(graph, id, context, path, std::nullopt);
}

Maps indexing::mapsOf(const Graph &graph, OpId id, ExprContext &context, const ResultPath &path,
                      std::optional<size_t> only) {
  const Op &op = graph.op(id);
  const Shape *out = resultShape(op, path);
  if (!out) {
    if (path.empty()) { // an empty tuple
      OpIndexing result;
      result.operands.resize(op.operands.size());
      return result;
    }
    return makeError(DiagClass::BadInput, "%{} has no such tuple element", op.name);
  }
  if (std::optional<std::string> refusal = runTimeExtentRefusal(graph, op))
    return opaque(std::move(*refusal));
  OpView view{graph, op, context, *out, path, only};
  llvm::Expected<OpIndexing> result = [&]() -> Maps {
    if (op.opcode == Opcode::CopyDone) {
      OpIndexing done;
      done.operands.resize(op.operands.size());
      if (!op.operands.empty()) {
        done.operands[0] = exactly(view.identity());
        done.operands[0].operandPath = {0};
      }
      return done;
    }
    switch (opClass(op.opcode)) {
    case OpClass::Elementwise:
      return elementwiseMaps(view);
    case OpClass::Leaf: {
      OpIndexing none;
      none.operands.resize(op.operands.size());
      return none;
    }
    case OpClass::Tuple:
      return tupleMaps(view);
    case OpClass::Call:
      if (op.attrs.asyncOpcode)
        return asyncMaps(view);
      return opaque(fmt::format("{} runs another computation; inline it to see its maps",
                                toString(op.opcode)));
    case OpClass::Collective:
      return collectiveMaps(view);
    case OpClass::Opaque:
      if (isAnnotation(graph, op))
        return elementwiseMaps(view);
      if (op.opcode == Opcode::CustomCall)
        return opaque(
            fmt::format("what custom call \"{}\" reads is not known", op.attrs.customCallTarget));
      if (op.opcode == Opcode::Sort || op.opcode == Opcode::TopK)
        return lineMaps(view);
      return opaque(fmt::format("{} has no index map: an element may come from anywhere",
                                toString(op.opcode)));
    case OpClass::Structured:
      break;
    }
    switch (op.opcode) {
    case Opcode::Dot:
    case Opcode::ScaledDot:
    case Opcode::RaggedDot:
    case Opcode::Reduce:
    case Opcode::Scan:
      return contractionMaps(view);
    case Opcode::Convolution:
    case Opcode::ReduceWindow:
    case Opcode::SelectAndScatter:
      return windowMaps(view);
    case Opcode::DynamicSlice:
    case Opcode::DynamicUpdateSlice:
    case Opcode::Gather:
    case Opcode::Scatter:
      return dynamicMaps(view);
    default:
      return movementMaps(view);
    }
  }();
  return result;
}

} // namespace tilewright
