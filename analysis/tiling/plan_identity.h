// When two plans are one kernel under two names.
//
// A plan names a number for every parameter, and not every number matters to the code: stages of a
// loop of one step, the order of CTAs in a grid of one column, steps of a reduction that leave
// threads idle and are taken together. Plans that agree in what is left run the same.
#pragma once

#include "analysis/tiling/plan.h"
#include "analysis/tiling/resources.h"

#include <span>
#include <vector>

namespace tilewright {

class PlanIdentity {
public:
  /// Of plans of one group with one instruction.
  PlanIdentity(const Graph &graph, const TiledGroup &group, Instruction instruction);

  /// The same for values (in parameter order) that run the same.
  std::vector<int64_t> of(std::span<const int64_t> values) const;

private:
  const TiledGroup &group;
  std::vector<Expr> parts;
};

} // namespace tilewright
