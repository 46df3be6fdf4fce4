// Selection tables: for a kernel with one open size, the plan to take at each value of it.
//
//   gemm n=4096 k=4096, m = 1 … 8192:   1–64: t0=64 t1=32 …    65–1024: …    1025–8192: …
//
// Candidates are the best plans of a search at points of the range (each of the small values, then
// geometric grids, then wherever the bound on the loss is loose). Every candidate is then tested
// and priced at *every* value of the range: the constraints of the tiled group decide whether it is
// feasible there, so that a plan stands in the table for exactly the values at which it was shown
// to be. Ranges are as few as a tolerance allows: from the left, the plan that stays within it the
// farthest.
//
// What the table loses is said in two numbers for each value m: `loss` against the best candidate
// there, and a bound against any plan of the search, which rests on searches at smaller sizes
// (searched_sizes.h). It is exact at the sizes that were searched, and at all where every one is.
#pragma once

#include "tools/explore/kernel_plans.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tilewright {

/// A plan by the names of its parameters. At a size below one of its tiles, that tile is the size.
struct SelectedPlan {
  Instruction instruction = Instruction::Fma;
  std::map<std::string, int64_t> values;
  auto operator<=>(const SelectedPlan &) const = default;
};

/// The values of `plan` in a space, cut to its extents; nothing where the space lacks a parameter
/// that is more than 1.
std::optional<std::vector<int64_t>> valuesIn(const TileSpace &space, const SelectedPlan &plan);

struct SelectionRange {
  int64_t from = 0, to = 0; ///< both included
  SelectedPlan plan;
  double meanLoss = 0, worstLoss = 0; ///< fractions over the best candidate
  double worstBound = 0;              ///< over any plan of the search
  int64_t worstAt = 0;                ///< the value of worstBound
};

struct SelectionTable {
  int64_t from = 0, to = 0; ///< the first size and the last
  int64_t step = 1;         ///< from one size to the next; sizes between them are in no range
  std::vector<SelectionRange> ranges; ///< without gaps but for values that no candidate fits
  std::vector<double> timesNs;        ///< of the table's plan, size by size; infinite: none
  double meanLoss = 0, worstLoss = 0, meanBound = 0, worstBound = 0;
  double largestFall = 0; ///< of the best time from one searched size up to the next, a fraction
  size_t searches = 0, candidates = 0;

  /// The range that holds `size`, or null.
  const SelectionRange *at(int64_t size) const;
  /// Of a size of the table.
  double timeNs(int64_t size) const { return timesNs[static_cast<size_t>((size - from) / step)]; }
};

struct SelectionOptions {
  int64_t from = 1, to = 8192;
  int64_t step = 1; ///< more than 1 where kernels of other sizes are different ones: of odd rows
  double tolerance = 0.01; ///< what a plan may lose on the best candidate to stay in its range
  double boundGoal = 0.05; ///< more searches where the bound on the loss is above it
  bool everySize = false; ///< searches at each: the losses are those of the search, without a guess
  size_t maxSearches = 800;                         ///< in all
  size_t top = 4;                                   ///< candidates of each search
  size_t maxPriced = PlanSearchOptions().maxPriced; ///< in each search
  unsigned jobs = 1;                                ///< threads; the result does not depend on it
  std::function<void(size_t done, size_t total)> progress; ///< of values; one at a time
};

/// The plans of the kernel at one value of its size.
using PlansAt = std::function<llvm::Expected<KernelPlans>(int64_t size)>;

/// BadInput for a range that is none, and the errors of `plansAt`. Values without a feasible
/// candidate are in no range.
llvm::Expected<SelectionTable> makeSelection(const PlansAt &plansAt,
                                             const SelectionOptions &options);

} // namespace tilewright
