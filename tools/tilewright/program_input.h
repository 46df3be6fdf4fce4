// Tile programs that commands read: a text with numbers for its sizes, or that of a plan.
#pragma once

#include "analysis/program/pass/of_plan.h"

#include <string>
#include <vector>

namespace tilewright::cli {

/// The program of a file's text, with the numbers of --let, or of a plan.
llvm::Expected<program::PlanProgram> programOfText(const std::string &file, std::string text,
                                                   const std::vector<std::string> &lets);
/// A plan is JSON; no tile program begins with a brace.
bool isPlan(const std::string &text);

} // namespace tilewright::cli
