// Reads JSON from users: depth-limited, with errors that point into the file. Internal to the cost
// model; public headers stay free of nlohmann-json.
#pragma once

#include "analysis/support/diag.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// A parsed file that remembers its text, so that errors about a key point at that key.
class JsonFile {
public:
  /// Refuses more than `maxDepth` nested brackets before any recursive parsing starts.
  static llvm::Expected<JsonFile> parse(std::string name, std::string text, unsigned maxDepth = 64);
  static llvm::Expected<JsonFile> read(const std::string &path);

  const nlohmann::json &root() const { return document; }
  const std::string &name() const { return buffer->name(); }

  /// An error at the first occurrence of `"key"` in the text, or at the file.
  llvm::Error errorAt(std::string_view key, std::string message) const;

  /// `root()[schema]` must be this name and version.
  llvm::Error expectSchema(std::string_view schema, int version) const;

  /// Members of `object` (which came from this file): missing or of another type is an error.
  llvm::Expected<std::string> string(const nlohmann::json &object, const std::string &key) const;
  llvm::Expected<double> number(const nlohmann::json &object, const std::string &key) const;
  llvm::Expected<nlohmann::json> object(const nlohmann::json &object, const std::string &key) const;
  llvm::Expected<std::vector<std::string>> strings(const nlohmann::json &object,
                                                   const std::string &key) const;

  /// Every key of `object` is one of `known`; else an error that names the key and those known.
  /// `what` the object is, for the message: "a device".
  llvm::Error expectKeys(const nlohmann::json &object, std::span<const std::string_view> known,
                         std::string_view what) const;

private:
  std::shared_ptr<const SourceBuffer> buffer;
  nlohmann::json document;
};

} // namespace tilewright
