// What inferred layouts would save of plans, in JSON and in words.
#pragma once

#include "tools/explore/layout_ranking.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// For --layouts.
void addLayoutsOption(CLI::App &command, size_t &plansOfVariant);

Json savingJson(const LayoutSaving &saving);
/// A line each, of a saving's JSON: what would be gained, and the bank conflicts that stay.
std::vector<std::string> savingLines(const Json &saving);

} // namespace tilewright::cli
