// Pipelines of a tile program: what `tilewright program --pipeline` runs.
#pragma once

#include "analysis/program/program.h"
#include "costmodel/calibration.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct PipelineArguments {
  bool isAsked = false;
  std::string device = "h100-sxm", calibration;
};

void addPipelineOptions(CLI::App &command, PipelineArguments &options, CLI::Option &passes);
/// Prints schedules of the loops that copy, as a table, as JSON, or the program's text with them.
int runPipelines(const program::Program &program, const PipelineArguments &options, bool json,
                 bool text);

} // namespace tilewright::cli
