#include "costmodel/parameters.h"

namespace tilewright {

std::span<const ParameterInfo> parameterInfos() {
  static constexpr ParameterInfo infos[] = {
#define TILEWRIGHT_PARAMETER(field, name, unit, prior, low, high, fitted, meaning)                 \
  {name, unit, meaning, low, high, fitted},
#include "costmodel/parameters.def"
  };
  return infos;
}

std::optional<int> parameterIndex(std::string_view name) {
  for (int i = 0; i < parameterCount; ++i)
    if (parameterInfos()[i].name == name)
      return i;
  return std::nullopt;
}

Parameters priorParameters(const Device &d) {
  Parameters p;
#define TILEWRIGHT_PARAMETER(field, name, unit, prior, low, high, fitted, meaning) p.field = prior;
#include "costmodel/parameters.def"
  return p;
}

std::array<double, parameterCount> toArray(const Parameters &p) {
  return {
#define TILEWRIGHT_PARAMETER(field, name, unit, prior, low, high, fitted, meaning) p.field,
#include "costmodel/parameters.def"
  };
}

Parameters fromArray(std::span<const double> values) {
  Parameters p;
  size_t i = 0;
#define TILEWRIGHT_PARAMETER(field, name, unit, prior, low, high, fitted, meaning)                 \
  p.field = values[i++];
#include "costmodel/parameters.def"
  return p;
}

} // namespace tilewright
