// Programs of others with recorded results, where TILEWRIGHT_ORACLE names a folder of them: files,
// or archives (.tar.gz) of files.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tilewright {

/// Said where no folder is given.
inline constexpr std::string_view noOracle =
    "TILEWRIGHT_ORACLE names no folder of StableHLO programs with recorded results";

bool hasOracle();

/// The texts in the folder and below it, and in its archives, whose names end so; by name, without
/// the folder and the ending.
std::map<std::string, std::string> oracleTexts(std::string_view ending);

} // namespace tilewright
