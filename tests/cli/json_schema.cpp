#include "tests/cli/json_schema.h"

#include "tests/cli/run_program.h"

#include <algorithm>
#include <set>

namespace tilewright::test {

namespace {

using Json = nlohmann::json;

bool isOfType(const Json &value, const std::string &type) {
  if (type == "number")
    return value.is_number();
  if (type == "integer")
    return value.is_number_integer();
  return type == value.type_name();
}

std::string problemOfMembers(const Json &value, const Json &schema, const std::string &folder,
                             const std::string &path) {
  const Json none = Json::object(), properties = schema.value("properties", none);
  for (const Json &name : schema.value("required", Json::array()))
    if (!value.contains(name.get<std::string>()))
      return path + ": has no " + name.dump();
  for (const auto &[name, member] : value.items()) {
    const std::string at = path + "/" + name;
    if (properties.contains(name)) {
      if (std::string problem = problemOf(member, properties[name], folder, at); !problem.empty())
        return problem;
    } else if (schema.contains("additionalProperties")) {
      if (std::string problem = problemOf(member, schema["additionalProperties"], folder, at);
          !problem.empty())
        return problem;
    } else if (schema.contains("properties")) {
      return at + ": is not in the schema";
    }
  }
  return "";
}

} // namespace

std::string problemOf(const Json &value, const Json &schema, const std::string &folder,
                      const std::string &path) {
  static const std::set<std::string> known = {
      "$schema", "$id",   "$ref",  "title",      "description",          "type",    "const",
      "enum",    "items", "anyOf", "properties", "additionalProperties", "required"};
  for (const auto &[word, ignored] : schema.items())
    if (!known.contains(word))
      return path + ": the schema says " + word + ", which is not checked";
  if (schema.contains("$ref"))
    return problemOf(value,
                     Json::parse(readBytes(folder + "/" + schema["$ref"].get<std::string>())),
                     folder, path);
  if (schema.contains("anyOf")) {
    std::string problems;
    for (const Json &each : schema["anyOf"]) {
      const std::string problem = problemOf(value, each, folder, path);
      if (problem.empty())
        return "";
      problems += problem + "; ";
    }
    return problems;
  }
  if (schema.contains("const") && value != schema["const"])
    return path + ": is " + value.dump() + ", not " + schema["const"].dump();
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return path + ": is " + value.dump() + ", none of " + schema["enum"].dump();
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    if (std::none_of(types.begin(), types.end(),
                     [&](const Json &type) { return isOfType(value, type); }))
      return path + ": is " + value.dump().substr(0, 80) + ", not of type " + types.dump();
  }
  if (value.is_object())
    return problemOfMembers(value, schema, folder, path);
  if (value.is_array() && schema.contains("items"))
    for (size_t i = 0; i < value.size(); ++i)
      if (std::string problem =
              problemOf(value[i], schema["items"], folder, path + "/" + std::to_string(i));
          !problem.empty())
        return problem;
  return "";
}

} // namespace tilewright::test
