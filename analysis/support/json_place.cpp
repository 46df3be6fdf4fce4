#include "analysis/support/json_place.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace tilewright {

namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

size_t skipSpace(std::string_view text, size_t at) {
  while (at < text.size() && isSpace(text[at]))
    ++at;
  return at;
}

/// Behind the string that starts at `at`.
size_t skipString(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\')
      ++at;
  return std::min(at + 1, text.size());
}

/// Behind the value that starts at `at`.
size_t skipValue(std::string_view text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    char c = text[at];
    if (c == '"') {
      at = skipString(text, at);
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at;
    } else if (c == '}' || c == ']') {
      if (depth == 0)
        return at;
      --depth;
      ++at;
    } else if (depth == 0 && (c == ',' || isSpace(c))) {
      return at;
    } else {
      ++at;
      continue; // within a number or a word
    }
    if (depth == 0)
      return at;
  }
  return at;
}

/// Calls `each` with the key (with its quotes; empty in an array) and the offset of every item of
/// the object or array at `at`, until it returns false.
template <typename Each> void forEachItem(std::string_view text, size_t at, Each each) {
  bool isObject = text[at] == '{';
  for (at = skipSpace(text, at + 1); at < text.size() && text[at] != '}' && text[at] != ']';) {
    std::string_view key;
    if (isObject) {
      size_t end = skipString(text, at);
      key = text.substr(at, end - at);
      at = skipSpace(text, end);
      at = skipSpace(text, std::min(at + 1, text.size())); // the colon
    }
    if (!each(key, at))
      return;
    at = skipSpace(text, skipValue(text, at));
    if (at < text.size() && text[at] == ',')
      at = skipSpace(text, at + 1);
  }
}

} // namespace

size_t jsonPlace(std::string_view text, std::string_view path) {
  size_t at = skipSpace(text, 0);
  while (!path.empty() && at < text.size() && (text[at] == '{' || text[at] == '[')) {
    if (path[0] == '.')
      path.remove_prefix(1);
    size_t index = 0, found = std::string_view::npos;
    std::string quoted;
    if (path.starts_with("[")) {
      size_t close = std::min(path.find(']'), path.size());
      std::from_chars(path.data() + 1, path.data() + close, index);
      path.remove_prefix(std::min(close + 1, path.size()));
    } else {
      size_t end = std::min(path.find_first_of(".["), path.size());
      quoted = "\"" + std::string(path.substr(0, end)) + "\"";
      path.remove_prefix(end);
    }
    forEachItem(text, at, [&](std::string_view key, size_t place) {
      if (quoted.empty() ? index-- == 0 : key == quoted)
        found = place;
      return found == std::string_view::npos;
    });
    if (found == std::string_view::npos)
      return at;
    at = found;
  }
  return std::min(at, text.size());
}

std::string withoutSpace(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      size_t end = skipString(text, at);
      out += text.substr(at, end - at);
      at = end;
    } else {
      if (!isSpace(text[at]))
        out += text[at];
      ++at;
    }
  }
  return out;
}

} // namespace tilewright
