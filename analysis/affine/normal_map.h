// Construction of maps in normal form. Not for other folders.
#pragma once

#include "analysis/affine/map_constraints.h"

namespace tilewright::detail {

/// The normal form of a map that the context keeps; computed once.
const MapNode *normalForm(const MapNode *node);

/// The node of a draft whose constraints are solved and whose expressions are in normal form, with
/// the values of its results: drops variables that are used nowhere and merges runtime variables
/// of the same source and domain.
const MapNode *finish(ExprContext &ctx, MapDraft &draft, std::span<const Interval> ranges);

/// The node of a draft that was proved to read nothing.
const MapNode *emptied(ExprContext &ctx, MapDraft &draft);

} // namespace tilewright::detail
