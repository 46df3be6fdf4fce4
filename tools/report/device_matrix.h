// Models × devices: the predicted times of models that were explored on several devices.
#pragma once

#include "tools/report/document.h"

#include <string>

namespace tilewright::report {

/// One row a model, one column a device, times in one unit and against the first device. Empty
/// where fewer than two devices share a model.
std::string deviceMatrixHtml(const Documents &documents);
std::string deviceMatrixMarkdown(const Documents &documents);

} // namespace tilewright::report
