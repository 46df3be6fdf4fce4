// A question to the solver: parameters with finite candidate lists, and constraints over them.
//
// Running example: t0 ∈ {1,2,4,5}, t1 ∈ {1,2,4}, "t0 · t1 ≤ 8", "t1 divides 4".
//
// A constraint *accepts* a point where its formula is true. A formula without a value there (an
// overflow, a divisor that is not positive, a variable that is no parameter) does not accept it,
// and such a refusal is reported as "undecided" instead of "no".
#pragma once

#include "analysis/tiling/constraint.h"

#include "llvm/Support/Error.h"

#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// Three-valued answers: an exhausted budget or an overflow is Unknown, never No.
enum class Verdict : uint8_t { No, Yes, Unknown };
std::string_view toString(Verdict verdict); ///< "no", "yes", "unknown"

struct SolveParameter {
  VarId var;
  std::string name;
  std::vector<int64_t> candidates; ///< ascending, without repeats; may be empty (then: infeasible)
};

struct ConstraintSystem {
  static constexpr size_t maxParameters = 64;

  std::vector<SolveParameter> parameters; ///< all expressions belong to one ExprContext
  std::vector<Constraint> constraints;

  /// Internal: a parameter stands twice, or a list is not ascending.
  /// Unsupported: more than maxParameters parameters.
  llvm::Error check() const;

  /// Values in parameter order as an assignment; missing ones at the end stay without a value.
  Assignment assign(std::span<const int64_t> values) const;

  /// The same parameters with some of the constraints, in the order given.
  ConstraintSystem withConstraints(std::span<const size_t> indices) const;

  /// "t0=4, t1=5".
  std::string describePoint(std::span<const int64_t> values) const;
};

} // namespace tilewright
