// A plan with its expressions evaluated: sizes, what moves each tile, how often each op runs.
// Internal to the cost model.
#pragma once

#include "analysis/tiling/plan.h"

#include <vector>

namespace tilewright {

struct ParameterView {
  int64_t size = 1, extent = 1;
  double tiles = 1; ///< per CTA for sequential parameters (a CTA of a split-K takes its share)
  /// Steps that a CTA takes in the loop, as ranges in program ids leave them: the mean of all CTAs
  /// and the most. The same as `tiles` where all CTAs take all steps.
  double meanSteps = 1, mostSteps = 1;
};

struct InstanceView {
  const TileInstance *instance = nullptr;
  const Op *op = nullptr;
  bool isInput = false;
  int sameAs = -1; ///< an earlier instance of the op with the same tile at these sizes, or -1
  std::vector<int64_t> sizes;
  double elements = 1;
  double valid = 1; ///< share of the elements that lie inside the tensor, over all tiles
  double bytes = 0; ///< of all elements, packed
  /// Per dim: parameters whose index occurs in its offset, also those with one tile.
  std::vector<std::vector<unsigned>> dimParameters;
  std::vector<unsigned> movedBy; ///< of them all, those with more than one tile; ascending
  std::vector<unsigned> loops;   ///< sequential parameters with more than one tile that it runs in
  bool inAnyLoop = false;        ///< lies in a loop of the program, even of one iteration

  bool isMovedBy(unsigned parameter) const;
  /// Dim of the tensor that varies fastest in memory and has more than one element; -1 for none.
  int minorDim() const;
  /// Elements of the tile that are contiguous in memory.
  double contiguousElements() const;
  /// Elements from one row of the tensor to the next.
  int64_t rowPitch() const;
  /// The tensor has one row only: its tiles follow each other in memory.
  bool isOneRow() const;
};

struct PlanView {
  std::vector<ParameterView> parameters;
  std::vector<InstanceView> instances; ///< as in the TiledGroup
  double ctas = 1;
  double iterations = 1;     ///< of all loops together, mean over CTAs
  double mostIterations = 1; ///< of the longest CTA

  /// How often an instance runs per mean iteration; 0 for what runs outside the loops.
  double perIteration(const InstanceView &view) const;
  bool isOutside(const InstanceView &view) const { return iterations > 1 && view.loops.empty(); }
};

/// Internal errors for a plan whose values do not fit its space.
llvm::Expected<PlanView> viewOf(const KernelPlan &plan);

} // namespace tilewright
