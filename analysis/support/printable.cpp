#include "analysis/support/printable.h"

#include <algorithm>
#include <cstdint>

namespace tilewright {

namespace {

constexpr size_t maxWord = 240, maxMessage = 4000; ///< bytes of a message that are printed

uint32_t codePointOf(std::string_view character) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  switch (character.size()) {
  case 1:
    return byte(0);
  case 2:
    return (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu);
  case 3:
    return (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
  default:
    return (byte(0) & 0x07u) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 |
           (byte(3) & 0x3fu);
  }
}

/// Controls of the terminal (C0, DEL, C1), line separators, and what changes the direction of text.
bool isControl(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/// Calls `each` with every valid character, or with one byte that is none, and whether it may be
/// printed.
template <typename Each> void forEachCharacter(std::string_view text, Each each) {
  for (size_t at = 0; at < text.size();) {
    size_t bytes = characterBytes(text, at);
    std::string_view character = text.substr(at, bytes ? bytes : 1);
    each(character, bytes > 0 && !isControl(codePointOf(character)));
    at += character.size();
  }
}

std::string withCommas(size_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3; digits.insert(at, 1, ','))
    at -= 3;
  return digits;
}

/// The largest size up to `at` that ends no character in its middle.
size_t boundaryBefore(std::string_view text, size_t at) {
  if (at >= text.size())
    return text.size();
  size_t start = at;
  while (start > 0 && at - start < 3 && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80)
    --start;
  size_t bytes = characterBytes(text, start);
  return start + bytes > at ? start : at;
}

} // namespace

size_t characterBytes(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  size_t bytes = byte(0) < 0x80   ? 1
                 : byte(0) < 0xc2 ? 0
                 : byte(0) < 0xe0 ? 2
                 : byte(0) < 0xf0 ? 3
                 : byte(0) < 0xf5 ? 4
                                  : 0;
  if (bytes > text.size() - at)
    return 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  if (bytes < 3)
    return bytes;
  // Longer forms of shorter characters, halves of surrogate pairs, and what lies past the last.
  uint32_t c = codePointOf(text.substr(at, bytes));
  bool isValid =
      bytes == 3 ? c >= 0x800 && (c < 0xd800 || c > 0xdfff) : c >= 0x10000 && c <= 0x10ffff;
  return isValid ? bytes : 0;
}

std::string printable(std::string_view text, bool isText) {
  std::string out;
  out.reserve(text.size());
  forEachCharacter(text, [&](std::string_view character, bool isFine) {
    if (isFine || (isText && (character == "\n" || character == "\t"))) {
      out += character;
      return;
    }
    for (char c : character) {
      auto byte = static_cast<unsigned char>(c);
      out += {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    }
  });
  return out;
}

std::string printableLine(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  forEachCharacter(text, [&](std::string_view character, bool isFine) {
    out += isFine ? character : character == "\t" ? std::string_view(" ") : std::string_view("?");
  });
  return out;
}

std::string clipped(std::string_view text, size_t most, std::string_view mark) {
  size_t characters = 0, lastKept = 0;
  for (size_t at = 0; at < text.size();) {
    if (characters + 1 == most)
      lastKept = at; // where the mark would stand
    if (++characters > most)
      return std::string(text.substr(0, lastKept)).append(mark);
    size_t bytes = characterBytes(text, at);
    at += bytes ? bytes : 1;
  }
  return std::string(text);
}

std::string excerpt(std::string_view text, size_t most) { return clipped(text, most, "…"); }

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most)
    return std::string(text);
  std::string middle = "…(" + withCommas(text.size()) + " bytes)…";
  size_t kept = most > middle.size() ? most - middle.size() : 0;
  size_t head = boundaryBefore(text, kept - kept / 4);
  size_t tail = boundaryBefore(text, text.size() - kept / 4);
  return std::string(text.substr(0, head)) + middle + std::string(text.substr(tail));
}

std::string printableMessage(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(' ', at), text.size());
    out += shortened(text.substr(at, end - at), maxWord);
    if (end < text.size())
      out += ' ';
    at = end + 1;
  }
  return printable(shortened(out, maxMessage));
}

} // namespace tilewright
