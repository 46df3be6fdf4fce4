// Folds empty contractions to zeros: a dot over an extent of 0, a convolution without features.
#pragma once

#include "analysis/ir/graph.h"

namespace tilewright {

/// The module with each dot and convolution whose sums have no terms replaced by a broadcast of a
/// zero constant, which keeps its name; the constant has that name with ".zero" behind it. Its
/// operands stay, possibly without users. Empty results are not folded.
Module foldEmptyContractions(const Module &module);

} // namespace tilewright
