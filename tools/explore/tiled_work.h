// The arithmetic of a kernel's tilings, before any of them is searched or priced.
//
// A group may compute the same value again and again: a CTA makes what its own tile needs, in every
// step of the loops that it stands in. How often is known from the tiles alone,
//
//     evaluations of an op = CTAs · steps of its loops · elements of its tile
//
// and that no tiling does with less work than a limit is a question to the constraints of tiles. It
// is asked before the programs of all variants are built, which takes most of a price's time.
#pragma once

#include "costmodel/device.h"
#include "tools/explore/plan_search.h"

namespace tilewright {

/// Whether a tiling can be as fast: its arithmetic alone does not take longer, at the rates of the
/// pipes. True where the search does not decide, and where there is no tiling at all.
bool canTakeLess(const Module &module, const Graph &graph, const TiledGroup &group,
                 const Device &device, const PlanSearchOptions &options, double timeNs);

} // namespace tilewright
