// Arguments whose buffers a module may overwrite.
#pragma once

#include "analysis/ir/graph.h"

#include <compare>
#include <cstdint>
#include <set>

namespace tilewright {

/// A parameter of the entry, or an element of one that is a tuple; `element` is -1 for a whole one.
struct EntryArgument {
  int64_t parameter = 0, element = -1;
  auto operator<=>(const EntryArgument &) const = default;
};

/// Of `input_output_alias={ {0}: (2, {}, may-alias), … }` and `buffer_donor={ (1, {0}), … }` on the
/// module's line. Elements of nested tuples are left out, and so is what does not follow the
/// syntax.
std::set<EntryArgument> donatedArguments(const Module &module);

} // namespace tilewright
