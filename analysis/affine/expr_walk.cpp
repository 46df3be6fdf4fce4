// Questions that walk an expression's DAG: evaluation, substitution, ranges, variables.
#include "analysis/affine/expr_internal.h"

#include <algorithm>

namespace tilewright {

using detail::apply;
using detail::ExprNode;
using detail::NodeMap;
using detail::nodeOf;
using detail::postOrder;

std::optional<int64_t> evaluate(Expr expr, const Assignment &point) {
  // Small expressions are the common case: constants and variables need no memo table.
  if (expr.isConstant())
    return expr.constant();
  if (expr.isVariable())
    return point.get(expr.variable());
  NodeMap<std::optional<int64_t>> values;
  postOrder(nodeOf(expr), [&](const ExprNode *node) {
    std::optional<int64_t> &value = values[node];
    if (node->kind == ExprKind::Constant) {
      value = node->value;
    } else if (node->kind == ExprKind::Variable) {
      value = point.get(VarId{static_cast<uint32_t>(node->value)});
    } else if (node->lhs) {
      std::optional<int64_t> a = values[node->lhs], b = values[node->rhs];
      values[node] = a && b ? apply(node->kind, *a, *b) : std::nullopt;
    }
  });
  return values[nodeOf(expr)];
}

namespace {

class Substituter {
public:
  explicit Substituter(const std::function<Expr(VarId)> &replacement) : replacement(replacement) {}

  Expr run(Expr expr) {
    postOrder(nodeOf(expr), [&](const ExprNode *node) {
      Expr &result = results[node];
      if (result)
        return;
      Expr self(node);
      if (self.isVariable()) {
        Expr to = replacement(self.variable());
        result = to ? to : self;
      } else if (!node->lhs) {
        result = self;
      } else {
        Expr lhs = results[node->lhs], rhs = results[node->rhs];
        bool same = lhs == self.lhs() && rhs == self.rhs();
        results[node] = same ? self : self.context().binary(node->kind, lhs, rhs);
      }
    });
    return results[nodeOf(expr)];
  }

private:
  const std::function<Expr(VarId)> &replacement;
  NodeMap<Expr> results;
};

} // namespace

Expr substitute(Expr expr, const std::function<Expr(VarId)> &replacement) {
  return Substituter(replacement).run(expr);
}

Expr substitute(Expr expr, std::span<const Expr> table) {
  return substitute(std::span<const Expr>(&expr, 1), table).front();
}

std::vector<Expr> substitute(std::span<const Expr> exprs, std::span<const Expr> table) {
  std::function<Expr(VarId)> replacement = [table](VarId var) {
    return var.index < table.size() ? table[var.index] : Expr();
  };
  Substituter substituter(replacement);
  std::vector<Expr> results;
  results.reserve(exprs.size());
  for (Expr expr : exprs)
    results.push_back(substituter.run(expr));
  return results;
}

Interval rangeOf(Expr expr, const Bounds &bounds) {
  NodeMap<Interval> ranges;
  postOrder(nodeOf(expr), [&](const ExprNode *node) {
    Interval result;
    if (node->kind == ExprKind::Constant) {
      result = Interval::point(node->value);
    } else if (node->kind == ExprKind::Variable) {
      result = bounds.get(VarId{static_cast<uint32_t>(node->value)});
    } else if (node->lhs) {
      Interval a = ranges[node->lhs], b = ranges[node->rhs];
      switch (node->kind) {
      case ExprKind::Add:
        result = a + b;
        break;
      case ExprKind::Mul:
        result = a * b;
        break;
      case ExprKind::FloorDiv:
        result = floorDiv(a, b);
        break;
      case ExprKind::CeilDiv:
        result = ceilDiv(a, b);
        break;
      case ExprKind::Mod:
        result = mod(a, b);
        break;
      case ExprKind::Min:
        result = min(a, b);
        break;
      case ExprKind::Max:
        result = max(a, b);
        break;
      case ExprKind::Constant:
      case ExprKind::Variable:
      case ExprKind::Poison:
        break;
      }
    }
    ranges[node] = result;
  });
  return ranges[nodeOf(expr)];
}

std::vector<VarId> variablesOf(Expr expr) { return variablesOf(std::span<const Expr>(&expr, 1)); }

std::vector<VarId> variablesOf(std::span<const Expr> exprs) {
  std::vector<VarId> result;
  for (Expr expr : exprs)
    postOrder(nodeOf(expr), [&](const ExprNode *node) {
      if (node->kind == ExprKind::Variable)
        result.push_back(VarId{static_cast<uint32_t>(node->value)});
    });
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

} // namespace tilewright
