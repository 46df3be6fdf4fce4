#include "tests/eval/oracle.h"

#include "analysis/support/diag.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

namespace tilewright {

namespace {

const char *oracleFolder() { return std::getenv("TILEWRIGHT_ORACLE"); }

/// The text of a field that ends at its first zero byte.
std::string_view fieldOf(std::string_view header, size_t begin, size_t size) {
  const std::string_view field = header.substr(begin, size);
  return field.substr(0, field.find('\0'));
}

using Texts = std::map<std::string, std::string>;

/// The files of a tar archive whose names end so.
void addArchive(std::string_view archive, std::string_view ending, Texts &out) {
  constexpr size_t block = 512;
  std::string longName; // of the next file, by GNU's or POSIX's extension
  for (size_t at = 0; at + block <= archive.size();) {
    const std::string_view header = archive.substr(at, block);
    const std::string name = longName.empty() ? std::string(fieldOf(header, 0, 100)) : longName;
    const size_t size = std::strtoull(std::string(fieldOf(header, 124, 12)).c_str(), nullptr, 8);
    at += block;
    const std::string_view text = archive.substr(std::min(at, archive.size()), size);
    longName.clear();
    if (header[156] == 'L')
      longName = text.substr(0, text.find('\0'));
    else if (const size_t path = text.find(" path="); header[156] == 'x' && path != text.npos)
      longName = text.substr(path + 6, text.find('\n', path) - path - 6);
    if (name.ends_with(ending) && (header[156] == '0' || header[156] == '\0')) {
      const size_t stem = name.rfind('/') + 1; // 0 where there is none
      out[name.substr(stem, name.size() - stem - ending.size())] = text;
    }
    at += (size + block - 1) / block * block;
  }
}

} // namespace

bool hasOracle() { return oracleFolder() != nullptr; }

std::map<std::string, std::string> oracleTexts(std::string_view ending) {
  Texts texts;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(oracleFolder())) {
    const std::string name = entry.path().filename().string();
    const bool isArchive = name.ends_with(".tar.gz");
    if (!isArchive && !name.ends_with(ending))
      continue;
    llvm::Expected<std::string> text = readFile(entry.path().string()); // gzip is unpacked
    if (!text)
      ADD_FAILURE() << takeDiag(text.takeError()).str();
    else if (isArchive)
      addArchive(*text, ending, texts);
    else
      texts[name.substr(0, name.size() - ending.size())] = std::move(*text);
  }
  return texts;
}

} // namespace tilewright
