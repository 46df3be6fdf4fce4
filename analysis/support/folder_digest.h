// A digest over all files of a folder, kept in the folder: a file that was changed, added or taken
// away is named. It tells accidents and carelessness, not forgery. Only the standard library is
// used.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class FolderDigest {
public:
  /// Of the file with the digest, which is not counted itself.
  static constexpr const char *fileName = "digest.txt";

  void add(const std::string &name, std::string_view bytes);

  /// Reads every file of a folder. What is no plain file becomes a problem.
  static FolderDigest ofFolder(const std::string &folder, std::vector<std::string> &problems);

  bool has(const std::string &name) const { return files.contains(name); }
  bool has(const std::string &name, std::string_view bytes) const;

  /// The text of the file: "tilewright.digest 1", then "HASH NAME" for each file, sorted by name,
  /// then "HASH ." over the lines before. Hashes are FNV-1a in 16 hexadecimal digits.
  std::string text() const;

private:
  std::map<std::string, uint64_t> files;
};

/// What differs between a folder and the digest that lies in it, a sentence each: "k.ptx is not
/// what the digest was made of". Empty where all is as it was written.
std::vector<std::string> folderProblems(const std::string &folder);

} // namespace tilewright
