#include "analysis/support/folder_digest.h"

#include "analysis/support/digest.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

namespace tilewright {

namespace {

namespace fs = std::filesystem;
constexpr const char *firstLine = "tilewright.digest 1\n";
constexpr size_t maxDigestBytes = 64u << 20;

using File = std::unique_ptr<FILE, int (*)(FILE *)>;

/// Calls `each` with the parts of a file, until it returns false. False where it can't be read.
template <typename Each> bool readParts(const fs::path &path, Each each) {
  File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file)
    return false;
  char block[1 << 16];
  while (size_t got = std::fread(block, 1, sizeof block, file.get()))
    if (!each(std::string_view(block, got)))
      break;
  return !std::ferror(file.get());
}

/// Names and hashes of a digest's lines, where it is one.
std::optional<std::map<std::string, std::string>> parseDigest(std::string_view text) {
  if (!text.starts_with(firstLine))
    return std::nullopt;
  std::map<std::string, std::string> lines;
  for (size_t at = std::string_view(firstLine).size(); at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string_view::npos || end - at < 18 || text[at + 16] != ' ')
      return std::nullopt;
    lines[std::string(text.substr(at + 17, end - at - 17))] = text.substr(at, 16);
    at = end + 1;
  }
  return lines;
}

} // namespace

void FolderDigest::add(const std::string &name, std::string_view bytes) {
  files[name] = fnv1a(bytes);
}

bool FolderDigest::has(const std::string &name, std::string_view bytes) const {
  auto at = files.find(name);
  return at != files.end() && at->second == fnv1a(bytes);
}

FolderDigest FolderDigest::ofFolder(const std::string &folder, std::vector<std::string> &problems) {
  FolderDigest digest;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name == fileName)
      continue;
    uint64_t state = FnvBasis;
    std::error_code ignored;
    if (!at->is_regular_file(ignored))
      problems.push_back(name + " is not a file of a pack; remove it");
    else if (readParts(at->path(), [&](std::string_view part) {
               state = fnv1a(part, state);
               return true;
             }))
      digest.files[name] = state;
    else
      problems.push_back(name + " can't be read: " + std::strerror(errno));
  }
  if (error)
    problems.push_back("the folder can't be read: " + error.message());
  return digest;
}

std::string FolderDigest::text() const {
  std::string text = firstLine;
  for (const auto &[name, hash] : files)
    text += hexDigits(hash) + " " + name + "\n";
  return text + hexDigits(fnv1a(text)) + " .\n";
}

std::vector<std::string> folderProblems(const std::string &folder) {
  std::vector<std::string> problems;
  std::string written;
  bool isThere = readParts(fs::path(folder) / FolderDigest::fileName, [&](std::string_view part) {
    written += part;
    return written.size() <= maxDigestBytes;
  });
  std::string name = FolderDigest::fileName;
  if (!isThere)
    return {name + " is missing: nothing says what the files were; emit the pack again"};
  std::string actual = FolderDigest::ofFolder(folder, problems).text();
  if (actual == written)
    return problems;
  auto expected = parseDigest(written), found = parseDigest(actual);
  if (!expected)
    return {name + " is damaged; emit the pack again"};
  for (const auto &[file, hash] : *found)
    if (auto at = expected->find(file); at == expected->end())
      problems.push_back(file + " is not of the pack; remove it");
    else if (at->second != hash && file != ".")
      problems.push_back(file + " is not what " + name + " was made of; emit the pack again");
  for (const auto &[file, hash] : *expected)
    if (!found->contains(file))
      problems.push_back(file + " is missing; emit the pack again");
  if (problems.empty()) // lines in another order, or the last one alone
    problems.push_back(name + " is damaged; emit the pack again");
  return problems;
}

} // namespace tilewright
