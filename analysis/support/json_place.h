// Where things stand in JSON text, which parsers forget. Only the standard library is used.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

/// The offset of the value that `path` leads to in valid JSON: "kernels[0].plan.warps", the way in
/// which errors name it. Where a part of the way is missing, of the last value that is there.
size_t jsonPlace(std::string_view text, std::string_view path);

/// A name that an object of valid JSON has twice, with the offset of the second: readers differ in
/// which of them counts.
struct DuplicateKey {
  std::string key;
  size_t offset = 0;
};
std::optional<DuplicateKey> duplicateKey(std::string_view text);

/// Valid JSON without the white space between its tokens.
std::string withoutSpace(std::string_view text);

} // namespace tilewright
