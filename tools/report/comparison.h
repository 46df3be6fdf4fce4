// Two runs side by side: the same models explored twice, the same families evaluated twice.
#pragma once

#include "tools/report/document.h"

#include <string>

namespace tilewright::report {

/// Compares each exploration and evaluation with the first: models by name with the kernels that
/// changed most, families by name. Empty if no two documents share a model or family.
std::string comparisonSection(const Documents &documents);

} // namespace tilewright::report
