// Layouts of a tile program, inferred: what `tilewright layout --infer` and `--check` run.
#pragma once

#include "analysis/program/program.h"
#include "tools/tilewright/layout_output.h"

namespace tilewright::cli {

struct InferenceArguments {
  bool infer = false, check = false, noConversions = false, all = false, text = false;
  std::optional<int64_t> registers;
  std::vector<std::string> casts, preferences; ///< VALUE=LAYOUT
  std::string ranked;                          ///< an op whose layouts are ranked

  bool isAsked() const {
    return infer || check || noConversions || all || text || registers || !ranked.empty() ||
           !casts.empty() || !preferences.empty();
  }
};

void addInferenceOptions(CLI::App &command, InferenceArguments &options);
/// `value`: the one whose picture is wanted; empty: all that is inferred.
int runInference(const program::Program &program, const InferenceArguments &options,
                 const std::string &value, const LayoutView &view);

} // namespace tilewright::cli
