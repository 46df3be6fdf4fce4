#include "costmodel/vector_kernels.h"

namespace tilewright {

const VectorKernels &vectorKernels() {
#ifdef TILEWRIGHT_X86_VECTORS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return vector_kernels::avx512;
  if (__builtin_cpu_supports("avx2"))
    return vector_kernels::avx2;
#endif
  return vector_kernels::baseline;
}

} // namespace tilewright
