// Sums as data: Σ coefficient·term + constant.
#pragma once

#include "analysis/affine/expr.h"

#include <llvm/ADT/SmallVector.h>
#include <optional>

namespace tilewright {

/// Σ coefficient·term + constant, with terms that are neither sums, constants nor multiples by a
/// constant, distinct, in compareStructure() order and with coefficients that are not zero.
///
/// All arithmetic is checked; an operation that would overflow returns false or nothing and must
/// then not be used.
struct LinearForm {
  struct Term {
    Expr expr;
    int64_t coefficient;
  };
  llvm::SmallVector<Term, 4> terms;
  int64_t constant = 0;

  /// A sum of more terms stays opaque, so that work stays linear in the expression.
  static constexpr size_t maxTerms = 64;

  /// The linear form of a sum. Never fails: a sum that is too long or overflows is one opaque term.
  static LinearForm of(Expr expr);
  static LinearForm ofConstant(int64_t value) { return {{}, value}; }

  bool isConstant() const { return terms.empty(); }
  /// One term, no constant.
  bool isMonomial() const { return terms.size() == 1 && constant == 0; }
  /// The coefficient of a term, 0 if it does not occur.
  int64_t coefficientOf(Expr term) const;

  /// this += scale · other.
  [[nodiscard]] bool add(const LinearForm &other, int64_t scale = 1);
  [[nodiscard]] bool add(Expr term, int64_t coefficient);
  [[nodiscard]] bool addConstant(int64_t value);
  [[nodiscard]] bool scale(int64_t factor);

  /// Greatest common divisor of the coefficients, without the constant; 0 without terms.
  uint64_t content() const;

  Expr build(ExprContext &context) const;
};

/// The factors of a product that has no constant factor, in compareStructure() order. A product
/// of more than maxFactors stays one opaque factor.
constexpr size_t maxFactors = 16;
using Factors = llvm::SmallVector<Expr, 4>;
Factors factorsOf(Expr monomial);
/// The product of factors that need not be sorted; the constant 1 for none.
Expr productOf(ExprContext &context, Factors factors);

/// |v|, also of INT64_MIN.
inline uint64_t magnitude(int64_t v) {
  return v < 0 ? ~static_cast<uint64_t>(v) + 1 : static_cast<uint64_t>(v);
}

} // namespace tilewright
