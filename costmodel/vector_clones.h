#pragma once

// One body, compiled for each width of vectors and chosen when the program starts. Sanitizers
// instrument the choice itself, before they are ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TILEWRIGHT_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TILEWRIGHT_VECTOR_CLONES
#endif
