#define TILEWRIGHT_VECTORS baseline
#include "costmodel/vector_kernels.inc"
