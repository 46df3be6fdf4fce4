// Expressions from one context to another.
#pragma once

#include "analysis/affine/expr.h"

namespace tilewright {

/// The same expression in another context, where its variables are what `at` gives (never null).
Expr transferred(Expr expr, ExprContext &to, const std::function<Expr(VarId)> &at);

} // namespace tilewright
