#include "tools/tilewright/command.h"

#include <charconv>
#include <cstdio>
#include <fmt/format.h>
#include <iterator>

namespace tilewright::cli {

int fail(llvm::Error error) {
  Diag diag = takeDiag(std::move(error));
  std::fputs(coloured(diag.str(), stderr).c_str(), stderr);
  switch (diag.cls) {
  case DiagClass::BadInput:
    return BadUsage;
  case DiagClass::Unsupported:
  case DiagClass::BudgetSpent:
    return AnswerIsNo;
  case DiagClass::Internal:
    std::fputs(coloured("  note: this is a bug in tilewright; please report it with the command "
                        "line\n",
                        stderr)
                   .c_str(),
               stderr);
    return InternalError;
  }
  return InternalError;
}

int failInput(llvm::Error error) {
  int code = fail(std::move(error));
  return code == AnswerIsNo ? BadUsage : code;
}

llvm::Expected<std::map<std::string, int64_t>> namedNumbers(const std::string &option,
                                                            const std::vector<std::string> &given) {
  std::map<std::string, int64_t> numbers;
  for (const std::string &one : given) {
    const size_t equal = one.rfind('=');
    int64_t value = 0;
    const std::string number = equal == std::string::npos ? "" : one.substr(equal + 1);
    auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (equal == 0 || number.empty() || status != std::errc() ||
        end != number.data() + number.size())
      return makeError(DiagClass::BadInput, "{}: '{}' is not NAME=NUMBER", option, one);
    if (!numbers.emplace(one.substr(0, equal), value).second)
      return makeError(DiagClass::BadInput, "{}: {} is given twice", option, one.substr(0, equal));
  }
  return numbers;
}

namespace {
/// Three significant digits: "1.23", "12.3", "123", "1230".
std::string threeDigits(double value) {
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}
} // namespace

std::string bytesText(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes)
                   : fmt::format("{} {}", threeDigits(bytes), units[unit]);
}

std::string timeText(double ns) {
  const char *units[] = {"ns", "us", "ms", "s"};
  size_t unit = 0;
  while (ns >= 1000 && unit + 1 < std::size(units)) {
    ns /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", threeDigits(ns), units[unit]);
}

Json newDocument(const std::string &command) {
  Json document;
  document["schema"] = "tilewright." + command;
  document["schema_version"] = 1;
  document["tool_version"] = TILEWRIGHT_VERSION;
  return document;
}

std::string withToolVersion(std::string document) {
  const size_t end = document.find(',', document.find("\"schema_version\""));
  if (end != std::string::npos)
    document.insert(end + 1, fmt::format("\n  \"tool_version\": \"{}\",", TILEWRIGHT_VERSION));
  return document;
}

std::string dump(const Json &document) {
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void print(const Json &document) {
  std::string text = dump(document);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

} // namespace tilewright::cli
