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

/// Where the replica at hand stands in its group: a value that the collective itself knows when it
/// runs.
struct Own {
  Expr position;
  std::vector<MapVariable> variables;
};

Own ownPosition(const OpView &v, int64_t replicas) {
  Own own;
  own.position = v.constant(0);
  if (replicas <= 1)
    return own;
  own.position = v.ctx.variable(VarKind::Runtime, "rt0");
  const OpId id = v.graph.find(v.op.name);
  own.variables.push_back(
      {own.position, Interval::ofExtent(replicas), RuntimeSource{id.index, "%" + v.op.name, {}}});
  return own;
}

/// Every replica cuts its operand into one share for each replica of the group. Here arrive the
/// shares that have this replica's number, one behind the other; or, where each share is an operand
/// of its own, result k is from replica k.
Maps allToAll(const OpView &v, size_t which) {
  const int64_t replicas = v.op.attrs.replicaGroups.size;
  if (v.op.shape.isTuple) {
    OpIndexing result;
    for (size_t k = 0; k < v.operandCount(); ++k) {
      if (v.operand(k).dims != v.out.dims)
        return v.malformed("operand and result differ in dims");
      result.operands.push_back(
          atMost(v.identity(), "of the operand whose number is the replica's position"));
    }
    result.replica = v.constant(static_cast<int64_t>(which));
    return result;
  }
  if (v.op.attrs.dimensions.size() != 1 || v.operandCount() != 1)
    return v.malformed("needs one dim and one operand");
  const size_t along = static_cast<size_t>(v.op.attrs.dimensions[0]);
  const Shape &in = v.operand(0);
  if (in.isTuple || in.dims != v.out.dims || along >= in.rank())
    return v.malformed("operand and result differ in dims");
  if (replicas < 1 || in.dims[along] % replicas != 0)
    return opaque("all-to-all reads values of other replicas, and how many is not given");
  const int64_t share = in.dims[along] / replicas;
  if (share == 0)
    return oneOperand(v, 0, exactly(IndexMap::knownEmpty(v.ctx, v.out.dims, in.rank())), "");
  Own own = ownPosition(v, replicas);
  std::vector<Expr> at;
  for (size_t i = 0; i < in.rank(); ++i)
    at.push_back(v.dim(i));
  at[along] = v.dim(along).mod(share) + own.position * share;
  OpIndexing result = oneOperand(v, 0, exactly(v.map(std::move(at), own.variables)),
                                 "read from one replica of the group");
  Bounds bounds;
  bounds.set(v.dim(along), Interval::ofExtent(in.dims[along]));
  result.replica = Simplifier(v.ctx, bounds).simplify(v.dim(along).floorDiv(share));
  return result;
}

/// The same place on another replica, or zeros.
Maps fromOneReplica(const OpView &v, size_t which, std::string note) {
  if (which >= v.operandCount() || v.operand(which).dims != v.out.dims)
    return v.malformed("operand and result differ in dims");
  return oneOperand(v, which, atMost(v.identity(), std::move(note)), "");
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
    Own own = ownPosition(v, whole / share);
    at[along] = v.dim(along) + own.position * share;
    return oneOperand(v, which, exactly(v.map(std::move(at), own.variables)),
                      "the own share, read from every replica of the group");
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
  case Opcode::AllToAll:
    return allToAll(v, which);
  case Opcode::CollectivePermute:
    return fromOneReplica(v, which, "on the replica that a pair names as source, if one does");
  case Opcode::CollectiveBroadcast:
    return fromOneReplica(v, which, "on the first replica of the group, if there is one");
  default:
    return opaque(fmt::format("{}: what arrives is decided by values or by another program",
                              toString(opcode)));
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
  case Opcode::AllGatherStart: // (operands, results), or the result alone
    return v.op.shape.isTuple ? started(v, Opcode::AllGather)
                              : collective(v, Opcode::AllGather, which);
  case Opcode::CollectivePermuteStart:
    return started(v, Opcode::CollectivePermute);
  case Opcode::AllGatherDone:
  case Opcode::CollectivePermuteDone:
    return v.operandCount() == 1 && !v.operand(0).isTuple ? passed(v, v.path)
                                                          : passed(v, below(1, v.path));
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
