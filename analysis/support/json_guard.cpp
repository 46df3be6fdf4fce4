#include "analysis/support/json_guard.h"

#include "analysis/support/diag.h"
#include "analysis/support/printable.h"

#include "llvm/Support/JSON.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace tilewright {

namespace {

/// A bracket that is open, and of an object the keys so far with their places.
struct OpenBracket {
  bool isObject = false;
  bool expectsKey = false;
  std::unordered_map<std::string, size_t> keys;
};

/// The end of the string that starts with the quote at `start`: one past its closing quote, or the
/// end of the text.
size_t endOfString(std::string_view text, size_t start) {
  for (size_t i = start + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i; // the escaped byte can't end the string
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

/// A string with its quotes as the key that it spells; its bytes where it is no valid string.
std::string keyOf(std::string_view quoted) {
  if (quoted.find('\\') != std::string_view::npos) {
    llvm::Expected<llvm::json::Value> value =
        llvm::json::parse(llvm::StringRef(quoted.data(), quoted.size()));
    if (!value)
      llvm::consumeError(value.takeError());
    else if (auto spelled = value->getAsString())
      return spelled->str();
  }
  return std::string(quoted.substr(1, quoted.size() < 2 ? 0 : quoted.size() - 2));
}

class JsonScan {
public:
  JsonScan(std::string_view text, unsigned maxDepth, const std::string &file)
      : text(text), maxDepth(maxDepth), file(file) {}

  llvm::Error run() {
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '"') {
        const size_t end = endOfString(text, i);
        if (llvm::Error error = takeString(i, end))
          return error;
        i = end - 1;
      } else if (c == '[' || c == '{') {
        open.emplace_back();
        open.back().isObject = open.back().expectsKey = c == '{';
        if (open.size() > maxDepth)
          return errorAt(i, fmt::format("brackets nest {} deep, allowed are {}; flatten the "
                                        "document",
                                        open.size(), maxDepth));
      } else if ((c == ']' || c == '}') && !open.empty()) {
        open.pop_back(); // the parser reports a surplus bracket
      } else if (!open.empty() && (c == ',' || c == ':')) {
        open.back().expectsKey = open.back().isObject && c == ',';
      }
    }
    return llvm::Error::success();
  }

private:
  llvm::Error takeString(size_t start, size_t end) {
    if (open.empty() || !open.back().expectsKey)
      return llvm::Error::success();
    open.back().expectsKey = false;
    std::string key = keyOf(text.substr(start, end - start));
    auto [known, isNew] = open.back().keys.try_emplace(std::move(key), start);
    if (isNew)
      return llvm::Error::success();
    const auto lines = std::count(text.begin(), text.begin() + known->second, '\n');
    return errorAt(start, fmt::format("'{}' stands twice in this object, first on line {}; leave "
                                      "one of them out",
                                      excerpt(known->first), lines + 1));
  }

  llvm::Error errorAt(size_t at, std::string message) const {
    SourceLoc where;
    if (at < SourceLoc::none)
      where.offset = static_cast<uint32_t>(at);
    // Only the text up to the place and a little of what follows is needed for the caret.
    SourceBuffer buffer(file, std::string(text.substr(0, at + 80)));
    return makeError(diagAt(buffer, where, std::move(message)));
  }

  std::string_view text;
  unsigned maxDepth;
  const std::string &file;
  std::vector<OpenBracket> open;
};

} // namespace

llvm::Error checkJson(std::string_view text, unsigned maxDepth, const std::string &file) {
  return JsonScan(text, maxDepth, file).run();
}

} // namespace tilewright
