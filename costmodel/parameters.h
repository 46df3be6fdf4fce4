// The parameters of the time formula: meaning, unit and prior.
#pragma once

#include "costmodel/device.h"

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace tilewright {

/// One value a parameter, in the order of parameters.def, in the units given there.
template <class T> struct ParametersOf {
#define TILEWRIGHT_PARAMETER(field, name, unit, prior, low, high, fitted, meaning) T field{};
#include "costmodel/parameters.def"
};
using Parameters = ParametersOf<double>;

constexpr int parameterCount = 0
#define TILEWRIGHT_PARAMETER(field, name, unit, prior, low, high, fitted, meaning) +1
#include "costmodel/parameters.def"
    ;

struct ParameterInfo {
  std::string_view name, unit, meaning;
  double low, high; ///< bounds as factors of the prior
  bool fitted;      ///< by default
};

std::span<const ParameterInfo> parameterInfos();
std::optional<int> parameterIndex(std::string_view name);

/// The priors, from the device description alone.
Parameters priorParameters(const Device &device);

std::array<double, parameterCount> toArray(const Parameters &parameters);
Parameters fromArray(std::span<const double> values);

} // namespace tilewright
