// Custom calls that compute nothing: they tell the compiler how a value is to be laid out or shared
// among devices, and hand it on.
#pragma once

#include "analysis/ir/graph.h"

namespace tilewright {

/// Whether a custom call's result is its operand: `Sharding`, `LayoutConstraint` and the like, with
/// one operand of the result's shape. (Between devices `SPMDFullToShardShape` takes a part of its
/// operand; it is an annotation where both have one shape.) Layouts may differ: then it is a copy.
bool isAnnotation(const Graph &graph, const Op &op);

/// The op that does what an annotation does: a bitcast, or a copy where the layout changes.
Op withoutAnnotation(const Graph &graph, Op annotation);

} // namespace tilewright
