// What a compiled computation launches, in order, and which rows of a profile these are.
#pragma once

#include "analysis/compiled/launch_shape.h"

namespace tilewright {

/// Of parameters, views and tuples nothing runs.
bool isLaunched(const Op &op);

/// Equal for fusions that are compiled once: the body with names numbered and metadata left out,
/// the kind, and the configuration.
std::string kernelIdentity(const Module &module, const Op &fusion);

/// The name of an op's kernel: all but letters, digits and '_' are '_'.
std::string kernelName(std::string_view opName);

} // namespace tilewright
