#include "analysis/program/lexer.h"

#include <algorithm>
#include <cctype>

namespace tilewright::program {

namespace {

bool isLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool isDecimal(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isNameChar(char c) { return isLetter(c) || isDecimal(c); }

class Lexer {
public:
  explicit Lexer(const SourceBuffer &buffer) : buffer(buffer), text(buffer.text()) {}

  llvm::Expected<std::vector<Token>> run() {
    if (text.size() > limits::bytes)
      return fail(0,
                  fmt::format("{} bytes of text, at most {} are read", text.size(), limits::bytes));
    while (at < text.size()) {
      if (llvm::Error error = line())
        return error;
      if (tokens.size() > limits::tokens)
        return fail(at, fmt::format("more than {} tokens", limits::tokens));
    }
    for (; indents.size() > 1; indents.pop_back())
      add(TokenKind::Dedent, at, at);
    add(TokenKind::End, at, at);
    return std::move(tokens);
  }

private:
  llvm::Error fail(size_t where, std::string message) {
    return makeError(diagAt(buffer, {static_cast<uint32_t>(where)}, std::move(message)));
  }
  void add(TokenKind kind, size_t begin, size_t end) {
    tokens.push_back({kind, static_cast<uint32_t>(begin), text.substr(begin, end - begin)});
  }
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  bool atLineEnd() const {
    return at >= text.size() || peek() == '\n' || peek() == '\r' ||
           (peek() == '-' && peek(1) == '-');
  }

  llvm::Error line() {
    size_t begin = at;
    while (peek() == ' ')
      ++at;
    if (peek() == '\t')
      return fail(at, "a tab in an indentation: use spaces");
    size_t indent = at - begin;
    bool isEmpty = atLineEnd();
    if (!isEmpty)
      if (llvm::Error error = indentTo(indent))
        return error;
    while (!atLineEnd())
      if (llvm::Error error = token())
        return error;
    if (!isEmpty)
      add(TokenKind::Newline, at, at);
    while (at < text.size() && peek() != '\n')
      ++at;
    at = std::min(at + 1, text.size());
    return llvm::Error::success();
  }

  llvm::Error indentTo(size_t indent) {
    if (indent > indents.back()) {
      if (indents.size() > limits::blockDepth)
        return fail(at, fmt::format("more than {} blocks inside each other", limits::blockDepth));
      indents.push_back(indent);
      add(TokenKind::Indent, at, at);
    }
    while (indent < indents.back()) {
      indents.pop_back();
      add(TokenKind::Dedent, at, at);
    }
    if (indent != indents.back())
      return fail(at, fmt::format("{} spaces in front of this line, where blocks stand at {}",
                                  indent, indents.back()));
    return llvm::Error::success();
  }

  llvm::Error token() {
    size_t begin = at;
    if (peek() == ' ' || peek() == '\t') {
      ++at;
      return llvm::Error::success();
    }
    if (isLetter(peek())) {
      while (isNameChar(peek()) || (peek() == '.' && isLetter(peek(1))))
        ++at;
      add(TokenKind::Name, begin, at);
      return llvm::Error::success();
    }
    if (isDecimal(peek())) {
      number();
      add(TokenKind::Number, begin, at);
      return llvm::Error::success();
    }
    if (peek() == ';') {
      add(TokenKind::Newline, begin, ++at);
      return llvm::Error::success();
    }
    for (std::string_view sign : {"<-", "->", "+=", "//", "<=", ">=", "==", "!="})
      if (text.substr(at, 2) == sign) {
        at += 2;
        add(TokenKind::Sign, begin, at);
        return llvm::Error::success();
      }
    constexpr std::string_view signs = "()[]<>,:=+-*/%&|@";
    if (signs.find(peek()) == std::string_view::npos)
      return fail(at, "a character that has no meaning here");
    add(TokenKind::Sign, begin, ++at);
    return llvm::Error::success();
  }

  void number() {
    auto digits = [&] {
      while (isDecimal(peek()))
        ++at;
    };
    digits();
    if (peek() == '.' && isDecimal(peek(1))) {
      ++at;
      digits();
    }
    size_t sign = peek(1) == '-' || peek(1) == '+';
    if ((peek() == 'e' || peek() == 'E') && isDecimal(peek(1 + sign))) {
      at += 1 + sign;
      digits();
    }
  }

  const SourceBuffer &buffer;
  std::string_view text;
  size_t at = 0;
  std::vector<size_t> indents{0};
  std::vector<Token> tokens;
};

} // namespace

llvm::Expected<std::vector<Token>> tokenize(const SourceBuffer &text) { return Lexer(text).run(); }

} // namespace tilewright::program
