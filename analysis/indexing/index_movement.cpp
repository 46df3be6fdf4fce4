// Ops that move elements about: every output element is one operand element, or padding.
#include "analysis/indexing/indexing_internal.h"
#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright::indexing {

bool inRange(const std::vector<int64_t> &dims, size_t rank) {
  return std::all_of(dims.begin(), dims.end(),
                     [rank](int64_t d) { return d >= 0 && static_cast<size_t>(d) < rank; });
}

namespace {

Maps single(IndexMap map) {
  OpIndexing result;
  result.operands.push_back(exactly(std::move(map)));
  return result;
}

bool isZeroElements(const Shape &shape) {
  return std::find(shape.dims.begin(), shape.dims.end(), 0) != shape.dims.end();
}

Maps broadcastMaps(const OpView &v) {
  const std::vector<int64_t> &dims = v.op.attrs.dimensions;
  if (dims.size() != v.operand(0).rank() || !inRange(dims, v.out.rank()))
    return v.malformed("its dimensions don't fit");
  std::vector<Expr> at;
  for (size_t i = 0; i < dims.size(); ++i) {
    bool isStretched = v.operand(0).dims[i] == 1; // also where the result's dim is 1
    at.push_back(isStretched ? v.constant(0) : v.dim(static_cast<size_t>(dims[i])));
  }
  return single(v.map(std::move(at)));
}

Maps transposeMaps(const OpView &v) {
  const std::vector<int64_t> &dims = v.op.attrs.dimensions;
  if (dims.size() != v.out.rank() || v.operand(0).rank() != v.out.rank() ||
      !inRange(dims, v.out.rank()))
    return v.malformed("its dimensions don't fit");
  std::vector<Expr> at(dims.size(), v.constant(0));
  for (size_t i = 0; i < dims.size(); ++i)
    at[static_cast<size_t>(dims[i])] = v.dim(i);
  return single(v.map(std::move(at)));
}

Maps reshapeMaps(const OpView &v) {
  const Shape &in = v.operand(0);
  if (isZeroElements(v.out) || isZeroElements(in))
    return single(IndexMap::knownEmpty(v.ctx, v.out.dims, in.rank()));
  std::vector<Expr> at;
  for (size_t i = 0; i < v.out.rank(); ++i)
    at.push_back(v.dim(i));
  if (v.op.opcode == Opcode::Reshape) {
    if (in.elementCount() != v.out.elementCount())
      return v.malformed("operand and result differ in size");
    return single(v.map(reshapeCoordinates(v.ctx, v.out.dims, at, in.dims)));
  }
  std::vector<MapVariable> extra;
  std::optional<std::vector<Expr>> moved = bitcastCoordinates(v.ctx, v.out, at, in, extra);
  if (!moved)
    return opaque("a bitcast between tiled layouts or uneven widths has no map yet");
  return single(v.map(std::move(*moved), std::move(extra)));
}

Maps sliceMaps(const OpView &v) {
  if (v.op.attrs.slice.size() != v.out.rank())
    return v.malformed("its ranges don't fit");
  std::vector<Expr> at;
  for (size_t i = 0; i < v.out.rank(); ++i)
    at.push_back(v.dim(i) * v.op.attrs.slice[i].step + v.op.attrs.slice[i].start);
  return single(v.map(std::move(at)));
}

Maps reverseMaps(const OpView &v) {
  if (!inRange(v.op.attrs.dimensions, v.out.rank()))
    return v.malformed("its dimensions don't fit");
  std::vector<Expr> at;
  for (size_t i = 0; i < v.out.rank(); ++i)
    at.push_back(v.dim(i));
  for (int64_t d : v.op.attrs.dimensions) {
    size_t i = static_cast<size_t>(d);
    at[i] = v.constant(v.out.dims[i] - 1) - v.dim(i);
  }
  return single(v.map(std::move(at)));
}

Maps concatenateMaps(const OpView &v) {
  if (v.op.attrs.dimensions.size() != 1 || !inRange(v.op.attrs.dimensions, v.out.rank()))
    return v.malformed("needs one dim");
  size_t along = static_cast<size_t>(v.op.attrs.dimensions[0]);
  OpIndexing result;
  int64_t offset = 0;
  for (size_t k = 0; k < v.operandCount(); ++k) {
    if (v.operand(k).rank() != v.out.rank())
      return v.malformed("operands differ in rank");
    int64_t extent = v.operand(k).dims[along];
    if (!v.wants(k)) {
      result.operands.emplace_back();
      offset += extent;
      continue;
    }
    std::vector<Expr> at;
    for (size_t i = 0; i < v.out.rank(); ++i)
      at.push_back(i == along ? v.dim(i) - offset : v.dim(i));
    result.operands.push_back(
        exactly(v.map(std::move(at), {}, {{v.dim(along), {offset, offset + extent - 1}, 1, 0}})));
    offset += extent; // the verifier checked that the sum fits
  }
  return result;
}

Maps padMaps(const OpView &v) {
  const Shape &in = v.operand(0);
  if (v.op.attrs.padding.size() != v.out.rank() || in.rank() != v.out.rank() ||
      v.operandCount() != 2)
    return v.malformed("its padding doesn't fit");
  std::vector<Expr> at;
  std::vector<MapConstraint> constraints;
  bool pads = false;
  for (size_t i = 0; i < v.out.rank(); ++i) {
    const PadDim &pad = v.op.attrs.padding[i];
    std::optional<int64_t> step = checkedAdd(pad.interior, 1);
    if (!step || *step < 1)
      return v.malformed("its interior padding is negative");
    Expr moved = v.dim(i) - pad.low;
    at.push_back(moved.floorDiv(*step));
    constraints.push_back({at.back(), Interval::ofExtent(in.dims[i]), 1, 0});
    if (*step > 1)
      constraints.push_back({moved, {}, *step, 0});
    pads = pads || pad.low > 0 || pad.high > 0 || (pad.interior > 0 && in.dims[i] > 1);
  }
  OpIndexing result;
  result.operands.push_back(exactly(v.map(std::move(at), {}, std::move(constraints))));
  if (pads)
    result.operands.push_back(atMost(v.scalar(), "read where operand 0 is not"));
  else
    result.operands.push_back(exactly(IndexMap::knownEmpty(v.ctx, v.out.dims, 0)));
  return result;
}

} // namespace

Maps movementMaps(const OpView &v) {
  if (v.operandCount() == 0)
    return v.malformed("it has no operands");
  for (size_t i = 0; i < v.operandCount(); ++i)
    if (v.operand(i).isTuple)
      return opaque(fmt::format("{} of a tuple", toString(v.op.opcode)));
  switch (v.op.opcode) {
  case Opcode::Broadcast:
    return broadcastMaps(v);
  case Opcode::Transpose:
    return transposeMaps(v);
  case Opcode::Reshape:
  case Opcode::Bitcast:
    return reshapeMaps(v);
  case Opcode::Slice:
    return sliceMaps(v);
  case Opcode::Reverse:
    return reverseMaps(v);
  case Opcode::Concatenate:
    return concatenateMaps(v);
  case Opcode::Pad:
    return padMaps(v);
  default:
    return opaque(fmt::format("{} has no index map yet", toString(v.op.opcode)));
  }
}

} // namespace tilewright::indexing
