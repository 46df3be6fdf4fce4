#include "tests/fuzz/hlo_mutation.h"

#include "analysis/ir/fill.h"

#include <array>
#include <cctype>
#include <string_view>

namespace tilewright::test {

namespace {

/// Something of the text: [begin, end).
struct Piece {
  size_t begin, end;
};

bool isWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

std::vector<Piece> tokensOf(std::string_view text) {
  std::vector<Piece> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (isWordChar(text[i]))
      while (end < text.size() && isWordChar(text[end]))
        ++end;
    if (!std::isspace(static_cast<unsigned char>(text[i])))
      tokens.push_back({i, end});
    i = end;
  }
  return tokens;
}

std::vector<Piece> linesOf(std::string_view text) {
  std::vector<Piece> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back({begin, end});
    begin = end;
  }
  return lines;
}

bool isNumber(std::string_view token) {
  return !token.empty() && token.find_first_not_of("0123456789") == std::string_view::npos;
}

class HloMutation {
public:
  HloMutation(std::string text, const std::vector<std::string> &others, uint64_t seed)
      : text(std::move(text)), others(others), seed(seed) {}

  std::string run() {
    for (uint64_t changes = 1 + below(2) * below(3); changes > 0 && !text.empty(); --changes)
      change();
    return std::move(text);
  }

private:
  uint64_t below(uint64_t n) { return n == 0 ? 0 : splitmix64(seed, draws++) % n; }
  template <typename List> const auto &oneOf(const List &list) { return list[below(list.size())]; }
  std::string_view at(Piece piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
  void replace(Piece piece, const std::string &by) {
    text.replace(piece.begin, piece.end - piece.begin, by);
  }
  void change();
  void changeNumber();
  void changeByte();
  void changeLine();

  std::string text;
  const std::vector<std::string> &others;
  uint64_t seed, draws = 0;
};

void HloMutation::changeNumber() {
  static const std::array<std::string, 16> values = {
      "0",          "1",          "2",       "3",    "7",
      "64",         "-1",         "-2",      "1000", "4294967296",
      "2147483647", "2147483648", "1048576", "?",    "9223372036854775807",
      "<=4"};
  std::vector<Piece> numbers;
  for (Piece token : tokensOf(text))
    if (isNumber(at(token)))
      numbers.push_back(token);
  if (!numbers.empty())
    replace(oneOf(numbers), oneOf(values));
}

void HloMutation::changeByte() {
  const size_t i = below(text.size());
  switch (below(3)) {
  case 0:
    text[i] = static_cast<char>(below(256));
    return;
  case 1:
    text.erase(i, 1);
    return;
  default:
    text.insert(i, 1, "{}()[],=:%\"'/*\n x0-"[below(19)]);
  }
}

void HloMutation::changeLine() {
  const std::vector<Piece> lines = linesOf(text);
  const Piece line = oneOf(lines), other = oneOf(lines);
  switch (below(4)) {
  case 0:
    return replace(line, "");
  case 1:
    return replace(line, std::string(at(line)) + std::string(at(line)));
  case 2:
    return replace(line, std::string(at(other)));
  default: {
    const std::string &from = oneOf(others);
    const std::vector<Piece> theirs = linesOf(from);
    if (theirs.empty())
      return;
    const Piece taken = oneOf(theirs);
    return replace(line, std::string(at(line)) + from.substr(taken.begin, taken.end - taken.begin));
  }
  }
}

void HloMutation::change() {
  static const std::array<std::string, 36> words = {"reduce",
                                                    "scatter",
                                                    "gather",
                                                    "reduce-window",
                                                    "convolution",
                                                    "dot",
                                                    "fusion",
                                                    "while",
                                                    "conditional",
                                                    "call",
                                                    "tuple",
                                                    "bitcast",
                                                    "reshape",
                                                    "transpose",
                                                    "broadcast",
                                                    "slice",
                                                    "concatenate",
                                                    "pad",
                                                    "sort",
                                                    "dynamic-slice",
                                                    "iota",
                                                    "custom-call",
                                                    "scan",
                                                    "set-dimension-size",
                                                    "f32",
                                                    "s4",
                                                    "pred",
                                                    "c128",
                                                    "token",
                                                    "f8e4m3fn",
                                                    "get-tuple-element",
                                                    "dynamic-update-slice",
                                                    "all-gather",
                                                    "map",
                                                    "optimization-barrier",
                                                    "b(f32[4])"};
  if (below(2) == 0)
    return changeNumber();
  const std::vector<Piece> tokens = tokensOf(text);
  if (tokens.empty())
    return changeByte();
  const Piece token = oneOf(tokens), other = oneOf(tokens);
  switch (below(7)) {
  case 0:
    return changeByte();
  case 1:
    return changeLine();
  case 2:
    return replace(token, "");
  case 3:
    return replace(token, std::string(at(token)) + std::string(at(token)));
  case 4:
    return replace(token, oneOf(words));
  default: // a word for a word, a bracket for a bracket
    if (isWordChar(text[token.begin]) == isWordChar(text[other.begin]))
      replace(token, std::string(at(other)));
  }
}

} // namespace

std::string mutatedHlo(const std::string &text, const std::vector<std::string> &others,
                       uint64_t seed) {
  return HloMutation(text, others, seed).run();
}

} // namespace tilewright::test
