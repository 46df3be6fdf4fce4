#include "analysis/ir/quotes.h"

#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

namespace {

bool isOctal(char c) { return c >= '0' && c <= '7'; }

/// -1 for what is no digit.
int hexValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// The character behind the backslash at `at`; moves `at` to its last digit.
char escaped(std::string_view text, size_t &at) {
  constexpr size_t octalDigits = 3, hexDigits = 2;
  const char first = text[++at];
  unsigned value = 0;
  if (isOctal(first)) {
    size_t end = at;
    for (; end < text.size() && end - at < octalDigits && isOctal(text[end]); ++end)
      value = value * 8 + static_cast<unsigned>(text[end] - '0');
    at = end - 1;
    return static_cast<char>(value);
  }
  if ((first == 'x' || first == 'X') && at + 1 < text.size() && hexValue(text[at + 1]) >= 0) {
    size_t end = at + 1;
    for (; end < text.size() && end - at <= hexDigits && hexValue(text[end]) >= 0; ++end)
      value = value * 16 + static_cast<unsigned>(hexValue(text[end]));
    at = end - 1;
    return static_cast<char>(value);
  }
  constexpr std::string_view letters = "abfnrtv", meanings = "\a\b\f\n\r\t\v";
  const size_t letter = letters.find(first);
  return letter == std::string_view::npos ? first : meanings[letter];
}

} // namespace

std::string inQuotes(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t bytes = characterBytes(text, i);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", text[i]);
    else if (c == '\n')
      out += "\\n";
    else if (bytes == 0 || c < 0x20 || c == 0x7f) // in octal, as C writes them
      out += fmt::format("\\{:03o}", c);
    else
      out += text.substr(i, bytes);
    i += std::max<size_t>(bytes, 1);
  }
  return out + '"';
}

std::string unescaped(std::string_view between) {
  std::string out;
  for (size_t i = 0; i < between.size(); ++i)
    out += between[i] == '\\' && i + 1 < between.size() ? escaped(between, i) : between[i];
  return out;
}

} // namespace tilewright
