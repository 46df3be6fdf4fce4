// Which variants of a kernel's code some candidate of a search takes.
//
// The condition of a variant says mostly which tiles cover their dims: "t1 ≥ 2048 and not
// k0 ≥ 64". Each part that is about one parameter leaves some of its candidates; where a constraint
// holds nowhere within what is left of all of them, the variant needs no program.
#pragma once

#include "analysis/solve/compiled.h"

#include <map>

namespace tilewright {

class VariantFilter {
public:
  /// The parameters' candidates, and what must hold whatever the variant is.
  explicit VariantFilter(ConstraintSystem system);

  /// False: no point takes a variant of this condition, and all constraints hold there.
  bool operator()(Expr when);

private:
  const std::vector<bool> &keptBy(Expr part, bool holds, size_t parameter);

  ConstraintSystem system;
  std::optional<CompiledSystem> compiled;
  /// By a part of a condition, and whether it is to hold: which candidates it leaves.
  std::map<std::pair<uint32_t, bool>, std::vector<bool>> kept;
};

} // namespace tilewright
