// Model files as the commands are given them.
#pragma once

#include "analysis/import/import_file.h"
#include "analysis/ir/graph.h"
#include "analysis/ir/tensor.h"

#include "llvm/Support/Error.h"

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::cli {

/// What the commands say of their MODEL.
inline constexpr const char *modelHelp = "HLO or StableHLO text, an HLO proto or ONNX, plain or "
                                         "gzip, or a folder of --xla_dump_to; - is "
                                         "standard input";

/// Which of several modules a command is asked for, and how large the dims are that it leaves open.
struct ModuleChoice {
  std::string module, stage = "auto";
  std::vector<std::string> dims; ///< "batch=8"
};

/// Adds --module, with what is done without it, --stage and --dim.
void addModuleChoice(CLI::App &command, ModuleChoice &choice, const std::string &without = {});

/// A file, and the module that is wanted of it; empty: as the command does without a choice.
struct ModelFile {
  std::string path, module;
  DimSizes sizes;
};

/// The files that a MODEL stands for: itself, or those of a dump folder, which are told on stderr.
/// BadInput where one is wanted and the folder holds several.
llvm::Expected<std::vector<ModelFile>>
modelFiles(const std::string &path, const ModuleChoice &choice, bool takesSeveral = true);

/// The text of a model file, unpacked. Of "-" that of standard input, which is read once and kept.
llvm::Expected<std::string> readModelText(const std::string &path);

/// Reads, parses and verifies one module of a MODEL; importFile() otherwise.
llvm::Expected<Module> readModel(const std::string &path, const ModuleChoice &choice = {});

/// Values that the file of a MODEL has for its entry's last parameters: the weights of ONNX.
llvm::Expected<std::vector<Tensor>> readWeights(const std::string &path,
                                                const ModuleChoice &choice);

/// Names of ops in an option, "a,b".
std::vector<std::string> listedNames(const std::string &list);

/// As messages and results name it: "stdin" for "-".
std::string modelName(const std::string &path);

} // namespace tilewright::cli
