#include "analysis/program/infer.h"
#include "analysis/program/parser.h"

#include <cfloat>
#include <charconv>
#include <cmath>
#include <limits>

namespace tilewright::program {

namespace {

bool isLeafIndex(const ScalarNode &node) {
  bool isInteger = node.kind == ScalarNode::Kind::Number &&
                   node.number == std::floor(node.number) && std::abs(node.number) < 1e15;
  return node.kind == ScalarNode::Kind::Index || isInteger;
}

double numberOf(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

} // namespace

uint32_t Parser::appendNode(ScalarExpr &into, ScalarNode node) {
  if (!isWithin(into.nodes.size(), limits::nodes, "ops in one expression") && into.nodes.size() > 1)
    return static_cast<uint32_t>(into.nodes.size() - 1);
  return into.add(std::move(node));
}

ScalarExpr Parser::scalar() {
  ScalarExpr result;
  mayDeclare = false;
  scalarLevel(result, 0);
  return result;
}

/// Levels: 0 |, 1 &, 2 comparisons (which do not chain), 3 + -, 4 * / // %.
uint32_t Parser::scalarLevel(ScalarExpr &into, int level) {
  if (level == 5)
    return scalarFactor(into);
  static const std::vector<std::string_view> signs[] = {
      {"|"}, {"&"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "//", "/", "%"}};
  constexpr int comparisons = 2;
  uint32_t left = scalarLevel(into, level + 1);
  auto isSign = [&] {
    return token().kind == TokenKind::Sign &&
           std::find(signs[level].begin(), signs[level].end(), token().text) != signs[level].end();
  };
  while (!hasFailed() && isSign()) {
    Token sign = token();
    ++at;
    uint32_t right = scalarLevel(into, level + 1);
    if (!hasFailed())
      left = combine(into, sign, left, right);
    if (level == comparisons)
      break;
  }
  return left;
}

/// Integer arithmetic on coordinates and sizes is one index expression.
bool Parser::foldIndex(ScalarExpr &into, std::string_view sign, uint32_t left, uint32_t right) {
  ScalarNode &a = into.nodes[left], &b = into.nodes[right];
  bool areLeaves =
      left + 1 == right && right + 1 == into.nodes.size() && isLeafIndex(a) && isLeafIndex(b);
  if (!areLeaves || (!a.index && !b.index))
    return false;
  Expr x = a.index ? a.index : p.number(static_cast<int64_t>(a.number));
  Expr y = b.index ? b.index : p.number(static_cast<int64_t>(b.number));
  Expr result;
  if (sign == "+")
    result = x + y;
  else if (sign == "-")
    result = x - y;
  else if (sign == "*")
    result = x * y;
  else if (sign == "//")
    result = x.floorDiv(y);
  else if (sign == "%")
    result = x.mod(y);
  else if (sign == "min")
    result = x.min(y);
  else if (sign == "max")
    result = x.max(y);
  else
    return false;
  into.nodes.resize(left);
  ScalarNode node;
  node.kind = ScalarNode::Kind::Index;
  node.index = result;
  if (result.isPoison())
    fail(token(), "the number does not fit 64 bits, or a divisor is not positive");
  into.add(std::move(node));
  return true;
}

uint32_t Parser::combine(ScalarExpr &into, const Token &sign, uint32_t left, uint32_t right) {
  if (foldIndex(into, sign.text, left, right))
    return left;
  struct Infix {
    std::string_view sign;
    Opcode opcode;
    Comparison comparison = Comparison::Eq;
  };
  static constexpr Infix infix[] = {
      {"+", Opcode::Add},
      {"-", Opcode::Subtract},
      {"*", Opcode::Multiply},
      {"/", Opcode::Divide},
      {"&", Opcode::And},
      {"|", Opcode::Or},
      {"==", Opcode::Compare, Comparison::Eq},
      {"!=", Opcode::Compare, Comparison::Ne},
      {"<", Opcode::Compare, Comparison::Lt},
      {"<=", Opcode::Compare, Comparison::Le},
      {">", Opcode::Compare, Comparison::Gt},
      {">=", Opcode::Compare, Comparison::Ge},
  };
  for (const Infix &entry : infix)
    if (entry.sign == sign.text) {
      ScalarNode node;
      node.kind = ScalarNode::Kind::Operation;
      node.opcode = entry.opcode;
      node.comparison = entry.comparison;
      node.operands = {left, right};
      return appendNode(into, std::move(node));
    }
  fail(sign, fmt::format("{} is for coordinates and sizes alone", sign.text));
  return left;
}

uint32_t Parser::scalarFactor(ScalarExpr &into) {
  Nesting nesting(*this);
  ScalarNode node;
  if (hasFailed() || isTooDeep())
    return appendNode(into, node);
  if (consume("-")) {
    uint32_t operand = scalarFactor(into);
    ScalarNode &of = into.nodes[operand];
    bool isLast = operand + 1 == into.nodes.size();
    if (of.kind == ScalarNode::Kind::Number && isLast) {
      of.number = -of.number;
      return operand;
    }
    if (of.kind == ScalarNode::Kind::Index && isLast) {
      of.index = -of.index;
      return operand;
    }
    node.kind = ScalarNode::Kind::Operation;
    node.opcode = Opcode::Negate;
    node.operands = {operand};
    return appendNode(into, std::move(node));
  }
  if (consume("(")) {
    uint32_t inner = scalarLevel(into, 0);
    expect(")");
    return inner;
  }
  if (token().kind == TokenKind::Number) {
    node.number = numberOf(token().text);
    ++at;
    return appendNode(into, std::move(node));
  }
  if (token().kind == TokenKind::Name)
    return scalarName(into);
  failExpected("a value");
  return appendNode(into, std::move(node));
}

uint32_t Parser::scalarName(ScalarExpr &into) {
  Token where = token();
  ++at;
  ScalarNode node;
  if (isAt("("))
    return scalarCall(into, where);
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Symbol *symbol = find(where.text);
  if (ValueId value = findValue(where.text); value.isValid()) {
    node.kind = ScalarNode::Kind::Value;
    node.value = value;
  } else if (symbol && symbol->kind == Symbol::Kind::Buffer) {
    node.kind = ScalarNode::Kind::Slot;
    node.buffer = BufferId{symbol->index};
    node.index = stepOfSlot();
  } else if (symbol) {
    node.kind = ScalarNode::Kind::Index;
    node.index = symbol->var;
  } else if (where.text == "inf" || where.text == "lowest" || where.text == "nan") {
    node.number = where.text == "inf"   ? inf
                  : where.text == "nan" ? std::numeric_limits<double>::quiet_NaN()
                                        : -static_cast<double>(FLT_MAX);
  } else {
    fail(where, fmt::format("nothing is named {} here", where.text));
  }
  return appendNode(into, std::move(node));
}

uint32_t Parser::scalarCall(ScalarExpr &into, const Token &where) {
  static constexpr std::string_view sizeFunctions[] = {"cdiv",     "ge",          "eq",  "sel",
                                                       "pow2ceil", "pow2divisor", "log2"};
  ScalarNode node;
  if (std::find(std::begin(sizeFunctions), std::end(sizeFunctions), where.text) !=
      std::end(sizeFunctions)) {
    node.kind = ScalarNode::Kind::Index;
    node.index = call(std::string(where.text), where);
    return appendNode(into, std::move(node));
  }
  node.kind = ScalarNode::Kind::Operation;
  constexpr std::string_view bits = "as_"; // of the same width
  const bool isBits = where.text.starts_with(bits);
  std::optional<DType> to = parseDType(isBits ? where.text.substr(bits.size()) : where.text);
  const ScalarFunction *function = findFunction(where.text);
  if (!to && !function) {
    fail(where, fmt::format("no function is named {}", where.text));
    return appendNode(into, node);
  }
  node.opcode = !to ? function->opcode : isBits ? Opcode::BitcastConvert : Opcode::Convert;
  if (to)
    node.type = *to;
  if (where.text == "exp2") {
    ScalarNode two;
    two.number = 2;
    node.operands.push_back(appendNode(into, two));
    node.isApproximate = true;
  }
  size_t wanted = to ? 1 : function->operands, given = 0;
  expect("(");
  do {
    node.operands.push_back(scalarLevel(into, 0));
    ++given;
  } while (!hasFailed() && given < wanted && consume(","));
  expect(")");
  if (!hasFailed() && given != wanted)
    fail(where, fmt::format("{} takes {} operands, not {}", where.text, wanted, given));
  if (hasFailed())
    return appendNode(into, ScalarNode());
  for (size_t i = appliedOperands(node); i < node.operands.size(); ++i)
    if (into.nodes[node.operands[i]].kind != ScalarNode::Kind::Number ||
        !(into.nodes[node.operands[i]].number >= 0 && into.nodes[node.operands[i]].number <= 52))
      fail(where, fmt::format("{} takes numbers of bits, 0 to 52, behind its operand", where.text));
  bool isMinMax = node.opcode == Opcode::Minimum || node.opcode == Opcode::Maximum;
  if (isMinMax && foldIndex(into, where.text, node.operands[0], node.operands[1]))
    return node.operands[0];
  return appendNode(into, std::move(node));
}

Expr Parser::stepOfSlot() {
  if (!isAt("@") || at + 1 >= tokens.size() || tokens[at + 1].text != "(")
    return Expr();
  at += 2;
  Expr step = index();
  expect(")");
  return step;
}

double Parser::constant() {
  Token where = token();
  ScalarExpr value = scalar();
  bool isNumber = value.nodes.size() == 1 && value.root().kind == ScalarNode::Kind::Number;
  if (!isNumber && !hasFailed())
    fail(where, "expected a number, inf, lowest or nan");
  return isNumber ? value.root().number : 0;
}

} // namespace tilewright::program
