// Where our code generation has no code for a group, or for some of its tiles, whatever the device
// and the instruction.
#pragma once

#include "analysis/tiling/tiled_group.h"

namespace tilewright {

/// Appends them as constraints of the results and of convolutions, rules
///   no-code        each element is made on its own, and would be made by the same loop again and
///                  again
///   whole-bytes    results of less than a byte an element are stored as whole bytes: tiles have a
///                  multiple of the elements that share one, along the fastest dim
///   feature-group  a convolution's tile lies within one of its groups of features
///   no-split       CTAs share the sum of a product of tiles alone
void addCodeConstraints(const Graph &graph, TiledGroup &group);

} // namespace tilewright
