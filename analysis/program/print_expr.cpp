#include "analysis/program/text.h"

#include <cfloat>
#include <cmath>

namespace tilewright::program {

namespace {

/// Binding strength, loosest first; as parse_expr.cpp reads it.
enum Level { OrLevel, AndLevel, CompareLevel, SumLevel, ProductLevel, AtomLevel };

std::string parenthesised(std::string text, bool yes) { return yes ? "(" + text + ")" : text; }

class ExprPrinter {
public:
  explicit ExprPrinter(const Program &program) : p(program) {}

  std::string integer(Expr e, Level outer) const {
    switch (e.kind()) {
    case ExprKind::Constant:
      return std::to_string(e.constant());
    case ExprKind::Variable:
      return nameOf(e);
    case ExprKind::Add:
      return parenthesised(sum(e), outer > SumLevel);
    case ExprKind::Mul:
      if (e.rhs().isConstant(-1))
        return parenthesised("-" + integer(e.lhs(), AtomLevel), outer > SumLevel);
      return infix(e, " * ", outer);
    case ExprKind::FloorDiv:
      return infix(e, " // ", outer);
    case ExprKind::Mod:
      return infix(e, " % ", outer);
    case ExprKind::CeilDiv:
      return call("cdiv", {e.lhs(), e.rhs()});
    case ExprKind::Min:
      return call("min", {e.lhs(), e.rhs()});
    case ExprKind::Max:
      return call("max", {e.lhs(), e.rhs()});
    case ExprKind::IsAtLeast:
      return call("ge", {e.lhs(), e.rhs()});
    case ExprKind::IsEqual:
      return call("eq", {e.lhs(), e.rhs()});
    case ExprKind::Select:
      return call("sel", {e.third(), e.lhs(), e.rhs()});
    case ExprKind::Pow2Ceil:
      return call("pow2ceil", {e.lhs()});
    case ExprKind::Pow2Divisor:
      return call("pow2divisor", {e.lhs()});
    case ExprKind::Log2:
      return call("log2", {e.lhs()});
    case ExprKind::Poison:
      break;
    }
    return "overflow";
  }

  std::string scalar(const ScalarExpr &s, uint32_t id, Level outer) const {
    const ScalarNode &node = s.nodes[id];
    switch (node.kind) {
    case ScalarNode::Kind::Value:
      return p[node.value].name;
    case ScalarNode::Kind::Slot:
      return p[node.buffer].name + (node.index ? "@(" + integer(node.index, OrLevel) + ")" : "");
    case ScalarNode::Kind::Index:
      return integer(node.index, outer);
    case ScalarNode::Kind::Number:
      return number(node.number);
    case ScalarNode::Kind::Operation:
      break;
    }
    return operation(s, node, outer);
  }

  static std::string number(double value) {
    if (std::isnan(value))
      return "nan";
    if (std::isinf(value))
      return value < 0 ? "-inf" : "inf";
    if (value == -static_cast<double>(FLT_MAX))
      return "lowest";
    return fmt::format("{}", value);
  }

private:
  std::string nameOf(Expr variable) const {
    if (ValueId value = p.valueOf(variable.variable()); value.isValid())
      return p[value].name;
    return p.context->info(variable.variable()).name;
  }

  std::string infix(Expr e, const char *sign, Level outer) const {
    // Products lean to the left, so that only a right operand of the same level needs parentheses.
    return parenthesised(integer(e.lhs(), ProductLevel) + sign + integer(e.rhs(), AtomLevel),
                         outer > ProductLevel);
  }

  std::string call(const char *name, std::initializer_list<Expr> operands) const {
    std::string text = name;
    const char *before = "(";
    for (Expr operand : operands) {
      text += before + integer(operand, OrLevel);
      before = ", ";
    }
    return text + ")";
  }

  std::string sum(Expr e) const {
    std::vector<Expr> terms; // sums lean to the left and can be long
    for (; e.kind() == ExprKind::Add; e = e.lhs())
      terms.push_back(e.rhs());
    std::string text = integer(e, SumLevel);
    for (; !terms.empty(); terms.pop_back()) {
      Expr term = terms.back();
      bool isNegative = term.isConstant() && term.constant() < 0 && term.constant() != INT64_MIN;
      if (isNegative)
        text += " - " + std::to_string(-term.constant());
      else if (term.kind() == ExprKind::Mul && term.rhs().isConstant(-1))
        text += " - " + integer(term.lhs(), AtomLevel);
      else
        text += " + " + integer(term, ProductLevel);
    }
    return text;
  }

  static const char *signOf(const ScalarNode &node, Level &level) {
    static constexpr const char *comparisons[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};
    switch (node.opcode) {
    case Opcode::Add:
      level = SumLevel;
      return " + ";
    case Opcode::Subtract:
      level = SumLevel;
      return " - ";
    case Opcode::Multiply:
      level = ProductLevel;
      return " * ";
    case Opcode::Divide:
      level = ProductLevel;
      return " / ";
    case Opcode::And:
      level = AndLevel;
      return " & ";
    case Opcode::Or:
      level = OrLevel;
      return " | ";
    case Opcode::Compare:
      level = CompareLevel;
      return comparisons[static_cast<size_t>(node.comparison)];
    default:
      return nullptr;
    }
  }

  std::string operation(const ScalarExpr &s, const ScalarNode &node, Level outer) const {
    Level level = AtomLevel;
    if (const char *sign = signOf(node, level)) {
      // Comparisons do not chain.
      Level left = level == CompareLevel ? SumLevel : level;
      std::string text = scalar(s, node.operands[0], left) + sign +
                         scalar(s, node.operands[1], static_cast<Level>(level + 1));
      return parenthesised(text, outer > level);
    }
    if (node.opcode == Opcode::Negate)
      return parenthesised("-" + scalar(s, node.operands[0], AtomLevel), outer > ProductLevel);
    std::string text;
    size_t first = 0;
    if (node.opcode == Opcode::Convert) {
      text = toString(node.type);
    } else if (node.opcode == Opcode::BitcastConvert) {
      text = fmt::format("as_{}", toString(node.type));
    } else if (node.isApproximate) {
      text = "exp2";
      first = 1;
    } else {
      text = findFunction(node.opcode)->name;
    }
    for (size_t i = first; i < node.operands.size(); ++i)
      text += (i == first ? "(" : ", ") + scalar(s, node.operands[i], OrLevel);
    return text + ")";
  }

  const Program &p;
};

} // namespace

std::string printExpr(const Program &program, Expr expr) {
  return ExprPrinter(program).integer(expr, OrLevel);
}

std::string printScalar(const Program &program, const ScalarExpr &scalar) {
  return ExprPrinter(program).scalar(scalar, static_cast<uint32_t>(scalar.nodes.size() - 1),
                                     OrLevel);
}

std::string printTile(const Program &program, const Tile &tile) {
  std::string text = std::string(toString(tile.type)) + "[";
  for (AxisId axis : tile.axes)
    text += (text.back() == '[' ? "" : ",") + program[axis].name;
  return text + "]";
}

} // namespace tilewright::program
