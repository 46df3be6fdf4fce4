// What `tilewright layout --infer` says, as text and JSON.
#pragma once

#include "analysis/program/inference/infer_layouts.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// Of an SM.
double clocksOf(inference::Cost cost);

void printInference(const std::string &program, const inference::LayoutProblem &problem,
                    const inference::InferenceAnswer &answer);
Json inferenceJson(const std::string &program, const inference::LayoutProblem &problem,
                   const inference::InferenceAnswer &answer);

} // namespace tilewright::cli
