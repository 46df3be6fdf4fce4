// The dots of a plan and where their operands come from. Internal to the cost model.
#pragma once

#include "analysis/tiling/resources.h"
#include "costmodel/plan_view.h"
#include "costmodel/tensor_core.h"

#include <array>
#include <set>
#include <vector>

namespace tilewright {

template <class Q> struct PlanDot {
  unsigned instance;
  DotShape<Q> shape;
  /// For a convolution's image: window elements of a tile for each image element that it reads, and
  /// the part of one step's elements that is in shared memory at once (for the kernel, too).
  Q gathered = 1, staged = 1;
  bool isPacked = false; ///< packedConvolutionStep()
  /// Input instances copied to shared memory for each operand; none for an operand that is computed
  /// from a dot or a reduction and is in registers.
  std::array<std::vector<unsigned>, 2> inputs;

  const DotOperandShape &operand(unsigned side) const { return side == 0 ? shape.lhs : shape.rhs; }
};

template <class Q> struct DotAnalysis {
  std::vector<PlanDot<Q>> dots;    ///< operands before users
  std::set<unsigned> sharedInputs; ///< input instances that a dot reads from shared memory
  bool chained = false;            ///< one dot's result is an operand of another

  /// Largest redundancy of warps that keep whole rows (DotShape::repeats).
  Q repeats(const Q &warps) const;
};

/// The code of a plan whose dots use `instruction`, in the plan's style.
CodeChoice codeOf(const KernelPlan &plan, Instruction instruction);

/// Is it made of products of tiles? A dot is, unless the kernel makes each of its elements by a
/// loop; so is a convolution, unless it has groups, whose tiles only the limits of a matrix
/// instruction keep within one of them.
bool isProductOfTiles(const Op &op, const CodeChoice &code);

/// Window elements that a convolution sums over for each input feature.
double windowElements(const Op &op);

template <class Q>
DotAnalysis<Q> analyseDots(const KernelPlan &plan, const PlanViewOf<Q> &view,
                           const CodeChoice &code);

} // namespace tilewright
