// What monoids of reductions are as ops of elements.
#pragma once

#include "analysis/program/op.h"

#include <optional>

namespace tilewright::program {

/// The elementwise op of a monoid; nothing of those with an index.
std::optional<Opcode> opcodeOf(Monoid monoid);

} // namespace tilewright::program
