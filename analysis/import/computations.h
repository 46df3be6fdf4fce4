// What completes a module that was not read from HLO text.
#pragma once

#include "analysis/ir/graph.h"

namespace tilewright {

/// Ops get the text of their attributes, as if they had been read from HLO.
void setAttributeTexts(Module &module);

/// Removes the computations that the entry doesn't call, directly or through others.
void dropUnreached(Module &module);

} // namespace tilewright
