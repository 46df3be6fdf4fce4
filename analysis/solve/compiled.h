// Compiled search: enumerates, counts and finds the points that all constraints accept.
//
// The constraints become one straight-line program (program.h). Depth-first search assigns one
// parameter a level; each operation runs at the level of its last parameter, and so does each
// check. What makes it fast:
//   - constraints on one parameter filter its list before the search;
//   - a constraint that is not decided yet, but is monotone in each later parameter, is evaluated
//     with those at their best values: where it is false, it stays false below; others are
//     evaluated over intervals of the undecided parameters, less often where that is of no use;
//   - a level's values are evaluated together, in blocks: each operation is decoded once a block;
//   - if a constraint is monotone in the level's own parameter, too, it restricts the level to an
//   index range, found by bisection;
//   - below a parameter that no constraint involves, the first value's solutions are repeated for
//   the others; when counting, such levels multiply.
// The result never depends on any of this.
#pragma once

#include "analysis/solve/constraint_system.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <optional>

namespace tilewright {

/// Order of the levels. Points come out in the lexicographic order of the levels.
enum class SearchOrder : uint8_t {
  Parameter, ///< parameter order: enumeration is lexicographic in it
  Tightest,  ///< where pruning works best: for counting and feasibility
};

struct SearchLimits {
  /// Limit on assignments over all levels. The result tells if it was reached.
  uint64_t maxNodes = uint64_t(1) << 32;
};

struct SearchResult {
  enum class End : uint8_t {
    Exhausted,    ///< every point was decided
    Stopped,      ///< the visitor asked for it
    LimitReached, ///< maxNodes, or a count over 64 bits
  };
  End end = End::Exhausted;
  uint64_t solutions = 0;
  uint64_t nodes = 0;
  /// Decisions about candidates and partial points that refused because a constraint had no value
  /// there though it might hold over the unbounded integers; `undecidedConstraint` is the first
  /// such constraint.
  uint64_t undecided = 0;
  std::optional<size_t> undecidedConstraint;

  /// Yes: there is a solution. No: exhausted, nothing undecided. Unknown otherwise.
  Verdict verdict() const {
    if (solutions > 0)
      return Verdict::Yes;
    return end == End::Exhausted && undecided == 0 ? Verdict::No : Verdict::Unknown;
  }
};

/// Called with the values in parameter order; returns false to stop.
using PointVisitor = llvm::function_ref<bool(std::span<const int64_t>)>;

/// A bound on the sum of per-candidate costs, for nearest-point searches.
struct SearchCosts {
  /// cost[p][i] ≥ 0: of the i-th candidate of parameter p, as listed in the system.
  std::vector<std::vector<uint32_t>> cost;
  uint64_t bound = UINT64_MAX; ///< more expensive points are skipped; the visitor may lower it
};

/// Immutable after compile(); searches on one object may run in parallel.
class CompiledSystem {
public:
  /// Fails as ConstraintSystem::check() does. The system may go away afterwards.
  static llvm::Expected<CompiledSystem> compile(const ConstraintSystem &system,
                                                SearchOrder order = SearchOrder::Parameter);
  CompiledSystem(CompiledSystem &&) noexcept;
  CompiledSystem &operator=(CompiledSystem &&) noexcept;
  ~CompiledSystem();

  /// All solutions, lazily, in lexicographic order of the levels.
  SearchResult enumerate(PointVisitor visit, const SearchLimits &limits = {},
                         const SearchCosts *costs = nullptr) const;
  /// The number of solutions.
  SearchResult count(const SearchLimits &limits = {}) const;
  /// The same number, by evaluating every constraint at every candidate: nothing is pruned and
  /// nothing skipped. The search is compared with it; `nodes` are the candidates.
  SearchResult countAll(const SearchLimits &limits = {}) const;
  /// The first solution in level order; `point` (parameter order) is written only for Yes.
  SearchResult findFirst(std::vector<int64_t> &point, const SearchLimits &limits = {}) const;

  /// Whether each constraint may hold somewhere in a box (an interval a parameter), by interval
  /// arithmetic: one of them holds nowhere if not.
  bool canHold(std::span<const Interval> box) const;

  /// Truth of each constraint at any point (values in parameter order, not only candidates).
  std::vector<std::optional<bool>> evaluate(std::span<const int64_t> values) const;

private:
  struct Plan;
  explicit CompiledSystem(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> plan;
};

} // namespace tilewright
