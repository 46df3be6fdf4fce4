// Devices and calibrations by name: the one look-up that all commands share.
#pragma once

#include "llvm/Support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

constexpr size_t mostOfAName = 64;

/// Up to 64 letters, digits, '.', '_' and '-', a letter or digit first: never more than the name of
/// a file in a folder.
bool isPlainName(std::string_view name);

/// Names of the .json files of a folder, sorted; none for a folder that can't be read.
std::vector<std::string> namesIn(const std::string &folder);

/// The file of a `kind` ("device"): a path, if the text ends in ".json" or is that of a pipe
/// (/dev/stdin), else one of the names in the folder, in capitals or not. The part of a name before
/// a '-' stands for the only name that starts with it: "H100" for h100-sxm. BadInput for any other
/// text; it lists the known names.
llvm::Expected<std::string> findNamed(std::string_view kind, const std::string &nameOrPath,
                                      const std::string &folder);

} // namespace tilewright
