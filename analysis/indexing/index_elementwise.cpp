// Elementwise ops, and collectives that keep elements where they are.
#include "analysis/indexing/indexing_internal.h"

namespace tilewright::indexing {

namespace {

/// bitcast-convert between widths adds or removes a last dim of the ratio.
Maps bitcastConvertMaps(const OpView &v) {
  const Shape &in = v.operand(0);
  OpIndexing result;
  std::vector<Expr> at;
  std::vector<MapVariable> more;
  for (size_t i = 0; i < std::min(in.dims.size(), v.out.dims.size()); ++i)
    at.push_back(v.dim(i));
  if (in.rank() == v.out.rank() + 1) {
    at.push_back(v.ctx.range(0));
    more.push_back(rangeVariable(at.back(), in.dims.back()));
  } else if (in.rank() != v.out.rank() && in.rank() + 1 != v.out.rank()) {
    return v.malformed("the ranks of operand and result don't fit");
  }
  result.operands.push_back(exactly(v.map(std::move(at), std::move(more))));
  return result;
}

} // namespace

Maps elementwiseMaps(const OpView &v) {
  if (v.op.opcode == Opcode::BitcastConvert && v.operandCount() == 1)
    return bitcastConvertMaps(v);
  OpIndexing result;
  for (size_t i = 0; i < v.operandCount(); ++i) {
    const Shape &in = v.operand(i);
    if (in.isTuple)
      return v.malformed("an operand is a tuple");
    // The scalar operands of select and clamp stand for every element.
    if (in.dims == v.out.dims)
      result.operands.push_back(exactly(v.identity()));
    else if (in.dims.empty())
      result.operands.push_back(exactly(v.scalar()));
    else
      return v.malformed("operand and result differ in dims");
  }
  return result;
}

Maps collectiveMaps(const OpView &v) {
  OpIndexing result;
  result.operands.resize(v.operandCount());
  // With several operands each result belongs to one of them.
  size_t which = v.op.shape.isTuple && !v.path.empty() ? static_cast<size_t>(v.path.back()) : 0;
  switch (v.op.opcode) {
  case Opcode::AllReduce:
  case Opcode::AllReduceStart:
    if (which >= v.operandCount() || v.operand(which).dims != v.out.dims)
      return v.malformed("operand and result differ in dims");
    result.operands[which] = exactly(v.identity());
    result.operands[which].note = "read from every replica of the group";
    return result;
  case Opcode::AllReduceDone:
    if (v.operandCount() != 1)
      return v.malformed("needs one operand");
    result.operands[0] = exactly(v.identity());
    result.operands[0].operandPath = v.path;
    return result;
  case Opcode::AllGather: {
    if (which >= v.operandCount() || v.op.attrs.dimensions.size() != 1)
      return v.malformed("needs one dim");
    const Shape &in = v.operand(which);
    size_t along = static_cast<size_t>(v.op.attrs.dimensions[0]);
    if (in.rank() != v.out.rank() || along >= in.rank())
      return v.malformed("operand and result differ in rank");
    std::vector<Expr> at;
    for (size_t i = 0; i < in.rank(); ++i)
      at.push_back(v.dim(i));
    if (in.dims[along] > 0) {
      at[along] = v.dim(along).mod(in.dims[along]);
      Bounds bounds;
      bounds.set(v.dim(along), Interval::ofExtent(v.out.dims[along]));
      result.replica = Simplifier(v.ctx, bounds).simplify(v.dim(along).floorDiv(in.dims[along]));
    }
    result.operands[which] = exactly(v.map(std::move(at)));
    result.operands[which].note = "read from one replica of the group";
    return result;
  }
  default:
    return opaque(fmt::format("{} reads values of other replicas", toString(v.op.opcode)));
  }
}

} // namespace tilewright::indexing
