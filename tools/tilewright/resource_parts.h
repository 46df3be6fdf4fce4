// What registers and shared memory are made of, for people and for machines.
#pragma once

#include "costmodel/estimate.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// [{"name", "amount"}].
Json partsJson(const std::vector<ResourcePart> &parts);
/// "16 accumulators, 30 descriptors"; "nothing" for none.
std::string partsText(const std::vector<ResourcePart> &parts);

} // namespace tilewright::cli
