#include "costmodel/access.h"

namespace tilewright {

template <class Q> Q vectorElements(const InstanceViewOf<Q> &v, const Q &perThread) {
  if (v.rowPitch() % alignedElements != 0)
    return 1;
  double width = bitWidth(v.op->shape.dtype) / 8.0;
  return larger(Q(1),
                smaller(smaller(Q(vectorBytes / width), powerOfTwoBelow(larger(perThread, Q(1)))),
                        v.contiguousElements()));
}

template <class Q> AccessLayout<Q> accessLayout(const InstanceViewOf<Q> &v, const Q &warps) {
  const double width = bitWidth(v.op->shape.dtype) / 8.0;
  const Q threads = 32.0 * warps, run = v.contiguousElements();
  AccessLayout<Q> a;
  a.vector = vectorElements(v, larger(v.elements / threads, Q(1)));
  a.perThread = larger(v.elements / (threads * a.vector), Q(1));
  const Q lanesAlongRow = smaller(Q(32), larger(run / a.vector, Q(1)));
  a.rowsPerAccess = 32.0 / lanesAlongRow;
  a.pieceBytes = smaller(lanesAlongRow * a.vector, run) * width;
  return a;
}

template AccessLayout<double> accessLayout(const InstanceViewOf<double> &, const double &);
template AccessLayout<Traced> accessLayout(const InstanceViewOf<Traced> &, const Traced &);
template double vectorElements(const InstanceViewOf<double> &, const double &);
template Traced vectorElements(const InstanceViewOf<Traced> &, const Traced &);

} // namespace tilewright
