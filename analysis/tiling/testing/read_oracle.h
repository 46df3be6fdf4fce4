// Which elements of its operands one element of an op's result reads, written down op by op: the
// oracle of the tests over random graphs.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/tiling/testing/tile_oracle.h"

#include <set>
#include <vector>

namespace tilewright::oracle {

using Dims = std::vector<int64_t>;

inline int64_t product(const Dims &dims) {
  int64_t n = 1;
  for (int64_t d : dims)
    n *= d;
  return n;
}

inline int64_t position(const Dims &index, const Dims &dims) {
  int64_t out = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    out = out * dims[i] + index[i];
  return out;
}

/// Elements of each operand that one element of the result reads.
inline void reads(const Graph &graph, const Op &op, int64_t element,
                  std::vector<std::set<int64_t>> &out) {
  const Dims index = coordinates(element, op.shape.dims);
  auto dimsOf = [&](size_t k) -> const Dims & { return graph[op.operands[k]].shape.dims; };
  switch (op.opcode) {
  case Opcode::Reshape:
    out[0].insert(element);
    break;
  case Opcode::Transpose: {
    Dims in(index.size());
    for (size_t i = 0; i < index.size(); ++i)
      in[op.attrs.dimensions[i]] = index[i];
    out[0].insert(position(in, dimsOf(0)));
    break;
  }
  case Opcode::Broadcast: {
    Dims in;
    for (int64_t d : op.attrs.dimensions)
      in.push_back(index[d]);
    out[0].insert(position(in, dimsOf(0)));
    break;
  }
  case Opcode::Slice: {
    Dims in;
    for (size_t i = 0; i < index.size(); ++i)
      in.push_back(op.attrs.slice[i].start + index[i] * op.attrs.slice[i].step);
    out[0].insert(position(in, dimsOf(0)));
    break;
  }
  case Opcode::Reverse: {
    Dims in = index;
    for (int64_t d : op.attrs.dimensions)
      in[d] = op.shape.dims[d] - 1 - in[d];
    out[0].insert(position(in, dimsOf(0)));
    break;
  }
  case Opcode::Pad: {
    Dims in;
    bool inside = true;
    for (size_t i = 0; i < index.size(); ++i) {
      const PadDim &p = op.attrs.padding[i];
      int64_t at = index[i] - p.low, step = p.interior + 1;
      inside &= at >= 0 && at % step == 0 && at / step < dimsOf(0)[i];
      in.push_back(at / step);
    }
    if (inside)
      out[0].insert(position(in, dimsOf(0)));
    out[1].insert(0);
    break;
  }
  case Opcode::Concatenate: {
    Dims in = index;
    const int64_t dim = op.attrs.dimensions[0];
    for (size_t k = 0; k < op.operands.size(); ++k) {
      if (in[dim] >= 0 && in[dim] < dimsOf(k)[dim])
        out[k].insert(position(in, dimsOf(k)));
      in[dim] -= dimsOf(k)[dim];
    }
    break;
  }
  case Opcode::Reduce: {
    const int64_t dim = op.attrs.dimensions[0];
    Dims in = index;
    in.insert(in.begin() + dim, 0);
    for (; in[dim] < dimsOf(0)[dim]; ++in[dim])
      out[0].insert(position(in, dimsOf(0)));
    out[1].insert(0);
    break;
  }
  case Opcode::Dot: // [m, k] x [k, n]
    for (int64_t k = 0; k < dimsOf(1)[0]; ++k) {
      out[0].insert(index[0] * dimsOf(0)[1] + k);
      out[1].insert(k * dimsOf(1)[1] + index[1]);
    }
    break;
  default:
    for (std::set<int64_t> &set : out)
      set.insert(element);
  }
}

} // namespace tilewright::oracle
