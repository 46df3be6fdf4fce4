// Typed access to a JSON document: every mistake is named with its path.
#pragma once

#include "analysis/support/diag.h"
#include "tools/report/document.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::report {

using json = nlohmann::json; // sorted keys: ordered_json looks keys up linearly

enum class Need { Required, Optional };

/// A value with its path from the document's root; the path is formatted only for an error.
struct Node {
  const json &value;
  const Node *parent = nullptr;
  std::string_view key = {}; ///< name in the parent, when the parent is an object
  size_t index = 0;          ///< position in the parent, when the parent is an array

  std::string path() const {
    if (!parent)
      return "the document";
    std::string own = parent->value.is_array() ? fmt::format("[{}]", index) : std::string(key);
    if (!parent->parent)
      return own;
    return parent->path() + (parent->value.is_array() ? "" : ".") + own;
  }
};

/// Typed access to members. The first error is kept and everything after it reads as missing, so
/// that a reader function needs one check at its end.
class Reader {
public:
  explicit Reader(const std::string &file) : file(file) {}

  bool failed() const { return error.has_value(); }
  llvm::Error takeError() { return error ? makeError(*error) : llvm::Error::success(); }

  void fail(std::string message) {
    if (error)
      return;
    error.emplace();
    error->file = file;
    error->message = std::move(message);
  }

  Quantity number(const Node &object, std::string_view key, Need need = Need::Optional) {
    Quantity value = signedNumber(object, key, need);
    if (!value || *value >= 0)
      return value;
    fail(fmt::format("{} is {}, allowed is 0 or more", memberPath(object, key), *value));
    return std::nullopt;
  }

  Quantity signedNumber(const Node &object, std::string_view key, Need need = Need::Optional) {
    const json *value = member(object, key, need, &json::is_number, "a number");
    return value ? Quantity(value->get<double>()) : std::nullopt;
  }

  /// A number that stands in an array, zero or more.
  Quantity numberAt(const Node &node) {
    if (!failed() && node.value.is_number() && node.value.get<double>() >= 0)
      return node.value.get<double>();
    fail(fmt::format("{} is {}, expected a number that is 0 or more", node.path(),
                     article(node.value)));
    return std::nullopt;
  }

  /// An array of strings; none when it is missing.
  std::vector<std::string> texts(const Node &object, std::string_view key) {
    std::vector<std::string> result;
    eachElement(object, key, Need::Optional, [&](const Node &node) {
      if (node.value.is_string())
        result.push_back(node.value.get<std::string>());
      else
        fail(fmt::format("{} is not a string", node.path()));
    });
    return result;
  }

  std::string text(const Node &object, std::string_view key, Need need = Need::Optional) {
    const json *value = member(object, key, need, &json::is_string, "a string");
    return value ? value->get<std::string>() : std::string();
  }

  /// A string, or the member "name" of an object.
  std::string textOrName(const Node &object, std::string_view key) {
    if (object.value.is_object()) {
      auto found = object.value.find(key);
      if (found != object.value.end() && found->is_object())
        return text(Node{*found, &object, key}, "name");
    }
    return text(object, key);
  }

  bool flag(const Node &object, std::string_view key, bool ifMissing) {
    const json *value = member(object, key, Need::Optional, &json::is_boolean, "true or false");
    return value ? value->get<bool>() : ifMissing;
  }

  /// Calls `visit(node)` with each element of the array `key`.
  template <typename Visit>
  void eachElement(const Node &object, std::string_view key, Need need, Visit visit) {
    const json *value = member(object, key, need, &json::is_array, "an array");
    if (!value)
      return;
    Node array{*value, &object, key};
    for (size_t i = 0; i < value->size() && !failed(); ++i)
      visit(Node{(*value)[i], &array, {}, i});
  }

  /// Calls `visit(node)` with the object `key`, when it is there.
  template <typename Visit>
  void object(const Node &parent, std::string_view key, Need need, Visit visit) {
    if (const json *value = member(parent, key, need, &json::is_object, "an object"))
      visit(Node{*value, &parent, key});
  }

  /// Calls `visit(node)` with each member of an object, which must be an object itself.
  template <typename Visit> void eachMember(const Node &object, Visit visit) {
    for (auto it = object.value.begin(); it != object.value.end() && !failed(); ++it) {
      Node node{it.value(), &object, it.key()};
      if (!it->is_object())
        fail(fmt::format("{} is {}, expected an object", node.path(), article(*it)));
      else
        visit(node);
    }
  }

  std::vector<std::pair<std::string, double>> numbers(const Node &parent, std::string_view key) {
    std::vector<std::pair<std::string, double>> result;
    object(parent, key, Need::Optional, [&](const Node &map) {
      for (auto it = map.value.begin(); it != map.value.end() && !failed(); ++it)
        if (Quantity value = number(map, it.key()))
          result.emplace_back(it.key(), *value);
    });
    return result;
  }

  Parameters parameters(const Node &parent, std::string_view key) {
    Parameters result;
    object(parent, key, Need::Optional, [&](const Node &map) {
      for (auto it = map.value.begin(); it != map.value.end() && !failed(); ++it) {
        if (it->is_string())
          result.emplace_back(it.key(), it->get<std::string>());
        else if (it->is_number() || it->is_boolean())
          result.emplace_back(it.key(), it->dump());
        else if (!it->is_null())
          fail(fmt::format("{} is {}, expected a number, a string, true or false",
                           memberPath(map, it.key()), article(*it)));
      }
    });
    return result;
  }

private:
  static std::string memberPath(const Node &object, std::string_view key) {
    return Node{object.value, &object, key}.path();
  }

  static std::string article(const json &value) {
    std::string_view name = value.type_name();
    if (name == "null")
      return "null";
    return fmt::format("{} {}", name == "array" || name == "object" ? "an" : "a", name);
  }

  const json *member(const Node &object, std::string_view key, Need need,
                     bool (json::*isType)() const noexcept, std::string_view expected) {
    if (failed())
      return nullptr;
    if (!object.value.is_object()) {
      fail(fmt::format("{} is {}, expected an object", object.path(), article(object.value)));
      return nullptr;
    }
    auto found = object.value.find(key);
    if (found == object.value.end() || found->is_null()) {
      if (need == Need::Required)
        fail(fmt::format("{} is missing, expected {}", memberPath(object, key), expected));
      return nullptr;
    }
    if (!((*found).*isType)()) {
      fail(
          fmt::format("{} is {}, expected {}", memberPath(object, key), article(*found), expected));
      return nullptr;
    }
    return &*found;
  }

  std::string file;
  std::optional<Diag> error;
};

} // namespace tilewright::report
