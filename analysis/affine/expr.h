// Quasi-affine integer expressions: immutable, hash-consed, overflow-checked.
//
// An Expr is a pointer to a node in an ExprContext. Equal structure means equal pointer, so that
// equality is one comparison and every analysis can be memoized over the DAG.
//
// Semantics, over the integers:
//   a floordiv b  = ⌊a/b⌋       a ceildiv b = ⌈a/b⌉       a mod b = a - b·⌊a/b⌋ in [0, b)
//   isAtLeast(a, b) is 1 where a >= b, else 0; isEqual(a, b) is 1 where they are equal
//   select(c, a, b) is a where c is not 0, else b; it has a value only where all three have one
//   pow2Ceil(a) is the least power of two >= a (1 for a <= 1); for a >= 1, log2(a) = ⌊log₂ a⌋ and
//   pow2Divisor(a) is the largest power of two that divides a
// Divisors and moduli must be positive wherever the expression is evaluated; evaluate() is empty
// where they are not. Arithmetic that leaves 64 bits never wraps: building a constant that does
// gives the *poison* expression, anything built from poison is poison, and its evaluate() is empty.
// A result is never wrong.
//
// Variables have a kind and an identity (VarId); they are never known by position. dim(2) of a
// context is always the same variable.
//
// Running example:  ExprContext c;  Expr d0 = c.dim(0);  (d0 * 8 + 3).floorDiv(4)  prints as
// "(d0 * 8 + 3) floordiv 4".
//
// Not thread-safe: one context a thread.
#pragma once

#include "analysis/affine/intern.h"
#include "analysis/affine/interval.h"
#include "analysis/affine/rules.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright {

class ExprContext;

enum class ExprKind : uint8_t {
  Constant,
  Variable,
  Add,
  Mul,
  FloorDiv,
  CeilDiv,
  Mod,
  Min,
  Max,
  IsAtLeast,
  IsEqual,
  Pow2Ceil,
  Pow2Divisor,
  Log2,
  Select,
  Poison
};

enum class VarKind : uint8_t {
  Dim,       ///< d0…: a coordinate of the output (or of whatever a map starts from)
  Range,     ///< s0…: iteration inside one output element: contracted, reduced, windowed
  Runtime,   ///< rt0…: the value of a tensor element at run time
  TileParam, ///< a tile size, chosen per kernel
  ProgramId, ///< pid…: which tile of a parallel dim, 0 … number of tiles - 1
  Step,      ///< which tile of a sequential dim, in loop order
};

/// Identity of a variable within its context; dense, in order of creation.
struct VarId {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const VarId &) const = default;
};

struct Variable {
  VarKind kind;
  std::string name;
};

namespace detail {
class MapPool;

struct ExprNode {
  ExprKind kind;
  uint32_t id;   ///< order of creation; gives a deterministic order
  int64_t value; ///< constant, or variable index
  /// Operands; null in leaves. An operation on one number has it on both sides, so that walks of
  /// pairs need not know. A select has its branches here and its condition in `third`.
  const ExprNode *lhs, *rhs, *third;
  ExprContext *context;
  uint64_t hash;      ///< of the structure and the variables' names: independent of creation order
  uint32_t leader;    ///< index of the first variable that occurs, in variable order; or noLeader
  uint32_t treeSize;  ///< nodes when written out as a tree, saturating
  uint64_t variables; ///< bit min(i, 63) for every variable i that occurs
  static constexpr uint32_t noLeader = UINT32_MAX;
};
} // namespace detail

class Expr {
public:
  Expr() = default; ///< null; only assignable and comparable
  explicit Expr(const detail::ExprNode *node) : node(node) {}

  explicit operator bool() const { return node != nullptr; }
  bool operator==(const Expr &) const = default;

  ExprKind kind() const { return node->kind; }
  ExprContext &context() const { return *node->context; }
  /// Order of creation in the context: a total order that does not depend on addresses.
  uint32_t id() const { return node->id; }

  bool isConstant() const { return node->kind == ExprKind::Constant; }
  bool isConstant(int64_t v) const { return isConstant() && node->value == v; }
  bool isVariable() const { return node->kind == ExprKind::Variable; }
  bool isPoison() const { return node->kind == ExprKind::Poison; }
  int64_t constant() const { return node->value; }
  VarId variable() const { return VarId{static_cast<uint32_t>(node->value)}; }
  Expr lhs() const { return Expr(node->lhs); }
  Expr rhs() const { return Expr(node->rhs); }
  /// The condition of a select; null for everything else.
  Expr third() const { return Expr(node->third); }

  Expr operator+(Expr other) const;
  Expr operator-(Expr other) const;
  Expr operator*(Expr other) const;
  Expr operator-() const;
  Expr floorDiv(Expr other) const;
  Expr ceilDiv(Expr other) const;
  Expr mod(Expr other) const;
  Expr min(Expr other) const;
  Expr max(Expr other) const;
  Expr operator+(int64_t other) const;
  Expr operator-(int64_t other) const;
  Expr operator*(int64_t other) const;
  Expr floorDiv(int64_t other) const;
  Expr ceilDiv(int64_t other) const;
  Expr mod(int64_t other) const;
  Expr min(int64_t other) const;
  Expr max(int64_t other) const;
  /// What a sum or a division can't say (see the top of the file). Comparisons are 0 or 1.
  Expr isAtLeast(Expr other) const;
  Expr isEqual(Expr other) const;
  Expr pow2Ceil() const;
  Expr pow2Divisor() const;
  Expr log2() const;

