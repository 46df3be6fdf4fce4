#include "analysis/affine/transfer.h"

#include "analysis/affine/expr_internal.h"

namespace tilewright {

Expr transferred(Expr expr, ExprContext &to, const std::function<Expr(VarId)> &at) {
  return detail::fold<Expr>(
      detail::nodeOf(expr),
      [&](const detail::ExprNode *node) {
        Expr leaf(node);
        if (leaf.isVariable())
          return at(leaf.variable());
        return leaf.isConstant() ? to.constant(leaf.constant()) : to.poison();
      },
      [&](const detail::ExprNode *node, Expr lhs, Expr rhs, Expr third) {
        return to.operation(node->kind, lhs, rhs, third);
      });
}

} // namespace tilewright
