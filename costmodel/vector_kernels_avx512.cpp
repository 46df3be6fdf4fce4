#define TILEWRIGHT_VECTORS avx512
#include "costmodel/vector_kernels.inc"
