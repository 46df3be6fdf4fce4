#define TILEWRIGHT_VECTORS avx2
#include "costmodel/vector_kernels.inc"
