#include "costmodel/json_reader.h"

#include "analysis/support/json_guard.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/ranges.h>

using nlohmann::json;

namespace tilewright {

namespace {

SourceLoc at(size_t offset) { return SourceLoc{static_cast<uint32_t>(offset)}; }

} // namespace

llvm::Expected<JsonFile> JsonFile::parse(std::string name, std::string text, unsigned maxDepth) {
  JsonFile file;
  if (text.size() >= UINT32_MAX)
    return makeError(DiagClass::BadInput, "{}: {} bytes of JSON, at most {} allowed", name,
                     text.size(), UINT32_MAX - 1);
  file.buffer = std::make_shared<SourceBuffer>(std::move(name), std::move(text));
  std::string_view view = file.buffer->text();
  if (auto error = checkJson(view, maxDepth, file.buffer->name()))
    return error;
  try {
    file.document = json::parse(view.begin(), view.end());
  } catch (const json::parse_error &error) {
    size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    return makeError(
        diagAt(*file.buffer, at(std::min(offset, view.size())), "this is not valid JSON"));
  } catch (const json::exception &error) {
    return makeError(diagAt(*file.buffer, at(0), fmt::format("not usable JSON: {}", error.what())));
  }
  if (!file.document.is_object())
    return makeError(diagAt(*file.buffer, at(0), "expected a JSON object at the top"));
  return file;
}

llvm::Expected<JsonFile> JsonFile::read(const std::string &path) {
  auto text = readFile(path, 64ull << 20);
  if (!text)
    return text.takeError();
  return parse(path, std::move(*text));
}

llvm::Error JsonFile::errorAt(std::string_view key, std::string message) const {
  size_t offset = buffer->text().find(fmt::format("\"{}\"", key));
  return makeError(
      diagAt(*buffer, offset == std::string_view::npos ? SourceLoc{} : at(offset), message));
}

llvm::Error JsonFile::expectSchema(std::string_view schema, int version) const {
  auto name = string(document, "schema");
  if (!name)
    return name.takeError();
  if (*name != schema)
    return errorAt("schema", fmt::format("schema is '{}', expected '{}'", *name, schema));
  auto number = this->number(document, "schema_version");
  if (!number)
    return number.takeError();
  if (*number != version)
    return errorAt("schema_version",
                   fmt::format("schema version {} is not known, expected {}", *number, version));
  return llvm::Error::success();
}

llvm::Expected<std::string> JsonFile::string(const json &object, const std::string &key) const {
  auto it = object.find(key);
  if (it == object.end())
    return errorAt(key, fmt::format("'{}' is missing", key));
  if (!it->is_string())
    return errorAt(key, fmt::format("'{}' must be a string, not {}", key, it->type_name()));
  return it->get<std::string>();
}

llvm::Expected<double> JsonFile::number(const json &object, const std::string &key) const {
  auto it = object.find(key);
  if (it == object.end())
    return errorAt(key, fmt::format("'{}' is missing", key));
  if (!it->is_number())
    return errorAt(key, fmt::format("'{}' must be a number, not {}", key, it->type_name()));
  return it->get<double>();
}

llvm::Expected<json> JsonFile::object(const json &object, const std::string &key) const {
  auto it = object.find(key);
  if (it == object.end())
    return errorAt(key, fmt::format("'{}' is missing", key));
  if (!it->is_object())
    return errorAt(key, fmt::format("'{}' must be an object, not {}", key, it->type_name()));
  return *it;
}

llvm::Expected<std::vector<std::string>> JsonFile::strings(const json &object,
                                                           const std::string &key) const {
  auto it = object.find(key);
  if (it == object.end())
    return errorAt(key, fmt::format("'{}' is missing", key));
  if (!it->is_array())
    return errorAt(key, fmt::format("'{}' must be an array, not {}", key, it->type_name()));
  std::vector<std::string> out;
  for (const json &item : *it) {
    if (!item.is_string())
      return errorAt(key, fmt::format("'{}' must hold strings, not {}", key, item.type_name()));
    out.push_back(item.get<std::string>());
  }
  return out;
}

llvm::Error JsonFile::expectKeys(const json &object, std::span<const std::string_view> known,
                                 std::string_view what) const {
  for (const auto &[key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return errorAt(key, fmt::format("{} has no '{}'; it may have {}", what, excerpt(key),
                                      fmt::join(known, ", ")));
  return llvm::Error::success();
}

} // namespace tilewright
