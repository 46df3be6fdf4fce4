// Parameters with derivatives with respect to their logarithms, for fits and designs. Internal to
// the cost model.
#pragma once

#include "costmodel/dual.h"
#include "costmodel/parameters.h"

#include <cmath>
#include <span>

namespace tilewright {

using ParameterDual = Dual<parameterCount>;

/// The parameters whose logarithms are `logs`, in the order of parameters.def.
inline ParametersOf<ParameterDual> seededParameters(std::span<const double> logs) {
  ParametersOf<ParameterDual> p;
  int i = 0;
  auto next = [&](ParameterDual &field) {
    field.value = std::exp(logs[i]);
    field.d[i] = field.value;
    ++i;
  };
#define TILEWRIGHT_PARAMETER(field, name, unit, prior, low, high, fitted, meaning) next(p.field);
#include "costmodel/parameters.def"
  return p;
}

} // namespace tilewright
