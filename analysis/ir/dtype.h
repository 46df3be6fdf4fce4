// Element types of tensors, with exact bit sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright {

enum class DType : uint8_t {
#define TILEWRIGHT_DTYPE(name, text, bits, cls) name,
#include "analysis/ir/dtypes.def"
};

enum class DTypeClass : uint8_t {
  Pred,   ///< true or false, stored in a byte
  Signed, ///< two's complement
  Unsigned,
  Float,
  Complex,    ///< a pair of floats
  NonNumeric, ///< token, opaque: no elements, no bytes
};

/// HLO's spelling: "bf16", "f8e4m3fn", "s4".
std::string_view toString(DType type);

/// The type of that HLO spelling.
std::optional<DType> parseDType(std::string_view text);

/// Bits of one element in memory when packed: 4 for s4, 8 for pred, 0 for token.
unsigned bitWidth(DType type);

DTypeClass dtypeClass(DType type);
inline bool isFloat(DType type) { return dtypeClass(type) == DTypeClass::Float; }
inline bool isInteger(DType type) {
  return dtypeClass(type) == DTypeClass::Signed || dtypeClass(type) == DTypeClass::Unsigned;
}

/// Bytes of `elements` packed elements, rounded up to a whole byte: s4[3] takes 2.
/// Nothing on overflow.
std::optional<int64_t> packedBytes(DType type, int64_t elements);

} // namespace tilewright
