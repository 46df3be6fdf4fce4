// Maps over mixed-radix digits. Not for other folders.
//
// A variable that runs over a progression is offset + stride·k for a digit k in [0, n). Every
// expression is a sum Σ c·k + constant of digits; a floordiv or mod of a sum is one again when the
// digits fit the divisor, and where they don't a digit is *split*:
//
//   (8·a + b) // 4 for a in [0, 3), b in [0, 8):  b = 4·h + l, and the quotient is 2·a + h
//   (b + 1) // 4 for b in [0, 8):                 b in [0, 3), [3, 7), [7, 8): three pieces
//
// so that a map over a box becomes a few pieces, each a tuple of sums of independent digits.
#pragma once

#include "analysis/affine/index_map.h"
#include "analysis/sets/nodes.h"
#include "analysis/sets/progression.h"
#include "analysis/sets/sets.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::sets {

/// Σ coefficient·digit + constant; digits ascend, coefficients are not 0. Arithmetic is checked:
/// functions return false, and the sum must not be used, when a number leaves ±maxMagnitude.
struct DigitSum {
  struct Term {
    uint32_t digit;
    int64_t coefficient;
    bool operator==(const Term &) const = default;
  };
  int64_t constant = 0;
  llvm::SmallVector<Term, 4> terms;

  [[nodiscard]] bool add(const DigitSum &other, int64_t scale);
  bool isConstant() const { return terms.empty(); }
};

/// Digits by number; `extents[i]` values each. Digits of one value are constants and do not occur.
struct Piece {
  std::vector<int64_t> extents;
  std::vector<DigitSum> variables; ///< one for each variable of the map
};

/// The values of a sum, for digits that run over all their values.
Interval rangeOf(const DigitSum &sum, const std::vector<int64_t> &extents);

/// How a digit is replaced: k = start + innerStride·inner + outerStride·outer, one alternative for
/// each new piece. Their sets of values are disjoint. No alternatives: the piece is empty.
struct Split {
  struct Alternative {
    int64_t start = 0, innerSize = 1, innerStride = 1, outerSize = 1, outerStride = 0;
  };
  uint32_t digit = 0;
  llvm::SmallVector<Alternative, 4> alternatives;
};

/// A constraint that involves several digits.
struct Residual {
  DigitSum sum;
  Interval range;
  int64_t modulus = 1, residue = 0;

  bool holds(int64_t value) const;
};

/// One read, ready to be evaluated over pieces.
class DigitProgram {
public:
  explicit DigitProgram(const Reads &reads);

  /// The variables' domains and restrictions as one piece. Nothing when a variable has no bounds;
  /// `reason` then says which. A piece with an extent of 0 is empty.
  std::optional<Piece> start(std::string &reason) const;

  enum class Outcome { Done, Split, Failed };
  struct Values {
    std::vector<DigitSum> results;
    std::vector<Residual> residuals;
    Split split;        ///< Outcome::Split
    std::string reason; ///< Outcome::Failed
  };
  /// Results and constraints as sums of digits; or a digit to split first.
  Outcome evaluate(const Piece &piece, Values &out) const;

  /// Expressions to evaluate for each piece.
  size_t size() const { return nodes->nodes().size() + conditions.size(); }

  /// The piece with the digit replaced. Nothing when numbers leave ±maxMagnitude.
  static std::optional<Piece> apply(const Piece &piece, uint32_t digit,
                                    const Split::Alternative &alternative);

private:
  struct Condition {
    uint32_t node;
    Interval range;
    int64_t modulus, residue;
  };
  Outcome visit(const NodeList::Node &node, const Piece &piece, std::vector<DigitSum> &sums,
                size_t index, Values &out) const;
  Outcome check(const Condition &condition, const DigitSum &sum, const Piece &piece,
                Values &out) const;

  const Reads &reads;
  std::vector<Condition> conditions;
  std::optional<NodeList> nodes;
  std::vector<uint32_t> resultNodes;
  std::vector<int32_t> variableIndex; ///< by VarId, -1 where it is not the map's
};

} // namespace tilewright::sets
