// Collectives: elements that come from other replicas, at known coordinates.
#include "analysis/indexing/indexing_internal.h"

namespace tilewright::indexing {

namespace {

OpIndexing oneOperand(const OpView &v, size_t which, OperandMaps maps, std::string note) {
  OpIndexing result;
  result.operands.resize(v.operandCount());
  if (maps.note.empty())
    maps.note = std::move(note);
  result.operands[which] = std::move(maps);
  return result;
}

Maps allReduce(const OpView &v, size_t which) {
  if (which >= v.operandCount() || v.operand(which).dims != v.out.dims)
    return v.malformed("operand and result differ in dims");
  return oneOperand(v, which, exactly(v.identity()), "read from every replica of the group");
}

Maps passed(const OpView &v, ResultPath path) {
  if (v.operandCount() != 1)
    return v.malformed("needs one operand");
  OpIndexing result = oneOperand(v, 0, exactly(v.identity()), "");
  result.operands[0].operandPath = std::move(path);
  return result;
}

/// The result is the replicas' operands one behind the other; reduce-scatter: a share of the sum.
Maps gatherLike(const OpView &v, size_t which, bool isScatter) {
  if (which >= v.operandCount() || v.op.attrs.dimensions.size() != 1)
    return v.malformed("needs one dim");
  const Shape &in = v.operand(which);
  size_t along = static_cast<size_t>(v.op.attrs.dimensions[0]);
  if (in.isTuple || in.rank() != v.out.rank() || along >= in.rank())
    return v.malformed("operand and result differ in rank");
  std::vector<Expr> at;
  for (size_t i = 0; i < in.rank(); ++i)
    at.push_back(v.dim(i));
  int64_t whole = isScatter ? in.dims[along] : v.out.dims[along];
  int64_t share = isScatter ? v.out.dims[along] : in.dims[along];
  if (share <= 0) // nothing on any replica
    return oneOperand(v, which, exactly(IndexMap::knownEmpty(v.ctx, v.out.dims, in.rank())), "");
  if (isScatter) {
    Expr replica = v.ctx.range(0);
    at[along] = v.dim(along) + replica * share;
    return oneOperand(v, which,
                      atMost(v.map(std::move(at), {rangeVariable(replica, whole / share)}),
                             "only of the own replica's share, read from every replica"),
                      "");
  }
  at[along] = v.dim(along).mod(share);
  OpIndexing result =
      oneOperand(v, which, exactly(v.map(std::move(at))), "read from one replica of the group");
  Bounds bounds;
  bounds.set(v.dim(along), Interval::ofExtent(whole));
  result.replica = Simplifier(v.ctx, bounds).simplify(v.dim(along).floorDiv(share));
  return result;
}

/// The result of a start is (operands, results, …): the operands pass through.
struct StartElement {
  bool isOperand = false;
  size_t which = 0;
};

StartElement startElement(const OpView &v) {
  bool isOperand = v.path.empty() || v.path.front() == 0;
  return {isOperand, v.path.size() > 1 ? static_cast<size_t>(v.path[1]) : 0};
}

Maps collective(const OpView &v, Opcode opcode, size_t which) {
  switch (opcode) {
  case Opcode::AllReduce:
    return allReduce(v, which);
  case Opcode::AllGather:
    return gatherLike(v, which, false);
  case Opcode::ReduceScatter:
    return gatherLike(v, which, true);
  default:
    return opaque(fmt::format("{} reads values of other replicas", toString(opcode)));
  }
}

Maps started(const OpView &v, Opcode opcode) {
  StartElement element = startElement(v);
  if (element.which >= v.operandCount())
    return v.malformed("it has no such operand");
  if (element.isOperand) {
    if (v.operand(element.which).dims != v.out.dims)
      return v.malformed("operand and result differ in dims");
    return oneOperand(v, element.which, exactly(v.identity()), "");
  }
  if (v.path.front() > 1) // a context
    return oneOperand(v, element.which, OperandMaps{}, "");
  return collective(v, opcode, element.which);
}

ResultPath below(int64_t first, const ResultPath &path) {
  ResultPath result{first};
  result.insert(result.end(), path.begin(), path.end());
  return result;
}

} // namespace

Maps collectiveMaps(const OpView &v) {
  // With several operands each result belongs to one of them.
  size_t which = v.op.shape.isTuple && !v.path.empty() ? static_cast<size_t>(v.path.back()) : 0;
  switch (v.op.opcode) {
  case Opcode::AllReduceStart: // its result has no operands in it
    return allReduce(v, which);
  case Opcode::AllReduceDone:
    return passed(v, v.path);
  case Opcode::AllGatherStart:
    return started(v, Opcode::AllGather);
  case Opcode::AllGatherDone:
    return passed(v, below(1, v.path));
  default:
    return collective(v, v.op.opcode, which);
  }
}

Maps asyncMaps(const OpView &v) {
  switch (v.op.opcode) {
  case Opcode::AsyncStart:
    return started(v, *v.op.attrs.asyncOpcode);
  case Opcode::AsyncUpdate:
    return passed(v, v.path);
  default:
    return passed(v, below(1, v.path));
  }
}

} // namespace tilewright::indexing
