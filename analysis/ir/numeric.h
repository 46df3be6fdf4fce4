// Exact conversions between a double (or a 64-bit integer) and every element type.
//
// The evaluator holds float elements as doubles and integers as 64-bit words; these functions say
// which values each type can hold. Rounding is to nearest, ties to the even encoding. Overflow
// goes to infinity where the type has one, to NaN where it has only that (the "fn" and "fnuz"
// types), and to the largest value in f4e2m1fn, which has neither.
#pragma once

#include "analysis/ir/dtype.h"

#include <cstdint>

namespace tilewright {

/// What a float type does with the encodings that IEEE 754 gives to infinities and NaNs.
enum class FloatSpecials : uint8_t {
  Ieee,       ///< top exponent: infinity and NaNs
  NanOnly,    ///< "fn": all ones is NaN, no infinity
  NegZeroNan, ///< "fnuz": the encoding of -0 is the only NaN, no infinity, no -0
  None,       ///< "fn" of four bits: every encoding is finite
  ScaleOnly,  ///< f8e8m0fnu: powers of two, no sign, no zero; all ones is NaN
};

/// Layout of a float type: value = 1.m · 2^(e - bias), subnormals below (not in ScaleOnly).
struct FloatFormat {
  unsigned exponentBits, mantissaBits;
  int bias;
  FloatSpecials specials;
};

/// Precondition: isFloat(type).
FloatFormat floatFormat(DType type);

/// The encoding of `value` rounded to a float type. NaNs keep their sign and the payload bits that
/// fit; where the type has a single NaN, that one. f8e8m0fnu has no sign and no zero: those are
/// NaN; positive values below 2^-127 become 2^-127, and a tie goes to the larger power. f4e2m1fn
/// has no NaN: it becomes a zero of the other sign.
uint64_t encodeFloat(DType type, double value);

/// The value of an encoding; higher bits than the type has are ignored. NaN payloads are kept in
/// the top mantissa bits, so that encodeFloat(decodeFloat(x)) is x also for NaNs.
double decodeFloat(DType type, uint64_t bits);

/// `value` rounded to a float type. Precondition: isFloat(type).
double roundFloat(DType type, double value);

/// The lowest finite value of a float type. Precondition: isFloat(type).
double lowestFinite(DType type);

/// Rounds to `exponentBits` and `mantissaBits` in the way of reduce-precision: overflow to
/// infinity, results below the smallest normal number to a zero of the same sign, NaN stays.
double reducePrecision(double value, unsigned exponentBits, unsigned mantissaBits);

/// An integer reduced modulo 2^bits of the type and sign-extended where it is signed; pred: ≠ 0.
/// u64 is held as its bit pattern. Precondition: an integer type or pred.
int64_t wrapInteger(DType type, int64_t value);

/// Float to integer as HLO's convert does: towards zero, clamped to the range, NaN to 0; pred: ≠ 0.
int64_t integerFromFloat(DType type, double value);

/// Integer of type `from` (u64 as bit pattern) to float type `to`, rounded once.
double floatFromInteger(DType to, DType from, int64_t value);

/// The nearest double of an integer of type `from`: one rounding, only for |value| > 2^53.
double doubleFromInteger(DType from, int64_t value);

} // namespace tilewright
