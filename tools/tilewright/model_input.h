// Model files as the commands are given them.
#pragma once

#include "analysis/ir/graph.h"

#include "llvm/Support/Error.h"

#include <string>
#include <string_view>

namespace tilewright::cli {

/// What the commands say of their MODEL.
inline constexpr const char *modelHelp =
    "HLO or StableHLO text, plain or gzip; - is standard input";

/// The text of a model file, unpacked. Of "-" that of standard input, which is read once and kept.
llvm::Expected<std::string> readModelText(const std::string &path);

/// Reads, parses and verifies one module of it; importFile() otherwise.
llvm::Expected<Module> readModel(const std::string &path, std::string_view module = {});

/// As messages and results name it: "stdin" for "-".
std::string modelName(const std::string &path);

} // namespace tilewright::cli
