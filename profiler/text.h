// Small things about text and files that several parts of the runner need.
#pragma once

#include "profiler/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::profile {

/// FNV-1a in 16 hexadecimal digits: tells files apart, no more.
std::string hashText(std::string_view bytes);

/// A whole file. BadInput, naming it, when it can't be read or has more than `maxBytes`.
Result<std::string> readTextFile(const std::string &path, uint64_t maxBytes);

/// replaceFile() with a failure that names the file.
Status writeTextFile(const std::string &path, std::string_view bytes);

/// A number as a CSV cell: six significant digits, or as many as a whole number has.
std::string numberText(double value);

} // namespace tilewright::profile
