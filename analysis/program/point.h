// Integer expressions as lists of steps, for the interpreter: a value for each variable in, numbers
// out, without allocation.
#pragma once

#include "analysis/affine/expr.h"

#include <optional>
#include <vector>

namespace tilewright::program {

/// Values of variables by VarId; what has none is 0 and not known.
struct Environment {
  std::vector<int64_t> values;
  std::vector<bool> isKnown;

  explicit Environment(size_t variables) : values(variables), isKnown(variables) {}
  void set(VarId var, int64_t value) {
    values[var.index] = value;
    isKnown[var.index] = true;
  }
  void forget(VarId var) { isKnown[var.index] = false; }
  bool knows(Expr expr) const;
};

class PointExpr {
public:
  explicit PointExpr(Expr expr);
  /// Nothing: a divisor that is not positive, an overflow.
  std::optional<int64_t> at(const std::vector<int64_t> &variables) const;

private:
  struct Step {
    ExprKind kind;
    int64_t value; ///< constant or variable
    uint32_t a, b, c;
  };
  std::vector<Step> steps;
  mutable std::vector<int64_t> slots;
};

} // namespace tilewright::program
