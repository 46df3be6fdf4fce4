#include "analysis/program/parser.h"

#include <charconv>

namespace tilewright::program {

bool Parser::isTooDeep() {
  if (depth <= limits::expressionDepth)
    return false;
  fail(token(), fmt::format("more than {} parentheses inside each other", limits::expressionDepth));
  return true;
}

Expr Parser::size() {
  mayDeclare = true;
  Expr result = sum();
  mayDeclare = false;
  return result;
}

Expr Parser::index() {
  mayDeclare = false;
  return sum();
}

Expr Parser::sum() {
  Token where = token();
  Expr result = product();
  while (!hasFailed() && (isAt("+") || isAt("-"))) {
    bool isSum = consume("+") || !consume("-");
    Expr right = product();
    if (!hasFailed())
      result = isSum ? result + right : result - right;
  }
  if (!hasFailed() && result.isPoison())
    fail(where, "the number does not fit 64 bits, or a divisor is not positive");
  return hasFailed() ? p.number(0) : result;
}

Expr Parser::product() {
  Expr result = factor();
  while (!hasFailed() && (isAt("*") || isAt("//") || isAt("%"))) {
    Token sign = token();
    ++at;
    Expr right = factor();
    if (hasFailed())
      break;
    result = sign.text == "*"    ? result * right
             : sign.text == "//" ? result.floorDiv(right)
                                 : result.mod(right);
  }
  return result;
}

Expr Parser::factor() {
  Nesting nesting(*this);
  if (hasFailed() || isTooDeep())
    return p.number(0);
  if (consume("-"))
    return -factor();
  if (consume("(")) {
    Expr inner = sum();
    expect(")");
    return inner;
  }
  if (token().kind == TokenKind::Number)
    return p.number(integer("a number"));
  if (token().kind != TokenKind::Name) {
    failExpected("a size or a number");
    return p.number(0);
  }
  Token where = token();
  ++at;
  if (isAt("("))
    return call(std::string(where.text), where);
  return nameExpr(where);
}

Expr Parser::nameExpr(const Token &where) {
  if (ValueId value = findValue(where.text); value.isValid() && !mayDeclare)
    return p[value].var;
  if (const Symbol *symbol = find(where.text)) {
    if (symbol->kind == Symbol::Kind::Buffer) {
      fail(where, fmt::format("{} is a buffer, and no number", where.text));
      return p.number(0);
    }
    return symbol->var;
  }
  if (!mayDeclare || !isWithin(p.sizes.size(), limits::items, "sizes")) {
    fail(where, fmt::format("nothing is named {} here", where.text));
    return p.number(0);
  }
  Expr var = p.context->variable(VarKind::TileParam, where.text);
  declare(where, std::string(where.text), {Symbol::Kind::Size, var});
  p.sizes.push_back(var);
  return var;
}

Expr Parser::call(const std::string &function, const Token &where) {
  constexpr size_t mostArguments = 3;
  std::vector<Expr> a;
  expect("(");
  do {
    a.push_back(sum());
  } while (!hasFailed() && a.size() < mostArguments && consume(","));
  expect(")");
  struct Function {
    std::string_view name;
    size_t arguments;
    Expr (*make)(const std::vector<Expr> &);
  };
  static constexpr Function functions[] = {
      {"cdiv", 2, [](const std::vector<Expr> &a) { return a[0].ceilDiv(a[1]); }},
      {"min", 2, [](const std::vector<Expr> &a) { return a[0].min(a[1]); }},
      {"max", 2, [](const std::vector<Expr> &a) { return a[0].max(a[1]); }},
      {"ge", 2, [](const std::vector<Expr> &a) { return a[0].isAtLeast(a[1]); }},
      {"eq", 2, [](const std::vector<Expr> &a) { return a[0].isEqual(a[1]); }},
      {"sel", 3, [](const std::vector<Expr> &a) { return select(a[0], a[1], a[2]); }},
      {"pow2ceil", 1, [](const std::vector<Expr> &a) { return a[0].pow2Ceil(); }},
      {"pow2divisor", 1, [](const std::vector<Expr> &a) { return a[0].pow2Divisor(); }},
      {"log2", 1, [](const std::vector<Expr> &a) { return a[0].log2(); }},
  };
  for (const Function &f : functions)
    if (f.name == function) {
      if (!hasFailed() && a.size() != f.arguments)
        fail(where, fmt::format("{} takes {} operands, not {}", function, f.arguments, a.size()));
      return hasFailed() ? p.number(0) : f.make(a);
    }
  fail(where,
       fmt::format("no function of sizes is named {}: there are cdiv, min, max, ge, eq, sel, "
                   "pow2ceil, pow2divisor and log2",
                   function));
  return p.number(0);
}

int64_t Parser::integer(const char *what) {
  int64_t value = 0;
  std::string_view digits = token().text;
  if (token().kind != TokenKind::Number) {
    failExpected(what);
    return 0;
  }
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || end != digits.data() + digits.size()) {
    fail(token(), fmt::format("{} is no integer of 64 bits", digits));
    return 0;
  }
  ++at;
  return value;
}

} // namespace tilewright::program
