#include "costmodel/vector_kernels.h"

#include <cstdlib>
#include <cstring>

namespace tilewright {

std::span<const VectorKernels *const> supportedVectorKernels() {
  static const std::vector<const VectorKernels *> supported = [] {
    std::vector<const VectorKernels *> kernels;
#ifdef TILEWRIGHT_X86_VECTORS
    if (__builtin_cpu_supports("x86-64-v4"))
      kernels.push_back(&vector_kernels::avx512);
    if (__builtin_cpu_supports("x86-64-v3"))
      kernels.push_back(&vector_kernels::avx2);
#endif
    kernels.push_back(&vector_kernels::baseline);
    return kernels;
  }();
  return supported;
}

const VectorKernels &vectorKernels() {
  static const VectorKernels &chosen = [&]() -> const VectorKernels & {
    const std::span<const VectorKernels *const> supported = supportedVectorKernels();
    if (const char *name = std::getenv("TILEWRIGHT_VECTORS"))
      for (const VectorKernels *kernels : supported)
        if (std::strcmp(kernels->name, name) == 0)
          return *kernels;
    return *supported.front();
  }();
  return chosen;
}

} // namespace tilewright
