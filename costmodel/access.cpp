#include "costmodel/access.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

double powerOfTwoBelow(double x) { return std::exp2(std::floor(std::log2(std::max(x, 1.0)))); }

} // namespace

double vectorElements(const InstanceView &v, double perThread) {
  if (v.rowPitch() % alignedElements != 0)
    return 1;
  double width = bitWidth(v.op->shape.dtype) / 8.0;
  return std::max(
      1.0, std::min({vectorBytes / width, powerOfTwoBelow(perThread), v.contiguousElements()}));
}

AccessLayout accessLayout(const InstanceView &v, double warps) {
  double width = bitWidth(v.op->shape.dtype) / 8.0, threads = 32 * warps;
  double run = v.contiguousElements();
  AccessLayout a;
  a.vector = vectorElements(v, std::max(v.elements / threads, 1.0));
  a.perThread = std::max(v.elements / (threads * a.vector), 1.0);
  double lanesAlongRow = std::min(32.0, std::max(run / a.vector, 1.0));
  a.rowsPerAccess = 32 / lanesAlongRow;
  a.pieceBytes = std::min(lanesAlongRow * a.vector, run) * width;
  return a;
}

} // namespace tilewright
