// Families as people name them: "gemm" with "m=4096 n=4096 k=4096 dtype=bf16".
//
// A family is a template (templates.h). Its arguments are what its HLO text leaves open: a size is
// called as the text calls it (m); what several names follow from (the types of operands and
// result) as the column of the measurements (dtype).
#pragma once

#include "llvm/Support/Error.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

struct FamilyArgument {
  std::string name;
  std::vector<std::string> choices; ///< words; empty: a size, a whole number of at least 1
  bool isOptional = false;
};

struct Family {
  std::string name;
  std::string about; ///< one line: what it computes
  std::vector<FamilyArgument> arguments;
  std::string example; ///< "m=4096 n=4096 k=4096 dtype=bf16"
};

/// Names with values, as given.
using FamilyArguments = std::vector<std::pair<std::string, std::string>>;

/// Reads words of NAME=VALUE, with spaces or commas between them. BadInput for any other word, and
/// for a name that is given twice.
llvm::Expected<FamilyArguments> parseFamilyArguments(std::string_view text);

/// The name of `known` that is nearest to a misspelt one, as " (did you mean 'gemm'?)"; empty where
/// none is near.
std::string didYouMean(std::string_view name, std::span<const std::string> known);

} // namespace tilewright
