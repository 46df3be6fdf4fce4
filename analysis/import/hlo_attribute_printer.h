// HLO text of attributes that an op has in typed form.
#pragma once

#include "analysis/ir/graph.h"

#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// The typed attributes that the op's opcode needs, as names and HLO text, in a fixed order. The
/// text reads back to the same values.
std::vector<std::pair<std::string, std::string>> typedAttributes(const Module &module,
                                                                 const Op &op);

} // namespace tilewright
