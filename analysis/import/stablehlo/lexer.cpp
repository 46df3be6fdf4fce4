#include "analysis/import/stablehlo/lexer.h"

#include <array>
#include <cctype>
#include <fmt/format.h>

namespace tilewright::stablehlo {

namespace {

bool startsIdentifier(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }

bool continuesIdentifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
}

char partnerOf(char opener) {
  return opener == '(' ? ')' : opener == '[' ? ']' : opener == '{' ? '}' : '>';
}

bool isOpener(char c) { return c == '(' || c == '[' || c == '{' || c == '<'; }
bool isCloser(char c) { return c == ')' || c == ']' || c == '}' || c == '>'; }

int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

} // namespace

std::string_view MlirLexer::identifier() {
  const uint32_t begin = place();
  if (startsIdentifier(peekRaw()))
    while (continuesIdentifier(peekRaw()))
      advance();
  return slice(begin, offset());
}

std::string_view MlirLexer::peekIdentifier() {
  const uint32_t begin = place();
  std::string_view result = identifier();
  rewind(begin);
  return result;
}

bool MlirLexer::consumeIdentifier(std::string_view expected) {
  const uint32_t begin = place();
  if (identifier() == expected)
    return true;
  rewind(begin);
  return false;
}

bool MlirLexer::valueName(std::string_view &out) {
  if (peek() != '%')
    return failExpected("a value");
  advance();
  const uint32_t begin = offset();
  while (continuesIdentifier(peekRaw()) || (peekRaw() == '-' && peekRaw(1) != '>'))
    advance();
  out = slice(begin, offset());
  if (!out.empty())
    return true;
  return failExpected("a value's name");
}

bool MlirLexer::symbol(std::string &out) {
  out.clear();
  do {
    if (peek() != '@')
      return failExpected("a symbol");
    advance();
    std::string part;
    if (peekRaw() == '"') {
      if (!string(part))
        return false;
    } else {
      const uint32_t begin = offset();
      while (continuesIdentifier(peekRaw()) || (peekRaw() == '-' && peekRaw(1) != '>'))
        advance();
      part = slice(begin, offset());
    }
    if (part.empty())
      return failExpected("a symbol's name");
    out += (out.empty() ? "" : "::") + part;
  } while (peekRaw() == ':' && peekRaw(1) == ':' && consume("::"));
  return true;
}

bool MlirLexer::string(std::string &out) {
  if (peek() != '"')
    return failExpected("a string");
  const uint32_t begin = offset();
  if (!skipString())
    return false;
  const std::string_view text = slice(begin + 1, offset() - 1);
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char next = text[++i];
    const int high = hexDigit(next), low = i + 1 < text.size() ? hexDigit(text[i + 1]) : -1;
    if (high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      ++i;
    } else {
      out += next == 'n' ? '\n' : next == 't' ? '\t' : next;
    }
  }
  return true;
}

bool MlirLexer::skipGroup() {
  std::array<uint32_t, hlo_limits::depth> openers;
  unsigned depth = 0;
  while (true) {
    const char c = peek();
    if (c == '"') {
      if (!skipString())
        return false;
    } else if (c == '-' && peekRaw(1) == '>') {
      advance(2);
    } else if (isOpener(c)) {
      if (depth == hlo_limits::depth)
        return fail(offset(), fmt::format("brackets nest deeper than {}", hlo_limits::depth));
      openers[depth++] = offset();
      advance();
    } else if (isCloser(c)) {
      const char opener = slice(openers[depth - 1], openers[depth - 1] + 1).front();
      if (c != partnerOf(opener))
        return fail(offset(), fmt::format("expected '{}', found '{}'", partnerOf(opener), c));
      advance();
      if (--depth == 0)
        return true;
    } else if (c == '\0' && atEnd()) {
      const uint32_t opener = openers[depth - 1];
      return fail(opener, fmt::format("'{}' is never closed", slice(opener, opener + 1)));
    } else {
      advance();
    }
  }
}

bool MlirLexer::skipValueInDictionary() {
  const uint32_t begin = place();
  while (!atEnd()) {
    const char c = peek();
    if (c == ',' || isCloser(c))
      break;
    if (c == '"' ? !skipString() : isOpener(c) && !skipGroup())
      return false;
    if (c == '-' && peekRaw(1) == '>')
      advance(2);
    else if (c != '"' && !isOpener(c))
      advance();
  }
  return offset() > begin || failExpected("a value");
}

bool MlirLexer::skipShortValue() {
  const char c = peek();
  if (c == '"')
    return skipString();
  if (c == '@') {
    std::string ignored;
    return symbol(ignored);
  }
  if (isOpener(c)) {
    if (!skipGroup())
      return false;
    while (true) {
      const uint32_t end = offset();
      const bool goesOn = consume("->") || consume('x');
      if (!goesOn || peek() != '[') {
        rewind(end);
        return true;
      }
      if (!skipGroup())
        return false;
    }
  }
  const uint32_t begin = offset();
  if (c == '#') // #stablehlo<precision HIGH>, #stablehlo.dot<…>
    advance();
  while (continuesIdentifier(peekRaw()) || (offset() == begin && peekRaw() == '-'))
    advance();
  if (offset() == begin)
    return failExpected("a value");
  return c != '#' || peekRaw() != '<' || skipGroup();
}

} // namespace tilewright::stablehlo
