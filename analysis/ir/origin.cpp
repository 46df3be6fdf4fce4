#include "analysis/ir/origin.h"

#include "analysis/ir/quotes.h"

#include <algorithm>
#include <charconv>

namespace tilewright {

namespace {

/// A field of `{name=value name="value"}`.
struct Field {
  std::string_view name;
  std::string_view value; ///< as written, with its quotes
};

/// Where a value that begins at `at` ends: a string, brackets, or a run without spaces and commas.
size_t valueEnd(std::string_view text, size_t at) {
  unsigned depth = 0;
  bool isInString = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (isInString && c == '\\') {
      ++at;
    } else if (c == '"') {
      isInString = !isInString;
    } else if (!isInString) {
      if (depth == 0 && (c == ' ' || c == ',' || c == '}' || c == '\n'))
        return at;
      depth += c == '{' || c == '[' || c == '(';
      depth -= depth > 0 && (c == '}' || c == ']' || c == ')');
    }
  }
  return text.size();
}

/// The next field of `text` at or behind `at`, which moves behind it; false where there is none.
bool nextField(std::string_view text, size_t &at, Field &out) {
  at = std::min(text.find_first_not_of(" ,{\n\t", at), text.size());
  const size_t equals = text.find('=', at);
  if (equals == std::string_view::npos)
    return false;
  out.name = text.substr(at, equals - at);
  at = valueEnd(text, equals + 1);
  out.value = text.substr(equals + 1, at - equals - 1);
  return true;
}

std::string textOf(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"')
    return std::string(value);
  return unescaped(value.substr(1, value.size() - 2));
}

int64_t numberOf(std::string_view value) {
  int64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

const RawAttribute *metadataOf(const Op &op) {
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == "metadata")
      return &attribute;
  return nullptr;
}

std::string nameIn(const Op &op) {
  const RawAttribute *metadata = metadataOf(op);
  Field field;
  for (size_t at = 0; metadata && nextField(metadata->text, at, field);)
    if (field.name == "op_name")
      return textOf(field.value);
  return {};
}

void setName(RawAttribute &metadata, std::string_view name) {
  Field field;
  for (size_t at = 0; nextField(metadata.text, at, field);)
    if (field.name == "op_name") {
      metadata.text.replace(at - field.value.size(), field.value.size(), inQuotes(name));
      return;
    }
  std::string rest = metadata.text.substr(std::min<size_t>(1, metadata.text.size()));
  metadata.text = "{op_name=" + inQuotes(name) + (rest.starts_with('}') ? "" : " ") + rest;
}

/// The rows of the table that begins with the line `title`: numbers and what stands behind them.
std::unordered_map<int64_t, std::string_view> tableOf(std::string_view preamble,
                                                      std::string_view title) {
  std::unordered_map<int64_t, std::string_view> rows;
  bool isInside = false;
  for (size_t at = 0; at < preamble.size();) {
    const size_t end = std::min(preamble.find('\n', at), preamble.size());
    std::string_view line = preamble.substr(at, end - at);
    at = end + 1;
    const size_t space = line.find(' ');
    if (isInside && (line.empty() || space == std::string_view::npos))
      return rows;
    if (isInside)
      rows.emplace(numberOf(line.substr(0, space)), line.substr(space + 1));
    isInside |= line == title;
  }
  return rows;
}

int64_t fieldOf(std::string_view row, std::string_view name) {
  Field field;
  for (size_t at = 0; nextField(row, at, field);)
    if (field.name == name)
      return numberOf(field.value);
  return 0;
}

} // namespace

OpOrigins::OpOrigins(const Module &module) {
  const auto files = tableOf(module.preamble, "FileNames"),
             places = tableOf(module.preamble, "FileLocations");
  for (const auto &[number, frame] : tableOf(module.preamble, "StackFrames")) {
    auto place = places.find(fieldOf(frame, "file_location_id"));
    if (place == places.end())
      continue;
    auto file = files.find(fieldOf(place->second, "file_name_id"));
    if (file != files.end())
      frames.emplace(number, Place{file->second, fieldOf(place->second, "line")});
  }
}

OpOrigin OpOrigins::of(const Op &op) const {
  OpOrigin origin;
  const RawAttribute *metadata = metadataOf(op);
  int64_t frame = 0;
  Field field;
  for (size_t at = 0; metadata && nextField(metadata->text, at, field);) {
    if (field.name == "op_name")
      origin.name = textOf(field.value);
    else if (field.name == "source_file")
      origin.file = textOf(field.value);
    else if (field.name == "source_line")
      origin.line = numberOf(field.value);
    else if (field.name == "stack_frame_id")
      frame = numberOf(field.value);
  }
  if (auto it = frames.find(frame); origin.file.empty() && it != frames.end()) {
    origin.file = textOf(it->second.file);
    origin.line = it->second.line;
  }
  return origin;
}

std::vector<std::string_view> nameParts(std::string_view name) {
  std::vector<std::string_view> parts;
  unsigned depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= name.size(); ++i) {
    const char c = i < name.size() ? name[i] : '/';
    depth += c == '(' || c == '[';
    depth -= depth > 0 && (c == ')' || c == ']');
    if (i < name.size() && (c != '/' || depth > 0))
      continue;
    if (i > begin)
      parts.push_back(name.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

void setOriginWithin(const Op &call, Op &op) {
  const RawAttribute *outer = metadataOf(call);
  if (!outer)
    return;
  const std::string scope = nameIn(call), name = nameIn(op);
  auto own = std::find_if(op.rawAttrs.begin(), op.rawAttrs.end(),
                          [](const RawAttribute &raw) { return raw.name == "metadata"; });
  if (name.empty()) {
    if (own == op.rawAttrs.end())
      op.rawAttrs.push_back(*outer);
    else if (!scope.empty())
      setName(*own, scope);
    return;
  }
  const std::vector<std::string_view> above = nameParts(scope), below = nameParts(name);
  if (!above.empty() && !below.empty() && above.front() != below.front())
    setName(*own, scope + "/" + name);
}

} // namespace tilewright