  /// "d0 * 8 + 3", "(d0 + 1) mod 4", "min(d0, 5)".
  std::string str() const;

private:
  friend int compareStructure(Expr a, Expr b);
  friend class ExprContext;
  const detail::ExprNode *node = nullptr;
};

/// `ifTrue` where the condition is not 0. All are of one context.
Expr select(Expr condition, Expr ifTrue, Expr ifFalse);

/// Values for variables, by VarId. Evaluation is empty if a variable has no value.
class Assignment {
public:
  void set(VarId var, int64_t value) {
    if (var.index >= values.size())
      values.resize(var.index + 1);
    values[var.index] = value;
  }
  void set(Expr var, int64_t value) { set(var.variable(), value); }
  std::optional<int64_t> get(VarId var) const {
    return var.index < values.size() ? values[var.index] : std::nullopt;
  }

private:
  std::vector<std::optional<int64_t>> values;
};

/// Intervals for variables, by VarId; other variables are unbounded.
class Bounds {
public:
  void set(VarId var, Interval interval) {
    constexpr size_t first = 8; // avoids growing for each of the usual few
    if (var.index >= intervals.size())
      intervals.resize(std::max<size_t>(var.index + 1, first));
    intervals[var.index] = interval;
  }
  void set(Expr var, Interval interval) { set(var.variable(), interval); }
  Interval get(VarId var) const {
    return var.index < intervals.size() ? intervals[var.index] : Interval{};
  }
  void clear() { intervals.clear(); }

private:
  std::vector<Interval> intervals;
};

/// A total order of a context's expressions that does not depend on the order in which they were
/// made: by the first variable (kind, then name: d2 before d10 before s0), then by structure.
/// Constants come last. Negative, zero or positive as for strcmp; zero only for equal nodes.
int compareStructure(Expr a, Expr b);

/// Owns the nodes and variables.
class ExprContext {
public:
  ExprContext();
  ~ExprContext();
  ExprContext(const ExprContext &) = delete;
  ExprContext &operator=(const ExprContext &) = delete;

  Expr constant(int64_t value);
  Expr poison();

  /// The i-th dim / range variable of this context, named d<i> / s<i>; always the same one.
  Expr dim(unsigned i);
  Expr range(unsigned i);
  /// The runtime variable rt<i>.
  Expr runtime(unsigned i);
  /// The variable of that kind and name, made on first use.
  Expr variable(VarKind kind, std::string_view name);
  /// A new variable, different from all others; its name is `prefix` and a number.
  Expr freshVariable(VarKind kind, std::string_view prefix);

  const Variable &info(VarId var) const { return variables[var.index]; }
  size_t variableCount() const { return variables.size(); }
  Expr variableExpr(VarId var) const { return variableExprs[var.index]; }

  /// A node after folding: constants, x+0, x·0, x·1, x div 1, x mod 1, min/max(x,x). Constants
  /// stand on the right of + · min max, chains of one of these kinds lean to the left, and other
  /// operands follow compareStructure(). Deeper rewriting is simplify()'s work.
  Expr binary(ExprKind kind, Expr lhs, Expr rhs);
  /// Pow2Ceil, Pow2Divisor, Log2; constants are folded.
  Expr unary(ExprKind kind, Expr operand);
  /// Folded where the condition is a constant or the branches are one expression.
  Expr select(Expr condition, Expr ifTrue, Expr ifFalse);
  /// A node of any kind from its operands as lhs(), rhs(), third() name them.
  Expr operation(ExprKind kind, Expr lhs, Expr rhs, Expr third);

  size_t nodeCount() const { return interned.size(); }

  /// How often each rewrite rule was applied to expressions and maps of this context.
  const RuleCounts &ruleCounts() const { return counts; }
  void countRule(Rule rule) { counts.add(rule); }

  /// Variables by kind, then by the length and letters of the name.
  int compareVariables(VarId a, VarId b) const;

  /// The index maps of this context (map_pool.h).
  detail::MapPool &maps() { return *pool; }

private:
  Expr intern(ExprKind kind, int64_t value, const detail::ExprNode *lhs,
              const detail::ExprNode *rhs, const detail::ExprNode *third = nullptr);
  Expr addVariable(VarKind kind, std::string name);

  detail::Arena arena;
  detail::InternTable<const detail::ExprNode *> interned;
  std::vector<Variable> variables;
  std::vector<Expr> variableExprs;
  std::unordered_map<std::string, VarId> variablesByName; ///< key: kind digit + name
  std::vector<Expr> dims, ranges, runtimes;
  Expr poisonExpr;
  RuleCounts counts;
  std::unique_ptr<detail::MapPool> pool;
};

/// The value at a point. Empty if a variable has no value, a divisor is not positive, or a result
/// leaves 64 bits. Linear in the DAG.
std::optional<int64_t> evaluate(Expr expr, const Assignment &point);

/// Replaces variables, simultaneously. Linear in the DAG. `replacement` gives a null Expr for a
/// variable that stays.
Expr substitute(Expr expr, const std::function<Expr(VarId)> &replacement);
/// The same with a table indexed by VarId (short tables and null entries keep the variable).
Expr substitute(Expr expr, std::span<const Expr> replacementByVar);
std::vector<Expr> substitute(std::span<const Expr> exprs, std::span<const Expr> replacementByVar);

/// An interval that contains every value of the expression for variables within bounds.
Interval rangeOf(Expr expr, const Bounds &bounds);

/// Variables that occur, in VarId order.
std::vector<VarId> variablesOf(Expr expr);
std::vector<VarId> variablesOf(std::span<const Expr> exprs);

} // namespace tilewright
