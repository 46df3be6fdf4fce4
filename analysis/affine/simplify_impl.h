// The rules behind Simplifier, by file:
//   simplify.cpp          driver, intervals, known divisors
//   simplify_sum.cpp      sums and products, x//c·c + x mod c = x
//   simplify_divide.cpp   floordiv, ceildiv and mod by a constant
//   simplify_symbolic.cpp floordiv, ceildiv and mod by an expression
//   simplify_min_max.cpp  min and max
//   simplify_select.cpp   comparisons, selects, powers of two
//
// All rules work on operands that are in normal form already, and build normal forms.
#pragma once

#include "analysis/affine/linear_form.h"
#include "analysis/affine/scratch_table.h"
#include "analysis/affine/simplify.h"

namespace tilewright {

namespace detail {

/// The results of one simplifier, by Expr::id().
struct SimplifierTables {
  /// Expressions built within recombine() are tentative and simplified less: their normal forms are
  /// cached separately by nesting, so that a normal form does not depend on what was simplified
  /// before.
  static constexpr int maxNested = 2;

  Bounds bounds;
  ScratchTable<Expr> normalForms;
  std::array<ScratchTable<Expr>, maxNested> withinSearch;
  ScratchTable<Interval> ranges;
  ScratchTable<int64_t> divisors;

  void clear();
};

} // namespace detail

struct Simplifier::Impl {
  /// The caller fills in `bounds` before anything else.
  explicit Impl(ExprContext &ctx) : ctx(ctx), bounds(tables->bounds) {}

  ExprContext &ctx;
  detail::Loan<detail::SimplifierTables> tables;
  Bounds &bounds;

  Expr simplify(Expr root);
  /// simplify() of the expression with variables replaced by expressions that are in normal form,
  /// in one pass: what is built is normal at once. A null entry keeps the variable.
  Expr substituted(Expr root, std::span<const Expr> replacementByVar);
  /// Records known facts about an expression in normal form.
  void know(Expr normal, Interval values);
  Expr leaf(Expr expr);
  void fired(Rule rule) { ctx.countRule(rule); }
  Interval range(Expr expr);
  Interval range(const LinearForm &form);
  int64_t knownDivisor(Expr expr, int depth = 0);

  /// The normal form of an operation on normal operands. Memoized.
  /// `third`: the condition of a select.
  Expr make(ExprKind kind, Expr lhs, Expr rhs, Expr third = Expr());

  // Sums and products.
  Expr sum(LinearForm form);
  Expr makeAdd(Expr lhs, Expr rhs);
  Expr makeMul(Expr lhs, Expr rhs);
  /// The product of expressions in normal form.
  Expr makeProduct(std::span<const Expr> operands);

  // Division by a constant d > 0.
  Expr floorDivBy(LinearForm form, int64_t d);
  Expr modBy(LinearForm form, int64_t d);
  Expr makeDivision(ExprKind kind, Expr lhs, Expr rhs);

  // Division by an expression.
  Expr divideSymbolically(ExprKind kind, Expr lhs, Expr rhs);

  Expr makeMinMax(ExprKind kind, Expr lhs, Expr rhs);
  Expr makeComparison(ExprKind kind, Expr lhs, Expr rhs);
  Expr makePower(ExprKind kind, Expr operand);
  Expr makeSelect(Expr condition, Expr ifTrue, Expr ifFalse);

private:
  Expr rewrite(ExprKind kind, Expr lhs, Expr rhs, Expr third);
  Interval leafRange(Expr expr);
  Expr joinOperands(ExprKind kind, Expr lhs, Expr rhs);
  void recombine(LinearForm &form);
  bool recombineMod(LinearForm &form, size_t at);
  bool recombineCongruent(LinearForm &form, size_t at);
  bool recombineMods(LinearForm &form, size_t at);
  std::optional<Expr> undivided(const LinearForm &quotient, Expr x, int64_t d, int64_t b);
  bool recombineFloorDiv(LinearForm &form, size_t at);

  /// form = g·high + low with every value of low in [base, base + g): then (form) // (g·b) is
  /// (high + base/g) // b.
  struct Split {
    int64_t g;
    LinearForm high, low;
    int64_t base;
  };
  int64_t startInFirstPeriod(LinearForm form, int64_t d);
  std::optional<LinearForm> withPositiveCoefficients(LinearForm form, int64_t d);
  std::optional<Split> splitBy(const LinearForm &form, int64_t d);

  static constexpr int maxNested = detail::SimplifierTables::maxNested;
  int depth = 0;       ///< of make() within make()
  int recombining = 0; ///< of recombine() within recombine()
};

} // namespace tilewright
