// Where things stand in JSON text, which parsers forget. Only the standard library is used.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright {

/// The offset of the value that `path` leads to in valid JSON: "kernels[0].plan.warps", the way in
/// which errors name it. Where a part of the way is missing, of the last value that is there.
size_t jsonPlace(std::string_view text, std::string_view path);

/// Valid JSON without the white space between its tokens.
std::string withoutSpace(std::string_view text);

} // namespace tilewright
