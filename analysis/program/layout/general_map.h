// Maps that are no digits: does every place hold an element of its own?
//
// A layout of another compiler is any index map from places to coordinates. Up to a number of
// points a table of the elements decides; above it Z3 is asked for two places with one element,
// with a budget. Unknown is an answer, with the reason.
#pragma once

#include "analysis/affine/index_map.h"

#include <string>
#include <vector>

namespace tilewright::layout {

struct MapBudget {
  int64_t maxPoints = int64_t(1) << 22; ///< that are looked at one by one
  uint32_t rlimit = 20'000'000;         ///< Z3's deterministic units
  unsigned watchdogMs = 10'000;
};

enum class MapVerdict : uint8_t { Injective, NotInjective, Unknown };

struct MapAnswer {
  MapVerdict verdict = MapVerdict::Unknown;
  std::vector<int64_t> first, second; ///< NotInjective: two places of one element
  std::string reason;                 ///< "all 1024 points", "proved by Z3", what was spent
};

/// Of the map's dims; maps with range or runtime variables are Unknown.
MapAnswer isInjective(const IndexMap &map, const MapBudget &budget = {});

} // namespace tilewright::layout
