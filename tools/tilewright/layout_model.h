// The tile program of a model's kernel, for questions about its layouts.
#pragma once

#include "analysis/program/program.h"
#include "tools/tilewright/model_input.h"

namespace tilewright::cli {

struct ModelTile {
  ModuleChoice choice;
  std::string root, tile; ///< as of `tilewright tile`; tile: what is not given is a whole dim
  int64_t warps = 4;
  bool isUsed = false; ///< the file is a model's
};

struct ModelPrograms {
  program::Program whole; ///< all values of a tile at once
  program::Program parts; ///< as it runs: elementwise work in loops over parts, passes applied
};

/// Is a file's text that of a tile program or a plan, and not of a model?
bool isTileProgram(const std::string &text);

/// Unsupported, naming the op, for what has no program.
llvm::Expected<ModelPrograms> programsOfModel(const std::string &path, const ModelTile &options);

} // namespace tilewright::cli
