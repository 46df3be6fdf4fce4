// The page's section on one evaluation: the quality of its predictions.
#pragma once

#include "tools/report/document.h"

#include <string>
#include <string_view>

namespace tilewright::report {

std::string evaluationSection(const Evaluation &evaluation, std::string_view id);

} // namespace tilewright::report
