// What inferred layouts and pipeline settings would save of plans, in JSON and in words.
#pragma once

#include "tools/explore/plan_refinement.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// --layouts and --pipeline.
void addRefineOptions(CLI::App &command, RefineOptions &options);

/// Adds `layouts` and `pipeline`, those that were asked for.
void addSaving(Json &plan, const PlanSaving &saving);
/// A line each, of what addSaving() added: what would be gained, and the bank conflicts that stay.
std::vector<std::string> savingLines(const Json &plan);

} // namespace tilewright::cli
