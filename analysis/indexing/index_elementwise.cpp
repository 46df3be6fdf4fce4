// Elementwise ops.
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

} // namespace tilewright::indexing
