// Z3 as the authority: is there a point that all constraints accept?
//
// One private context a query, one solver without wall-clock stages, one named assumption per
// constraint. Constraints become linear: a parameter is the index of its candidate, and a
// constraint is a decision diagram over indices (diagram.h); where that grows too large, the
// formula itself over the unbounded integers. Every model is evaluated again by Formula::evaluate;
// a model that Z3 found and a formula refuses is an Internal error.
#pragma once

#include "analysis/solve/constraint_system.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright {

struct SolverOptions {
  /// Z3's deterministic resource units for one query, all of its checks together. Tile spaces of 8
  /// parameters and 280 constraints take about 50,000.
  uint32_t rlimit = 2'000'000;
  /// Wall-clock bound of one check beside the rlimit, milliseconds. An answer that it cut short is
  /// marked as not reproducible.
  unsigned watchdogMs = 10'000;
  /// A tactic by name ("qfnia", "smt"); empty: the plain SMT core.
  std::string tactic;
  bool minimizeCore = true;
  /// Limit on the prefixes visited when a constraint becomes a diagram.
  size_t maxDiagramSteps = size_t(1) << 16;
  /// A folder for the SMT-LIB text of each query ("query-<hash>.smt2"); empty: none.
  std::string dumpDir;
};

struct Answer {
  Verdict verdict = Verdict::Unknown;
  std::vector<int64_t> model; ///< Yes: values in parameter order
  std::vector<size_t> core;   ///< No: constraints that conflict, ascending
  bool isCoreMinimal = false; ///< leaving any one out makes the rest satisfiable
  uint64_t spent = 0;         ///< resource units
  uint64_t allowed = 0;
  bool isReproducible = true; ///< false: the watchdog ended it
  std::string reason;         ///< Unknown, and No without constraints: why
};

/// Decides the system. Errors: those of ConstraintSystem::check(); BadInput for an unknown tactic
/// or a dump folder that can't be written; Internal where Z3 and Formula::evaluate disagree.
llvm::Expected<Answer> decide(const ConstraintSystem &system, const SolverOptions &options = {});

/// Z3's models one after another, each blocked after it was found, in no particular order. Slow: an
/// oracle for tests and small systems. The verdict says whether the list is complete: No (no
/// more models) or Unknown; Yes when `visit` returned false.
llvm::Expected<Answer> forEachModel(const ConstraintSystem &system,
                                    llvm::function_ref<bool(const std::vector<int64_t> &)> visit,
                                    const SolverOptions &options = {});

} // namespace tilewright
