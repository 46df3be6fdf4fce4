// Deterministic values of inputs, one element at a time. Needs nothing but the element types, so
// that the measuring runner makes the very bytes that the reference evaluator reads.
#pragma once

#include "analysis/ir/dtype.h"

#include <cstdint>

namespace tilewright {

/// Range of generated values. Defaults are by dtype, see fillWord().
struct FillRange {
  bool isGiven = false;
  int64_t low = 0, high = 0; ///< inclusive; for float types the values are low + (high - low)·u
};

/// splitmix64's output function at `seed` advanced by `index + 1` steps (Steele, Lea, Flood 2014).
uint64_t splitmix64(uint64_t seed, uint64_t index);

/// The type of one word of an element: a part of a complex number is a float of half the width.
DType partType(DType type);

/// The bits in memory of a word as the evaluator holds it (see Tensor), and back.
/// Precondition: `part` is a partType().
uint64_t encodeWord(DType part, uint64_t word);
uint64_t decodeWord(DType part, uint64_t bits);

/// Word number `index` of a filled tensor, from h = splitmix64(seed, index) alone.
/// Floats: ((h >> 40) / 2^23) - 1, in [-1, 1), rounded to the type; f8e8m0fnu: 2^(h mod 5 - 2).
/// Signed integers: h mod 17 - 8, unsigned: h mod 16, pred: h mod 2, each clipped to the type.
/// With a range: low + h mod (high - low + 1) for integers.
class WordFiller {
public:
  WordFiller(DType type, uint64_t seed, FillRange range = {});
  uint64_t operator()(uint64_t index) const;
  /// encodeWord() of the word, faster for the common float types.
  uint64_t code(uint64_t index) const;

private:
  DType part;
  bool isReal;
  uint64_t seed, span;
  FillRange range;
};

} // namespace tilewright
