// Two runs side by side: the same models explored twice, the same families evaluated twice.
#pragma once

#include "tools/report/document.h"

#include <string>

namespace tilewright::report {

/// Each exploration and evaluation after the first, compared with the first: models by name with
/// the kernels that changed most, families by name. Empty when nothing stands in two documents.
std::string comparisonSection(const Documents &documents);

} // namespace tilewright::report
