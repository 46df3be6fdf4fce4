// JSON that users give us, parsed: depth-limited, no name twice in an object, errors with a place.
// For implementation files: public headers stay free of nlohmann-json.
#pragma once

#include "analysis/support/diag.h"
#include "analysis/support/json_guard.h"
#include "analysis/support/json_place.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tilewright {

/// An error at the value that `path` leads to, "kernels[0].plan.warps" (see jsonPlace()).
inline llvm::Error jsonError(const std::string &file, const std::string &text,
                             std::string_view path, std::string message) {
  SourceLoc where{static_cast<uint32_t>(std::min<size_t>(jsonPlace(text, path), UINT32_MAX - 1))};
  return makeError(diagAt(SourceBuffer(file, text), where, std::move(message)));
}

/// A document; `Json` is nlohmann::json or nlohmann::ordered_json. Errors: BadInput, located.
template <typename Json>
llvm::Expected<Json> parseJson(const std::string &file, const std::string &text,
                               unsigned maxDepth) {
  if (auto error = checkJson(text, maxDepth, file))
    return error;
  auto fail = [&](size_t offset, std::string message) {
    SourceLoc where{static_cast<uint32_t>(std::min<size_t>(offset, UINT32_MAX - 1))};
    return makeError(diagAt(SourceBuffer(file, text), where, std::move(message)));
  };
  Json root;
  try {
    root = Json::parse(text);
  } catch (const typename Json::parse_error &error) {
    return fail(error.byte > 0 ? error.byte - 1 : 0, "this is not valid JSON");
  } catch (const typename Json::exception &) { // a number too large for a double
    return fail(0, "not usable JSON: a number is too large");
  }
  return root;
}

} // namespace tilewright
