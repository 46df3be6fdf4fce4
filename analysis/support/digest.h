#pragma once

// 64-bit FNV-1a: identifies texts, the same on every machine; not collision-resistant against an
// adversary. Source: Fowler, Noll, Vo, draft-eastlake-fnv.
//
// Only the standard library is used, so that programs without LLVM can share it.

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

inline constexpr uint64_t FnvBasis = 0xcbf29ce484222325u;
inline constexpr uint64_t FnvPrime = 0x100000001b3u;

/// Continues the hash `state` with `bytes`.
constexpr uint64_t fnv1a(std::string_view bytes, uint64_t state = FnvBasis) {
  for (char c : bytes)
    state = (state ^ static_cast<unsigned char>(c)) * FnvPrime;
  return state;
}

/// A hash as 16 hexadecimal digits.
inline std::string hexDigits(uint64_t hash) {
  std::string text(16, '0');
  for (size_t i = text.size(); i-- > 0; hash >>= 4)
    text[i] = "0123456789abcdef"[hash & 15];
  return text;
}

/// A hash folded to 8 hexadecimal digits.
inline std::string shortDigits(uint64_t hash) {
  return hexDigits((hash ^ (hash >> 32)) & 0xffffffffu).substr(8);
}

/// What ends a line of a measurement file: the hash of the line before it.
inline std::string rowCheck(std::string_view line) { return shortDigits(fnv1a(line)); }

/// What measurement files say of a card in place of its UUID: enough to tell two cards of a machine
/// apart. 32 bits can't be turned back into the 122 of a UUID.
inline std::string boardOf(std::string_view uuid) {
  return shortDigits(fnv1a(uuid, fnv1a("tilewright board ")));
}

/// The hash of a sequence of texts: "ab", "c" and "a", "bc" differ.
class Digest {
public:
  void add(std::string_view text) {
    state = (fnv1a(text, state) ^ 0xff) *
            FnvPrime; // 0xff terminates a text: it does not occur in UTF-8
  }
  std::string str() const { return hexDigits(state); }

private:
  uint64_t state = FnvBasis;
};

} // namespace tilewright
