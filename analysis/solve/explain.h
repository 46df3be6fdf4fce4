// Why a tiling is refused, and the nearest feasible one.
//
// The user chooses values for some parameters; the others are free. The question is whether the
// choice can be completed. If not, the answer is a smallest set of constraints and choices that
// conflict, and the nearest point that all constraints accept.
//
// Smallest cores come from implicit hitting sets: a point that satisfies part of the conflict
// violates a set of other elements, and every core must contain one of them. The family of such
// sets grows until a smallest hitting set conflicts by itself. The compiled search answers the
// intermediate queries; Z3 certifies the core. (J. Davies, F. Bacchus: "Solving MAXSAT by solving a
// sequence of simpler SAT instances", CP 2011; A. Ignatiev et al.: "Smallest MUS extraction with
// minimal hitting set dualization", CP 2015.)
#pragma once

#include "analysis/solve/compiled.h"
#include "analysis/solve/z3_solver.h"

namespace tilewright {

/// A value or nothing (free) per parameter, in parameter order. A value need not be a candidate.
using Choice = std::vector<std::optional<int64_t>>;

struct ExplainOptions {
  SearchLimits limits{
      .maxNodes = 20'000'000}; ///< for all searches of a core together, and for each other search
  SolverOptions solver;
  bool certify = true;      ///< certify cores with Z3
  bool findNearest = true;  ///< for infeasible choices
  unsigned maxRounds = 200; ///< of the hitting-set loop, before settling for a minimal core
};

/// A set of constraints and choices that can't hold together.
struct Core {
  std::vector<size_t> constraints; ///< ascending
  std::vector<size_t> choices;     ///< parameters whose chosen value takes part, ascending
  bool isSmallest = false;         ///< no conflict has fewer members
  bool isMinimal = false;          ///< leaving any one out ends the conflict
  bool isCertified = false;        ///< Z3 finds the conflict, too
  std::vector<std::string> text;   ///< one line a constraint, then one a choice

  size_t size() const { return constraints.size() + choices.size(); }
};

/// The accepted point of the candidate lists with the fewest list steps from the choice, summed
/// over chosen parameters; the lexicographically first of those. A step goes to the next candidate
/// of the list; from a value between two candidates, each of them is one step away.
struct Nearest {
  Verdict found = Verdict::Unknown; ///< No: nothing is feasible
  std::vector<int64_t> values;
  uint64_t steps = 0;
  bool isNearest = false; ///< false: the budget ended before nearer ones were ruled out
};

struct Explanation {
  Verdict feasible = Verdict::Unknown;
  std::vector<int64_t> witness;   ///< Yes: the choice, completed
  std::vector<size_t> violated;   ///< everything chosen: constraints that are false
  std::vector<size_t> undecided;  ///< everything chosen: constraints without a value
  std::optional<Core> core;       ///< No: if one was found
  std::optional<Nearest> nearest; ///< No, and asked for
  std::string reason;             ///< Unknown: why
  /// Z3's resource units: of all its queries together, and of each at most. 0 spent: the search
  /// alone answered.
  uint64_t spent = 0, allowed = 0;
  bool isReproducible = true; ///< false: a wall-clock watchdog ended a query
};

/// Errors: those of decide(); Internal when the search and Z3 disagree; BadInput when the choice
/// has another length than the parameters.
llvm::Expected<Explanation> explain(const ConstraintSystem &system, const Choice &choice,
                                    const ExplainOptions &options = {});

/// Only the nearest point. Bounded by limits.maxNodes in all.
llvm::Expected<Nearest> nearestFeasible(const ConstraintSystem &system, const Choice &choice,
                                        const SearchLimits &limits = {.maxNodes = 20'000'000});

} // namespace tilewright
