#include "costmodel/named_files.h"

#include "analysis/support/diag.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/ranges.h>

namespace tilewright {

namespace {

std::string inSmallLetters(std::string text) {
  for (char &c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

} // namespace

bool isPlainName(std::string_view name) {
  auto isAlnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !name.empty() && name.size() <= mostOfAName && isAlnum(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return isAlnum(c) || c == '.' || c == '_' || c == '-'; });
}

std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".json")
      names.push_back(it->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

llvm::Expected<std::string> findNamed(std::string_view kind, const std::string &nameOrPath,
                                      const std::string &folder) {
  if (nameOrPath.ends_with(".json") || nameOrPath.starts_with("/dev/"))
    return nameOrPath;
  const std::vector<std::string> known = namesIn(folder);
  const std::string wanted = inSmallLetters(nameOrPath);
  std::vector<std::string> matching;
  for (const std::string &name : known) {
    const std::string small = inSmallLetters(name);
    if (small == wanted) {
      matching = {name};
      break;
    }
    if (!wanted.empty() && small.starts_with(wanted + "-"))
      matching.push_back(name);
  }
  if (matching.size() > 1)
    return makeError(DiagClass::BadInput, "'{}' may be any of {}; give one of them",
                     excerpt(nameOrPath), fmt::join(matching, ", "));
  if (matching.empty())
    return makeError(DiagClass::BadInput, "no {} '{}'; known: {}; or give a .json file", kind,
                     excerpt(nameOrPath), fmt::join(known, ", "));
  return folder + "/" + matching.front() + ".json";
}

} // namespace tilewright
