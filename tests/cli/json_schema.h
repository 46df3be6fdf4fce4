// The part of JSON Schema that docs/schemas uses: type, const, enum, properties, required,
// additionalProperties (a schema), items, anyOf, $ref to a file beside it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tilewright::test {

/// The first thing about `value` that the schema does not allow, with its path; empty: nothing. A
/// member that the schema does not name is something, too: schemas name all that there is.
std::string problemOf(const nlohmann::json &value, const nlohmann::json &schema,
                      const std::string &folder, const std::string &path = "");

} // namespace tilewright::test
