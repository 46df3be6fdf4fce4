#include "analysis/import/hlo_lexer.h"

#include "analysis/support/printable.h"

#include <array>
#include <charconv>

namespace tilewright {

namespace {
bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr std::array<bool, 256> wordChars = [] {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c)
    table[c] = true;
  for (int c = 'a'; c <= 'z'; ++c)
    table[c] = table[c - 'a' + 'A'] = true;
  table['_'] = table['.'] = table['-'] = true;
  return table;
}();
bool isWordChar(char c) { return wordChars[static_cast<unsigned char>(c)]; }

char closerOf(char opener) { return opener == '(' ? ')' : opener == '[' ? ']' : '}'; }
} // namespace

bool HloLexer::fail(uint32_t where, std::string message, DiagClass cls) {
  if (!error.isSet)
    error = {true, where, std::move(message), cls};
  return false;
}

bool HloLexer::failExpected(std::string_view what) {
  if (hasFailed())
    return false;
  skipTrivia();
  if (pos >= text.size())
    return fail(pos, fmt::format("expected {}, found the end", what));
  uint32_t end = pos;
  while (end < text.size() && end - pos < 40 && (isWordChar(text[end]) || text[end] == '%'))
    ++end;
  if (end == pos) // a whole character
    end += static_cast<uint32_t>(std::max<size_t>(characterBytes(text, pos), 1));
  std::string_view found = slice(pos, end);
  return fail(pos, fmt::format("expected {}, found '{}'", what, found));
}

void HloLexer::skipTrivia() {
  while (pos < text.size()) {
    if (isSpace(text[pos])) {
      ++pos;
    } else if (text.substr(pos).starts_with(byteOrderMark)) {
      pos += static_cast<uint32_t>(byteOrderMark.size());
    } else if (text[pos] == '/' && peekRaw(1) == '/') {
      size_t newline = text.find('\n', pos);
      pos = static_cast<uint32_t>(newline == std::string_view::npos ? text.size() : newline);
    } else if (text[pos] == '/' && peekRaw(1) == '*') {
      size_t close = text.find("*/", pos + 2);
      if (close == std::string_view::npos) {
        fail(pos, "'/*' is never closed");
        pos = static_cast<uint32_t>(text.size());
        return;
      }
      pos = static_cast<uint32_t>(close + 2);
    } else {
      return;
    }
  }
}

bool HloLexer::consume(char c) {
  if (peek() != c || pos >= text.size())
    return false;
  ++pos;
  return true;
}

bool HloLexer::consume(std::string_view punctuation) {
  skipTrivia();
  if (!text.substr(std::min<size_t>(pos, text.size())).starts_with(punctuation))
    return false;
  pos += static_cast<uint32_t>(punctuation.size());
  return true;
}

bool HloLexer::expect(char c) { return consume(c) || failExpected(fmt::format("'{}'", c)); }

std::string_view HloLexer::word() {
  skipTrivia();
  uint32_t begin = pos;
  while (pos < text.size() && isWordChar(text[pos]) && !(text[pos] == '-' && peekRaw(1) == '>'))
    ++pos;
  return slice(begin, pos);
}

std::string_view HloLexer::peekWord() {
  skipTrivia();
  uint32_t begin = pos;
  std::string_view result = word();
  pos = begin;
  return result;
}

bool HloLexer::name(std::string_view &out, std::string_view what) {
  skipTrivia();
  uint32_t begin = pos;
  if (peekRaw() == '%')
    ++pos;
  if (!isWordChar(peekRaw()) || (out = word()).empty()) {
    pos = begin;
    return failExpected(what);
  }
  return true;
}

bool HloLexer::integer(int64_t &out, std::string_view what) {
  skipTrivia();
  const char *begin = text.data() + pos, *end = text.data() + text.size();
  auto [stop, code] = std::from_chars(begin, end, out);
  if (code == std::errc::invalid_argument)
    return failExpected(what);
  if (code == std::errc::result_out_of_range) {
    std::string_view digits(begin, std::min<size_t>(static_cast<size_t>(stop - begin), 40));
    return fail(pos, fmt::format("{} does not fit in 64 bits", digits));
  }
  pos += static_cast<uint32_t>(stop - begin);
  return true;
}

bool HloLexer::skipString() {
  uint32_t begin = pos;
  for (++pos; pos < text.size(); ++pos) {
    if (text[pos] == '\\')
      ++pos;
    else if (text[pos] == '"') {
      ++pos;
      return true;
    }
  }
  pos = static_cast<uint32_t>(text.size());
  return fail(begin, "the string is never closed");
}

bool HloLexer::skipBalanced() {
  std::array<uint32_t, hlo_limits::depth> openers; // offsets, for the error
  unsigned depth = 0;
  while (true) {
    char c = peek();
    switch (c) {
    case '\0':
      if (pos >= text.size())
        return fail(openers[depth - 1],
                    fmt::format("'{}' is never closed", text[openers[depth - 1]]));
      ++pos;
      break;
    case '"':
      if (!skipString())
        return false;
      break;
    case '(':
    case '[':
    case '{':
      if (depth == hlo_limits::depth)
        return fail(pos, fmt::format("brackets nest deeper than {}", hlo_limits::depth));
      openers[depth++] = pos++;
      break;
    case ')':
    case ']':
    case '}': {
      char opener = text[openers[depth - 1]];
      if (c != closerOf(opener))
        return fail(pos, fmt::format("expected '{}', found '{}'", closerOf(opener), c));
      ++pos;
      if (--depth == 0)
        return true;
      break;
    }
    default:
      ++pos;
    }
  }
}

bool HloLexer::skipMesh() {
  advance(4); // "mesh"
  if (!skipBalanced())
    return false;
  if (uint32_t end = pos; consume(',')) {
    if (word() != "device_ids" || !consume('=')) {
      pos = end; // another attribute
      return failExpected("the mesh's axes in braces");
    }
    if (peek() != '(' && peek() != '[')
      return failExpected("'('");
    if (!skipBalanced())
      return false;
  }
  return peek() == '{' ? skipBalanced() : failExpected("the mesh's axes in braces");
}

bool HloLexer::skipValue() {
  skipTrivia();
  uint32_t begin = pos;
  if (text.substr(std::min<size_t>(pos, text.size())).starts_with("mesh["))
    return skipMesh();
  while (pos < text.size()) {
    char c = text[pos];
    if (c == '"') {
      if (!skipString())
        return false;
    } else if (c == '(' || c == '[' || c == '{') {
      if (!skipBalanced())
        return false;
    } else if (c == ',' || c == ')' || c == ']' || c == '}' || isSpace(c) ||
               (c == '/' && (peekRaw(1) == '/' || peekRaw(1) == '*'))) {
      // `[1,8] <= [8]` and `a -> b` may be written with spaces.
      uint32_t end = pos;
      if (isSpace(c) && end > begin) {
        skipTrivia();
        if ((peekRaw() == '<' && peekRaw(1) == '=') || (peekRaw() == '-' && peekRaw(1) == '>')) {
          pos += 2;
          skipTrivia();
          continue;
        }
      }
      pos = end;
      break;
    } else {
      ++pos;
    }
  }
  return pos > begin || failExpected("a value");
}

} // namespace tilewright
