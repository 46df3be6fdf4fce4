// Pipelines of a tile program: what `tilewright program --pipeline` runs.
#pragma once

#include "analysis/program/program.h"
#include "costmodel/calibration.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct PipelineArguments {
  bool isAsked = false;
  std::string device = "h100-sxm", calibration;
  std::string out; ///< where a plan with the best settings is written; empty: nowhere
};

void addPipelineOptions(CLI::App &command, PipelineArguments &options, CLI::Option &passes);
/// A program, and the plan that it is of.
struct PipelineInput {
  const program::Program &program;
  std::string file, plan; ///< no text: it is of none
};
/// Prints schedules of the loops that copy, as a table, as JSON, or the program's text with them.
int runPipelines(const PipelineInput &input, const PipelineArguments &options, bool json,
                 bool text);

} // namespace tilewright::cli
