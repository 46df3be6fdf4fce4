// Many files given at once, of which some fail: the others are done, and the end says which failed.
#pragma once

#include "tools/tilewright/command.h"

#include <vector>

namespace tilewright::cli {

class Batch {
public:
  /// `kind` is what the files are: "models".
  explicit Batch(std::string kind) : kind(std::move(kind)) {}

  /// Prints why a file failed and keeps it for the list, where it has `more` behind its name. The
  /// file's name is put in front where the error has no place of its own. Returns its row.
  Json fail(const std::string &file, llvm::Error error, const std::string &more = {});
  /// Keeps a row that fail() gave another batch.
  void add(const Json &row, const std::string &more = {});

  size_t failures() const { return failed.size(); }
  /// Something failed, and all of it because it can't be done.
  bool isUnsupported() const;

  /// "failures": `file`, `class` ("bad input", "unsupported", "budget spent", "internal"),
  /// `message`, and `line` and `column` where they are known.
  Json json() const;

  /// Lists on stderr what failed of more than one file. Returns the exit code: 0 where nothing did,
  /// 70 where it is a bug of ours, else 2.
  int finish(size_t files) const;

private:
  struct Failure {
    Json row;
    std::string more;
  };
  std::string kind;
  std::vector<Failure> failed;
};

} // namespace tilewright::cli
