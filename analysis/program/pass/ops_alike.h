// Whether ops are the same but for names.
#pragma once

#include "analysis/program/pass/edit.h"

#include <map>

namespace tilewright::program {

/// Tiles of the same elements, held in the same way.
bool areAlike(const Buffer &a, const Buffer &b);

/// Whether b is a but for names: of values that both make, which it adds to `values` (of b to those
/// of a), and of buffers that copies fill, which it adds to `buffers`. `areScalarsEqual`: what they
/// compute is known to be.
bool areAlike(const Program &program, const Op &a, const Op &b, std::map<ValueId, ValueId> &values,
              std::map<BufferId, BufferId> &buffers, bool areScalarsEqual = false);

} // namespace tilewright::program
