// Constraint systems as Z3 terms (internal to analysis/solve; the only header with z3++.h).
#pragma once

#include "analysis/solve/constraint_system.h"
#include "analysis/solve/diagram.h"
#include "analysis/solve/z3_solver.h"

#include <z3++.h>

namespace tilewright::detail {

/// Adds a system to a solver. Parameter p is the integer "p<p>.<name>.index" in [0, candidates),
/// constraint c holds under the assumption "c<c>".
class Z3Encoding {
public:
  /// No list may be empty.
  Z3Encoding(const ConstraintSystem &system, const SolverOptions &options, z3::solver &solver);

  const std::vector<z3::expr> &assumptions() const { return names; }
  /// Constraints that may reject points only because they have no value there (see
  /// Diagram::hasUndecided).
  bool mayBeUndecided(size_t constraint) const { return undecided[constraint]; }
  /// Set when a list is too irregular and long for the terms that need it.
  bool isComplete() const { return complete; }

  std::vector<int64_t> valuesOf(const z3::model &model) const;
  /// A clause that forbids this model.
  z3::expr blocking(const z3::model &model) const;

private:
  z3::expr diagram(const Diagram &diagram) const;
  z3::expr formula(RegisterId truth, size_t constraint);
  const z3::expr &valueOf(unsigned parameter);

  const ConstraintSystem &system;
  z3::solver &solver;
  z3::context &context;
  Program program;
  std::vector<Abstract> box;
  std::vector<z3::expr> indices;
  std::vector<std::optional<z3::expr>> values;
  std::vector<z3::expr> names;
  std::vector<bool> undecided;
  bool complete = true;
};

} // namespace tilewright::detail
