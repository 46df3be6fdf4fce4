// A module as StableHLO text, to be read back.
#pragma once

#include "analysis/ir/graph.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::test {

/// Each op in its short or its generic form, by the seed; a reduction's computation as `applies` or
/// as a region. Copies are the value that they copy. Nothing for a module with an op that is not
/// printed here: of those that the generator of random programs makes none.
std::optional<std::string> printStableHlo(const Module &module, uint64_t seed);

} // namespace tilewright::test
