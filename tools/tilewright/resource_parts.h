// The items of registers and shared memory, as text and as JSON.
#pragma once

#include "costmodel/estimate.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// [{"name", "amount"}].
Json partsJson(const std::vector<ResourcePart> &parts);
/// "16 accumulators, 30 descriptors"; "nothing" for none.
std::string partsText(const std::vector<ResourcePart> &parts);

} // namespace tilewright::cli
