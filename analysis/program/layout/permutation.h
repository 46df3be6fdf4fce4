// How chunks of rows in shared memory are permuted, so that lanes that go down a column meet other
// banks.
#pragma once

#include <cstdint>

namespace tilewright::layout {

/// Byte b of coordinate x along the permuting dim lies at b xor ((⌊x / step⌋·scale) mod
/// span)·chunk. A thread that has `step` rows of a column at once then has neighbours in the next
/// chunks. All are powers of two; the xor is the same in each aligned run of `span` chunks.
struct Permutation {
  int64_t chunk = 16; ///< bytes
  int64_t span = 1, step = 1, scale = 1;
  int64_t of(int64_t row) const { return row / step * scale % span * chunk; }
  int64_t mask() const { return (span - 1) * chunk; }
  bool operator==(const Permutation &) const = default;
};
/// For accesses along rows of `pitch` bytes and across `rows` of them, `step` of a column at once.
Permutation permutationOf(int64_t rows, int64_t pitch, int64_t step);

} // namespace tilewright::layout
