// Strings as HLO text has them.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// `text` in double quotes: quotes, backslashes, control characters and bytes that are no UTF-8 are
/// escaped as in C.
std::string inQuotes(std::string_view text);

/// What stands between the quotes with its escapes resolved: letters, octal and hexadecimal ones.
std::string unescaped(std::string_view between);

} // namespace tilewright
