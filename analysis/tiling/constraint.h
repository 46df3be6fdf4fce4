// Constraints: named formulas over tile parameters, with provenance.
//
// Only constraints refuse a tiling, and every refusal can be shown, in words, as a smallest set of
// conflicting constraints.
#pragma once

#include "analysis/affine/expr.h"
#include "analysis/ir/op.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// A propositional combination of comparisons between expressions. Immutable and shared.
class Formula {
public:
  enum class Kind : uint8_t {
    True,
    False,
    LessEqual, ///< lhs ≤ rhs
    Equal,
    Divides, ///< lhs | rhs, for lhs ≥ 1
    And,
    Or,
    Not,
  };

  static Formula constant(bool value);
  static Formula lessEqual(Expr a, Expr b);
  static Formula equal(Expr a, Expr b);
  static Formula divides(Expr divisor, Expr value);
  static Formula all(std::vector<Formula> parts);
  static Formula any(std::vector<Formula> parts);
  Formula operator!() const;
  Formula operator&&(const Formula &other) const { return all({*this, other}); }
  Formula operator||(const Formula &other) const { return any({*this, other}); }

  Kind kind() const { return node->kind; }
  Expr lhs() const { return node->lhs; }
  Expr rhs() const { return node->rhs; }
  const std::vector<Formula> &parts() const { return node->parts; }

  bool isTrue() const { return node->kind == Kind::True; }
  bool isFalse() const { return node->kind == Kind::False; }

  /// Three-valued: empty if an expression has no value at the point (a variable without a value, an
  /// overflow) and the rest does not decide.
  std::optional<bool> evaluate(const Assignment &point) const;

  void collectVariables(std::vector<VarId> &out) const; ///< sorted, unique

  /// "t0 divides 64 or 64 divides t0".
  std::string str() const;

private:
  struct Node {
    Kind kind;
    Expr lhs, rhs;
    std::vector<Formula> parts;
  };
  explicit Formula(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  std::shared_ptr<const Node> node;
};

/// The source of a constraint, and its text.
struct Provenance {
  OpId op;
  std::string opName; ///< "%reshape.7", or "device", "user"
  int operand = -1;   ///< operand number, or -1
  int dim = -1;       ///< dim of the op's result (or of the operand), or -1
  std::string rule;   ///< short stable id: "reshape-split", "shared-memory", "grid-limit"
  /// What must hold and why, in words; "{0}", "{1}" … are replaced by the values of `textArgs`:
  /// "tile {0} must divide 64 or be a multiple of 64, because %reshape.7 splits 2048 into 32 x 64".
  std::string text;
  std::vector<Expr> textArgs;
  /// Of what {0} is the sum: "98304" and " B for operand 0 of %dot.3" follow the text after a
  /// colon.
  std::vector<std::pair<Expr, std::string>> parts = {};
};

struct Constraint {
  Formula formula;
  Provenance from;

  /// "%reshape.7 dim 1: tile 48 must divide 64 …" with the values at the point; parameters
  /// without a value appear by name, of a long expression only that: "f(k0, t0)". The smallest
  /// parts are left out where all make the text too long to read. `lead` comes after the op's name.
  std::string describe(const Assignment &point, std::string_view lead = {}) const;
  /// Every number in the text has a value at the point.
  bool hasNumbers(const Assignment &point) const;
};

} // namespace tilewright
