// A plan with its expressions evaluated: sizes, what moves each tile, how often each op runs. Q:
// double for one plan, Traced to record the arithmetic (trace.h). Internal to the cost model.
#pragma once

#include "costmodel/plan_numbers.h"

#include <memory>
#include <vector>

namespace tilewright {

template <class Q> struct ParameterViewOf {
  Q size = 1;
  int64_t extent = 1;
  Q tiles = 1; ///< per CTA for sequential parameters (a CTA of a split-K takes its share)
  /// Steps of the loop where its range depends on program ids: mean and maximum over the CTAs.
  /// Equal to `tiles` if all CTAs take all steps.
  Q meanSteps = 1, maxSteps = 1;
};

template <class Q> struct InstanceViewOf {
  const TileInstance *instance = nullptr;
  const Op *op = nullptr;
  const std::vector<int64_t> *extents = nullptr; ///< of the tensor in memory; see Group::within
  bool isInput = false;
  int sameAs = -1; ///< an earlier instance of the op with the same tile at these sizes, or -1
  std::vector<Q> sizes;
  Q elements = 1;
  Q valid = 1; ///< share of the elements that lie inside the tensor, over all tiles
  Q bytes = 0; ///< of all elements, packed
  /// Per dim: as in TileMovers, including those with one tile.
  std::vector<std::vector<unsigned>> dimParameters;
  std::vector<unsigned> movedBy; ///< those of all dims that have more than one tile; ascending
  std::vector<unsigned> loops;   ///< sequential parameters with more than one tile that it runs in
  bool inAnyLoop = false;        ///< lies in a loop of the CTA, even of one iteration

  bool isMovedBy(unsigned parameter) const;
  /// Dim of the tensor that varies fastest in memory and has more than one element; -1 for none.
  int minorDim() const;
  /// Stride in tensor elements between neighbours in a row of the tile; 1 if it depends on run-time
  /// values or program ids.
  int64_t minorStride() const;
  /// Elements of the tile that are contiguous in memory.
  Q contiguousElements() const;
  /// Elements from one row of the tensor to the next.
  int64_t rowPitch() const;
  /// The tensor has a single row: its tiles are contiguous in memory.
  bool isOneRow() const;
};

template <class Q> struct PlanViewOf {
  std::vector<ParameterViewOf<Q>> parameters;
  std::vector<InstanceViewOf<Q>> instances; ///< as in the TiledGroup
  /// Reductions of several operands, as ops of their first result, that instances point to.
  std::vector<std::shared_ptr<const Op>> ofSeveral;
  Q ctas = 1;
  Q splits = 1; ///< CTAs that share the steps of `splitParameters`
  std::vector<unsigned> splitParameters;
  Q iterations = 1;    ///< of all loops together, mean over CTAs
  Q maxIterations = 1; ///< of the longest CTA

  /// How often an instance runs per mean iteration; 0 outside the loops.
  Q perIteration(const InstanceViewOf<Q> &view) const;
  bool isOutside(const InstanceViewOf<Q> &view) const {
    return iterations > 1.0 && view.loops.empty();
  }
};

/// Of each dim of each instance: parameters whose index occurs in its offset, ascending.
using TileMovers = std::vector<std::vector<std::vector<unsigned>>>;
TileMovers moversOf(const TiledGroup &group);

/// `point`: at the numbers. `movers`: of the plan's group. Internal errors for a plan whose values
/// do not fit its space; Unsupported for a group with ops of several results.
template <class Q>
llvm::Expected<PlanViewOf<Q>> viewOf(const KernelPlan &plan, const PlanNumbers<Q> &numbers,
                                     EvaluatorOf<Q> &point, const TileMovers &movers);
llvm::Expected<PlanViewOf<double>> viewOf(const KernelPlan &plan);

} // namespace tilewright
