// Why kernels are fused, and why they are not: prices both ways, or what refuses.
#pragma once

#include "tools/explore/partition/columns.h"

namespace tilewright {

/// Each edge between two chosen columns, and each chosen column of several atoms against its best
/// split among those that have prices. Merged groups that may be faster are priced for it.
std::vector<FusionChoice> fusionReasons(Columns &columns, std::span<const size_t> chosen);

} // namespace tilewright
