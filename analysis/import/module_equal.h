// Comparing two modules, for round trips.
#pragma once

#include "analysis/ir/graph.h"

#include <string>

namespace tilewright {

/// Same graphs, ops, shapes, layouts, attributes (typed and verbatim), literals, roots and names;
/// places in the source are not compared. `why`, if not null, gets the first difference.
bool equal(const Module &a, const Module &b, std::string *why = nullptr);

} // namespace tilewright
