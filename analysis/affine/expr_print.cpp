#include "analysis/affine/expr.h"

namespace tilewright {

using detail::ExprNode;

namespace {

// Binding strength: a sum binds loosest; products, divisions and remainders share one level and
// are always parenthesised when they meet, since "a * b floordiv c" would be ambiguous to read.
enum Strength { SumLevel, ProductLevel, AtomLevel };

/// Prints as a tree. Shared sub-expressions of a deep DAG repeat, so the text is cut at a limit
/// rather than growing without bound.
class Printer {
public:
  std::string text;

  void print(const ExprNode *node, Strength outer) {
    if (text.size() > limit) {
      if (!text.ends_with("..."))
        text += "...";
      return;
    }
    switch (node->kind) {
    case ExprKind::Constant:
      text += std::to_string(node->value);
      return;
    case ExprKind::Variable:
      text += node->context->info(VarId{static_cast<uint32_t>(node->value)}).name;
      return;
    case ExprKind::Poison:
      text += "<overflow>";
      return;
    case ExprKind::Min:
      call("min", {node->lhs, node->rhs});
      return;
    case ExprKind::Max:
      call("max", {node->lhs, node->rhs});
      return;
    case ExprKind::IsAtLeast:
      call("isAtLeast", {node->lhs, node->rhs});
      return;
    case ExprKind::IsEqual:
      call("isEqual", {node->lhs, node->rhs});
      return;
    case ExprKind::Select:
      call("select", {node->third, node->lhs, node->rhs});
      return;
    case ExprKind::Pow2Ceil:
      call("pow2Ceil", {node->lhs});
      return;
    case ExprKind::Pow2Divisor:
      call("pow2Divisor", {node->lhs});
      return;
    case ExprKind::Log2:
      call("log2", {node->lhs});
      return;
    case ExprKind::Add:
      parenthesised(outer > SumLevel, [&] { printSum(node); });
      return;
    case ExprKind::Mul:
      if (node->rhs->kind == ExprKind::Constant && node->rhs->value == -1) {
        parenthesised(outer > SumLevel, [&] {
          text += "-";
          print(node->lhs, AtomLevel);
        });
        return;
      }
      infix(node, " * ", outer);
      return;
    case ExprKind::FloorDiv:
      infix(node, " floordiv ", outer);
      return;
    case ExprKind::CeilDiv:
      infix(node, " ceildiv ", outer);
      return;
    case ExprKind::Mod:
      infix(node, " mod ", outer);
      return;
    }
  }

private:
  static constexpr size_t limit = 4000;

  template <typename F> void parenthesised(bool yes, F inside) {
    if (yes)
      text += "(";
    inside();
    if (yes)
      text += ")";
  }

  void call(const char *name, std::initializer_list<const ExprNode *> operands) {
    text += name;
    const char *before = "(";
    for (const ExprNode *operand : operands) {
      text += before;
      print(operand, SumLevel);
      before = ", ";
    }
    text += ")";
  }

  void infix(const ExprNode *node, const char *op, Strength outer) {
    parenthesised(outer > ProductLevel, [&] {
      print(node->lhs, AtomLevel);
      text += op;
      print(node->rhs, AtomLevel);
    });
  }

  /// Sums lean to the left and can be long: not by recursion.
  void printSum(const ExprNode *node) {
    std::vector<const ExprNode *> terms;
    for (; node->kind == ExprKind::Add; node = node->lhs)
      terms.push_back(node->rhs);
    print(node, SumLevel);
    for (; !terms.empty() && text.size() <= limit; terms.pop_back())
      printAddend(terms.back());
    if (!terms.empty() && !text.ends_with("..."))
      text += "...";
  }

  void printAddend(const ExprNode *term) {
    bool negativeConstant = term->kind == ExprKind::Constant && term->value < 0;
    bool negativeTerm = term->kind == ExprKind::Mul && term->rhs->kind == ExprKind::Constant &&
                        term->rhs->value < 0 && term->rhs->value != INT64_MIN;
    if (negativeConstant && term->value != INT64_MIN) {
      text += " - " + std::to_string(-term->value);
    } else if (negativeTerm) {
      text += " - ";
      print(term->lhs, AtomLevel);
      if (term->rhs->value != -1)
        text += " * " + std::to_string(-term->rhs->value);
    } else {
      text += " + ";
      print(term, term->kind == ExprKind::Add ? ProductLevel : SumLevel);
    }
  }
};

} // namespace

std::string Expr::str() const {
  Printer printer;
  printer.print(node, SumLevel);
  return printer.text;
}

} // namespace tilewright
