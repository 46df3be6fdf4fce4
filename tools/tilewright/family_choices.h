// The family that a command is asked for, with its sizes and type: suggest, select.
#pragma once

#include "costmodel/templates.h"
#include "tools/tilewright/plan_options.h"

namespace tilewright::cli {

/// A library with the arguments of a family in it.
struct ChosenFamily {
  TemplateLibrary families;
  FamilyArguments arguments;
};

struct FamilyChoices {
  std::string family, templates; ///< templates: a folder with more families, or empty
  std::vector<std::string> arguments;

  /// BadInput for arguments that are no NAME=VALUE, and for what a folder holds.
  llvm::Expected<ChosenFamily> load() const;
  /// "gemm m=1 n=2 k=3"
  std::string text() const;
};

/// Adds FAMILY, ARGUMENT and --templates.
void addFamilyChoices(CLI::App &command, FamilyChoices &choices, const std::string &help);

} // namespace tilewright::cli
